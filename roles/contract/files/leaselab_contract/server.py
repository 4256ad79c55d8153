"""A server behind the contract: the verbs as all kinds of servers share them.

The package of a kind has a class `Server`, which overrides what differs.  Its settings have
`process`, `interface`, `udp_port`, `files`, `config_file` or `config_files`, what the kind
needs, and perhaps `commit`, `start_s` (how long a start may take), `refused_counter` (which
counts what it refuses) and `tls_file` (key and certificate).
"""

import contextlib
import fcntl
import sys
import time
from pathlib import Path

from leaselab_contract import (
    address,
    brake,
    certificate,
    count,
    interface,
    loaded,
    operations,
    process,
    profile,
    sampling,
)
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

STOPPED = "the kernel shows the process as stopped"


@contextlib.contextmanager
def _locked(path):
    """Hold a lock file for the context."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Server(interface.WithInterface):
    """One process that serves, without companion services."""

    VERBS = (
        *("start", "reset", "sample", "stop", "brake", "profile", "count"),
        *("operations", "operate"),
    )
    """Methods that the contract's program calls; each returns what is printed, or prints."""
    START_S = 30.0
    STOP_S = 10.0
    ANSWER_S = 0.8
    """Longest wait of a sample, which comes each second, for its own counters (s)."""
    REFUSED = "REFUSED"
    """The counter of requests that it refuses."""

    def __init__(self, config):
        self.config = config
        self._rising, self._rising_beside = sampling.Rising(), sampling.Rising()

    def start(self):
        """Start it without data; return what runs, when it serves."""
        self.stop()
        with process.undone_by(self.stop):
            return self.serve()

    def serve(self):
        """Start what it needs and its process; return what runs."""
        beside = self.prepare()
        certificate.make(self.config)
        address.wait_until_usable(self.config["interface"])
        child, version = self.launch()
        start_s = child.age_s
        return {
            "pid": child.pid,
            "version": version,
            "start_s": start_s,
            **self.check_started(),
            "commit": self.config.get("commit"),
            "config_sha256": self.config_sha256(child.pid),
            "beside": beside,
            **loaded.identity(child.pid, self.config.get("program")),
        }

    def prepare(self):
        """Prepare what it needs to start; return its companion services by name."""
        return {}

    def launch(self):
        """Start its process; return that and its version, when it serves."""
        child = process.launch(self.config["process"])
        return child, self.await_ready(child)

    def await_ready(self, child):
        """Return what `ready` returns once it serves."""
        seconds = self.config.get("start_s", self.START_S)
        return process.wait_until(self.ready, child, self.config["process"], seconds)

    def ready(self):
        """Return its version; raise where it does not serve yet."""
        raise NotImplementedError

    def check_started(self):
        """Finish the start once it serves; return further facts of what runs."""
        return {}

    def config_sha256(self, _pid):
        """Return the hash of its configuration: of its file, or of several together."""
        if "config_file" in self.config:
            return loaded.sha256(self.config["config_file"])
        return loaded.together(self.config["config_files"], self.config.get("zone_folder"))

    def reset(self):
        """Empty it; return how many it holds (`held`) and held (`was`)."""
        return {"held": None, "was": None}

    def sample(self):
        """Print samples until standard input is closed, and one for each line on it."""
        sampling.follow(self.take, self.config["files"])

    def running(self):
        """Return the pid of its process; raises ContractError where it does not run."""
        pid = process.running_pid(self.config["process"])
        if pid is None:
            raise ContractError("the server is not running")
        return pid

    def steady(self):
        """Keep samples from meeting a restart of its processes, for a context."""
        return _locked(Path(self.processes()[0]["pid_file"]).with_suffix(".lock"))

    def take(self):
        """Return one sample; raises the reason when one of its processes has gone."""
        with self.steady():
            return self.taken()

    def taken(self):
        """Return the same, while none of them is being restarted."""
        cpu_s, rss_bytes = self.used()
        beside = self._rising_beside.of_each(self.beside_cpu_s())
        try:
            counters, held = self.counted()
        except (OSError, LookupError, ValueError, ContractError):
            counters, held = {}, None  # too busy to answer, or just dying
        drops = sampling.udp_drops(self.processes()[0], self.config.get("udp_port"))
        counters = self._rising.of_each(counters)
        return {
            "t": time.time(),
            "cpu_s": self._rising.of("cpu_s", cpu_s),
            "rss_bytes": rss_bytes,
            "udp_drops": self._rising.of("udp_drops", drops),
            "held": held,
            "counters": counters,
            "refused": counters.get(self.config.get("refused_counter", self.REFUSED)),
            "beside_cpu_s": beside,
        }

    def beside_cpu_s(self):
        """Return the CPU time of its companion services by name; raises where one has gone."""
        return {}

    def beside_counts(self):
        """Return what its companion services have counted of it so far, by name."""
        return {}

    def used(self):
        """Return CPU time (s) and resident memory (bytes) of its processes."""
        return sampling.used(self.processes(), self.explain_death)

    def explain_death(self):
        """Raise why one of its processes has gone, where the cause is outside of it."""

    def counted(self):
        """Return its counters by name, and how many it holds; raises where it is too busy."""
        raise NotImplementedError

    def holders(self):
        """Return whose all is that it holds, such as clients by address."""
        raise NotImplementedError

    def list(self):
        """Print that, of a kind that has the verb."""
        sys.stdout.writelines(f"{what} {whose}\n" for what, whose in self.holders().items())

    def keeps(self):
        """Whether it has after a restart what it has promised; a cache is no promise."""
        return True

    def stop(self):
        """End it."""
        ended = [process.end(one, self.STOP_S) for one in reversed(self.processes())]
        return {"was_running": any(ended)}

    def processes(self):
        """Return the settings of the processes that serve."""
        return [self.config["process"]]

    def is_running(self):
        """Whether a process of it runs."""
        return any(process.running_pid(one) for one in self.processes())

    def brake(self):
        """Stop its processes for a share of the time, until standard input is closed."""
        self.running()
        brake.brake(self.config)

    def serving(self, pid):
        """Return the pids, in order, of those of its processes that transactions come to.

        `pid` is that of its first one.
        """
        return sorted(process.tree(pid))

    def rest(self):
        """Wait until what was before takes no part in what is counted."""

    def count(self):
        """Count what it does, by commands on standard input, which end with it."""
        count.count(self)

    def profile(self):
        """Sample where its CPU time goes, until standard input is closed."""
        profile.profile(self.running(), self.peer)

    def peer(self, address):
        """Name what it has connected to at an address; empty for one on its own host."""
        return "database" if self.config.get("database") else address

    def operations(self):
        """Return what can be done to it while it serves."""
        return operations.described(self)

    def operate(self):
        """Do that, by names on standard input, until it is closed."""
        self.running()
        operations.follow(self)

    @operation("pause-100ms", STOPPED)
    def pause_shortly(self):
        """Stop its processes for 0.1 s, as a busy hypervisor does."""
        return self._pause(0.1)

    @operation("pause-1s", STOPPED)
    def pause(self):
        """Stop its processes for 1 s, as the move of a virtual machine does."""
        return self._pause(1.0)

    @operation("pause-5s", STOPPED)
    def pause_long(self):
        """Stop its processes for 5 s, as a snapshot does."""
        return self._pause(5.0)

    @operation("restart", "it serves again", lambda server: server.keeps())
    def end_and_start(self):
        """End its process, and start it again with what it keeps."""
        with self.steady():
            yield
            process.end(self.config["process"], self.STOP_S)
            Server.launch(self)  # not that of its kind, which begins without leases
            yield True

    def _pause(self, seconds):
        pid = self.running()
        yield
        until = time.monotonic() + seconds
        with brake.stopped(pid):
            while process.stat_fields(pid)[0] != "T":
                yield False
            yield True
            time.sleep(max(0.0, until - time.monotonic()))
