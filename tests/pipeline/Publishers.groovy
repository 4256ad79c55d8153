package leaselab

/** What a build keeps: test results, pages, plots, files. Paths are below the workspace. */
class Publishers {
  private final Build build

  Publishers(Build build) { this.build = build }

  /** Read JUnit XML; failed tests make the build unstable. */
  void junit(File base, Map settings) {
    List<File> files = matching(base, settings.testResults, null)
    if (!files) {
      if (settings.allowEmptyResults) { build.log.line('None of the test reports contained any result'); return }
      throw new StepFailure("No test report files were found. Configuration error? (${settings.testResults})")
    }
    Map counts = [total: 0, failed: 0, skipped: 0]
    files.each { count(it, counts) }
    if (counts.total == 0 && !settings.allowEmptyResults) throw new StepFailure('None of the test reports contained any result')
    build.record.tests = counts
    build.log.line("Recorded test results: ${counts.total} tests, ${counts.failed} failed, ${counts.skipped} skipped")
    if (counts.failed && !settings.skipMarkingBuildUnstable) {
      build.mark('UNSTABLE')
      build.markStage('UNSTABLE')
    }
  }

  private static void count(File file, Map counts) {
    def root
    try {
      root = new XmlSlurper().parse(file)
    } catch (org.xml.sax.SAXException error) {
      throw new StepFailure("Failed to read test report file ${file}: ${error.message}")
    }
    if (!(root.name() in ['testsuite', 'testsuites'])) {
      throw new StepFailure("Failed to read test report file ${file}: found the element ${root.name()}, wanted testsuite or testsuites")
    }
    root.depthFirst().findAll { it.name() == 'testcase' }.each { test ->
      counts.total++
      if (test.failure.size() + test.error.size()) counts.failed++
      else if (test.skipped.size()) counts.skipped++
    }
  }

  /** Copy the folder of a page; its files are to be seen at the build. */
  void html(File base, Map target) {
    File from = new File(base, target.reportDir)
    List<String> pages = target.reportFiles.tokenize(',')*.trim()
    if (!from.directory || !pages.any { new File(from, it).file }) {
      String said = "Specified HTML directory '${from}' does not exist or has none of ${pages.join(', ')}."
      build.log.line(said)
      if (!target.allowMissing) throw new StepFailure("Cannot publish HTML files: ${said}")
      return
    }
    File to = new File(build.folder, "htmlreports/${target.reportName.replaceAll(/[^A-Za-z0-9]+/, '_')}")
    copy(from, matching(from, '**', null), to)
    build.record.reports << [name: target.reportName, files: pages]
  }

  /** Copy files by their patterns. */
  void archive(File base, Map settings) {
    if (settings.onlyIfSuccessful && build.outcome != 'SUCCESS') { build.log.line('Skipped archiving: the build is not successful'); return }
    List<File> files = matching(base, settings.artifacts, settings.excludes)
    if (!files) {
      String said = "No artifacts found that match the file pattern \"${settings.artifacts}\". Configuration error?"
      build.log.line(said)
      // As the plugin does: a build that failed anyway has nothing to archive, and needs no message.
      if (!settings.allowEmptyArchive && !Results.isWorse(build.outcome, 'UNSTABLE')) throw new StepFailure(said)
      return
    }
    copy(base, files, new File(build.folder, 'archive'))
    build.record.artifacts.addAll(files.collect { relative(base, it) })
    build.record.artifacts.unique()
  }

  /** Add a build's points to the series of a plot, which are kept beside the builds. */
  void plot(File base, Map settings) {
    File kept = new File(build.folder.parentFile, "plots/${settings.csvFileName}")
    kept.parentFile.mkdirs()
    if (!kept.exists()) kept.text = '"Value","Series Label","Build Number"\n'
    (settings.csvSeries ?: []).each { Map series ->
      points(base, series).each { List point ->
        kept << "\"${point[1]}\",\"${point[0]}\",\"${build.options.number}\"\n"
        build.record.plots << [plot: settings.csvFileName, group: settings.group, title: settings.title, label: point[0], value: point[1]]
      }
    }
  }

