package leaselab

/**
 * What a Jenkinsfile says, read by running its closures: sections are methods of these classes.
 * Options and parameters are evaluated at once, agents, `when` and environment when their stage begins, steps
 * when it is their turn; that is when Jenkins does it.
 */
abstract class Section {
  protected final Build build
  protected final Provides provides

  Section(Build build, Provides provides) {
    this.build = build
    this.provides = provides
  }

  /** Run a block of the Jenkinsfile: all names in it are this section's. */
  def fill(Closure block) { fill(block, this) }

  static def fill(Closure block, Object section) {
    Closure own = (Closure) block.clone()
    own.delegate = section
    own.resolveStrategy = Closure.DELEGATE_ONLY
    own.call()
  }

  def propertyMissing(String name) {
    if (name == 'params') return build.params
    if (name == 'env') return new Environment(build)
    if (name == 'scm') return new Symbol('scm', [:])
    throw new ModelError("${getClass().simpleName} knows no name ${name}")
  }

  def methodMissing(String name, args) {
    throw new ModelError("${getClass().simpleName.toLowerCase()} has no ${Plain.of(name)}")
  }

  /** A call of the file as a checked map of named arguments. */
  protected Map arguments(String what, Map signature, Object args) {
    List values = (args as List).findAll { !(it instanceof Closure) }
    Map named = values && values[0] instanceof Map ? whole(signature, (Map) values[0]) :
      values ? ['': values.size() == 1 ? values[0] : values] : [:]
    List<List<String>> wrong = Signatures.complaints(signature, Signatures.kinds(named))
    if (wrong) throw new ModelError("${what}: " + wrong.collect { "found ${it[0]}, wanted ${it[1]}" }.join('; '))
    Signatures.named(signature, named)
  }

  // publishHTML([reportName: ...]) has one argument, which is a map; Groovy does not distinguish it from named ones.
  private static Map whole(Map signature, Map given) {
    boolean one = signature.first && signature.args[signature.first].startsWith('map') && !given.containsKey(signature.first)
    one ? [(signature.first): given] : new LinkedHashMap(given)
  }

  /** Whether the controller provides it; `kind`: step, option, symbol, trigger, parameter. */
  protected void allowed(String kind, String name) {
    String why = provides.refusal(name)
    if (why) throw new ModelError("No such ${kind} '${name}': ${why}")
  }

  protected void once(String what, Object before) {
    if (before != null) throw new ModelError("${what} is there twice")
  }

  /** A symbol: logRotator(...), scmGit(...), string(...). */
  protected Symbol symbol(String name, Object args) {
    allowed('symbol', name)
    List values = args as List
    new Symbol(name, values ? (Map) values[0] : [:])
  }
}

/** env.NAME reads a variable; nothing writes one. */
class Environment {
  private final Build build

  Environment(Build build) { this.build = build }

  def propertyMissing(String name) { build.variable(name) }
}

/** pipeline { ... } */
class Pipeline extends Section {
  Closure agent, environment
  List<Stage> stages
  Map<String, Closure> post = [:]
  Options options
  Map<String, Object> defaults = [:]

  Pipeline(Build build, Provides provides) { super(build, provides) }

  def agent(Object kind) { once('agent', agent); agent = { -> kind == 'none' ? null : kind } }
  def agent(Closure block) { once('agent', agent); agent = block }
  def getNone() { 'none' }
  def getAny() { 'any' }
  def environment(Closure block) { environment = block }
  def options(Closure block) { once('options', options); options = new Options(build, provides, false); options.fill(block) }
  def parameters(Closure block) { new Parameters(build, provides, defaults).fill(block) }
  def triggers(Closure block) { new Triggers(build, provides).fill(block) }
  def post(Closure block) { new Post(build, provides, post).fill(block) }
  def stages(Closure block) { once('stages', stages); stages = []; new Stages(build, provides, stages).fill(block) }
}

/** parameters { string(...) ... }: their defaults. */
class Parameters extends Section {
  private final Map<String, Object> defaults

  Parameters(Build build, Provides provides, Map<String, Object> defaults) {
    super(build, provides)
    this.defaults = defaults
  }

  def methodMissing(String name, args) {
    if (!Signatures.PARAMETERS.containsKey(name)) throw new ModelError("no such parameter type: ${name}")
    allowed('parameter', name)
    Map settings = arguments(name, Signatures.PARAMETERS[name], args)
    defaults[settings.name] = name == 'choice' ? settings.choices[0] : settings.defaultValue
  }
}

