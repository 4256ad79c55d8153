package leaselab

import java.util.concurrent.TimeUnit

/** The steps: what a block of steps calls.  Each call is checked, recorded and carried out. */
class Steps extends Section {
  private final Processes processes
  private final Resources resources
  private final Publishers publishers
  private final Checkout checkouts
  private final Timer timer = new Timer(true)

  Steps(Build build, Provides provides, Processes processes, Resources resources, Checkout checkouts) {
    super(build, provides)
    this.processes = processes
    this.resources = resources
    this.checkouts = checkouts
    publishers = new Publishers(build)
  }

  def methodMissing(String called, args) {
    String name = Plain.of(called)
    List values = args as List
    if (!Signatures.STEPS.containsKey(name) && Signatures.SYMBOLS.containsKey(name)) return symbol(name, values)
    allowed('step', name)
    Map signature = Signatures.STEPS[name]
    if (signature == null) throw new ModelError("No such DSL method '${name}' here: tests/pipeline does not know the step")
    Closure body = (Closure) values.find { it instanceof Closure }
    if (signature.body && body == null) throw new ModelError("${name}: there must be a block of steps")
    if (!signature.body && body != null) throw new ModelError("${name}: takes no block")
    call(name, arguments(name, signature, values), body)
  }

  /** Carry out a step; the wrapping options of stages come here, too. */
  def call(String name, Map settings, Closure body) {
    Closure block = body == null ? null : { -> fill(body) }
    build.interrupts.check()
    build.step(name, settings.collectEntries { key, value -> [key, shown(value)] }) { Map entry -> "do_${name}"(settings, block, entry) }
  }

  private Object shown(Object value) {
    if (value instanceof Symbol) return [symbol: value.name] + value.args.collectEntries { k, v -> [k, shown(v)] }
    if (value instanceof List) return value.collect { shown(it) }
    if (value instanceof Map) return value.collectEntries { k, v -> [k, shown(v)] }
    value instanceof CharSequence ? build.log.mask(value.toString()) : value
  }

  // --- Commands ----------------------------------------------------------------

  private def do_sh(Map settings, Closure block, Map entry) {
    File workspace = build.needWorkspace('sh')
    File place = new File("${build.variable('WORKSPACE')}@tmp")
    place.mkdirs()
    File script = File.createTempFile('script', '.sh', place)
    script.setText(settings.script.toString(), 'UTF-8')
    try {
      List<String> said = []
      List<String> argv = settings.script.startsWith('#!') ? [script.path] : ['sh', '-xe', script.path]
      script.executable = true
      int exit = processes.run(argv, workspace, [:], settings.returnStdout ? { said << it } : null)
      entry.exit = exit
      if (settings.returnStatus) return exit
      if (exit != 0) throw new StepFailure("script returned exit code ${exit}")
      return settings.returnStdout ? said.join('\n') + '\n' : null
    } finally {
      script.delete()
    }
  }

  private def do_checkout(Map settings, Closure block, Map entry) {
    File folder = build.needWorkspace('checkout')
    if (settings.scm.name == 'scm') checkouts.own(folder)
    else checkouts.described(settings.scm.args, folder)
  }

  private def do_dir(Map settings, Closure block, Map entry) {
    File place = new File(build.needWorkspace('dir'), settings.path)
    place.mkdirs()
    build.inWorkspace(place, block)
  }

  private def do_deleteDir(Map settings, Closure block, Map entry) { build.needWorkspace('deleteDir').deleteDir() }

  private def do_withEnv(Map settings, Closure block, Map entry) {
    build.withVariables(settings.overrides.collectEntries { it.toString().split('=', 2) as List }, block)
  }

  private def do_withCredentials(Map settings, Closure block, Map entry) {
    Map<String, String> bound = [:]
    List<String> secrets = []
    settings.bindings.each { Symbol binding ->
      Map known = build.options.credentials[binding.args.credentialsId]
      if (known == null) throw new StepFailure("Could not find credentials entry with ID '${binding.args.credentialsId}'")
      if (binding.name == 'string') {
        bound[binding.args.variable] = known.secret
        secrets << known.secret
      } else {
        bound[binding.args.usernameVariable] = known.username
        bound[binding.args.passwordVariable] = known.password
        secrets << known.password
      }
    }
    build.log.hiding(secrets) { build.withVariables(bound, block) }
  }

  // --- Errors and results ------------------------------------------------------

  private def do_echo(Map settings, Closure block, Map entry) { build.log.line(settings.message) }

  private def do_error(Map settings, Closure block, Map entry) { throw new StepFailure(settings.message.toString()) }

  private def do_unstable(Map settings, Closure block, Map entry) {
    build.log.line("WARNING: ${settings.message}")
    build.mark('UNSTABLE')
    build.markStage('UNSTABLE')
  }