  /** [[label, value], ...] of one CSV: the first line has the labels, the flag says which columns count. */
  private List<List<String>> points(File base, Map series) {
    List<File> files = matching(base, series.file, null)
    if (!files) { build.log.line("No plot data file found: ${series.file}"); return [] }
    List<List<String>> lines = files[0].readLines('UTF-8').findAll { it.trim() }.collect { fields(it) }
    List<String> header = lines ? lines[0] : []
    Set<String> names = (series.exclusionValues ?: '').tokenize(',') as Set
    List<List<String>> found = []
    lines.drop(1).each { List<String> line ->
      line.eachWithIndex { String value, int index ->
        String label = index < header.size() && header[index] ? header[index] : "${index}"
        if (value.trim() && counts(series.inclusionFlag ?: 'OFF', names, label, index)) found << [label, number(value, label)]
      }
    }
    if (!found) build.log.line("plot: ${series.file} has no point that is asked for")
    found
  }

  private static boolean counts(String flag, Set<String> names, String label, int index) {
    switch (flag) {
      case 'OFF': return true
      case 'INCLUDE_BY_STRING': return label in names
      case 'EXCLUDE_BY_STRING': return !(label in names)
      case 'INCLUDE_BY_COLUMN': return index.toString() in names
      case 'EXCLUDE_BY_COLUMN': return !(index.toString() in names)
      default: throw new ModelError("plot: unknown inclusionFlag ${flag}")
    }
  }

  // The plugin drops in silence what is no number when it draws; here that is a failure.
  private static String number(String value, String label) {
    if (!value.trim().isBigDecimal()) throw new StepFailure("plot: ${label} is ${value}, wanted a number")
    value.trim()
  }

  /** The fields of one CSV line; quotes may be around them and are doubled inside. */
  private static List<String> fields(String line) {
    List<String> found = []
    StringBuilder field = new StringBuilder()
    boolean quoted = false
    line.eachWithIndex { String letter, int index ->
      if (letter == '"') {
        if (!quoted && index > 0 && line[index - 1] == '"') field << '"'
        quoted = !quoted
      } else if (letter == ',' && !quoted) {
        found << field.toString()
        field.setLength(0)
      } else {
        field << letter
      }
    }
    found + [field.toString()]
  }

  // --- Files -------------------------------------------------------------------

  /** Files below a folder that match Ant's patterns, sorted. */
  static List<File> matching(File base, String patterns, String excludes) {
    if (!base.directory) return []
    List wanted = (patterns ?: '').tokenize(', ').collect { expression(it) }
    List unwanted = (excludes ?: '').tokenize(', ').collect { expression(it) }
    List<File> found = []
    base.traverse(type: groovy.io.FileType.FILES) { File file ->
      String name = relative(base, file)
      if (wanted.any { name ==~ it } && !unwanted.any { name ==~ it } && !name.startsWith('.git/')) found << file
    }
    found.sort()
  }

  /** Ant's pattern as a regular expression: two stars cross folders, one star does not. */
  private static String expression(String pattern) {
    String whole = pattern.endsWith('/') ? pattern + '**' : pattern
    whole.split(/(?=\*\*\/)|(?<=\*\*\/)|(?=\*\*$)/).collect { String part ->
      if (part == '**/') return '(?:.*/)?'
      if (part == '**') return '.*'
      part.collect { it == '*' ? '[^/]*' : it == '?' ? '[^/]' : java.util.regex.Pattern.quote(it) }.join()
    }.join()
  }

  private static String relative(File base, File file) { base.toPath().relativize(file.toPath()).toString() }

  private static void copy(File base, List<File> files, File to) {
    files.each { File file ->
      File target = new File(to, relative(base, file))
      target.parentFile.mkdirs()
      target.bytes = file.bytes
    }
  }
}
