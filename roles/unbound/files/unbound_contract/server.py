"""The Unbound server behind the contract: what differs from other servers.

Reset reloads its configuration, which empties its caches, and counts what is left.  Its
flush_zone would only mark all entries as expired.
"""

import time
from pathlib import Path

from leaselab_contract import changed, control, dns, logged, process, sampling, server
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

GREETING = "UBCT1"
CONTROL_S = 20.0
COUNTERS = {
    "total.num.queries": "QUERY",
    "num.answer.rcode.NOERROR": "NOERROR",
    "num.answer.rcode.NXDOMAIN": "NXDOMAIN",
    "num.answer.rcode.SERVFAIL": "SERVFAIL",
    "num.answer.rcode.REFUSED": "REFUSED",
    "total.num.cachemiss": "QryRecursion",
    "num.query.udpout": "Queryv4",
}
"""Common names of its counters; those of the last two are BIND 9's."""
ASK_S = 0.2
MARK = "operate."
"""A zone that it answers for while an operation takes effect, and after it."""
BLOCKED = 1_000_000
NEW_MARK = "it answers the new serial number of a zone of the configuration that it reads"
CACHES = ("msg.cache.count", "rrset.cache.count")


class Server(logged.WithLog, server.Server):
    """Unbound, with empty caches at its start."""

    def ready(self):
        """Return its version once it resolves a name of the authority."""
        dns.check_answers(self.config, recursion=True)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return control.version(self.config["socket"], GREETING, CONTROL_S)

    def check_started(self):
        """Empty its caches: what proved that it answers has left its trace."""
        self.reset()
        return {}

    def statistics(self, seconds):
        """Return its figures by its own names."""
        return control.statistics(self.config["socket"], GREETING, seconds)

    def reset(self):
        """Empty its caches, until nothing is left in them."""
        deadline = time.monotonic() + CONTROL_S
        was = held(self.statistics(CONTROL_S))
        while True:
            control.ask(self.config["socket"], GREETING, "reload", CONTROL_S)
            left = self.settled(deadline)
            if not left:
                return {"held": 0, "was": was}
            if time.monotonic() > deadline:
                raise ContractError(
                    f"{left} messages and sets of records in the caches after a reload; is"
                    " traffic running?"
                )
            time.sleep(process.POLL_S)

    @operation("reload", NEW_MARK)
    def reload(self):
        """Read its configuration again; its caches are lost."""
        yield from self._read_again("reload")

    @operation("reload-keep-cache", NEW_MARK)
    def reload_keep_cache(self):
        """Read its configuration again, and keep its caches."""
        yield from self._read_again("reload_keep_cache")

    @operation("blocklist", NEW_MARK)
    def block(self):
        """Read its configuration with a list of 1000000 blocked names; keep its caches."""
        path = Path(f"{self.config['config_files'][1]}.blocked")
        names = (
            f'local-zone: "b{number}.blocked." always_nxdomain' for number in range(BLOCKED)
        )
        with changed.beside(path, "\n".join(["server:", *names, ""])):
            yield from self._read_again("reload_keep_cache", f'include: "{path}"\n')

    def _read_again(self, command, text=""):
        """Have it read its configuration with a new mark and a text behind it."""
        new = (self._mark() or 0) + 1
        mark = f'local-data: "{MARK} 1 IN SOA a. b. {new} 1 1 1 1"\n'
        text = f'{text}server:\nlocal-zone: "{MARK}" static\n{mark}'
        with changed.appended(self.config["config_files"][0], text):
            yield
            control.ask(self.config["socket"], GREETING, command, CONTROL_S)
            while self._mark() != new:
                yield False
            yield True

    def reopen_log(self):
        """As in the base class."""
        control.ask(self.config["socket"], GREETING, "log_reopen", CONTROL_S)

    def _mark(self):
        try:
            return dns.serial(self.config["address"], MARK, seconds=ASK_S, recursion=True)
        except (OSError, ValueError):
            return None

    def settled(self, deadline):
        """Return what it holds once it answers again: a reload makes its socket again."""
        while True:
            try:
                return held(self.statistics(CONTROL_S))
            except (OSError, ValueError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(process.POLL_S)

    def counted(self):
        """Return its counters, and what its caches have."""
        figures = self.statistics(self.ANSWER_S)
        return control.counters(figures, COUNTERS), held(figures)


def held(figures):
    """Return how much its caches have: messages, and sets of records."""
    return round(sum(figures.get(name, 0) for name in CACHES))
