"""Configurations of Kea with and without known costs, and what is advised of them."""

import json
from pathlib import Path

import pytest

from leaselab.inputs.advice import Given, advise
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

# Of each cost: a configuration that has it, one that nearly has it, and the options needed.
CASES = {
    "debug-logging": ({"loggers": [{"severity": "debug"}]}, QUIET),
    "info-logging": ({"loggers": [{"severity": "INFO"}]}, QUIET),
    "client-lists": (
        {"client-classes": named(20, test="pkt4.mac == 0x1")},
        {"client-classes": named(19, test="pkt4.mac == 0x1")},
    ),
    "many-expressions": (
        {"client-classes": named(20, test="'a' == 'a'")},
        {"client-classes": [*named(19, test="'a' == 'a'"), *named(20)]},
    ),
    "many-classes": ({"client-classes": named(50)}, {"client-classes": named(49)}),
    "pair-without-threads": (
        {"hooks-libraries": PAIR, "multi-threading": SINGLE},
        {"hooks-libraries": PAIR},
    ),
    "one-thread": (
        {"multi-threading": SINGLE},
        {"multi-threading": SINGLE, "hooks-libraries": PAIR},
    ),
    "more-threads-than-processors": (
        {"multi-threading": {"thread-pool-size": 5}},
        {"multi-threading": {"thread-pool-size": 4}},
        {"processors": 4},
    ),
    "threads-beyond-quota": (
        {},
        {"multi-threading": {"thread-pool-size": 2}},
        {"processors": 2, "host_processors": 64},
    ),
    "long-queue": (
        {"multi-threading": {"packet-queue-size": 256}},
        {"multi-threading": {"packet-queue-size": 256, **SINGLE}},
    ),
    "short-queue": (
        {"multi-threading": {"packet-queue-size": 15}},
        {"multi-threading": {"packet-queue-size": 0}},  # no limit
    ),
    "run-script": (
        {"hooks-libraries": [hook("run_script")]},
        {"hooks-libraries": [hook("lease_cmds")]},
    ),
    "ping-check": (
        {"hooks-libraries": [hook("ping_check")]},
        {"hooks-libraries": [hook("ping_check", **{"enable-ping-check": False})]},
    ),
    "legal-log": (
        {"hooks-libraries": [hook("legal_log")]},
        {"hooks-libraries": [hook("host_cmds")]},
    ),
    "radius": (
        {"hooks-libraries": [hook("radius")]},
        {"hooks-libraries": [hook("host_cache")]},
    ),
    "limits": (
        {
            "hooks-libraries": [hook("limits")],
            "client-classes": named(
                1, **{"user-context": {"limits": {"rate-limit": "1 packet per second"}}}
            ),
        },
        {"hooks-libraries": [hook("limits")], "client-classes": named(1)},
    ),
    "several-hooks": (
        {"hooks-libraries": [hook(item) for item in ("bootp", "flex_id", "perfmon", "limits")]},
        {"hooks-libraries": [hook(cmd) for cmd in ("bootp", "flex_id", "perfmon", *CMDS)]},
    ),
    "polling": (
        {"hooks-libraries": [hook("stat_cmds")], "subnet4": subnets(100)},
        {"hooks-libraries": [hook("stat_cmds")], "subnet4": subnets(99)},
    ),
    "pool-nearly-full": (
        {"subnet4": subnets(2, **POOL)},
        {"subnet4": subnets(3, **POOL)},
        {"clients": 160},
    ),
    "pool-reserved": (
        {"subnet4": subnets(1, **POOL, reservations=reserved(50))},
        {"subnet4": subnets(1, pools=[{"pool": "192.0.2.8/29"}], reservations=reserved(50))},
    ),
    "iterative-allocator": (
        {"subnet4": subnets(1, **POOL)},
        {"subnet4": subnets(1, **POOL), "allocator": "flq"},
        {"clients": 80},
    ),
    "reservations-in-pool": (
        {"subnet4": subnets(1, reservations=reserved(1))},
        {"subnet4": subnets(1, reservations=reserved(1), **OUT)},
    ),
    "global-reservations": (
        {"reservations-global": True, "reservations": reserved(1), "subnet4": subnets(1)},
        {
            "reservations-global": True,
            "reservations": reserved(1),
            "subnet4": subnets(1, **{"reservations-in-subnet": False}),
        },
    ),
    "many-reservations": (
        {"reservations": reserved(5000), "subnet4": subnets(1, reservations=reserved(5000))},
        {"reservations": reserved(5000), "subnet4": subnets(1, reservations=reserved(4999))},
    ),
    "reservations-in-database": ({"hosts-databases": [MYSQL]}, {"lease-database": MYSQL}),
    "unused-identifiers": ({"hosts-database": MYSQL}, {"hosts-database": MYSQL, **MAC}),
    "leases-in-database": (
        {"lease-database": {"type": "postgresql"}},
        {"lease-database": {"type": "memfile"}},
    ),
    "distant-database": (
        {"lease-database": {"type": "mysql", "host": "db1"}},
        {"lease-database": MYSQL},
    ),
    "no-persistence": (
        {"lease-database": {"type": "memfile", "persist": False}},
        {"lease-database": {"type": "memfile", "persist": True}},
    ),
    "frequent-cleaning": (
        {"lease-database": {"type": "memfile", "lfc-interval": 299}},
        {"lease-database": {"type": "memfile", "lfc-interval": 300}},
    ),
    "no-cleaning": (
        {"lease-database": {"type": "memfile", "lfc-interval": 0}},
        {"lease-database": {"type": "memfile", "lfc-interval": 0, "persist": False}},
    ),
    "no-lease-cache": (
        {"valid-lifetime": 3600, "subnet4": subnets(1)},
        {"valid-lifetime": 3600, "subnet4": subnets(1, **{"cache-threshold": 0.25})},
        {"version": "2.6"},
    ),
    "many-subnets": (
        {
            "subnet4": subnets(999),
            "shared-networks": [{"name": "n", "subnet4": subnets(1)}],
        },
        {"subnet4": subnets(999)},
    ),
    "large-shared-network": (
        {"shared-networks": [{"name": "n", "subnet4": subnets(10)}]},
        {"shared-networks": [{"name": "n", "subnet4": subnets(9)}], "subnet4": subnets(10)},
    ),
    "many-pools": (
        {"subnet4": subnets(1, pools=[{"pool": "192.0.2.8/29"}] * 50)},
        {"subnet4": subnets(2, pools=[{"pool": "192.0.2.8/29"}] * 49)},
    ),
}


def advice(folder, content, name="Dhcp4", **options):
    path = folder / "kea.conf"
    path.write_text(json.dumps({name: content}, indent=1), encoding="utf-8")
    return advise(path, SCENARIOS, Given(**options))


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
