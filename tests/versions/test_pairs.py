"""Pairs of the real Kea whose clocks differ, as the role and the contract run them."""

import dataclasses
import json
import subprocess
import time
from functools import partial
from operator import lt

import pytest
from tests import deployed
from tests.load_programs import load_programs
from tests.rooted import switched
from tests.waiting import HANGS_S, until

from leaselab.leases.check import check
from leaselab.leases.history import SECOND
from leaselab.measure.generators.leaseload.history import history_of

AHEAD_S = 50
HOT_STANDBY = {
    "pair_mode": "hot-standby",
    "pair_max_response_delay_s": 2.0,
    "pair_max_unacked_clients": 0,
}
LIFETIME_S = AHEAD_S + 5
LONG_ENOUGH_S = 8
"""What a lease is old after that has ended by the clock ahead (s)."""
NEW_CLIENTS = ["--interface", "g0", "--server", "255.255.255.255", "--relay", "198.18.0.30"]


@pytest.fixture(scope="module")
def hosts():
    with switched("pairs") as prefixes:
        yield prefixes


def done(server, verb):
    status, said = server.verb(verb)
    assert status == 0, said
    return said


def answered(server):
    """How many leases it has given."""
    sample = json.loads(done(server, "sample").splitlines()[0])
    return sample["counters"].get("pkt4-ack-sent", 0)  # none where it is too busy


def is_ended(state):
    return "terminated" in state


def test_a_clock_that_is_not_ahead_is_no_start(hosts, tmp_path):
    options = {**HOT_STANDBY, "pair_clock_ahead_s": AHEAD_S}
    server, partner = deployed.pair(hosts[:2], tmp_path, **options)
    assert "FAKETIME" not in json.dumps(server.settings)
    try:
        done(partner, "start")
        process = partner.settings["process"]
        del process["environment"]["LD_PRELOAD"]
        partner.install(process=process)
        status, said = partner.verb("start")
    finally:
        partner.verb("stop")
    assert status == 4
    assert "Kea's clock is not ahead as asked for (found 0 s, wanted 50 s)" in said


def test_a_pair_that_its_clocks_have_ended_says_so(hosts, tmp_path):
    """The role takes no such difference; a host without a time server may have it."""
    pair = deployed.pair(hosts[:2], tmp_path, **HOT_STANDBY, pair_clock_ahead_s=90)
    try:
        for host in pair:
            done(host, "start")
        said = [until(partial(done, host, "state"), is_ended) for host in pair]
    finally:
        for host in pair:
            host.verb("stop")
    for text, which in zip(said, ("ahead", "behind"), strict=True):
        assert "HA_HIGH_CLOCK_SKEW_CAUSED_TERMINATION" in text
        assert f"s {which}" in text


@pytest.mark.night
@pytest.mark.parametrize("ahead_s", [0, AHEAD_S])
def test_leases_end_as_much_early_at_a_partner_whose_clock_is_ahead(hosts, tmp_path, ahead_s):
    options = {**HOT_STANDBY, "pair_clock_ahead_s": ahead_s, "lease_lifetime_s": LIFETIME_S}
    seen = tmp_path / "seen"
    options["pool"] = "10.0.0.1 - 10.0.255.254"  # of more than all clients
    server, partner = deployed.pair(hosts[:2], tmp_path, **options)
    try:
        for verb in ("start", "settle"):
            for host in (server, partner):
                done(host, verb)
        asked = [load_programs() / "leaseload", "dhcp4", *NEW_CLIENTS, "--history"]
        asked += ["--rate", "40", "--seconds", f"{HANGS_S}"]
        with seen.open("wb") as output:  # a pipe would fill, and stop the load
            load = subprocess.Popen([*hosts[2], *asked], stdout=output)
        try:
            until(partial(answered, server), partial(lt, 40))
            time.sleep(LONG_ENOUGH_S)
            done(server, "crash")
            until(partial(answered, partner), partial(lt, 40))
        finally:
            load.terminate()
            load.wait()
    finally:
        for host in (server, partner):
            host.verb("stop")
    history = history_of(seen.read_bytes().splitlines()[:-1])
    broken = {each.rule: each for each in check(history)}
    assert broken.keys() == ({"twice"} if ahead_s else set())
    earlier = dataclasses.replace(history, until=history.until - ahead_s * SECOND)
    assert check(earlier) == ()
