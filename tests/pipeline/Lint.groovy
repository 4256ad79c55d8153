package leaselab

import groovy.json.JsonOutput
import groovy.json.JsonSlurper
import org.codehaus.groovy.ast.ASTNode
import org.codehaus.groovy.ast.ModuleNode
import org.codehaus.groovy.control.CompilationUnit
import org.codehaus.groovy.control.MultipleCompilationErrorsException
import org.codehaus.groovy.control.Phases

/** The linter's command line: `lint --repository ROOT --provides FILE [--parameters FILE] [--json] FILE...`; 1 when something was found. */
class Lint {
  static int main(List<String> words) {
    Map<String, String> settings = [:]
    List<String> files = []
    boolean json = false
    for (Iterator<String> each = words.iterator(); each.hasNext();) {
      String word = each.next()
      if (word == '--json') json = true
      else if (word in ['--repository', '--provides', '--parameters']) settings[word] = each.next()
      else files << word
    }
    if (!settings['--repository'] || !settings['--provides'] || !files) throw new IllegalArgumentException('lint --repository ROOT --provides FILE [--json] FILE...')
    Provides provides = new Provides((Map) new JsonSlurper().parse(new File(settings['--provides']), 'UTF-8'))
    // {file: {parameter: default}} of the parameters that jobs declare
    Map declared = settings['--parameters'] ? (Map) new JsonSlurper().parse(new File(settings['--parameters']), 'UTF-8') : [:]
    List<Map> findings = files.collectMany { new Look(it, new File(settings['--repository']), provides, declared[it] ?: [:]).findings() }
    println json ? JsonOutput.toJson(findings) : findings.collect {
      "${it.file}:${it.line}: ${it.what}: found ${it.found}, wanted ${it.wanted}"
    }.join('\n')
    findings ? 1 : 0
  }
}

/** One look at one file: what is found, what is declared and what is used. */
class Look {
  static final int MOST_LINES = 100
  final File repository
  final Provides provides
  /** {parameter: {type, line}} */
  final Map<String, Map> parameters = [:]
  /** Variables that the file sets: by environment, lock, withEnv and withCredentials. */
  final Set<String> variables = []
  final Set<String> stages = []
  private final List<Map> reads = []
  private final Set<String> used = []
  private final String name
  private final List<Map> found = []
  /** Inside `build`: a parameter that is only handed on is not used. */
  boolean handingOn
  /** Inside `options`, which are evaluated before anything runs: what the pipeline sets is not set yet. */
  boolean early

  Look(String name, File repository, Provides provides, Map<String, Object> declared) {
    this.name = name
    declared.each { parameter, value -> parameters[parameter] = [type: value instanceof Boolean ? 'booleanParam' : 'string', line: 1] }
    this.repository = repository
    this.provides = provides
  }

  List<Map> findings() {
    String text = new File(name).getText('UTF-8')
    int lines = text.readLines().size()
    if (lines > MOST_LINES) add('too-long', lines, 'the file', "${lines} lines", "at most ${MOST_LINES}")
    ModuleNode module = parsed(text)
    if (module) {
      new Grammar(this).file(module)
      checkNames()
    }
    found.sort { it.line }
  }

  void add(String rule, Object where, String what, Object wasFound, Object wanted) {
    int line = where instanceof ASTNode ? where.lineNumber : where as int
    found << [file: name, line: line, rule: rule, what: what, found: wasFound.toString(), wanted: wanted.toString()]
  }

  private ModuleNode parsed(String text) {
    CompilationUnit unit = new CompilationUnit()
    def source = unit.addSource('Jenkinsfile.groovy', text)
    try {
      unit.compile(Phases.CONVERSION)
      return source.AST
    } catch (MultipleCompilationErrorsException errors) {
      def first = errors.errorCollector.errors[0].cause
      add('syntax', first.line, 'syntax', first.originalMessage, 'what Groovy 2.4 can parse')
      return null
    }
  }

  // --- Names -------------------------------------------------------------------

  /** The file reads params.NAME or env.NAME. */
  void read(ASTNode where, String of, String what) {
    reads << [where: where, of: of, name: what, early: early]
    if (!handingOn) used << what
  }

  private void checkNames() {
    reads.each {
      if (it.early && it.of == 'env' && it.name in variables) {
        add('too-early', it.where, "env.${it.name}", 'a variable that is set later', 'params.NAME: options are evaluated before the build begins')
      }
      if (it.of == 'params' && !parameters.containsKey(it.name)) {
        add('undeclared-parameter', it.where, "params.${it.name}", 'no such parameter', "one of ${parameters.keySet().join(', ') ?: 'none'}")
      }
      if (it.of == 'env' && !(it.name in variables) && !parameters.containsKey(it.name) && !(it.name in OF_JENKINS)) {
        add('undeclared-variable', it.where, "env.${it.name}", 'nobody sets it', 'a variable of Jenkins, of environment, lock or withEnv')
      }
    }
    String scripts = (new File(repository, 'scripts/ci').listFiles() ?: []).findAll { it.name.endsWith('.sh') }*.text.join('\n')
    parameters.each { String parameter, Map declared ->
      if (!(parameter in used) && !(scripts =~ /\$\{?#?${parameter}\b/)) {
        add('unused-parameter', declared.line, "parameter ${parameter}", 'nobody uses it',
          "params.${parameter} in the file, or \$${parameter} in a script of scripts/ci")
      }
    }
  }

  static final Set<String> OF_JENKINS = ['BUILD_NUMBER', 'BUILD_ID', 'BUILD_URL', 'BUILD_TAG', 'BUILD_DISPLAY_NAME', 'JOB_NAME',
    'JOB_BASE_NAME', 'JOB_URL', 'JENKINS_URL', 'NODE_NAME', 'NODE_LABELS', 'EXECUTOR_NUMBER', 'WORKSPACE', 'WORKSPACE_TMP', 'STAGE_NAME',
    'GIT_COMMIT', 'GIT_BRANCH', 'GIT_URL', 'CI'] as Set
}
