package leaselab

/**
 * The arguments of steps, options and symbols, as the plugins' data binding takes them.  The linter holds
 * the file to this table, the executor holds each call to it.
 *
 * A signature: `args` {name: type}, `required` [names], `first` the one that may stand without a name,
 * `body` whether a block of steps follows.  Types: string, int, bool, result, unit, map, list, symbol:NAME|NAME and
 * list:NAME|NAME (a list of such symbols).
 */
class Signatures {
  static final List<String> UNITS = ['NANOSECONDS', 'MICROSECONDS', 'MILLISECONDS', 'SECONDS', 'MINUTES', 'HOURS', 'DAYS']
  static final List<String> VALUES = ['string', 'booleanParam', 'text', 'choice', 'password']

  private static final Map LOCK = [first: 'resource', body: true,
    args: [resource: 'string', label: 'string', quantity: 'int', variable: 'string'], oneOf: ['resource', 'label']]
  private static final Map TIMEOUT = [first: 'time', body: true, required: ['time'],
    args: [time: 'int', unit: 'unit', activity: 'bool']]
  private static final Map RETRY = [first: 'count', body: true, required: ['count'], args: [count: 'int']]

  static final Map<String, Map> STEPS = [
    sh: [first: 'script', required: ['script'],
      args: [script: 'string', label: 'string', returnStatus: 'bool', returnStdout: 'bool', encoding: 'string']],
    echo: [first: 'message', required: ['message'], args: [message: 'string']],
    error: [first: 'message', required: ['message'], args: [message: 'string']],
    unstable: [first: 'message', required: ['message'], args: [message: 'string']],
    sleep: [first: 'time', required: ['time'], args: [time: 'int', unit: 'unit']],
    warnError: [first: 'message', body: true, required: ['message'], args: [message: 'string', catchInterruptions: 'bool']],
    catchError: [body: true,
      args: [message: 'string', buildResult: 'result', stageResult: 'result', catchInterruptions: 'bool']],
    timeout: TIMEOUT,
    retry: RETRY,
    lock: LOCK,
    timestamps: [body: true, args: [:]],
    dir: [first: 'path', body: true, required: ['path'], args: [path: 'string']],
    withEnv: [first: 'overrides', body: true, required: ['overrides'], args: [overrides: 'list']],
    withCredentials: [first: 'bindings', body: true, required: ['bindings'],
      args: [bindings: 'list:string|usernamePassword']],
    deleteDir: [args: [:]],
    checkout: [first: 'scm', required: ['scm'], args: [scm: 'symbol:scmGit|scm', poll: 'bool', changelog: 'bool']],
    updateLock: [required: ['resource'],
      args: [resource: 'string', addLabels: 'string', removeLabels: 'string', setLabels: 'string', setNote: 'string']],
    build: [first: 'job', required: ['job'],
      args: [job: 'string', wait: 'bool', propagate: 'bool', quietPeriod: 'int', parameters: 'list:' + VALUES.join('|')]],
    junit: [first: 'testResults', required: ['testResults'],
      args: [testResults: 'string', allowEmptyResults: 'bool', skipMarkingBuildUnstable: 'bool', skipPublishingChecks: 'bool',
        keepLongStdio: 'bool', healthScaleFactor: 'int', skipOldReports: 'bool']],
    publishHTML: [first: 'target', required: ['target'], args: [target: 'map:publishHTML']],
    plot: [required: ['csvFileName', 'group', 'style'],
      args: [csvFileName: 'string', group: 'string', title: 'string', style: 'string', yaxis: 'string', numBuilds: 'string',
        description: 'string', useDescr: 'bool', exclZero: 'bool', logarithmic: 'bool', keepRecords: 'bool',
        yaxisMinimum: 'string', yaxisMaximum: 'string', csvSeries: 'list:csvSeries']],
    archiveArtifacts: [first: 'artifacts', required: ['artifacts'],
      args: [artifacts: 'string', excludes: 'string', allowEmptyArchive: 'bool', fingerprint: 'bool', onlyIfSuccessful: 'bool',
        followSymlinks: 'bool', defaultExcludes: 'bool', caseSensitive: 'bool']],
  ]

