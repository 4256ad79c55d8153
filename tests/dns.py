"""A bench whose load is DNS queries, for tests of its generators."""

import gzip
from pathlib import Path

from tests.bench_document import DOCUMENT

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.observation import Generated

DATA = Path(__file__).parent / "data"
STAGE = "QUERY-ANSWER"
SETTINGS = {
    "threads": 1,
    "clients": 1,
    "outstanding": 60_000,
    "long_options": ["latency-histogram", "verbose-interval-stats"],
}
PROOF = {
    "name": "dnsperf",
    "path": "/usr/bin/dnsperf",
    "version": "2.14.0",
    "threading": "",
    "environment": {},
    "settings": SETTINGS,
}
"""The record of dnsperf where it proves what another generator finds."""
LOAD = {
    "data": "delegations",
    "size": 1000,
    "names": "uniform",
    "misses": 0.0,
    "queries": 1000,
    "transport": "udp",
    "cache": "none",
}
GOALS = {"loss_ratio": 0.005, "late_s": 1.0, "wait_s": 2.0}


def dns_bench(tool="dnsperf", load=(), procedure=(), settings=SETTINGS):
    """The bench of one authoritative server; `load` and `procedure` are what differs."""
    server = {**DOCUMENT["servers"]["server"], "name": "bind9", "holds": ""}
    return parse_bench(
        {
            **DOCUMENT,
            "servers": {"server": server},
            "generator": {
                "name": tool,
                "path": f"/usr/bin/{tool}",
                "version": "2.14.0",
                "threading": "",
                "settings": dict(settings),
                "files": {"queries": {"path": "/var/lib/q.txt", "sha256": "2" * 64}},
            },
            "scenario": {
                "name": "delegations-1000",
                "description": "",
                "server": {"kind": "bind9", "options": {}},
                "generator": tool,
                "transaction": {"name": "DNS query", "plural": "queries", "stages": [STAGE]},
                "load": {**LOAD, **dict(load)},
                "factors": {"size": 1000},
            },
            "procedure": {"name": "max-rate", "rounds": 3, **GOALS, **dict(procedure)},
        },
        "tests",
    )


def left(text="", status=0, error=""):
    """What a generator's process leaves behind."""
    content = text if isinstance(text, bytes) else text.encode()
    return Generated(status, gzip.compress(content), error)


class Host:
    """A generator's host on which a tool leaves these behind, one after the other."""

    def __init__(self, *outputs):
        self.outputs = list(outputs)
        self.argvs = []

    def unreached(self, _address):
        return ""

    def generate(self, argv, environment, timeout_s):  # noqa: ARG002  # the port's
        self.timeout_s = timeout_s
        self.argvs.append(argv)
        return self.outputs.pop(0) if len(self.outputs) > 1 else self.outputs[0]


def sums_up(trial):
    """Whether each exchange of a trial completed, was late, was lost or failed."""
    parts = trial.completed + trial.late + trial.lost + sum(trial.failures.values())
    return parts == trial.attempted
