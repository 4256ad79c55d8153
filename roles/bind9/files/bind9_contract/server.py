"""The BIND 9 server behind the contract: what differs from other servers.

Reset does nothing on an authority, which holds nothing, unless it takes updates: then it
restarts it with the zones as they were made, as a frozen zone may still be written after
rndc says so.  On a recursor it flushes the cache and counts what is left in the cache.
"""

import os
import re
import shutil
import signal
import time
from pathlib import Path

from leaselab_contract import (
    changed,
    dns,
    logged,
    process,
    program,
    sampling,
    server,
    signed,
    updated,
    zones,
)
from leaselab_contract.errors import ContractError
from leaselab_contract.operations import operation

from bind9_contract import statistics

RECURSIVE = "recursive"
LOADED = "all zones loaded"
NOT_LOADED = "not loaded due to errors"
NOT_RELOADED = "reloading configuration failed"
RELOADED = ": loaded serial "
EMPTY_S = 20.0
FLUSH_S = 10.0
RECONFIG_S = 60.0
RELOAD_POLL_S = 0.02
BLOCKED = 1_000_000
BLOCKED_ZONE, MARK = "operate.rpz", "mark.blocked"
"""A response policy zone, and a name that it has and nobody else."""
BLOCKED_TEXT = f"$TTL 60\n@ SOA ns h 1 10800 3600 604800 3600\n@ NS .\n{MARK} TXT here\n"
_THREADS = re.compile(r"using (\d+) worker thread")
_ZONE_KEY = re.compile(r"key: (\d+) \(\w+\), ZSK")
_VERSION = re.compile(r"\b\d+\.\d+\.\d+")


def _is_recursor(server):
    return server.config["role"] == RECURSIVE