/** pipeline { ... } of which only the parameters count: they are known before anything else is. */
class Declared extends Section {
  final Map<String, Object> defaults = [:]

  Declared(Build build, Provides provides) { super(build, provides) }

  def parameters(Closure block) { new Parameters(build, provides, defaults).fill(block) }
  def propertyMissing(String name) { null }
  def methodMissing(String name, args) { null }
}

/** triggers { cron(...) }: accepted, and never fired here. */
class Triggers extends Section {
  Triggers(Build build, Provides provides) { super(build, provides) }

  def methodMissing(String name, args) { allowed('trigger', name) }
}

/** options { ... }: those that wrap, in their order, and the names of all. */
class Options extends Section {
  final List<List> wrappers = []
  final Map<String, Map> all = [:]
  private final boolean ofStage

  Options(Build build, Provides provides, boolean ofStage) {
    super(build, provides)
    this.ofStage = ofStage
  }

  def methodMissing(String name, args) {
    if (name in Signatures.SYMBOLS) return symbol(name, args)
    allowed('option', name)
    Map signature = Signatures.OPTIONS[name]
    if (signature == null || (ofStage && !signature.stage)) {
      throw new ModelError("Invalid option type \"${name}\"${ofStage ? ' of a stage' : ''}")
    }
    all[name] = arguments(name, signature, args)
    if (signature.body) wrappers << [name, all[name]]
  }
}

/** stages { stage('...') { ... } ... } */
class Stages extends Section {
  private final List<Stage> into

  Stages(Build build, Provides provides, List<Stage> into) {
    super(build, provides)
    this.into = into
  }

  def stage(String name, Closure block) {
    Stage made = new Stage(build, provides, name)
    made.fill(block)
    if ((made.steps == null) == (made.stages == null)) throw new ModelError("the stage ${name} needs either steps or stages")
    into << made
  }
}

/** stage('...') { ... } */
class Stage extends Section {
  final String name
  Closure agent, environment, when, steps
  List<Stage> stages
  Map<String, Closure> post = [:]
  Options options

  Stage(Build build, Provides provides, String name) {
    super(build, provides)
    this.name = name
  }

  def agent(Object kind) { once('agent', agent); agent = { -> kind == 'none' ? null : kind } }
  def agent(Closure block) { once('agent', agent); agent = block }
  def getNone() { 'none' }
  def getAny() { 'any' }
  def environment(Closure block) { environment = block }
  def options(Closure block) { once('options', options); options = new Options(build, provides, true); options.fill(block) }
  def when(Closure block) { once('when', when); when = block }
  def post(Closure block) { new Post(build, provides, post).fill(block) }
  def steps(Closure block) { once('steps', steps); steps = block }
  def stages(Closure block) { once('stages', stages); stages = []; new Stages(build, provides, stages).fill(block) }
}

/** post { always { ... } ... } */
class Post extends Section {
  private final Map<String, Closure> blocks

  Post(Build build, Provides provides, Map<String, Closure> blocks) {
    super(build, provides)
    this.blocks = blocks
  }

  def methodMissing(String name, args) {
    List values = args as List
    if (!(name in Conditions.ORDER)) throw new ModelError("Invalid condition \"${name}\" - valid conditions are ${Conditions.ORDER.join(', ')}")
    if (values.size() != 1 || !(values[0] instanceof Closure)) throw new ModelError("${name} needs a block of steps")
    once("the condition ${name}", blocks[name])
    blocks[name] = (Closure) values[0]
  }
}

/** agent { label '...' } or agent { node { label '...'; customWorkspace '...' } } */
class Agent extends Section {
  String label
  String customWorkspace

  Agent(Build build, Provides provides) { super(build, provides) }

  def label(Object name) { label = name.toString() }
  def customWorkspace(Object path) { customWorkspace = path.toString() }
  def node(Closure block) { fill(block) }
}

/** environment { NAME = value ... }: each value sees those before it. */
class Assigned extends Section {
  final Map<String, String> values = [:]

  Assigned(Build build, Provides provides) { super(build, provides) }

  void setProperty(String name, Object value) { values[name] = value.toString() }
  def propertyMissing(String name) {
    values.containsKey(name) ? values[name] : name in ['params', 'env'] ? super.propertyMissing(name) : build.variable(name)
  }
}
