package leaselab

/** The build's log: one line after the other, secrets masked, each on the disk at once. */
class Log {
  private final PrintStream file
  private final List<String> secrets = []
  boolean timestamps

  Log(File path) {
    file = new PrintStream(new FileOutputStream(path, true), true, 'UTF-8')
  }

  synchronized void line(Object text) {
    String masked = mask(text.toString())
    file.println(timestamps ? "[${new Date().format("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", TimeZone.getTimeZone('UTC'))}] ${masked}" : masked)
  }

  /** The longest first, lest a secret inside another leaves its rest to be seen. */
  String mask(String text) {
    secrets.sort { -it.size() }.inject(text) { String masked, String secret -> masked.replace(secret, '****') }
  }

  /** Run something while these words are masked. */
  def hiding(List<String> words, Closure body) {
    List<String> added = words.findAll { it }
    secrets.addAll(added)
    try {
      body.call()
    } finally {
      added.each { String word -> secrets.remove((Object) word) }
    }
  }
}