class Server(signed.WithKeys, logged.WithLog, updated.Server):
    """named, as an authority or as a recursor."""

    VERBS = (*server.Server.VERBS, "reload")
    STOP_S = 60.0
    """Freeing a million zones takes that long."""
    ZONE = 'zone "{zone}" {{ type primary; file "{file}"; }};'
    SECONDARY = 'zone "{zone}" {{ type secondary; primaries {{ {address} port {port}; }}; }};'
    SIGNED = (
        'dnssec-policy "operate" {{\n'
        "  dnskey-ttl 0; publish-safety 0; zone-propagation-delay 0;\n"
        "  keys {{\n"
        "    ksk key-directory lifetime unlimited algorithm ecdsap256sha256;\n"
        "    zsk key-directory lifetime unlimited algorithm ecdsap256sha256;\n"
        "  }};\n"
        "}};\n"
        'zone "{zone}" {{\n'
        '  type primary; file "{file}"; key-directory "{folder}";\n'
        "  dnssec-policy operate; inline-signing yes;\n"
        # else it writes 10 signatures at a time to the disk
        "  sig-signing-signatures 1000; sig-signing-nodes 1000;\n"
        "}};"
    )

    def restore(self):
        """Copy the zones as they were made over its own ones, without journals."""
        folder = Path(self.config["zone_folder"])
        folder.mkdir(exist_ok=True)
        for journal in folder.glob("*.jnl"):
            journal.unlink()
        for file in Path(self.config["made_folder"]).glob("*.zone"):
            shutil.copyfile(file, folder / file.name)

    def ready(self):
        """Return its version once it answers for its data.

        It answers SERVFAIL while it loads its zones, and as a recursor without its
        authority.
        """
        if LOADED not in self.log():
            raise ContractError("its zones are being loaded")
        dns.check_answers(self.config, recursion=self.config["role"] == RECURSIVE)
        sampling.check_serves(self.config["process"], self.config["udp_port"])
        return _VERSION.search(statistics.ask(self.config)["version"])[0]

    def check_started(self):
        """Check its zones, and empty its cache of the answers to the readiness check."""
        self.check_zones()
        super().check_started()
        if self.config["role"] == RECURSIVE:
            self.reset()
        return {"worker_threads": self.worker_threads()}

    def check_zones(self):
        """Raise named's log line where it serves without one of its zones."""
        failed = [line for line in self.log().splitlines() if NOT_LOADED in line]
        if failed:
            raise ContractError(f"{len(failed)} zones are missing: {failed[-1]}")

    def log(self):
        """Return what it has logged since its start."""
        return read(self.config["log_file"])

    def worker_threads(self):
        """Return how many threads it says that it works with."""
        said = _THREADS.search(self.log())
        if not said:
            raise ContractError(
                f"{self.config['log_file']} does not say how many threads it has"
            )
        return int(said[1])

    def reset(self):
        """Flush the cache of a recursor, until nothing is left in it; or undo updates."""
        if self.config["role"] != RECURSIVE:
            return super().reset()
        deadline = time.monotonic() + EMPTY_S
        was = self.cached()
        while True:
            self.rndc("flush", FLUSH_S)
            left = self.cached()
            if not left:
                return {"held": 0, "was": was}
            if time.monotonic() > deadline:
                raise ContractError(
                    f"{left} sets of records in the cache after a flush; is traffic running?"
                )
            time.sleep(process.POLL_S)

    def rndc(self, command, seconds):
        """Send it a command; return what it says."""
        words = [*map(str, self.config["rndc"]), command]
        return program.run(words, f"rndc {command}", seconds)

    def read_zones_again(self):
        """As in the base class, by a signal: see `reload`."""
        os.kill(self.running(), signal.SIGHUP)

    def read_list_again(self):
        """As in the base class."""
        self.rndc("reconfig", RECONFIG_S)

    def reopen_log(self):
        """As in the base class."""
        self.rndc("reconfig", RECONFIG_S)

    def is_signed(self):
        """As in the base class, with both keys; rndc refuses a zone that is still loaded."""
        if not super().is_signed():
            return False
        return self.rndc(f"signing -list {signed.ZONE}", FLUSH_S).count("Done signing") == 2

    def roll_key(self):
        """As in the base class."""
        status = self.rndc(f"dnssec -status {signed.ZONE}", FLUSH_S)
        key = _ZONE_KEY.search(status)[1]
        self.rndc(f"dnssec -rollover -key {key} {signed.ZONE}", FLUSH_S)

    @operation("blocklist", "it answers for a name of the list", _is_recursor)
    def block(self):
        """Read its configuration with a response policy zone of 1000000 blocked names."""
        path, listed = map(Path, self.config["config_files"][:2])
        file = listed.with_suffix(".rpz")
        names = "\n".join(f"b{number}.blocked CNAME ." for number in range(BLOCKED))
        policy = f'options {{\n  response-policy {{ zone "{BLOCKED_ZONE}"; }};'
        zone = f'zone "{BLOCKED_ZONE}" {{ type primary; file "{file}"; }};\n'
        text = path.read_text(encoding="utf-8").replace("options {", policy, 1) + zone
        with changed.beside(file, f"{BLOCKED_TEXT}{names}\n"), changed.replaced(path, text):
            yield
            self.rndc("reconfig", RECONFIG_S)
            while not self._has_mark():
                yield False
            yield True

    def _has_mark(self):
        try:
            rcode, _, _ = dns.ask(
                self.config["address"], MARK, seconds=zones.ASK_S, recursion=True
            )
        except (OSError, ValueError):
            return False
        return rcode == "NOERROR"

    @operation(
        "flush", "its cache has half of the sets of records that it had, or less", _is_recursor
    )
    def flush(self):
        """Empty its cache."""
        was = self.cached()
        yield
        self.rndc("flush", FLUSH_S)
        while self.cached() > was // 2:
            yield False
        yield True

    def serials(self, seconds):
        """Return the serial number of each of its zones: an update raises one by one."""
        return statistics.serials(self.config, seconds)

    def cached(self):
        """Return how many sets of records are in the cache."""
        return statistics.cached(self.config, statistics.ask(self.config, EMPTY_S))

    def reload(self):
        """Make an authority of one zone read it again, and wait until it has.

        named skips a file that is no newer than its zone, so the file's time is updated.  It
        serves the old data meanwhile.  SIGHUP is used and not ``rndc reload``, which waits for
        the configuration to be read, in 9.18 for a minute at most.  named logs "all zones
        loaded" before they are loaded.
        """
        pid = self.running()
        for path in Path(self.config["zone_folder"]).iterdir():
            os.utime(path)
        logged, loads = len(self.log()), len(read(self.config["loads_file"]))
        began = time.monotonic()
        deadline = began + self.config["start_s"]
        os.kill(pid, signal.SIGHUP)
        while RELOADED not in read(self.config["loads_file"])[loads:]:
            self.used()  # raises why it is gone
            since = self.log()[logged:]
            if NOT_RELOADED in since or NOT_LOADED in since:
                raise ContractError(process.last_reason(self.config["process"]))
            if time.monotonic() > deadline:
                raise ContractError(
                    f"its zone is not loaded within {self.config['start_s']:.0f} s"
                )
            time.sleep(RELOAD_POLL_S)
        reload_s = time.monotonic() - began
        dns.check_answers(self.config)
        return {"reload_s": reload_s}

    def counted(self):
        """Return its counters, and what its cache or its updated zones have."""
        answer = statistics.ask(self.config, self.ANSWER_S)
        held = statistics.cached(self.config, answer)
        if held is None:
            held = self.held()
        return statistics.counters(self.config, answer), held


def read(path):
    """Return the text of a log."""
    return Path(path).read_text(encoding="utf-8", errors="replace")
