package leaselab

/** Jenkins' results, from good to bad. A build's result only gets worse. */
class Results {
  static final List<String> ORDER = ['SUCCESS', 'UNSTABLE', 'FAILURE', 'NOT_BUILT', 'ABORTED']

  static String worst(String one, String other) {
    ORDER.indexOf(one) >= ORDER.indexOf(other) ? one : other
  }

  static boolean isWorse(String one, String other) {
    ORDER.indexOf(one) > ORDER.indexOf(other)
  }

  /** What an error comes to: an interruption brings its own result, everything else is a failure. */
  static String ofError(Throwable error) {
    error instanceof Interruption ? error.result : 'FAILURE'
  }
}

/** A step failed: its message is for the log, its trace for nobody. */
class StepFailure extends Exception {
  StepFailure(String message) { super(message) }
}

/** The pipeline itself cannot be run: an unknown section, step, option or argument. */
class ModelError extends StepFailure {
  ModelError(String message) { super(message) }
}

/** Somebody aborted the build, or a timeout (then `owner` is that timeout) ran out. */
class Interruption extends Exception {
  final String result = 'ABORTED'
  final Object owner

  Interruption(String why, Object owner = null) {
    super(why)
    this.owner = owner
  }
}

/** Hands interruptions from signals and timers to the step that is running. */
class Interrupts {
  private Interruption pending

  synchronized void raise(Interruption what) {
    if (pending == null || what.owner == null) pending = what
    notifyAll()
  }

  /** The interruption that waits, if any; it is delivered once. */
  synchronized Interruption take() {
    Interruption taken = pending
    pending = null
    taken
  }

  /** A timeout that is over interrupts nobody any more. */
  synchronized void forget(Object owner) {
    if (pending?.owner != null && pending.owner.is(owner)) pending = null
  }

  void check() {
    Interruption found = take()
    if (found) throw found
  }

  /** Wait some milliseconds, or throw what interrupts. */
  void pause(long milliseconds) {
    synchronized (this) { if (pending == null) wait(milliseconds) }
    check()
  }
}
