"""leaseload's recorded reports: of it against leaserespond on one host.

The name of each says what the responder did.  `updates` is of BIND 9, which drops updates where
its disk is slow.
"""

import copy
import gzip
import json
from pathlib import Path

from tests.bench_document import DOCUMENT
from tests.dns import Host, dns_bench

from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.measure.generators.leaseload.command import Leaseload
from leaselab.model.observation import Generated

DATA = Path(__file__).parent / "data" / "leaseload"
TOOL = {
    "name": "leaseload",
    "path": "/opt/leaselab/leaseload",
    "version": "0.1.0",
    "threading": "",
    "settings": {"source": "0" * 40, "threads": 1, "sockets": 4},
    "relays": ["198.18.0.30"],
}


def report(name, **changed):
    return {**json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")), **changed}


def left(document, status=0):
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Generated(status, gzip.compress(text), "")


def bench(relays=TOOL["relays"], **load):
    document = copy.deepcopy(DOCUMENT)
    document["generator"] = {**TOOL, "relays": relays}
    document["scenario"]["generator"] = "leaseload"
    document["scenario"]["load"] |= load
    document["hosts"]["generator"]["test_address6"] = "2001:2:0:1::30"
    return parse_bench(document, "bench.json")


def adapter(*reports, procedure=None, **load):
    made, host = bench(**load), Host(*map(left, reports))
    return Leaseload(made, procedure or made.procedure, host), host


def dns(*reports, **how):
    made, host = (
        dns_bench("leaseload", settings=TOOL["settings"], **how),
        Host(*map(left, reports)),
    )
    return Leaseload(made, made.procedure, host), host


def words(host):
    return " ".join(host.argvs[0])
