package leaselab

/** Post conditions: when each holds, in the order in which Jenkins asks (by the ordinals of the plugin). */
class Conditions {
  static final List<String> ORDER = ['always', 'changed', 'fixed', 'regression', 'aborted', 'success', 'unsuccessful',
    'unstable', 'failure', 'notBuilt', 'cleanup']

  /**
   * Whether a condition holds now.
   * @param error what failed in the stage so far, or null; `ofStage`: the post is a stage's, not the pipeline's
   */
  static boolean holds(String condition, Build build, Throwable error, boolean ofStage) {
    String run = build.result, execution = build.executionResult, previous = build.previousResult()
    String errors = error == null ? 'SUCCESS' : Results.ofError(error)
    String combined = Results.worst(Results.worst(execution, run ?: 'SUCCESS'), errors)
    boolean aborted = 'ABORTED' in [execution, run]
    switch (condition) {
      case 'always':
      case 'cleanup':
        return true
      case 'changed':
        return previous == null || previous != (run ?: 'SUCCESS')
      case 'fixed':
        return combinedOfRun(build) == 'SUCCESS' && previous in ['FAILURE', 'UNSTABLE']
      case 'regression':
        return previous != null && Results.isWorse(combinedOfRun(build), previous)
      case 'aborted':
        return aborted
      case 'success':
        return ofStage && 'FAILURE' in [execution, run] ? error == null : combined == 'SUCCESS'
      case 'unsuccessful':
        return combined != 'SUCCESS'
      case 'unstable':
        return combined == 'UNSTABLE'
      case 'failure':
        return ofStage && !aborted ? error != null : execution != 'ABORTED' && 'FAILURE' in [execution, run]
      case 'notBuilt':
        return 'NOT_BUILT' in [execution, run]
      default:
        throw new ModelError("no such post condition: ${condition}")
    }
  }

  private static String combinedOfRun(Build build) { Results.worst(build.executionResult, build.outcome) }
}

/** when { ... }: all conditions in the block must hold. */
class When extends Section {
  boolean early
  private final List<Closure> conditions = []

  When(Build build, Provides provides, Closure block) {
    super(build, provides)
    fill(block)
  }

  boolean holds() { conditions.every { it.call() } }

  def beforeAgent(boolean value) { early = value }
  def beforeOptions(boolean value) { throw new ModelError('when: beforeOptions is not done here') }
  def beforeInput(boolean value) { throw new ModelError('when: beforeInput is not done here') }
  def expression(Closure block) { conditions << { -> Section.fill(block, this) as boolean } }
  def environment(Map settings) { conditions << { -> build.variable(settings.name) == settings.value.toString() } }
  def not(Closure block) { conditions << { -> !new When(build, provides, block).holds() } }
  def allOf(Closure block) { conditions << { -> new When(build, provides, block).holds() } }
  def anyOf(Closure block) { conditions << { -> new When(build, provides, block).conditions.any { it.call() } } }
}
