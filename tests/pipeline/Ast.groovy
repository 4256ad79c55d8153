package leaselab

import org.codehaus.groovy.ast.ASTNode
import org.codehaus.groovy.ast.expr.*
import org.codehaus.groovy.ast.stmt.*
import org.codehaus.groovy.syntax.Types

/** A call without an object, such as `sh 'x'` or `stage('y') { ... }`, with its arguments sorted out. */
class Call {
  final String name
  final ASTNode node
  final Map<String, Expression> named = [:]
  final List<Expression> positional = []
  ClosureExpression body

  Call(MethodCallExpression call) {
    node = call
    name = call.methodAsString
    ((TupleExpression) call.arguments).expressions.each { Expression one ->
      if (one instanceof MapExpression && !(one in positional) && isNamed(call, one)) {
        one.mapEntryExpressions.each { named[it.keyExpression.text] = it.valueExpression }
      } else if (one instanceof ClosureExpression) {
        body = one
      } else {
        positional << one
      }
    }
  }

  // f(a: 1) and f(a: 1) { } have a map of named arguments, f([a: 1]) has a map that stands in brackets.
  private static boolean isNamed(MethodCallExpression call, MapExpression map) {
    map instanceof NamedArgumentListExpression || call.arguments.expressions.size() > 1 && call.arguments.expressions[0].is(map)
  }
}

/** Looks at nodes of Groovy's syntax tree. */
class Ast {
  /** The statements of a block. */
  static List<Statement> statements(ClosureExpression closure) {
    closure.code instanceof BlockStatement ? closure.code.statements : [closure.code]
  }

  /** A statement as a call without an object, or null when it is something else. */
  static Call call(ASTNode node) {
    def expression = node instanceof ExpressionStatement || node instanceof ReturnStatement ? node.expression : node
    boolean plain = expression instanceof MethodCallExpression && expression.implicitThis &&
      expression.method instanceof ConstantExpression && !expression.safe && !expression.spreadSafe
    plain ? new Call(expression) : null
  }

  /** What a node is, for people. */
  static String words(ASTNode node) {
    def one = node instanceof ExpressionStatement ? node.expression : node
    switch (one) {
      case IfStatement: return 'if'
      case ForStatement: return 'for'
      case WhileStatement: return 'while'
      case SwitchStatement: return 'switch'
      case TryCatchStatement: return 'try'
      case ReturnStatement: return 'return'
      case ThrowStatement: return 'throw'
      case AssertStatement: return 'assert'
      case DeclarationExpression: return 'def'
      case ElvisOperatorExpression: return 'the operator ?:'
      case TernaryExpression: return 'the operator ? :'
      case BinaryExpression: return one.operation.type == Types.ASSIGN ? 'an assignment' : "the operator ${one.operation.text}"
      case NotExpression: return 'the operator !'
      case ClosureExpression: return 'a closure'
      case ConstructorCallExpression: return 'new'
      case MethodCallExpression: return one.implicitThis ? "a call of ${one.methodAsString}" : "a method call on ${one.objectExpression.text}"
      case PropertyExpression: return "the property ${one.text}"
      case VariableExpression: return "the name ${one.name}"
      case GStringExpression: return 'a string with values'
      case ConstantExpression: return "the value ${one.text}"
      default: return one.class.simpleName
    }
  }

  /** The text of a literal string, or null. */
  static String literal(ASTNode node) {
    node instanceof ConstantExpression && node.value instanceof String ? node.value : null
  }
}

/** Values in a Jenkinsfile: literals, lists, maps, known symbols, and reads of params and env; nothing that computes. */
class Values {
  private final Look look

  Values(Look look) { this.look = look }

  /** The kind of a value, as Signatures wants it; whatever is no plain value is complained about. */
  Map kind(Expression value) {
    switch (value) {
      case GStringExpression:
        value.values.each { kind(it) }
        return [type: 'string']
      case ConstantExpression:
        return value.value == null ? [type: 'null'] : Signatures.kind(value.value)
      case ListExpression:
        return [type: 'list', items: value.expressions.collect { kind(it) }]
      case MapExpression:
        return [type: 'map', args: value.mapEntryExpressions.collectEntries { [it.keyExpression.text, kind(it.valueExpression)] }]
      case PropertyExpression:
        if (value.objectExpression instanceof VariableExpression && value.objectExpression.name in ['params', 'env'] && !value.spreadSafe) {
          return property(value)
        }
        break
      case VariableExpression:
        if (value.name == 'scm') return [type: 'symbol', name: 'scm', args: [:]]
        break
      case MethodCallExpression:
        Call call = Ast.call(value)
        if (call && Signatures.SYMBOLS.containsKey(call.name)) return symbol(call)
        break
    }
    look.add('logic', value, 'a value', Ast.words(value), 'a literal, a list, a map, params.NAME or env.NAME')
    [type: 'any']
  }

  private Map property(PropertyExpression value) {
    String of = value.objectExpression.name, name = value.propertyAsString
    look.read(value, of, name)
    of == 'params' && look.parameters[name]?.type == 'booleanParam' ? [type: 'bool'] : [type: 'string']
  }

  private Map symbol(Call call) {
    String why = look.provides.refusal(call.name)
    if (why) look.add('unknown-step', call.node, call.name, why, 'a symbol of a plugin in plugins.txt')
    [type: 'symbol', name: call.name, args: kinds(call)]
  }

  /** {argument: kind} of a call; those without a name are one, under ''. */
  Map<String, Object> kinds(Call call) {
    Map<String, Object> all = call.named.collectEntries { name, value -> [name, kind(value)] }
    List positional = call.positional.collect { kind(it) }
    if (positional) all[''] = positional.size() == 1 ? positional[0] : [type: 'list', items: positional]
    all
  }
}
