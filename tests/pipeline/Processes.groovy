package leaselab

import java.util.concurrent.TimeUnit

/** Starts the programs of a build, and ends them when the build is interrupted. */
class Processes {
  static final long LOOK_MS = 100  // how often a waiting build looks whether it is interrupted
  private final Build build
  private int started

  Processes(Build build) { this.build = build }

  /**
   * Run a program in a folder and a session of its own; its output goes to the log.
   * Return its exit status, 128 and more for a signal. Interrupted, it and all that it started get
   * SIGTERM, after the grace SIGKILL, and the interruption is thrown.
   */
  int run(List<String> argv, File folder, Map<String, String> more = [:], Closure listener = null) {
    String mark = "JENKINS_SERVER_COOKIE=durable-${Processes.ownPid()}-${++started}"
    ProcessBuilder builder = new ProcessBuilder((['setsid'] + argv) as String[])
    builder.directory(folder).redirectErrorStream(true)
    builder.redirectInput(ProcessBuilder.Redirect.from(new File('/dev/null')))
    Map<String, String> environment = builder.environment()
    environment.putAll(build.variables())
    environment.putAll(more)
    environment.put(*mark.split('=', 2))
    Process process = builder.start()
    Thread reader = Thread.startDaemon {
      try {
        process.inputStream.eachLine('UTF-8') { String line -> listener ? listener.call(line) : build.log.line(line) }
      } catch (IOException ignored) {
        // the program left, and what it had started closed the pipe: nothing more to read
      }
    }
    try {
      await(process, mark)
    } finally {
      // What was left in the background may hold the pipe for ever: Jenkins does not wait for it.
      reader.join(1000)
    }
    process.exitValue()
  }

  private void await(Process process, String mark) {
    while (!process.waitFor(LOOK_MS, TimeUnit.MILLISECONDS)) {
      Interruption why = build.interrupts.take()
      if (why) {
        build.log.line("Sending interrupt signal to process: ${why.message}")
        end(mark, build.options.grace as double)
        process.waitFor()
        throw why
      }
    }
  }

  /** End all processes with this word in their environment: SIGTERM, and SIGKILL after the grace (s). */
  void end(String mark, double grace) {
    long until = System.currentTimeMillis() + (long) (grace * 1000)
    signal('TERM', marked(mark))
    boolean again = false
    while (marked(mark) && System.currentTimeMillis() < until && !again) {
      Thread.sleep(20)
      again = build.interrupts.take() != null
    }
    List<String> left = marked(mark)
    if (left) build.log.line("killing ${left.join(', ')}: no end on SIGTERM")
    signal('KILL', left)
  }

  // --- What Linux reports. Groovy 2.4 cannot call Java's ProcessHandle, whose methods are an interface's.

  private static void signal(String name, List<String> pids) {
    if (pids) new ProcessBuilder(['sh', '-c', 'kill -' + name + ' "$@" 2>/dev/null', 'kill'] + pids as String[]).start().waitFor()
  }

  /** Jenkins knows the processes of a step, or of an agent, by a variable that they have inherited. */
  static List<String> marked(String mark) {
    new File('/proc').list().findAll { it.isInteger() }.findAll { String pid ->
      ('\0' + text("/proc/${pid}/environ")).contains('\0' + mark + '\0')
    }
  }

  static String ownPid() { new File('/proc/self').canonicalFile.name }

  /** When a process started, in ticks since the boot; null when there is none of this number. */
  static String startOf(String pid) {
    List<String> fields = text("/proc/${pid}/stat").replaceFirst(/.*\) /, '').tokenize(' ')
    fields && fields[0] != 'Z' ? fields[19] : null
  }

  // A process may be gone before it is read, and one of another user cannot be.
  private static String text(String path) {
    try {
      new String(new File(path).bytes, 'ISO-8859-1')
    } catch (IOException gone) {
      ''
    }
  }
}
