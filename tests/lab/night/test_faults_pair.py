"""A pair: what a sweep keeps of it, and what it says when a half of it fails."""

import json

import pytest
from tests.lab.commands import (
    LOCAL,
    LONG_TRIALS,
    complaint,
    copy_inventory,
    leaselab,
    pinned_keys,
    playbook,
    resumed,
    trials_of,
)
from tests.lab.faults import Host, says

pytestmark = pytest.mark.lab

THREE = LOCAL.with_name("docker-three")
SCENARIO = "v4-memfile-hs"
"""Without threads: the control agents are between them."""

SLOW = {**LONG_TRIALS, "start_rate": 800}
TABLE = [
    # host, fault, when, exit code, what is said
    ("partner", "kill", "in a trial", 3, "partner: the server died … kea-dhcp4 is gone"),
    ("partner", "freeze", "in a trial", 4, "partner: "),
    ("partner", "link down", "in a trial", 4, "partner: the link of eth1 has changed"),
    ("partner", "restart", "in a trial", 4, "partner: … the host"),
]


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


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join(row[:2]).replace(" ", "-"))
def test_a_fault_of_a_partner_is_that_partners(row, engine, bench_file, results):
    role, fault, _, code, said = row
    sweep = engine("step", "sweep", bench_file(**SLOW), "--results", results)
    sweep.saw(r"run 1/1: \d+/s for")
    with Host(role).undergoing(fault):
        got, last = sweep.end()
    assert got == code, last
    assert says(last, said), last
    if code == 4:
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


ALONE = {"rate": 300, "rounds": 1, "before_s": 3}


def of_event(scenario, results, inventory=LOCAL, **more):
    """The result of an event of a pair, or of three servers."""
    given = [f"--set={name}={value}" for name, value in {**ALONE, **more}.items()]
    words = ("run", "--procedure", "event", scenario, *given, "-i", inventory)
    done = leaselab(*words, "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("scenario", "more"),
    [
        ("v4-memfile-hs", {"return_s": 16}),
        ("v4-memfile-hs", {"who": "both", "return_s": 3}),
        ("v4-postgresql-shared", {"return_s": 3}),
        ("v4-mysql-shared", {"who": "partner", "return_s": 3}),
        ("v4-postgresql-shared-3", {"who": "both", "return_s": 3}),
    ],
    ids=str,
)
def test_no_lease_is_lost_where_killed_servers_return(scenario, more, results):
    more |= {"inventory": THREE} if scenario.endswith("-3") else {}
    (trial,) = trials_of(of_event(scenario, results, **more))
    assert trial["violations"] == []
    figures = trial["figures"]
    assert min(figures["held"], figures["held_by_partner"]) >= trial["completed"] > 300 * 3


@pytest.mark.parametrize("scenario", ["v4-memfile-hs", "v6-memfile-mt-lb", "v4-mysql-shared"])
def test_a_pair_that_is_cut_off_does_what_its_mode_permits_and_comes_together(
    scenario, results, on_host
):
    """For 20 s, of which the servers take 10 to take each other for dead."""
    document = of_event(scenario, results, event="partition", return_s=20)
    (trial,) = trials_of(document)
    assert trial["figures"]["violations"] == 0
    assert all(each["permitted"] for each in trial["violations"])
    figures = {metric["name"]: metric["value"] for metric in document["metrics"]}
    # the servers that share a database wait for no partner
    assert (figures["outage_s"] > 5) == (not scenario.endswith("-shared"))
    for role in ("server", "partner"):
        assert on_host(role, "ip route show type blackhole") == ""


def test_leases_that_are_not_replicated_are_violations(deployed, bench_file, results, on_host):
    """A legal setting of Kea, with which nothing else fails: heartbeats are answered."""
    assert deployed["servers"]["partner"]
    file, contract = "/etc/kea/leaselab-v4-memfile-hs_dhcp.json", "/opt/leaselab/server"
    replicates = '"mode": "hot-standby",'
    changed = {}
    for role in ("server", "partner"):
        on_host(role, f"cp -p {file} {file}.kept")
        on_host(role, f"""sed -i 's/{replicates}/& "send-lease-updates": false,/' {file}""")
        started = json.loads(on_host(role, f"{contract} start {SCENARIO}"))
        changed[role] = {
            "config_sha256": on_host(role, f"sha256sum {file}").split()[0],
            "running_config_sha256": started["config_sha256"],
        }
        on_host(role, f"{contract} stop {SCENARIO}")

    def change(document):
        document["procedure"] = {"name": "event", **ALONE, "after_s": 18}
        for role, hashes in changed.items():
            assert not hashes.items() & document["servers"][role].items()
            document["servers"][role] |= hashes

    try:
        sweep = leaselab("step", "sweep", bench_file(change), "--results", results, "--json")
    finally:
        for role in changed:
            on_host(role, f"mv {file}.kept {file}")
    assert sweep.returncode == 0, sweep.stderr
    (trial,) = trials_of(json.loads(sweep.stdout))
    broken = {violation["rule"]: violation for violation in trial["violations"]}
    assert broken.keys() == {"twice", "forgotten"}
    assert broken["forgotten"]["count"] >= 300 * 2  # all that the server gave before its end
    assert trial["figures"]["violations"] >= 2 * 300 * 2
    first, *_, last = broken["twice"]["lines"]
    assert "asks for 10.0." in first
    assert last.startswith("both have it for 86")


def test_a_failover_serves_again_and_no_lease_is_lost(deployed, results):
    assert deployed["servers"]["partner"]
    document = of_event("v4-memfile-hs", results, after_s=18)
    assert (document["outcome"], document["procedure"]["name"]) == ("ok", "event")
    figures = {metric["name"]: metric["value"] for metric in document["metrics"]}
    of_server = ["start_s", "memory_mib"]
    assert list(figures) == ["outage_s", "lost", "violations", *of_server]
    options = deployed["scenario"]["server"]["options"]
    assert 1 < figures["outage_s"] < options["pair_max_response_delay_s"] + 10
    assert figures["lost"] >= 300
    # each lease is replicated before its client is answered
    (trial,) = trials_of(document)
    assert (figures["violations"], trial["violations"]) == (0, [])
    assert trial["figures"]["held_by_partner"] >= trial["completed"] > 300 * 8
    assert trial["figures"]["held"] > 300 * 2
    (kept,) = results.glob("*/*/*/result.json")
    assert json.loads(kept.read_text(encoding="utf-8")) == document
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0
