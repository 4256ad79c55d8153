"""A pair: what a sweep keeps of it, and what it says when a half of it fails."""

import json
import re

import pytest
from tests.lab.commands import (
    LONG_TRIALS,
    complaint,
    copy_inventory,
    leaselab,
    pinned_keys,
    playbook,
    resumed,
    trials_of,
)

pytestmark = pytest.mark.lab

SCENARIO = "v4-memfile-hs"
"""Without threads: the control agents are between them."""

SLOW = {**LONG_TRIALS, "start_rate": 800}


@pytest.mark.parametrize("scenario", ["v6-memfile-mt-lb", "v4-memfile-hs"])
def test_every_answered_client_is_known_to_both_servers(bench_file, results, on_host):
    done = leaselab("step", "sweep", bench_file(), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    servers = document["servers"]
    assert servers["partner"]["version"] == servers["server"]["version"]
    (round_,) = document["rounds"]
    lower = round_["trials"][round_["bracket"]["lower_trial"]]
    assert lower["trouble"] == ""
    assert lower["held"].keys() == lower["samples"].keys() == {"server", "partner"}
    assert min(lower["held"].values()) >= lower["completed"]
    for role in ("server", "partner"):
        assert on_host(role, "pgrep kea || echo none") == "none\n"


def test_a_partner_killed_in_a_trial_is_an_invalid_measurement(
    engine, bench_file, results, on_host
):
    sweep = engine("step", "sweep", bench_file(**SLOW), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for", timeout_s=120)
    on_host("partner", "pkill -KILL -x kea-dhcp4")
    code, last = sweep.end()
    assert code == 3, last
    assert last.startswith(
        "leaselab: leaselab-partner: the server died while it was measured: kea-dhcp4 is gone"
    )


def test_a_partner_out_of_reach_is_a_broken_lab_and_the_sweep_goes_on(
    engine, bench_file, results, deployed, on_host
):
    interface = deployed["hosts"]["partner"]["test_interface"]
    sweep = engine("step", "sweep", bench_file(**SLOW), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for", timeout_s=120)
    on_host("partner", f"ip link set {interface} down")
    try:
        code, last = sweep.end(timeout_s=180)
    finally:
        on_host("partner", f"ip link set {interface} up")
        # what a kernel forgets when a link goes down
        on_host("partner", f"ip -6 address add 2001:2:0:1::20/64 dev {interface}")
    assert code == 4, last
    assert re.search(r"the pair is not in its state after \d+ s \(found .*; wanted both", last)
    resumed(results)


PARTNER = """      hosts:
        leaselab-partner:
          ansible_port: 22042
          leaselab_test_address: 198.18.0.20
          leaselab_test_address6: "2001:2:0:1::20"
          leaselab_test_address_2: 198.18.0.21
          leaselab_test_address6_2: "2001:2:0:1::21"
"""


def test_a_pair_without_a_partner_in_the_inventory_is_bad_input(deployed, results, tmp_path):
    assert deployed["servers"]["partner"]
    alone = copy_inventory(tmp_path, pinned_keys(), (PARTNER, "      hosts: {}\n"))
    done = leaselab("run", "v4-memfile-hs", "-i", alone, "--results", results)
    assert done.returncode == 2
    assert "dhcp_partner" in complaint(done)
    by_hand = playbook("deploy", "-e", "scenario=v4-memfile-hs", inventory=alone)
    assert by_hand.returncode != 0
    assert "Scenario v4-memfile-hs needs a partner." in by_hand.stdout


def test_a_failover_serves_again_and_no_lease_is_lost(deployed, results):
    assert deployed["servers"]["partner"]
    load = ("--rate", 300, "--before-s", 3, "--after-s", 18, "--runs", 1)
    done = leaselab(
        "run", "--procedure", "event", "v4-memfile-hs", *load, "--results", results, "--json"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["outcome"], document["procedure"]["name"]) == ("ok", "event")
    figures = {metric["name"]: metric["value"] for metric in document["metrics"]}
    of_server = ["start_s", "memory_mib"]
    assert list(figures) == ["outage_s", "lost", "missing", "conflicting", *of_server]
    options = deployed["scenario"]["server"]["options"]
    assert 1 < figures["outage_s"] < options["pair_max_response_delay_s"] + 10
    assert figures["lost"] >= 300
    # those that the server had stored and not yet sent: their clients got no answer
    limit = options["pair_parked_packet_limit"]
    assert figures["missing"] + figures["conflicting"] <= limit
    (trial,) = trials_of(document)
    assert trial["figures"]["held_by_partner"] >= trial["completed"] > 300 * 8
    assert trial["figures"]["held"] > 300 * 2
    (kept,) = results.glob("*/*/*/result.json")
    assert json.loads(kept.read_text(encoding="utf-8")) == document
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0