  /** Options; `stage` says that a stage may have it, too. Those with a body wrap what they stand for. */
  static final Map<String, Map> OPTIONS = [
    skipStagesAfterUnstable: [args: [:]],
    timestamps: [args: [:], body: true, stage: true],
    buildDiscarder: [first: 'strategy', required: ['strategy'], args: [strategy: 'symbol:logRotator']],
    disableConcurrentBuilds: [args: [abortPrevious: 'bool']],
    disableResume: [args: [:]],
    preserveStashes: [args: [buildCount: 'int']],
    skipDefaultCheckout: [first: 'skipDefaultCheckout', args: [skipDefaultCheckout: 'bool'], stage: true],
    quietPeriod: [first: 'quietPeriod', required: ['quietPeriod'], args: [quietPeriod: 'int']],
    timeout: TIMEOUT + [stage: true],
    retry: RETRY + [stage: true],
    lock: LOCK + [stage: true],
  ]

  /** What stands for a value: nested calls such as scmGit(...), and maps of a known shape. */
  static final Map<String, Map> SYMBOLS = [
    logRotator: [args: [daysToKeepStr: 'string', numToKeepStr: 'string', artifactDaysToKeepStr: 'string',
      artifactNumToKeepStr: 'string']],
    scmGit: [required: ['branches', 'userRemoteConfigs'],
      args: [branches: 'list:branch', extensions: 'list:extension', userRemoteConfigs: 'list:remote',
        doGenerateSubmoduleConfigurations: 'bool', browser: 'map', gitTool: 'string']],
    // The name scm, without a call: the pipeline's own repository.
    scm: [args: [:]],
    branch: [required: ['name'], args: [name: 'string']],
    remote: [required: ['url'], args: [url: 'string', credentialsId: 'string', name: 'string', refspec: 'string']],
    extension: [required: ['$class', 'relativeTargetDir'], args: ['$class': 'string', relativeTargetDir: 'string']],
    csvSeries: [required: ['file'],
      args: [file: 'string', inclusionFlag: 'string', exclusionValues: 'string', displayTableFlag: 'bool', url: 'string',
        label: 'string']],
    publishHTML: [required: ['reportName', 'reportDir', 'reportFiles'],
      args: [reportName: 'string', reportDir: 'string', reportFiles: 'string', keepAll: 'bool', allowMissing: 'bool',
        alwaysLinkToLastBuild: 'bool', escapeUnderscores: 'bool', reportTitles: 'string', includes: 'string',
        icon: 'string']],
    string: [required: ['name', 'value'], args: [name: 'string', value: 'string']],
    booleanParam: [required: ['name', 'value'], args: [name: 'string', value: 'bool']],
    text: [required: ['name', 'value'], args: [name: 'string', value: 'string']],
    choice: [required: ['name', 'value'], args: [name: 'string', value: 'string']],
    password: [required: ['name', 'value'], args: [name: 'string', value: 'string']],
    usernamePassword: [required: ['credentialsId', 'usernameVariable', 'passwordVariable'],
      args: [credentialsId: 'string', usernameVariable: 'string', passwordVariable: 'string']],
    secret: [required: ['credentialsId', 'variable'], args: [credentialsId: 'string', variable: 'string']],
  ]

  /** Parameters that a pipeline may declare: the type of their default, and whether they need one. */
  static final Map<String, Map> PARAMETERS = [
    string: [args: [name: 'string', defaultValue: 'string', description: 'string', trim: 'bool']],
    text: [args: [name: 'string', defaultValue: 'string', description: 'string']],
    booleanParam: [args: [name: 'string', defaultValue: 'bool', description: 'string']],
    choice: [args: [name: 'string', choices: 'list', description: 'string']],
  ].collectEntries { name, signature -> [name, signature + [required: signature.args.keySet() - 'trim' as List]] }

  /** string(credentialsId: ...) binds a secret, string(name: ...) is a parameter: one symbol, two shapes. */
  static Map symbol(String name, Collection<String> given) {
    name == 'string' && 'credentialsId' in given ? SYMBOLS.secret : SYMBOLS[name]
  }

  /**
   * What is wrong with the arguments of a call, as [[found, wanted], ...].
   * @param kinds {argument: kind}, kinds as `kind` gives them; one without a name is under ''
   */
  static List<List<String>> complaints(Map signature, Map<String, Object> kinds) {
    List<List<String>> found = []
    Map<String, Object> named = named(signature, kinds)
    if (named.containsKey('')) found << ["an argument without a name", "named arguments: ${signature.args.keySet().join(', ') ?: 'none'}"]
    named.findAll { it.key != '' }.each { String name, kind ->
      if (!signature.args.containsKey(name)) {
        found << ["argument ${name}", "one of ${signature.args.keySet().join(', ') ?: 'none'}"]
      } else {
        found.addAll(mismatch(name, kind, signature.args[name]))
      }
    }
    (signature.required ?: []).findAll { !named.containsKey(it) }.each { found << ["no argument ${it}", "argument ${it}"] }
    if (signature.oneOf && signature.oneOf.count { named.containsKey(it) } != 1) {
      found << ["${signature.oneOf.count { named.containsKey(it) }} of ${signature.oneOf.join(', ')}", "exactly one of ${signature.oneOf.join(', ')}"]
    }
    found.collect { [it[0].toString(), it[1].toString()] }
  }