  private def do_warnError(Map settings, Closure block, Map entry) {
    catching(settings.message, 'UNSTABLE', 'UNSTABLE', settings.catchInterruptions, block)
  }

  private def do_catchError(Map settings, Closure block, Map entry) {
    catching(settings.message, settings.buildResult ?: 'FAILURE', settings.stageResult ?: 'SUCCESS', settings.catchInterruptions, block)
  }

  private void catching(Object message, String ofBuild, String ofStage, Object interruptions, Closure block) {
    try {
      block.call()
    } catch (ModelError error) {
      throw error  // Jenkins would catch it; what cannot be run at all is not to be hidden
    } catch (StepFailure | Interruption error) {
      boolean interrupted = error instanceof Interruption
      if (interrupted && interruptions == false) throw error
      if (message) build.log.line("ERROR: ${message}")
      build.log.line("ERROR: ${error.message}")
      String forBuild = interrupted ? error.result : ofBuild, forStage = interrupted ? error.result : ofStage
      if (forBuild != 'SUCCESS') build.mark(forBuild)
      if (forStage != 'SUCCESS') build.markStage(forStage)
    }
  }

  // --- Time and locks ----------------------------------------------------------

  private def do_timestamps(Map settings, Closure block, Map entry) {
    boolean before = build.log.timestamps
    build.log.timestamps = true
    try {
      block.call()
    } finally {
      build.log.timestamps = before
    }
  }

  private def do_sleep(Map settings, Closure block, Map entry) {
    long until = System.currentTimeMillis() + milliseconds(settings.time, settings.unit ?: 'SECONDS')
    while (System.currentTimeMillis() < until) build.interrupts.pause(Math.max(1, until - System.currentTimeMillis()))
  }

  private def do_retry(Map settings, Closure block, Map entry) {
    for (int left = settings.count - 1; ; left--) {
      try {
        return block.call()
      } catch (StepFailure error) {
        if (left < 1 || error instanceof ModelError) throw error
        build.log.line("ERROR: ${error.message}")
        build.log.line('Retrying')
      }
    }
  }

  private def do_timeout(Map settings, Closure block, Map entry) {
    if (settings.activity) throw new ModelError('timeout: activity is not done here')
    long limit = milliseconds(settings.time, settings.unit ?: 'MINUTES')
    Object owner = new Object()
    // Whoever goes on after the first time (post conditions do) is interrupted once more, after a minute.
    List<TimerTask> tasks = [limit, limit + (long) (build.options.timeoutGrace * 1000)].collect { long after ->
      TimerTask task = { ->
        build.log.line('Cancelling nested steps due to timeout')
        build.interrupts.raise(new Interruption('Timeout has been exceeded', owner))
      } as TimerTask
      timer.schedule(task, after)
      task
    }
    build.log.line("Timeout set to expire in ${limit / 1000} s")
    try {
      block.call()
    } finally {
      tasks*.cancel()
      build.interrupts.forget(owner)
    }
  }

  private static long milliseconds(Object time, String unit) { TimeUnit.valueOf(unit).toMillis(time as long) }

  private def do_lock(Map settings, Closure block, Map entry) { resources.holding(settings, block) }

  private def do_updateLock(Map settings, Closure block, Map entry) {
    resources.update(settings.collectEntries { key, value -> [key, value?.toString()] })
  }

  // --- Other jobs, and what is kept --------------------------------------------

  private def do_build(Map settings, Closure block, Map entry) {
    if (settings.wait != false) throw new ModelError('build: only wait: false is done here')
    String job = jobNamed(settings.job.toString())
    if (!(job in build.options.jobs)) throw new StepFailure("No item named ${settings.job} found")
    Map parameters = (settings.parameters ?: []).collectEntries { Symbol one -> [one.args.name.toString(), one.args.value.toString()] }
    build.record.requested << [job: job, parameters: parameters]
    build.log.line("Scheduling project: ${job}")
  }

  /** Names are as those of files: from the folder of this job, or with a slash in front from the top. */
  private String jobNamed(String name) {
    String own = build.options.job
    new URI('/' + own).resolve(name).normalize().path.substring(1)
  }

  private def do_junit(Map settings, Closure block, Map entry) { publishers.junit(build.needWorkspace('junit'), settings) }

  private def do_publishHTML(Map settings, Closure block, Map entry) { publishers.html(build.needWorkspace('publishHTML'), settings.target) }

  private def do_plot(Map settings, Closure block, Map entry) { publishers.plot(build.needWorkspace('plot'), settings) }

  private def do_archiveArtifacts(Map settings, Closure block, Map entry) {
    publishers.archive(build.needWorkspace('archiveArtifacts'), settings)
  }
}
