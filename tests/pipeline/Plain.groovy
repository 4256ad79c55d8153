package leaselab

import org.codehaus.groovy.ast.ClassNode
import org.codehaus.groovy.ast.ClassCodeVisitorSupport
import org.codehaus.groovy.ast.expr.ConstantExpression
import org.codehaus.groovy.ast.expr.MethodCallExpression
import org.codehaus.groovy.classgen.GeneratorContext
import org.codehaus.groovy.control.CompilePhase
import org.codehaus.groovy.control.SourceUnit
import org.codehaus.groovy.control.customizers.CompilationCustomizer
import org.codehaus.groovy.runtime.DefaultGroovyMethods

/**
 * Groovy gives every closure methods such as print and sleep, which would be found before a step of that
 * name.  Calls of these names get a prefix while the file is compiled, and `of` takes it off again.
 */
class Plain extends CompilationCustomizer {
  private static final String PREFIX = 'step_of_the_file_'
  private static final Set<String> TAKEN =
    (DefaultGroovyMethods.methods.findAll { it.parameterTypes && it.parameterTypes[0] in [Object, Closure] }*.name + Closure.methods*.name) as Set

  Plain() { super(CompilePhase.CONVERSION) }

  /** The name that the file has. */
  static String of(String name) { name.startsWith(PREFIX) ? name.substring(PREFIX.size()) : name }

  void call(SourceUnit source, GeneratorContext context, ClassNode node) {
    new ClassCodeVisitorSupport() {
      protected SourceUnit getSourceUnit() { source }

      void visitMethodCallExpression(MethodCallExpression one) {
        if (one.implicitThis && one.methodAsString in TAKEN) one.method = new ConstantExpression(PREFIX + one.methodAsString)
        super.visitMethodCallExpression(one)
      }
    }.visitClass(node)
  }
}
