"""Facts recorded in the local lab, and ways to look at the findings from them."""

import json
from pathlib import Path

from leaselab.lab.checks.findings import Level

ROOT = Path(__file__).parents[1]
RECORDED = json.loads((ROOT / "tests/data/lab_check/reading.json").read_text(encoding="utf-8"))
SERVER, PARTNER, GENERATOR = "leaselab-server", "leaselab-partner", "leaselab-generator"
BUILDER = "leaselab-builder"
MANAGEMENT = {
    SERVER: "172.31.87.4",
    PARTNER: "172.31.87.3",
    GENERATOR: "172.31.87.2",
    BUILDER: "172.31.87.5",
}
HOLDER = {"name": "ana@laptop", "purpose": "20261121T1", "age_s": 5.0, "expires_in_s": 60.0}


def faults(findings, level=Level.ERROR):
    return [finding for finding in findings if finding.level is level]


def only_fault(findings):
    (fault,) = faults(findings)
    assert fault.wanted
    assert fault.todo
    return fault


def interface(probe, name):
    return [entry for entry in probe["addresses"] if entry["interface"] == name]
