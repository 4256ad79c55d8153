package leaselab

import java.util.regex.Pattern
import org.codehaus.groovy.ast.ASTNode
import org.codehaus.groovy.ast.expr.ClosureExpression
import org.codehaus.groovy.ast.expr.Expression
import org.codehaus.groovy.ast.expr.ListExpression

/** Blocks of steps: each is on the allow-list, has the right arguments, and hides no logic. */
class Blocks {
  static final Pattern COMMAND = ~/(scripts\/ci\/[a-z][a-z_-]*\.sh)( [a-z][a-z0-9-]*)?/
  private final Look look
  private final Values values

  Blocks(Look look) {
    this.look = look
    values = new Values(look)
  }

  /** A block of steps, and the blocks in it. */
  void steps(String where, ASTNode node, ClosureExpression block) {
    List statements = block ? Ast.statements(block) : []
    if (!statements) {
      look.add('empty', node, where, 'nothing', 'a step')
      return
    }
    statements.each { statement ->
      Call call = Ast.call(statement)
      if (call == null) look.add('logic', statement, where, Ast.words(statement), 'steps')
      else if (call.name == 'script') look.add('logic', statement, where, 'a script block', 'steps; logic belongs into scripts/ci')
      else step(call)
    }
  }

  private void step(Call call) {
    String why = look.provides.refusal(call.name)
    Map signature = Signatures.STEPS[call.name]
    if (why || signature == null) {
      look.add('unknown-step', call.node, call.name, why ?: 'a step that tests/pipeline does not know', 'a step of a plugin in plugins.txt')
      return
    }
    look.handingOn = call.name == 'build'
    checkArguments(call.name, call, signature)
    look.handingOn = false
    if (signature.body) {
      variablesOf(call)
      steps(call.name, call.node, call.body)
    } else if (call.body) {
      look.add('argument', call.node, call.name, 'a block', 'no block')
    }
    if (call.name == 'sh') command(call)
    if (call.name == 'build' && call.named.wait?.text != 'false') {
      look.add('waits', call.node, 'build', "wait ${call.named.wait?.text ?: 'left out, which means true'}",
        'wait: false; a build that waits for another keeps its bench')
    }
  }

  /** Hold a call to its signature. */
  void checkArguments(String what, Call call, Map signature) {
    Signatures.complaints(signature, values.kinds(call)).each { look.add('argument', call.node, what, it[0], it[1]) }
  }

  /** The variables that a step sets for its block. */
  void variablesOf(Call call) {
    String variable = Ast.literal(call.named.variable)
    if (call.name == 'lock' && variable) look.variables.addAll([variable, variable + '0'])
    if (call.name == 'withEnv') listed(call).each { look.variables << (Ast.literal(it) ?: it.text).tokenize('=')[0] }
    if (call.name == 'withCredentials') {
      listed(call).collect { Ast.call(it) }.findAll { it }.each { Call binding ->
        look.variables.addAll(binding.named.findAll { it.key.toLowerCase().endsWith('variable') }.collect { Ast.literal(it.value) })
      }
    }
  }

  private static List<Expression> listed(Call call) {
    call.positional && call.positional[0] instanceof ListExpression ? call.positional[0].expressions : []
  }

  private void command(Call call) {
    Set extra = call.named.keySet() - ['script', 'label']
    if (extra) look.add('sh-logic', call.node, 'sh', extra.join(', '), 'the command alone: what fails must fail the step')
    Expression script = call.named.script ?: (call.positional ? call.positional[0] : null)
    if (script == null) return
    String text = Ast.literal(script)
    def match = text == null ? null : COMMAND.matcher(text)
    if (!match?.matches()) {
      look.add('sh-logic', call.node, 'sh', text == null ? Ast.words(script) : "'${text.trim().readLines()[0]}'",
        "'scripts/ci/NAME.sh' or 'scripts/ci/NAME.sh WORD'")
      return
    }
    File file = new File(look.repository, match.group(1))
    if (!file.file) look.add('sh-missing', call.node, 'sh', "no file ${match.group(1)}", 'a script of this repository')
    else if (!file.canExecute()) look.add('sh-missing', call.node, 'sh', "${match.group(1)} is not executable", 'a script that can be executed')
  }
}
