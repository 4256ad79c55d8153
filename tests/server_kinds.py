"""All kinds of servers behind the contract, each with a server that plays it.

`tests/fake_server.py` plays them, with recorded answers where there are some; the contract
starts it as it starts the real one.
"""

import importlib
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.contracts import contract_module
from tests.processes import await_end

DATA = Path(__file__).parent / "data"
PROGRAM = Path(__file__).with_name("fake_server.py")
CONTROLS = ("dbus-send", "knotc", "pdns_control", "rec_control", "rndc")
ADDRESS = f"127.{64 + os.getpid() % 64}.{os.getpid() // 64 % 250}.3"
"""Of this process: tests run side by side."""
RCODES = {"NOERROR": 0, "SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}
LOADED = "general: info: using 2 worker threads\ngeneral: notice: all zones loaded\n"
OF_START = "zoneload: info: zone z.test/IN: loaded serial 1\n"
NEARLY_MOST = "4294967290"
"""A serial number that ten updates raise past the largest."""
STATE = {
    **dict.fromkeys(("answers", "emptied", "columns", "dies", "says", "mute", "warm"), ""),
    **dict.fromkeys(("rcode", "held", "late"), 0),
    "records": 1,
    "ports": [],
    "serial_files": [],
    "log": {},
    "reloads": {},
    "replies": {},
}


@dataclass(frozen=True)
class Kind:
    """A kind of server: how it is deployed, and what is to come of that."""

    role: str
    version: str
    settings: Callable
    """What its settings have beside those that all have; makes the files that they name."""
    state: Callable
    """How the server that plays it is; both are functions of the folder."""
    dns: bool = False
    """Whether it is asked for a zone before it is ready."""
    port: str = ""
    """The setting with the port at which it has to have a socket of its own."""
    counters: dict = field(default_factory=dict)
    refused: int | None = None
    fill: Callable | None = None
    """How it is when it holds something; None for one that holds nothing."""
    was: int | None = None
    """How much that is, with what comes while it is emptied."""
    late: int = 0
    """How much of it is that."""
    warm: Callable = lambda _: {"warm": True}
    """How it is when it cannot be emptied."""
    mute: dict = field(default_factory=lambda: {"mute": True})
    """How it is when it is too busy to say what it has counted; empty where it can always."""
    changed: Callable = lambda folder: (folder / "config").write_text("changed")
    """Has it run with another configuration; may return how it is then."""
    log_failed: str = ""
    """What it logs where it serves without one of its zones."""


class Deployed:
    """A variant of a kind, in a folder that is its host."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder
        (folder / "bin").mkdir()
        for name in (kind.role, "bus", *CONTROLS):
            path = folder / "bin" / name
            path.write_text(f"#!{sys.executable} -ES\n{PROGRAM.read_text()}")
            path.chmod(0o755)
        (folder / "config").write_text("as deployed\n")
        self.settings = {
            "kind": kind.role,
            "variant": "v",
            "address": ADDRESS,
            "known_name": "z.test.",
            "capabilities": [],
            "files": [str(folder / "*")],
            "interface": "lo",
            "process": self.process(kind.role),
            "config_files": [str(folder / "config")],
            "udp_port": 53 if kind.dns else None,
            "start_s": 60.0,
            **kind.settings(folder),
        }
        if "bus" in self.settings:
            self.settings["bus"]["process"] = self.process("bus")
        (folder / "settings.json").write_text(json.dumps(self.settings))
        (folder / "state.json").write_text(json.dumps(STATE))
        self.be(**{"ports": [53] * kind.dns, **kind.state(folder)})

    def process(self, name):
        return {
            "argv": [sys.executable, "-ES", str(self.folder / "bin" / name)],
            "pid_file": str(self.folder / f"run/{name}.pid"),
            "output_file": str(self.folder / f"run/{name}.out"),
            "log_files": [str(self.folder / "log")],
            "error_words": [" error: "],
            "noise_words": [],
            "user": None,
            "stop_signal": "SIGTERM",
        }

    def be(self, **fields):
        """Have the server be otherwise from now on."""
        path = self.folder / "state.json"
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
        draft.replace(path)

    def do(self, act):
        """Carry out what a kind says of its folder; have the server be as that returns."""
        fields = act(self.folder) if act else None
        self.be(**(fields if isinstance(fields, dict) else {}))

    def asked(self):
        """What the server was asked by what controls it."""
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def server(self, **changes):
        """Its contract, as each verb makes it."""
        module = importlib.import_module(f"{self.kind.role}_contract.server")
        return module.Server({**self.settings, **changes})

    def running(self):
        """Ids of what runs of it."""
        process = importlib.import_module("leaselab_contract.process")
        parts = [self.settings, self.settings.get("bus", self.settings)]
        return sorted({process.running_pid(part["process"]) for part in parts} - {None})


@contextmanager
def deployed(kind, folder, patch):
    """Deploy a kind; whatever runs of it is ended."""
    with contract_module(kind.role, f"{kind.role}_contract.server"):
        environment = importlib.import_module("leaselab_contract.process").ENVIRONMENT
        patch.setitem(environment, "PATH", f"{folder}/bin:{environment['PATH']}")
        variant = Deployed(kind, folder)
        try:
            yield variant
        finally:
            pids = variant.running()
            variant.server().stop()
            await_end(*pids)


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as some:
        some.bind((ADDRESS, 0))
        return some.getsockname()[1]


def write(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def bind9(version, role="authoritative", **more):
    """named, by recorded statistics of a release."""
    recorded = f"{DATA}/bind9/{{}}-{version}.json"
    answers = recorded.format(role)

    def settings(folder):
        return {
            "role": role,
            "log_file": str(folder / "log"),
            "statistics_port": free_port(),
            "loads_file": str(folder / "loads"),
            "zone_folder": str(folder / "zones"),
            "rndc": ["rndc", "-p", 953],
        }

    def state(folder):
        log = {str(folder / "log"): LOADED, str(folder / "loads"): OF_START}
        return {"answers": answers, "emptied": recorded.format("recursive-flushed"), "log": log}

    if role == "recursive":
        document = json.loads(Path(answers).read_text())
        more["was"] = sum(document["views"]["_default"]["resolver"]["cache"].values())
        more["fill"] = lambda _: {"answers": answers}
    known = {
        "dns": True,
        "port": "udp_port",
        "log_failed": "zone a/IN: not loaded due to errors",
    }
    release = json.loads(Path(answers).read_text())["version"].partition("-")[0]
    return Kind("bind9", release, settings, state, **known, **more)


def recorded(role, version, **more):
    """NSD or Unbound, by recorded answers of its control socket."""
    file = f"{DATA}/{role}/{role}-{{}}{version}.txt"

    def settings(folder):
        return {"socket": str(folder / "socket"), "log_file": str(folder / "log")}

    def state(_):
        emptied, status = file.format("reloaded-"), file.format("status-")
        return {"answers": file.format(""), "emptied": emptied, "status": status}

    known = {"dns": True, "port": "udp_port", "refused": 0}
    status = Path(file.format("status-")).read_text()
    return Kind(role, status.split()[1], settings, state, **known, **more)


def knot(**more):
    def settings(folder):
        return {
            "socket": str(folder / "socket"),
            "log_file": str(folder / "log"),
            "control": "knotc",
            "journal_folder": str(folder / "journal"),
        }

    def state(folder):
        return {"log": {str(folder / "log"): "[z.test.] info: loaded\n"}}

    known = {"dns": True, "port": "udp_port", "mute": {}, "log_failed": "[z.test.] error: none"}
    return Kind("knot", "3.4.6", settings, state, **known, **more)


def pdns_recursor():
    figures = {
        **dict.fromkeys(("questions", "noerror-answers", "nxdomain-answers"), 7),
        **dict.fromkeys(("servfail-answers", "policy-drops", "over-capacity-drops"), 0),
        **dict.fromkeys(("packetcache-hits", "cache-misses", "all-outqueries"), 9),
    }
    caches = ("cache-entries", "negcache-entries", "packetcache-entries")
    return Kind(
        *("pdns_recursor", "5.2.2"),
        lambda folder: {"control": "rec_control", "socket_folder": str(folder)},
        lambda _: {"answers": figures, "caches": caches},
        dns=True,
        port="udp_port",
        counters={"QUERY": 7, "NXDOMAIN": 7, "QryRecursion": 9, "Queryv4": 9},
        fill=lambda _: {"held": 28},
        was=28,
    )


def powerdns(cache, **more):
    def settings(folder):
        for name in ("stored/pdns.lmdb", "made/pdns.lmdb"):
            write(folder / name, NEARLY_MOST)
        write(folder / "stored/made.json", '{"sha256": "abc", "update_key": ""}')
        return {
            "cache": cache,
            "database": None,
            "state_folder": str(folder / "stored"),
            "control_program": "pdns_control",
            "config_folder": "/etc/pdns-of-a-test",
            "data": {"made": {"sha256": "abc"}},
            "store": {"update_key": ""},
            "counters": ["udp-queries", "packetcache-miss", "zone-cache-size"],
        }

    def state(_):
        of = DATA / "powerdns"
        return {
            "answers": str(of / "show.txt"),
            "configuration": str(of / "current-config.txt"),
        }

    def changed(folder):
        text = (DATA / "powerdns/current-config.txt").read_text()
        write(folder / "changed", text.replace("queue-length=5000", "queue-length=50"))
        return {"configuration": str(folder / "changed")}

    counters = {"udp-queries": 1, "packetcache-miss": 1, "zone-cache-size": 10000}
    known = {"dns": True, "counters": counters, "changed": changed}
    return Kind("powerdns", "4.9.18", settings, state, **known, **more)


def updated(kind, *serial_files):
    """The same where its zone may be updated; the last file has the updates."""

    def settings(folder):
        for name in ("made", "zones"):
            write(folder / name / "z.zone", NEARLY_MOST)
        return {**kind.settings(folder), "made_folder": str(folder / "made")}

    def state(folder):
        files = [str(folder / name) for name in serial_files]
        return {**kind.state(folder), "serial_files": files}

    def fill(folder):
        path = folder / serial_files[-1]
        write(path, str(int(path.read_text() if path.exists() else 0) + 10))

    def warm(folder):
        return {
            "log": {**kind.state(folder).get("log", {}), str(folder / serial_files[-1]): "5"}
        }

    more = {"settings": settings, "state": state, "fill": fill, "was": 10, "warm": warm}
    return Kind(**{**vars(kind), **more, "counters": {}, "mute": {"mute": True}})


def dnsmasq():
    counts = {"dhcp_ack": 5, "dhcp_offer": 6, "dhcp_nak": 1}
    return Kind(
        *("dnsmasq", "2.91"),
        lambda folder: {
            "bus": {"socket": str(folder / "bus")},
            "family": 4,
            "hosts_file": "",
            "lease_file": str(folder / "leases"),
        },
        lambda _: {"answers": counts},
        counters=counts,
        refused=1,
        was=3,
        fill=lambda folder: write(folder / "leases", "a\nb\nc\n"),
        warm=lambda folder: {"log": {str(folder / "leases"): "a\n"}},
    )


def isc_dhcpd():
    port = free_port(socket.SOCK_DGRAM)
    leases = "".join(
        f"lease 10.0.0.{last} {{\n  starts 1;\n  binding state {word};\n}}\n"
        for last, word in ((1, "active"), (2, "active"), (3, "active"), (3, "free"))
    )
    return Kind(
        *("isc_dhcpd", "4.4.3"),
        lambda folder: {"lease_file": str(folder / "leases"), "port": port},
        lambda _: {"says": "Internet Systems Consortium DHCP Server 4.4.3\n", "ports": [port]},
        port="port",
        was=2,
        mute={},
        fill=lambda folder: write(folder / "leases", leases),
        warm=lambda folder: {"log": {str(folder / "leases"): leases}},
    )


def kea(*, can_wipe):
    counts = {"pkt4-received": 40, "pkt4-ack-sent": 1000, "pkt4-nak-sent": 2}
    counts["v4-lease-reuses"] = 998

    def fill(folder):
        """Two leases, in a file and an older one; a third comes while it is emptied."""
        for name in ("leases.csv", "leases.csv.2", "leases.csv.completed"):
            write(folder / name, "a lease\n")
        return {"held": 2, "late": 1}

    return Kind(
        *("kea", "2.6.3"),
        lambda folder: {
            "family": 4,
            "database": None,
            "subnet_id": 50,
            "can_wipe": can_wipe,
            "lease_file": str(folder / "leases.csv"),
            "counters": list(counts),
            "control_socket": str(folder / "socket"),
            "refused_counter": "pkt4-nak-sent",
            "written_counters": ["pkt4-ack-sent", "v4-lease-reuses"],
            **dict.fromkeys(("pair_state", "pair_partner"), ""),
            "leases_statistic": "subnet[50].assigned-addresses",
            **dict.fromkeys(("agent", "poller")),
        },
        lambda _: {"answers": counts, "configuration": {"Dhcp4": {"valid-lifetime": 1}}},
        changed=lambda _: {"configuration": {"Dhcp4": {"valid-lifetime": 2}}},
        counters=counts,
        refused=2,
        fill=fill,
        was=3,
        late=1,
    )


BIND = {"QUERY": 5, "NOERROR": 3, "NXDOMAIN": 1, "SERVFAIL": 0, "REFUSED": 1}
NSD = {"QUERY": 414, "NOERROR": 412, "NXDOMAIN": 2, "SERVFAIL": 0, "REFUSED": 0}
ASKED = {"QUERY": 206, "NXDOMAIN": 1, "QryRecursion": 206}
AUTHORITY = bind9("9.20", counters=BIND, refused=1)
KINDS = {
    "bind9 9.18": bind9("9.18", counters=BIND, refused=1),
    "bind9 9.20": AUTHORITY,
    "bind9 with updates": updated(AUTHORITY, "zones/z.zone"),
    "bind9 9.18 as recursor": bind9(
        "9.18", "recursive", counters={**ASKED, "Queryv4": 622}, refused=0
    ),
    "bind9 9.20 as recursor": bind9(
        "9.20", "recursive", counters={"QryRecursion": 201, "Queryv4": 404}, refused=0
    ),
    "nsd": recorded("nsd", "4.12", counters=NSD, log_failed="nsd: error: zonefile a is gone"),
    "unbound": recorded(
        *("unbound", "1.26"),
        counters={**ASKED, "Queryv4": 413, "NOERROR": 205},
        was=826,
        fill=lambda _: {"answers": f"{DATA}/unbound/unbound-1.26.txt"},
    ),
    "knot": knot(),
    "knot with updates": updated(knot(), "zones/z.zone", "journal/z"),
    "pdns_recursor": pdns_recursor(),
    "powerdns": powerdns("none"),
    "powerdns with updates": updated(powerdns("none"), "stored/pdns.lmdb"),
    **{
        f"powerdns, {cache}": powerdns(cache, fill=lambda _: {"held": 7}, was=7)
        for cache in ("cold", "mixed")
    },
    "dnsmasq": dnsmasq(),
    "isc_dhcpd": isc_dhcpd(),
    "kea": kea(can_wipe=False),
    "kea with its hook": kea(can_wipe=True),
}
