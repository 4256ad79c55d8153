"""What role kea writes for each kind of scenario, judged by the Kea of several releases.

Each release's packages are unpacked into a folder of its own; its own server says which
words it knows, and whether the configuration that is written for it is one.
"""

import json
import os
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.rooted import render, template
from tests.tools import AS_ROOT, TOOLS, run, unpacked_kea

ROOT = Path(__file__).parents[2]
ROLE = ROOT / "roles/kea"
VERSIONS = {"bookworm": "2.2.", "trixie": "2.6.", "sid": "3."}
WORDS = {
    "bookworm": [],
    "trixie": ["allocator", "output-options"],
    "sid": ["allocator", "control-sockets", "output-options"],
}
PEERS = [
    {"name": "server1", "address": "198.18.0.10"},
    {"name": "server2", "address": "198.18.0.20"},
]
HOT_STANDBY = {
    "kea_pair_mode": "hot-standby",
    "kea_partner": True,
    "kea_peers": PEERS,
    "server_test_address": PEERS[0]["address"],
}
SHAPES = {
    "alone": {},
    "threads": {"kea_multi_threading": True, "kea_threads": 4, "kea_queue_size": 64},
    "pair": HOT_STANDBY,
    "pair-threads": {
        **HOT_STANDBY,
        "kea_multi_threading": True,
        "kea_threads": 4,
        "kea_queue_size": 64,
        "kea_pair_listener_threads": 4,
        "kea_pair_client_threads": 4,
    },
}
RESERVED = {
    "kea_reservations": 1000,
    "kea_reservations_share": 0.3,
    "kea_clients": 1000,
    "kea_first_client": "00:0c:01:02:03:04",
    "kea_pool": "10.0.0.1 - 10.127.255.254",
}
HOOKS = ["lease_cmds", "stat_cmds", "flex_option", "run_script"]
CATALOGUE = {
    **{
        f"classes-{kind}": {"kea_classes": kind, "kea_class_count": 100}
        for kind in ("empty", "simple", "substring", "members")
    },
    "subnets": {"kea_subnets": 1000, "kea_pools_per_subnet": 100},
    "network": {"kea_subnets": 3, "kea_subnets_in_network": 10},
    "network-alone": {"kea_subnets_in_network": 10},
    "no-hooks": {"kea_hooks": []},
    "hooks": {"kea_hooks": HOOKS},
    "debug": {"kea_log_severity": "DEBUG", "kea_log_debug_level": 99, "kea_log_sink": "syslog"},
    "stdout": {"kea_log_severity": "NONE", "kea_log_sink": "stdout"},
    "reclaimed": {
        "kea_lease_lifetime_s": 5,
        "kea_reclaim_wait_s": 1,
        "kea_max_reclaim_leases": 0,
        "kea_max_reclaim_ms": 0,
        "kea_hold_reclaimed_s": 0,
    },
    "unwritten": {"kea_memfile_persist": False, "kea_cache_threshold": 0.25},
    "cleaned": {"kea_lfc_interval_s": 10},
    "reserved": {**RESERVED, "kea_reservations_scope": "in-subnet"},
    "reserved-out-of-pool": {**RESERVED, "kea_reservations_scope": "out-of-pool"},
    "reserved-globally": {**RESERVED, "kea_reservations_scope": "global"},
}
"""Options of the experiments of Kea's catalogue that every release takes."""
SHAPES |= CATALOGUE
OPEN = ["host_cmds", "legal_log", "limits", "radius"]
"""Hooks that are open source since Kea 2.7.7; flex_id comes with its reservations."""
OF_SOME = {
    "perfmon": ({"kea_hooks": ["perfmon"]}, "trixie", {4, 6}),
    "bootp": ({"kea_hooks": ["bootp"]}, "trixie", {4}),
    "open": ({"kea_hooks": OPEN}, "sid", {4, 6}),
    "ping": ({"kea_hooks": ["ping_check"]}, "sid", {4}),
    "flex-id": ({"kea_reservations_identifiers": ["flex-id"]}, "sid", {4}),
    "random": ({"kea_allocator": "random"}, "trixie", {4, 6}),
    "flq": ({"kea_allocator": "flq", "kea_pool": "10.0.0.0/16"}, "trixie", {4}),
}
"""Those of one release alone, and the families that have them."""
SHAPES |= {name: shape for name, (shape, *_) in OF_SOME.items()}
POOLS = {4: "10.0.0.0/8", 6: "2001:2:0:100::/64"}
OF_FOUR = {name for name, shape in SHAPES.items() if "kea_reservations" in shape}
CASES = [
    (suite, family, shape)
    for suite in VERSIONS
    for shape in SHAPES
    for family in POOLS
    if family == 4 or shape not in OF_FOUR
    if shape not in OF_SOME or (suite == OF_SOME[shape][1] and family in OF_SOME[shape][2])
]


