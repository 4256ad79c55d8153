package leaselab

import org.codehaus.groovy.ast.ASTNode
import org.codehaus.groovy.ast.ModuleNode
import org.codehaus.groovy.ast.expr.BinaryExpression
import org.codehaus.groovy.ast.expr.ClosureExpression
import org.codehaus.groovy.ast.expr.ConstantExpression
import org.codehaus.groovy.ast.expr.VariableExpression
import org.codehaus.groovy.ast.stmt.ExpressionStatement
import org.codehaus.groovy.syntax.Types

/** The grammar of declarative pipelines, as far as ours use it: which sections there are, and where. */
class Grammar {
  static final List<String> OF_PIPELINE = ['agent', 'parameters', 'options', 'triggers', 'environment', 'stages', 'post']
  static final List<String> CONTENT = ['steps', 'stages', 'parallel', 'matrix']
  static final List<String> OF_STAGE = ['agent', 'options', 'when', 'environment', 'post'] + CONTENT
  static final List<String> OF_WHEN = ['expression', 'environment', 'not', 'allOf', 'anyOf', 'beforeAgent']
  private final Look look
  private final Blocks blocks
  private final Values values

  Grammar(Look look) {
    this.look = look
    blocks = new Blocks(look)
    values = new Values(look)
  }

  /** The whole file: one pipeline and nothing else. */
  void file(ModuleNode module) {
    module.methods.each { look.add('outside', it, 'the file', "a method ${it.name}", 'one pipeline and nothing else') }
    module.classes.findAll { !it.script }.each { look.add('outside', it, 'the file', "a class ${it.name}", 'one pipeline and nothing else') }
    (module.imports + module.starImports).each { look.add('outside', it, 'the file', 'an import', 'one pipeline and nothing else') }
    List<Call> pipelines = []
    module.statementBlock.statements.each { statement ->
      Call call = Ast.call(statement)
      if (call?.name == 'pipeline' && call.body) pipelines << call
      else look.add('outside', statement, 'the file', Ast.words(statement), 'one pipeline and nothing else')
    }
    if (!pipelines) look.add('no-pipeline', 1, 'the file', 'no pipeline', 'one pipeline { ... }')
    pipelines.drop(1).each { look.add('two-pipelines', it.node, 'the file', 'another pipeline', 'one pipeline') }
    if (pipelines) pipeline(pipelines[0])
  }

  private void pipeline(Call call) {
    Map<String, Call> sections = sections('pipeline', call, OF_PIPELINE)
    ['agent', 'stages'].findAll { !sections[it] }.each { look.add('missing', call.node, 'pipeline', "no ${it}", it) }
    // What is declared comes first: everything else is held to it.
    if (sections.parameters) parameters(sections.parameters)
    if (sections.environment) environment(sections.environment)
    if (sections.options) options(sections.options, false)
    if (sections.triggers) triggers(sections.triggers)
    if (sections.agent) agent(sections.agent)
    if (sections.stages) stages(sections.stages)
    if (sections.post) post(sections.post)
  }

  /** The sections of a block by their names; what is none, or is there twice, is complained about. */
  private Map<String, Call> sections(String where, Call call, List<String> known) {
    Map<String, Call> found = [:]
    Ast.statements(call.body).each { statement ->
      Call one = Ast.call(statement)
      if (one == null) look.add('logic', statement, where, Ast.words(statement), "sections: ${known.join(', ')}")
      else if (!(one.name in known)) look.add('unknown-section', statement, where, one.name, "one of ${known.join(', ')}")
      else if (found[one.name]) look.add('twice', statement, where, "${one.name} twice", one.name)
      else if (one.body == null && one.name != 'agent') look.add('unknown-section', statement, where, "${one.name} without a block", "${one.name} { ... }")
      else found[one.name] = one
    }
    found
  }

  /** Calls in a block, each passed to the closure; everything else is complained about. */
  private void each(String where, Call call, Closure use) {
    List statements = Ast.statements(call.body)
    if (!statements) look.add('empty', call.node, where, 'nothing', 'something in it')
    statements.each { statement ->
      Call one = Ast.call(statement)
      if (one == null) look.add('logic', statement, where, Ast.words(statement), "entries of ${where}")
      else use.call(one)
    }
  }

  private void provided(Call call) {
    String why = look.provides.refusal(call.name)
    if (why) look.add('unknown-step', call.node, call.name, why, 'something that a plugin in plugins.txt provides')
  }

  // --- Declarations ------------------------------------------------------------

  private void parameters(Call call) {
    look.parameters.clear()  // a block of them replaces those of the job
    each('parameters', call) { Call one ->
      Map signature = Signatures.PARAMETERS[one.name]
      if (signature == null) {
        look.add('unknown-section', one.node, 'parameters', one.name, "one of ${Signatures.PARAMETERS.keySet().join(', ')}")
        return
      }
      provided(one)
      blocks.checkArguments(one.name, one, signature)
      String name = Ast.literal(one.named.name)
      if (name == null) return
      if (look.parameters[name]) look.add('twice', one.node, 'parameters', "${name} twice", name)
      look.parameters[name] = [type: one.name, line: one.node.lineNumber]
    }
  }