  /** The argument that stands without a name gets the name that it has. */
  static Map<String, Object> named(Map signature, Map<String, Object> kinds) {
    boolean movable = kinds.containsKey('') && signature.first && !kinds.containsKey(signature.first)
    movable ? kinds.collectEntries { name, kind -> [name ?: signature.first, kind] } : kinds
  }

  /** Kinds are [type: string|int|bool|list|map|symbol|any, value:, items:, name:, args:]. */
  private static List<List<String>> mismatch(String name, Map kind, String type) {
    List<String> parts = type.split(':', 2)
    switch (parts[0]) {
      case 'list':
        if (kind.type != 'list') return [["${name} is a ${kind.type}", "${name} a list"]]
        return parts.size() > 1 ? kind.items.collectMany { mismatch("each of ${name}", it, 'symbol:' + parts[1]) } : []
      case 'map':
      case 'symbol':
        return nested(name, kind, parts.size() > 1 ? parts[1].split(/\|/) as List : [])
      case 'result':
        return kind.type == 'string' && (kind.value == null || kind.value in Results.ORDER) ? [] :
          [["${name} ${kind.value ?: kind.type}", "${name} one of ${Results.ORDER.join(', ')}"]]
      case 'unit':
        return kind.type == 'string' && (kind.value == null || kind.value in UNITS) ? [] :
          [["${name} ${kind.value ?: kind.type}", "${name} one of ${UNITS.join(', ')}"]]
      default:
        return kind.type in [parts[0], 'any'] ? [] : [["${name} is a ${kind.type}", "${name} a ${parts[0]}"]]
    }
  }

  private static List<List<String>> nested(String name, Map kind, List<String> names) {
    if (kind.type == 'map' && names.size() <= 1) return names ? complaints(SYMBOLS[names[0]], kind.args) : []
    if (kind.type != 'symbol' || !(kind.name in names)) {
      return [["${name} is ${kind.name ?: 'a ' + kind.type}", "${name} ${names.size() > 1 ? 'one of ' : ''}${names.join(', ') ?: 'a map'}"]]
    }
    complaints(symbol(kind.name, kind.args.keySet()), kind.args)
  }

  /** The kind of a value at run time. */
  static Map kind(Object value) {
    if (value instanceof CharSequence) return [type: 'string', value: value.toString()]
    if (value instanceof Boolean) return [type: 'bool', value: value]
    if (value instanceof Integer || value instanceof Long) return [type: 'int', value: value]
    if (value instanceof List) return [type: 'list', items: value.collect { kind(it) }]
    if (value instanceof Symbol) return [type: 'symbol', name: value.name, args: kinds(value.args)]
    if (value instanceof Map) return [type: 'map', args: kinds(value)]
    [type: value == null ? 'null' : value.class.simpleName]
  }

  static Map<String, Object> kinds(Map values) { values.collectEntries { name, value -> [name.toString(), kind(value)] } }
}

/** A nested call such as scmGit(branches: ...), identified by its name. */
class Symbol {
  final String name
  final Map args

  Symbol(String name, Map args) {
    this.name = name
    this.args = args
  }
}

/**
 * The allow-list: what a controller provides by name, be it a step, an option, a symbol or a condition.
 * {"plugins": [installed], "provides": {plugin: [names]}}; what is under "core" is always there.
 */
class Provides {
  private final Set<String> plugins
  private final Map<String, List<String>> provides

  Provides(Map document) {
    plugins = (document.plugins + 'core') as Set
    provides = document.provides
  }

  /** Why a name is not to be had, or null when it is. */
  String refusal(String name) {
    List<String> offering = provides.findAll { plugin, names -> name in names }*.key
    if (offering.any { it in plugins }) return null
    offering ? "${name} comes with ${offering.join(' or ')}, which plugins.txt does not have" : "no plugin provides ${name}"
  }
}