@cache
def known_words(suite, family):
    """The words that a release's server knows, asked as the role asks."""
    place = unpacked_kea(suite)
    wrapper = TOOLS / f"kea-{suite}-dhcp{family}"
    inside = f'exec chroot {place} /usr/sbin/kea-dhcp{family} "$1" "${{2#{place}}}"'
    wrapper.write_text(f"#!/bin/sh\n{inside}\n", encoding="utf-8")
    wrapper.chmod(0o755)
    script = (ROOT / "roles/kea/files/known_words").read_text(encoding="utf-8")
    script = script.replace('"/etc/kea"', f'"{place}/etc/kea"')
    status, output = run(*AS_ROOT, sys.executable, "-", wrapper, family, input=script)
    assert status == 0, output
    return json.loads(output)


def variables_of(suite, family, shape):
    """What the role has of a release and a scenario."""
    return {
        "server_family": family,
        "kea_subnet": POOLS[family],
        "kea_pool": POOLS[family],
        "server_relay_addresses": ["198.18.0.30"],
        "server_test_interface": "lo",
        "server_test_address": "127.0.0.1",
        "server_scenario": "a scenario",
        "kea_known_words": known_words(suite, family),
        "ansible_facts": {"architecture": os.uname().machine},
        **SHAPES[shape],
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """For a release, a folder with all its configurations, written by one playbook."""
    return cache(lambda suite: write(tmp_path_factory.mktemp(suite), suite))


def write(folder, suite):
    variants = []
    for case in (case for case in CASES if case[0] == suite):
        _, family, shape = case
        contents = {f"{family}-{shape}-kea-dhcp.json": template("kea", "kea-dhcp.json.j2")}
        if shape == "pair":
            agent = template("kea", "kea-ctrl-agent.json.j2").removesuffix("}}")
            contents |= {
                f"{family}-pair-agent.json": f"{agent} if kea_needs_agent else '' }}}}"
            }
        variants.append((variables_of(*case), contents))
    render("kea", folder, variants)
    return folder


@cache
def release(suite):
    """A release with what the role writes beside a configuration: a hook's script, secrets."""
    place = unpacked_kea(suite)
    run(*AS_ROOT, "mkdir", "-p", f"{place}/usr/share/kea/scripts")
    script = f"{place}/usr/share/kea/scripts/leaselab-nothing.sh"
    run(*AS_ROOT, "tee", script, input="#!/bin/sh\n")
    run(*AS_ROOT, "chmod", "755", script)
    names = yaml.safe_load((ROOT / "roles/kea/vars/main.yml").read_text(encoding="utf-8"))
    for name in ("kea_pair_user_file", "kea_pair_secret_file"):
        run(*AS_ROOT, "tee", f"{place}{names[name]}", input="leaselab")
    return place


def given(suite, path, program):
    """What a program of a release says of a file."""
    place = release(suite)
    target = place / "etc/kea" / path.name
    run(*AS_ROOT, "cp", path, target)
    return run(*AS_ROOT, "chroot", place, f"/usr/sbin/{program}", "-t", f"/etc/kea/{path.name}")


def test_identifiers_are_in_the_order_of_the_scenario(written):
    """Kea tries one after the other: another order is another cost, and another result."""
    text = (written("trixie") / "6-alone-kea-dhcp.json").read_text("utf-8")
    assert '"host-reservation-identifiers": ["hw-address", "duid"]' in text


@pytest.mark.parametrize(("suite", "family", "shape"), CASES)
def test_a_release_takes_what_is_written_for_it(written, suite, family, shape):
    server = written(suite) / f"{family}-{shape}-kea-dhcp.json"
    status, output = given(suite, server, f"kea-dhcp{family}")
    assert status == 0, output
    if shape != "pair":
        return
    agent = written(suite) / f"{family}-pair-agent.json"
    needed = "control-sockets" not in known_words(suite, family)
    assert bool(agent.read_text("utf-8")) == needed
    if needed:
        status, output = given(suite, agent, "kea-ctrl-agent")
        assert status == 0, output


@pytest.mark.parametrize(("suite", "missing"), [("trixie", OPEN), ("sid", [])])
def test_a_release_has_the_hooks_that_it_is_said_to_have(suite, missing):
    """The role refuses a scenario whose hooks are not among the files of its Kea."""
    [folder] = unpacked_kea(suite).glob("usr/lib/*/kea/hooks")
    there = {path.name for path in folder.iterdir()}
    assert [name for name in OPEN if f"libdhcp_{name}.so" not in there] == missing


@pytest.mark.parametrize("suite", VERSIONS)
def test_the_releases_are_those_that_are_meant_and_differ_in_their_words(suite):
    reported = run(*AS_ROOT, "chroot", unpacked_kea(suite), "/usr/sbin/kea-dhcp4", "-v")[1]
    assert reported.startswith(VERSIONS[suite])
    assert known_words(suite, 4) == known_words(suite, 6) == WORDS[suite]


def test_a_word_that_a_release_does_not_know_is_refused(written):
    """The judge can refuse: what is written for one release, given to another."""
    status, output = given("trixie", written("sid") / "4-alone-kea-dhcp.json", "kea-dhcp4")
    assert status != 0
    assert "control-sockets" in output