  private void environment(Call call) {
    Ast.statements(call.body).each { statement ->
      def one = statement instanceof ExpressionStatement ? statement.expression : null
      boolean assigns = one instanceof BinaryExpression && one.operation.type == Types.ASSIGN && one.leftExpression instanceof VariableExpression
      if (!assigns) {
        look.add('logic', statement, 'environment', Ast.words(statement), 'NAME = value')
        return
      }
      look.variables << one.leftExpression.name
      values.kind(one.rightExpression)
    }
  }

  private void triggers(Call call) {
    each('triggers', call) { Call one ->
      provided(one)
      values.kinds(one)
    }
  }

  private Set<String> options(Call call, boolean ofStage) {
    Set<String> names = []
    each('options', call) { Call one ->
      Map signature = Signatures.OPTIONS[one.name]
      String why = look.provides.refusal(one.name)
      if (why || signature == null || ofStage && !signature.stage) {
        look.add('unknown-option', one.node, one.name, why ?: ofStage && signature ? 'an option of pipelines' : 'an option that tests/pipeline does not know',
          "an option of ${ofStage ? 'stages' : 'pipelines'}")
        return
      }
      if (!names.add(one.name)) look.add('twice', one.node, 'options', "${one.name} twice", one.name)
      look.early = true
      blocks.checkArguments(one.name, one, signature)
      look.early = false
      blocks.variablesOf(one)
    }
    names
  }

  private void agent(Call call) {
    if (call.body == null) {
      def kind = call.positional.size() == 1 ? call.positional[0] : null
      if (!(kind instanceof VariableExpression && kind.name in ['none', 'any'])) {
        look.add('agent', call.node, 'agent', kind ? Ast.words(kind) : 'nothing', 'none, any, { label ... } or { node { ... } }')
      }
      return
    }
    each('agent', call) { Call one ->
      if (one.name == 'node' && one.body) each('node', one) { Call inner -> agentWord(inner, ['label', 'customWorkspace']) }
      else agentWord(one, ['label'])
    }
  }

  private void agentWord(Call call, List<String> known) {
    if (!(call.name in known) || call.positional.size() != 1) {
      look.add('agent', call.node, 'agent', call.name, "one of ${known.join(', ')} with a value")
    } else if (values.kind(call.positional[0]).type != 'string') {
      look.add('agent', call.node, "agent ${call.name}", Ast.words(call.positional[0]), 'a string')
    }
  }

  // --- Stages ------------------------------------------------------------------

  private void stages(Call call) {
    each('stages', call) { Call one ->
      String name = one.positional.size() == 1 ? Ast.literal(one.positional[0]) : null
      if (one.name != 'stage' || name == null || one.body == null) {
        look.add('unknown-section', one.node, 'stages', one.name, "stage('NAME') { ... }")
        return
      }
      if (!look.stages.add(name)) look.add('duplicate-stage', one.node, "stage ${name}", 'another stage of this name', 'a name of its own')
      stage(name, one)
    }
  }

  private void stage(String name, Call call) {
    String where = "stage ${name}"
    Map<String, Call> sections = sections(where, call, OF_STAGE)
    List<String> content = CONTENT.findAll { sections[it] }
    if (content.size() != 1) {
      look.add('content', call.node, where, content.join(' and ') ?: 'none of them', "exactly one of ${CONTENT.join(', ')}")
    }
    content.findAll { it in ['parallel', 'matrix'] }.each {
      look.add('not-executed', sections[it].node, where, it, 'steps or stages: tests/pipeline executes nothing else')
    }
    if (sections.environment) environment(sections.environment)
    Set<String> options = sections.options ? this.options(sections.options, true) : [] as Set
    if (sections.agent) agent(sections.agent)
    if (sections.when) when(sections.when)
    if (sections.steps) {
      if (!('timeout' in options)) look.add('no-timeout', call.node, where, 'no timeout', 'options { timeout(...) }: a lab can hang')
      blocks.steps(where, sections.steps.node, sections.steps.body)
    }
    if (sections.stages) stages(sections.stages)
    if (sections.post) post(sections.post)
  }

  private void post(Call call) {
    Set<String> seen = []
    each('post', call) { Call one ->
      if (!(one.name in Conditions.ORDER)) {
        look.add('unknown-condition', one.node, 'post', one.name, "one of ${Conditions.ORDER.join(', ')}")
        return
      }
      provided(one)
      if (!seen.add(one.name)) look.add('twice', one.node, 'post', "${one.name} twice", one.name)
      blocks.steps(one.name, one.node, one.body)
    }
  }

  private void when(Call call) {
    each('when', call) { Call one ->
      switch (one.name) {
        case 'expression':
          List statements = one.body ? Ast.statements(one.body) : []
          if (statements.size() == 1 && statements[0].hasProperty('expression')) values.kind(statements[0].expression)
          else look.add('logic', one.node, 'expression', "${statements.size()} statements", 'params.NAME or env.NAME')
          break
        case 'environment':
          blocks.checkArguments('environment', one, [required: ['name', 'value'], args: [name: 'string', value: 'string']])
          break
        case 'beforeAgent':
          boolean said = one.positional.size() == 1 && one.positional[0] instanceof ConstantExpression && one.positional[0].value instanceof Boolean
          if (!said) look.add('argument', one.node, 'beforeAgent', 'something else', 'true or false')
          break
        case { it in OF_WHEN && one.body }:
          when(one)
          break
        default:
          look.add('unknown-condition', one.node, 'when', one.name, "one of ${OF_WHEN.join(', ')}")
      }
    }
  }
}
