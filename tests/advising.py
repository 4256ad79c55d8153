"""Configurations of Kea with and without known costs, and what is advised of them."""

import json
from pathlib import Path

import pytest

from leaselab.lab.advice import advise
from leaselab.model.errors import LeaselabError, Outcome

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
DATA = ROOT / "tests/data/advice"
HA = {"mode": "hot-standby"}
PAIR = [{"library": "/hooks/libdhcp_ha.so", "parameters": {"high-availability": [HA]}}]
ALONE = [
    {
        "library": "libdhcp_ha.so",
        "parameters": {
            "high-availability": [{"mode": "hot-standby", "send-lease-updates": False}]
        },
    }
]
SINGLE = {"enable-multi-threading": False}
QUIET = {"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}]}


def reserved(count):
    return [{"hw-address": "02:00:00:00:00:01", "ip-address": "192.0.2.1"}] * count


def hook(name, **parameters):
    return {"library": f"/hooks/libdhcp_{name}.so", "parameters": parameters}


def network(**rest):
    """A shared network, whose subnets say the rest."""
    return {"shared-networks": [{"name": "n", "subnet4": subnets(1, **rest)}]}


def named(count, **rest):
    return [{"name": f"c{number}", **rest} for number in range(count)]


def subnets(count, **rest):
    return [{"id": number + 1, "subnet": "192.0.2.0/24", **rest} for number in range(count)]


POOL = {"pools": [{"pool": "192.0.2.1 - 192.0.2.100"}]}
CMDS = ("lease_cmds", "host_cmds", "stat_cmds", "subnet_cmds", "class_cmds", "mysql")
MYSQL = {"type": "mysql", "host": "localhost"}
OUT = {"reservations-out-of-pool": True}
MAC = {"host-reservation-identifiers": ["hw-address"]}


def advice(folder, content, name="Dhcp4", **options):
    path = folder / "kea.conf"
    path.write_text(json.dumps({name: content}, indent=1), encoding="utf-8")
    return advise(path, SCENARIOS, **options)


def names(advised):
    return [finding.name for finding in advised.findings]


def costs_of(folder, content, name="Dhcp4", **options):
    """Names of the costs of a configuration whose log costs nothing."""
    return names(advice(folder, {**QUIET, **content}, name, **options))


def refusal(folder, content, name="Dhcp4", **options):
    with pytest.raises(LeaselabError) as caught:
        advice(folder, content, name, **options)
    assert caught.value.outcome is Outcome.USAGE
    return str(caught.value)
