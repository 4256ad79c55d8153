package leaselab

import groovy.json.JsonSlurper
import org.codehaus.groovy.control.CompilationFailedException
import org.codehaus.groovy.control.CompilerConfiguration

/** The command line: `run` executes a Jenkinsfile, `lint` looks at some. */
class Main {
  static final Map<String, Integer> EXIT = [SUCCESS: 0, UNSTABLE: 10, FAILURE: 11, NOT_BUILT: 12, ABORTED: 13]

  static void main(String... words) {
    if (words && words[0] == 'run') System.exit(run(words.drop(1) as List))
    if (words && words[0] == 'lint') System.exit(Lint.main(words.drop(1) as List))
    System.err.println('usage: run OPTIONS | lint OPTIONS FILE...')
    System.exit(2)
  }

  private static int run(List<String> words) {
    Map options = options(words)
    Build build = new Build(options)
    listen(build)
    execute(build, options)
    build.finish()
    build.log.line("Finished: ${build.outcome}")
    println "${options.job} #${options.number}: ${build.outcome}"
    EXIT[build.outcome]
  }

  private static void execute(Build build, Map options) {
    Provides provides = new Provides((Map) new JsonSlurper().parse(new File(options.provides), 'UTF-8'))
    Processes processes = new Processes(build)
    Checkout checkouts = new Checkout(build, processes)
    Steps steps = new Steps(build, provides, processes, new Resources(build), checkouts)
    try {
      Pipeline pipeline = read(build, provides, new File(options.jenkinsfile), options.params)
      new Interpreter(build, provides, pipeline, steps, processes, checkouts).run()
    } catch (StepFailure | CompilationFailedException | GroovyRuntimeException error) {
      build.mark('FAILURE')
      build.log.line("ERROR: ${error.message}")
    }
  }

  /** Read a Jenkinsfile.  The first run of it finds the parameters alone. */
  private static Pipeline read(Build build, Provides provides, File file, Map given) {
    CompilerConfiguration configuration = new CompilerConfiguration()
    configuration.addCompilationCustomizers(new Plain())
    Class script = new GroovyClassLoader(Main.classLoader, configuration).parseClass(new GroovyCodeSource(file.text, 'Jenkinsfile.groovy', '/leaselab'))
    Declared declared = new Declared(build, provides)
    runOn(script, declared)
    // Those that the job declares are replaced by those of the file, when it has some.
    Map defaults = declared.defaults ?: build.options.declared
    Set unknown = given.keySet() - defaults.keySet()
    // Jenkins drops them with a line in the controller's log, which nobody reads.
    if (unknown) throw new ModelError("no such parameter: ${unknown.join(', ')}; there are ${defaults.keySet().join(', ')}")
    build.parameters = defaults.collectEntries { name, value ->
      [name, !given.containsKey(name) ? value : value instanceof Boolean ? given[name].toBoolean() : given[name]]
    }
    Pipeline pipeline = new Pipeline(build, provides)
    runOn(script, pipeline)
    if (!pipeline.stages) throw new ModelError('the pipeline has no stages')
    if (pipeline.agent == null) throw new ModelError('the pipeline has no agent')
    pipeline
  }

  private static void runOn(Class script, Section section) {
    int seen = 0
    Script instance = (Script) script.newInstance()
    instance.metaClass.pipeline = { Closure block ->
      if (++seen > 1) throw new ModelError('there are two pipelines')
      section.fill(block)
    }
    instance.run()
    if (seen == 0) throw new ModelError('there is no pipeline')
  }

  /** SIGTERM and SIGINT are what a person's click on the red square is in Jenkins. */
  private static void listen(Build build) {
    ['TERM', 'INT'].each { String name ->
      sun.misc.Signal.handle(new sun.misc.Signal(name), { signal ->
        build.executionResult = 'ABORTED'
        build.log.line("Aborted by SIG${name}")
        build.interrupts.raise(new Interruption('Aborted'))
      } as sun.misc.SignalHandler)
    }
  }

  private static Map options(List<String> words) {
    Map found = [params: [:], declared: [:], labels: [], jobs: [], grace: 20, timeoutGrace: 60, credentials: [:], number: '1', job: 'job']
    for (Iterator<String> each = words.iterator(); each.hasNext();) {
      String name = each.next()
      String value = each.hasNext() ? each.next() : null
      if (value == null) throw new IllegalArgumentException("${name} needs a value")
      switch (name) {
        case '--param': found.params.putAll([value.split('=', 2) as List].collectEntries { it }); break
        case '--label': found.labels << value; break
        case '--known-job': found.jobs << value; break
        case '--grace-s': found.grace = value as BigDecimal; break
        case '--timeout-grace-s': found.timeoutGrace = value as BigDecimal; break
        case '--parameters': found.declared = (Map) new JsonSlurper().parse(new File(value), 'UTF-8'); break
        case '--credentials': found.credentials = (Map) new JsonSlurper().parse(new File(value), 'UTF-8'); break
        case { it in ['--jenkinsfile', '--repository', '--revision', '--workspaces', '--build', '--number', '--job',
          '--resources', '--provides', '--url'] }: found[name.substring(2)] = value; break
        default: throw new IllegalArgumentException("unknown option ${name}")
      }
    }
    List<String> missing = ['jenkinsfile', 'repository', 'revision', 'workspaces', 'build', 'resources', 'provides'] - found.keySet()
    if (missing) throw new IllegalArgumentException("missing: ${missing.collect { '--' + it }.join(', ')}")
    found.jobs << found.job
    found
  }
}
