"""The NSD server behind the contract: what differs from other servers.

It holds nothing, so reset does nothing.  It is a tree of processes: one that is replaced by
another under load has lost queries, and counts as dead.
"""

from pathlib import Path

from leaselab_contract import control, dns, logged, process, sampling, secondary, server
from leaselab_contract.errors import ContractError

GREETING = "NSDCT1"
STATUS_S = 10.0
COUNTERS = {
    "num.queries": "QUERY",
    "num.rcode.NOERROR": "NOERROR",
    "num.rcode.NXDOMAIN": "NXDOMAIN",
    "num.rcode.SERVFAIL": "SERVFAIL",
    "num.rcode.REFUSED": "REFUSED",
}


class Server(secondary.WithPrimary, logged.WithLog, server.Server):
    """NSD: a process, and those that it has started."""

    STOP_S = 60.0
    ZONE = 'zone:\n  name: "{zone}"\n  zonefile: "{file}"'
    SECONDARY = (
        'zone:\n  name: "{zone}"\n  request-xfr: {address}@{port} NOKEY\n'
        "  allow-notify: {address} NOKEY"
    )
    first = ()
    """Pids of its processes when sampling began."""

    def ready(self):
        """Return its version once it answers for its data."""
        dns.check_answers(self.config)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return control.version(self.config["socket"], GREETING, STATUS_S)

    def check_started(self):
        """Raise its log line where it serves without one of its zones."""
        try:
            text = Path(self.config["log_file"]).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return {}  # it has nothing to say
        failed = [line for line in text.splitlines() if " error: " in line]
        if failed:
            raise ContractError(failed[-1])
        return {}

    def sample(self):
        """Print samples of the processes that it has now."""
        self.first = process.tree(self.running())
        super().sample()

    def prepare(self):
        """Forget what replaced its processes."""
        self.replaced_file.unlink(missing_ok=True)
        return super().prepare()

    @property
    def replaced_file(self):
        """What is there once an operation has replaced its processes."""
        return Path(self.config["process"]["pid_file"]).with_suffix(".replaced")

    def read_zones_again(self):
        """As in the base class; it forks processes that answer with the new data."""
        self.replaced_file.touch()
        control.ask(self.config["socket"], GREETING, "reload", STATUS_S)

    def read_list_again(self):
        """As in the base class."""
        self.replaced_file.touch()
        control.ask(self.config["socket"], GREETING, "reconfig", STATUS_S)

    def reopen_log(self):
        """As in the base class."""
        control.ask(self.config["socket"], GREETING, "log_reopen", STATUS_S)

    def serving(self, pid):
        """Return the pids of those that answer, which have started no others.

        The others look once a second for what has ended: a count would grow with the time
        that it takes.
        """
        below = process.tree(pid)
        parents = {int(fields[1]) for fields in below.values()}
        return sorted(set(below) - parents)

    def used(self):
        """Return CPU time (s) and memory (bytes); raises where a process has been replaced."""
        super().used()  # raises why it is gone
        pid = self.running()
        now = process.tree(pid)
        gone = sorted(set(self.first) - set(now)) if pid in self.first else []
        if gone and not self.replaced_file.exists():
            raise ContractError(
                f"process {gone[0]} of nsd has ended: "
                f"{process.last_reason(self.config['process'])}"
            )
        # of the largest: its processes share the zones
        largest = max(int(fields[21]) for fields in now.values())
        return process.tree_cpu_s(pid), largest * sampling.PAGE

    def counted(self):
        """Return its counters; it holds nothing."""
        figures = control.statistics(self.config["socket"], GREETING, self.ANSWER_S)
        return control.counters(figures, COUNTERS), None
