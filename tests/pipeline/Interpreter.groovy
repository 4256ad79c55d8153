package leaselab

/** Runs a pipeline that has been read, as Jenkins' declarative interpreter does. */
class Interpreter {
  private final Build build
  private final Provides provides
  private final Pipeline pipeline
  private final Steps steps
  private final Processes processes
  private final Checkout checkouts

  Interpreter(Build build, Provides provides, Pipeline pipeline, Steps steps, Processes processes, Checkout checkouts) {
    this.build = build
    this.provides = provides
    this.pipeline = pipeline
    this.steps = steps
    this.processes = processes
    this.checkouts = checkouts
  }

  /** Run everything; the build's result says how it went. */
  void run() {
    Throwable first = null
    boolean posted = false
    try {
      inAgent(pipeline.agent, pipeline.options) {
        withEnvironment(pipeline.environment) {
          inWrappers(pipeline.options) {
            first = sequence(pipeline.stages, null, null)
            posted = true
            first = post(pipeline.post, first, null)
            if (first) throw first
          }
        }
      }
    } catch (Throwable error) {
      first = first ?: error
    } finally {
      if (!posted) first = post(pipeline.post, first, null)
    }
    if (first) {
      build.mark(Results.ofError(first))
      complain(first)
    }
    // The execution's own result counts, whatever the steps made of an abort.
    build.mark(build.executionResult)
  }

  private void complain(Throwable error) {
    build.log.line("ERROR: ${error.message ?: error.class.name}")
    if (!(error instanceof StepFailure) && !(error instanceof Interruption)) {
      build.log.line(org.codehaus.groovy.runtime.StackTraceUtils.sanitize(error).stackTrace.take(8).join('\n'))
    }
  }

  /** One stage after the other; return the first error, or null. The parent's post belongs to the end of them. */
  private Throwable sequence(List<Stage> stages, Stage parent, String skipped) {
    Throwable first = null
    try {
      stages.each { Stage one ->
        try {
          stage(one, first, skipped)
        } catch (Throwable error) {
          build.mark(Results.ofError(error))
          first = first ?: error
        }
      }
    } finally {
      if (skipped == null && parent != null) first = post(parent.post, first, parent)
    }
    first
  }

  private void stage(Stage stage, Throwable earlier, String skipped) {
    build.stage(stage.name) { Map entry ->
      String why = skipped ?: (earlier ? 'earlier failure(s)' : afterUnstable() ? 'earlier stage(s) marking the build as unstable' : null)
      if (why) {
        skip(stage, entry, why)
        return
      }
      try {
        inWrappers(stage.options) { inside(stage, entry) }
      } catch (Throwable error) {
        build.mark('FAILURE')
        throw error
      }
    }
  }

  private boolean afterUnstable() {
    build.result == 'UNSTABLE' && pipeline.options?.all?.containsKey('skipStagesAfterUnstable')
  }

  private void skip(Stage stage, Map entry, String why) {
    entry.skipped = why
    entry.status = 'SKIPPED'
    build.log.line("Stage \"${stage.name}\" skipped due to ${why}")
    if (stage.stages) sequence(stage.stages, stage, why)
  }

  /** The stage itself, within its options: agent, when, environment, and what it is made of. */
  private void inside(Stage stage, Map entry) {
    When when = stage.when ? new When(build, provides, stage.when) : null
    boolean passed = false
    Closure body = { -> withEnvironment(stage.environment) { content(stage) } }
    if (when?.early) {
      passed = when.holds()
      if (passed) inAgent(stage.agent, stage.options, body)
    } else {
      inAgent(stage.agent, stage.options) {
        passed = when == null || when.holds()
        if (passed) body.call()
      }
    }
    if (!passed) skip(stage, entry, 'when conditional')
  }

  private void content(Stage stage) {
    Throwable error = null
    if (stage.stages != null) {
      error = sequence(stage.stages, stage, null)
    } else {
      try {
        steps.fill(stage.steps)
      } catch (Throwable found) {
        build.mark(Results.ofError(found))
        error = found
      } finally {
        error = post(stage.post, error, stage)
      }
    }
    if (error) throw error
  }

  /** The post conditions that hold, one after the other; return the first error of all, or null. */
  private Throwable post(Map<String, Closure> blocks, Throwable error, Stage stage) {
    Conditions.ORDER.findAll { blocks.containsKey(it) }.each { String condition ->
      try {
        if (Conditions.holds(condition, build, error, stage != null)) {
          build.log.line("[post] ${stage ? stage.name + ': ' : ''}${condition}")
          build.record.posts << [stage: stage?.name, condition: condition, result: build.outcome]
          steps.fill(blocks[condition])
        }
      } catch (Throwable found) {
        build.mark(Results.ofError(found))
        build.log.line("Error when executing ${condition} post condition: ${found.message}")
        error = error ?: found
      }
    }
    error
  }

  // --- What surrounds ----------------------------------------------------------

  /** Options that wrap, the first outermost. */
  private void inWrappers(Options options, Closure body) {
    Closure whole = (options?.wrappers ?: []).reverse().inject(body) { Closure inner, List wrapper ->
      { -> steps.call(wrapper[0], wrapper[1], { -> inner.call() }) }
    }
    whole.call()
  }

  private void withEnvironment(Closure block, Closure body) {
    if (block == null) {
      body.call()
      return
    }
    Assigned assigned = new Assigned(build, provides)
    assigned.fill(block)
    build.withVariables(assigned.values, body)
  }

  /** A workspace on an agent, with the pipeline's own repository checked out; or none of it. */
  private void inAgent(Closure block, Options options, Closure body) {
    Agent agent = agentOf(block)
    if (agent == null) {
      body.call()
      return
    }
    if (agent.label && !(agent.label in build.options.labels)) {
      throw new StepFailure("agent: no agent has the label ${agent.label}; Jenkins would wait for one for ever")
    }
    File place = new File(build.options.workspaces, agent.customWorkspace ?: "workspace/${build.options.job}").absoluteFile
    place.mkdirs()
    String mark = "node-${Processes.ownPid()}-${build.openings++}"
    build.log.line("Running in ${place}")
    try {
      build.inWorkspace(place) {
        build.withVariables([JENKINS_NODE_COOKIE: mark, NODE_NAME: agent.label ?: 'agent', EXECUTOR_NUMBER: '0',
          NODE_LABELS: build.options.labels.join(' '), WORKSPACE_TMP: "${place}@tmp"]) {
          boolean fetched = !(options?.all?.skipDefaultCheckout != null || pipeline.options?.all?.skipDefaultCheckout != null)
          build.withVariables(fetched ? checkouts.own(place) : [:], body)
        }
      }
    } finally {
      // Jenkins ends what a build has left running on its agent.
      processes.end("JENKINS_NODE_COOKIE=${mark}", build.options.grace as double)
    }
  }

  private Agent agentOf(Closure block) {
    if (block == null) return null
    Agent agent = new Agent(build, provides)
    Object given = Section.fill(block, agent)
    if (agent.label == null && agent.customWorkspace == null) return given == 'any' ? agent : null
    agent
  }
}
