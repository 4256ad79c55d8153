package leaselab

import groovy.json.JsonOutput
import groovy.json.JsonSlurper
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import java.nio.file.StandardOpenOption

/**
 * The lockable resources, in a JSON file that builds in several processes share:
 * {"resources": [{"name", "labels": [...], "note", "heldBy"}], "queue": [...]}.
 * Who died holding or waiting is forgotten.
 */
class Resources {
  static final long LOOK_MS = 100
  private final Build build
  private final File file
  private final Map me

  Resources(Build build) {
    this.build = build
    file = new File(build.options.resources)
    String pid = Processes.ownPid()
    me = [pid: pid, started: Processes.startOf(pid), build: "${build.options.job} #${build.options.number}".toString()]
  }

  /** Run the body with what is asked for, first come first served; return what the body returns. */
  def holding(Map want, Closure body) {
    if (!want.resource == !want.label) throw new StepFailure('lock: either a resource or a label must be given, and not both')
    String wish = want.label ? "Label: ${want.label}" + (want.quantity ? ", Quantity: ${want.quantity}" : '') : want.resource
    Map entry = [wanted: wish, names: [], waited: 0.0, held: null]
    build.record.locks << entry
    build.log.line("Trying to acquire lock on [${wish}]")
    long asked = System.currentTimeMillis()
    List<String> names = acquire(want, wish)
    entry.names = names
    entry.waited = Build.secondsSince(asked)
    build.log.line("Lock acquired on [${wish}]: ${names.join(',')}")
    long begun = System.currentTimeMillis()
    build.save()
    try {
      build.withVariables(variables(want.variable, names), body)
    } finally {
      transact { Map all -> all.resources.findAll { it.name in names && it.heldBy?.pid == me.pid }.each { it.heldBy = null } }
      entry.held = Build.secondsSince(begun)
      build.log.line("Lock released on resource [${wish}]")
    }
  }

  private static Map<String, String> variables(String variable, List<String> names) {
    if (!variable) return [:]
    Map<String, String> made = [(variable): names.join(',')]
    names.eachWithIndex { String name, int index -> made[variable + index] = name }
    made
  }

  private List<String> acquire(Map want, String wish) {
    String ticket = UUID.randomUUID().toString()
    transact { Map all ->
      List there = fitting(all, want)
      // Jenkins would make an ephemeral resource of a misspelt name, and lock that.
      if (!there) throw new StepFailure("lock: nothing has ${want.label ? 'the label' : 'the name'} ${want.label ?: want.resource}")
      if (want.label && (want.quantity ?: 0) > there.size()) {
        throw new StepFailure("lock: ${want.quantity} with the label ${want.label} are wanted, there are ${there.size()}")
      }
      all.queue << [ticket: ticket, by: me, want: want]
    }
    boolean said = false
    try {
      while (true) {
        List<String> names = transact { Map all -> take(all, ticket) }
        if (names) return names
        if (!said) {
          build.log.line("[${wish}] is locked${holders(want)}, waiting...")
          said = true
        }
        build.interrupts.pause(LOOK_MS)
      }
    } catch (Throwable error) {
      transact { Map all -> all.queue.removeAll { it.ticket == ticket } }
      throw error
    }
  }

  private String holders(Map want) {
    List names = transact { Map all -> fitting(all, want).findAll { it.heldBy }.collect { it.heldBy.build } }
    names ? " by ${names.unique().join(', ')}" : ''
  }

  private static List<Map> fitting(Map all, Map want) {
    all.resources.findAll { want.label ? want.label in it.labels : it.name == want.resource }
  }

  /** Give to those who wait, in their order; the names that this ticket got, or null. */
  private List<String> take(Map all, String ticket) {
    Set<String> promised = []
    for (Map waiting in all.queue) {
      List<Map> there = fitting(all, waiting.want)
      int wanted = waiting.want.label ? ((waiting.want.quantity ?: 0) as int ?: there.size()) : 1
      List<Map> free = there.findAll { it.heldBy == null && !(it.name in promised) }
      boolean enough = wanted > 0 && free.size() >= wanted
      List<Map> given = enough ? free.take(wanted) : []
      if (waiting.ticket == ticket) {
        given.each { it.heldBy = me }
        if (enough) all.queue.removeAll { it.ticket == ticket }
        return given*.name
      }
      promised.addAll(given*.name)
    }
    null
  }

  /** Change a resource's labels and note, as the step updateLock does. Returns nothing. */
  void update(Map how) {
    if (how.setLabels && (how.addLabels || how.removeLabels)) {
      throw new StepFailure('updateLock: setLabels cannot be combined with addLabels or removeLabels')
    }
    transact { Map all ->
      Map resource = all.resources.find { it.name == how.resource?.trim() }
      if (resource == null) throw new StepFailure("updateLock: there is no resource ${how.resource}")
      List<String> labels = how.setLabels ? words(how.setLabels) : resource.labels + words(how.addLabels)
      resource.labels = (labels - words(how.removeLabels)).unique()
      if (how.setNote?.trim()) resource.note = how.setNote.trim()
      build.log.line("Resource [${resource.name}] updated: labels ${resource.labels}, note ${resource.note}")
    }
  }

  private static List<String> words(String text) { (text ?: '').trim().split(/\s+/).findAll { it } as List }

  // --- The file ----------------------------------------------------------------

  private <T> T transact(Closure<T> change) {
    File guard = new File(file.path + '.lock')
    FileChannel channel = FileChannel.open(guard.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)
    try {
      channel.lock()
      Map all = read()
      T found = change.call(all)
      File next = new File(file.path + '.next')
      next.setText(JsonOutput.prettyPrint(JsonOutput.toJson(all)) + '\n', 'UTF-8')
      Files.move(next.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
      return found
    } finally {
      channel.close()
    }
  }

  private Map read() {
    Map all = (Map) new JsonSlurper().parse(file, 'UTF-8')
    all.resources.each {
      it.labels = it.labels ?: []
      it.note = it.note ?: ''
      if (it.heldBy && !alive(it.heldBy)) it.heldBy = null
    }
    all.queue = (all.queue ?: []).findAll { alive(it.by) }
    all
  }

  /** A process is known by number and start: numbers come again. */
  private static boolean alive(Map who) { Processes.startOf(who.pid) == who.started }
}
