package leaselab

import groovy.json.JsonOutput
import groovy.json.JsonSlurper

/** One build: its parameters, environment, workspace and result, and the record of all that happened. */
class Build {
  final Map options
  final File folder
  final Log log
  final Interrupts interrupts = new Interrupts()
  final Map<String, Object> params = [:]
  final Map record
  String result
  String executionResult = 'SUCCESS'
  File workspace
  int openings
  private final List<Map<String, String>> scopes = [[:]]
  private final List<Map> openStages = []
  private final long began = System.currentTimeMillis()

  Build(Map options) {
    this.options = options
    folder = new File(options.build).absoluteFile
    folder.mkdirs()
    log = new Log(new File(folder, 'log'))
    record = [job: options.job, number: options.number, result: null, seconds: null, parameters: params,
      stages: [], steps: [], locks: [], posts: [], requested: [], plots: [], tests: null, artifacts: [], reports: []]
    scopes[0].putAll(ownVariables())
  }

  /** The variables that Jenkins sets in every build. */
  private Map<String, String> ownVariables() {
    String job = options.job, number = options.number, url = options.url ?: 'http://jenkins.example/'
    [JENKINS_URL: url, JOB_NAME: job, JOB_BASE_NAME: job.tokenize('/').last(), JOB_URL: "${url}job/${job}/".toString(),
      BUILD_NUMBER: number, BUILD_ID: number, BUILD_DISPLAY_NAME: "#${number}".toString(),
      BUILD_TAG: "jenkins-${job.replace('/', '-')}-${number}".toString(),
      BUILD_URL: "${url}job/${job}/${number}/".toString(), CI: 'true', HUDSON_URL: url]
  }

  /** Make the result worse; nothing makes it better. */
  void mark(String what) {
    result = result == null ? what : Results.worst(result, what)
  }

  /** The result as a reader sees it: nothing marked is success. */
  String getOutcome() { result ?: 'SUCCESS' }

  // --- The environment ---------------------------------------------------------

  /** One variable, or null: what `env.NAME` reads. */
  String variable(String name) {
    for (scope in scopes.reverse()) if (scope.containsKey(name)) return scope[name]
    System.getenv(name)
  }

  /** All that the pipeline sets, without what the agent's machine has already. */
  Map<String, String> variables() { scopes.inject([:]) { Map all, Map scope -> all + scope } }

  def withVariables(Map<String, String> more, Closure body) {
    scopes << more.collectEntries { key, value -> [key.toString(), value == null ? 'null' : value.toString()] }
    try {
      body.call()
    } finally {
      scopes.remove(scopes.size() - 1)
    }
  }

  /** The parameters are variables, too. */
  void setParameters(Map<String, Object> values) {
    params.putAll(values)
    values.each { name, value -> scopes[0][name] = value.toString() }
  }

  def inWorkspace(File place, Closure body) {
    File before = workspace
    workspace = place
    try {
      withVariables([WORKSPACE: onAgentPath(before, place)], body)
    } finally {
      workspace = before
    }
  }

  // `dir` changes the folder that steps work in, never WORKSPACE.
  private String onAgentPath(File before, File place) { before == null ? place.path : variable('WORKSPACE') }

  File needWorkspace(String step) {
    if (workspace == null) {
      throw new StepFailure("${step} needs an agent: attempted to execute a step that requires a node context while 'agent none' was specified")
    }
    workspace
  }

  // --- The record --------------------------------------------------------------

  /** Open a stage of this name, run the body, and note how it ended. */
  def stage(String name, Closure body) {
    Map entry = [name: name, parent: openStages ? openStages.last().name : null, status: 'SUCCESS', skipped: null, seconds: null]
    record.stages << entry
    openStages << entry
    long start = System.currentTimeMillis()
    log.line("[stage] ${name}")
    try {
      withVariables([STAGE_NAME: name]) { body.call(entry) }
    } catch (Throwable error) {
      entry.status = Results.worst(entry.status, Results.ofError(error))
      throw error
    } finally {
      entry.seconds = secondsSince(start)
      openStages.remove(openStages.size() - 1)
      if (openStages) openStages.last().status = Results.worst(openStages.last().status, entry.status)
      save()
    }
  }

  /** What a step does to the stages it is in: unstable, failed, ... */
  void markStage(String status) {
    if (openStages) openStages.last().status = Results.worst(openStages.last().status, status)
  }

  /** Note a step: its arguments, how long it took, how it ended. */
  def step(String name, Map settings, Closure body) {
    Map entry = [step: name, stage: openStages ? openStages.last().name : null, settings: settings, seconds: null, error: null]
    record.steps << entry
    long start = System.currentTimeMillis()
    try {
      body.call(entry)
    } catch (Throwable error) {
      entry.error = log.mask(error.message ?: error.class.simpleName)
      throw error
    } finally {
      entry.seconds = secondsSince(start)
      save()
    }
  }

  static BigDecimal secondsSince(long start) { (System.currentTimeMillis() - start) / 1000.0 }

  /** Write the record; a reader meanwhile sees the old one or the new one. */
  void save() {
    File next = new File(folder, 'build.json.next')
    next.setText(log.mask(JsonOutput.toJson(record)), 'UTF-8')
    next.renameTo(new File(folder, 'build.json'))
  }

  void finish() {
    record.result = outcome
    record.seconds = secondsSince(began)
    save()
  }

  /** The result of the last completed build of this job beside this one, or null. */
  String previousResult() {
    if (!folder.name.isInteger()) return null
    List<File> earlier = (folder.parentFile.listFiles() ?: []).findAll {
      it.name.isInteger() && it.name.toInteger() < folder.name.toInteger() && new File(it, 'build.json').exists()
    }.sort { -it.name.toInteger() }
    earlier.findResult { new JsonSlurper().parse(new File(it, 'build.json'), 'UTF-8').result }
  }
}
