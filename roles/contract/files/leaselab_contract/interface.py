"""The test interface of a server: taken down, made to lose or delay packets, cut off."""

import contextlib
import shutil
import time

from leaselab_contract import program
from leaselab_contract.address import INTERFACES, LOOPBACK
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation
from leaselab_contract.process import ENVIRONMENT

DONE_S = 15.0
CUT_S, BAD_S = 1.0, 5.0
LOST_SHARE, DELAY_MS = 0.1, 100
IS_UP = 0x1
WAYS = ("ingress", "egress")
_LOSES = "4,32 0 0 4294963256,53 0 1 {below},6 0 0 0,6 0 0 2"
"""Program of the kernel's packet filter: load a random number of 32 bits; keep the packet where
that is not below a number, else drop it."""


def _has_cable(server):
    return is_cable(server.config["interface"])


def _can_delay(server):
    return _has_cable(server) and can_delay()


class WithInterface:
    """A server with a test interface."""

    @operation(
        "link-down", "the kernel shows the interface as down", _has_cable, link_changes=2
    )
    def take_link_down(self):
        """Take its test interface down for 1 s, as a cable that is pulled out."""
        interface = self.config["interface"]
        return self._bad_for_a_while(down(interface), lambda name: not is_up(name), CUT_S)

    @operation("link-loss", "the kernel shows the filters that drop packets", _has_cable)
    def lose_packets(self):
        """Lose 10 % of the packets of its test interface, each way, for 5 s."""
        interface = self.config["interface"]
        return self._bad_for_a_while(lossy(interface, LOST_SHARE), is_lossy)

    @operation("link-delay", "the kernel shows the queue that delays packets", _can_delay)
    def delay_packets(self):
        """Delay what its test interface sends by 100 ms, for 5 s."""
        interface = self.config["interface"]
        return self._bad_for_a_while(slow(interface, DELAY_MS), is_slow)

    def _bad_for_a_while(self, made_bad, is_bad, seconds=BAD_S):
        yield
        until = time.monotonic() + seconds
        with made_bad:
            while not is_bad(self.config["interface"]):
                yield False
            yield True
            time.sleep(max(0.0, until - time.monotonic()))


def is_up(name):
    """Whether an interface is up, as the kernel says."""
    flags = (INTERFACES / name / "flags").read_text(encoding="ascii")
    return bool(int(flags, 16) & IS_UP)


def is_cable(name):
    """Whether an interface leads somewhere, and this host can change it."""
    flags = INTERFACES / name / "flags"
    programs = (
        shutil.which(program_name, path=ENVIRONMENT["PATH"]) for program_name in ("ip", "tc")
    )
    if not flags.is_file() or None in programs:
        return False
    return not int(flags.read_text(encoding="ascii"), 16) & LOOPBACK


@contextlib.contextmanager
def down(name):
    """Take an interface down for the context; then it has its IPv6 addresses again."""
    shown = _done("ip", "-6", "-oneline", "address", "show", "dev", name, "scope", "global")
    kept = [line.split()[3] for line in shown.splitlines()]
    try:
        _done("ip", "link", "set", name, "down")
        yield
    finally:
        _done("ip", "link", "set", name, "up")
        for one in kept:
            _done("ip", "address", "replace", one, "dev", name, "nodad")


@contextlib.contextmanager
def lossy(name, share):
    """Have an interface lose a share of its packets, each way, for the context."""
    loses = ["bpf", "direct-action", "bytecode", _LOSES.format(below=round(share * 2**32))]
    _done("tc", "qdisc", "add", "dev", name, "clsact")
    try:
        for way in WAYS:
            _done("tc", "filter", "add", "dev", name, way, *loses)
        yield
    finally:
        _done("tc", "qdisc", "del", "dev", name, "clsact")


def is_lossy(name):
    """Whether the kernel shows both filters of an interface."""
    return all("bpf" in _done("tc", "filter", "show", "dev", name, way) for way in WAYS)


@contextlib.contextmanager
def slow(name, delay_ms):
    """Have an interface delay what it sends for the context (ms)."""
    queue = ["dev", name, "root"]
    netem = ["netem", "delay", f"{delay_ms}ms", "limit", "100000"]
    _done("tc", "qdisc", "add", *queue, *netem)  # refused where a queue was chosen
    try:
        yield
    finally:
        _done("tc", "qdisc", "del", *queue)


def is_slow(name):
    """Whether the kernel shows that queue of an interface."""
    return "netem" in _done("tc", "qdisc", "show", "dev", name)


def can_delay():
    """Whether this kernel has that queue: not each one is built with it."""
    try:
        with slow("lo", 0):
            return True
    except ContractError:
        return False


def cut_off(address):
    """Drop what this host sends to an address, until `rejoin`."""
    _done("ip", "route", "replace", "blackhole", address)


def rejoin(address):
    """Send to it again."""
    family = "-6" if ":" in address else "-4"
    _done("ip", family, "route", "flush", "exact", address, "type", "blackhole")


def _done(*words):
    return program.run([*words], words[0], DONE_S)
