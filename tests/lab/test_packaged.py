"""A second server, as the distribution has it, of the other family; once by sudo."""

import contextlib
import json
import re
from itertools import groupby

import pytest
from tests.lab.commands import leaselab, pinned_keys, trials_of

pytestmark = pytest.mark.lab


def test_scenarios_of_one_command_take_turns_and_are_points_of_one_experiment(
    bench_of, results
):
    """Kea is deployed by the tests before; the other server is deployed for those after."""
    first, second = names = ("v4-memfile", "v6-dnsmasq-file")
    bench_of(first)
    load = ["--procedure=fixed-load", "--set=rate=200", "--set=duration_s=2"]
    quick = [*load, "--set=rounds=2", "--set=wait_s=0.5", "--set=late_s=0.25"]
    done = leaselab("run", *names, *quick, "--results", results)
    assert done.returncode == 0, done.stderr
    assert f"{first}: deployed as it was" in done.stderr
    lines = re.findall(r"^(\S+): run (\d)/2: ", done.stderr, re.MULTILINE)
    turns = [turn for turn, _ in groupby(lines)]
    assert turns == [(first, "1"), (second, "1"), (second, "2"), (first, "2")]
    rows = json.loads(leaselab("list", "--results", results, "--json").stdout)
    shown = [leaselab("show", row["id"], "--results", results, "--json") for row in rows]
    records = {item["scenario"]["name"]: item for item in (json.loads(s.stdout) for s in shown)}
    assert sorted(records) == sorted(names)
    points = [records[name]["id"] for name in names]
    for record in records.values():
        assert record["experiment"] == {
            "id": points[0],
            "points": points,
            "interleaved": True,
            "why": "",
            "anchor": None,
            "slowdown": None,
            "both_up": False,
        }
    record = records[second]
    assert record["servers"]["server"]["package"].startswith("dnsmasq-base 2.")
    assert record["servers"]["server"]["durability"] == "synced"
    for trial in trials_of(record):
        assert trial["held"]["server"] >= trial["completed"]


@pytest.mark.usefixtures("deployed")
def test_a_fixed_load_is_measured_second_by_second(results):
    """The load passes through the playbooks, whole, and comes out of bench.json."""
    load = ["--procedure=fixed-load", "--set=rate=200", "--set=duration_s=3", "--set=rounds=1"]
    done = leaselab("run", "v6-dnsmasq-file", *load, "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    procedure = document["procedure"]
    assert (procedure["name"], procedure["rate"], procedure["share"]) == (
        "fixed-load",
        200,
        None,
    )
    *disturbed, trial = trials_of(document)
    assert all(spoiled["reason"] for spoiled in disturbed)
    assert [second["attempted"] for second in trial["per_second"]] == pytest.approx(
        [200] * 3, abs=20
    )


USER = "keeper"
# Hosts of the lab let in root alone, by a file that only root reads.
ADD_USER = f"""
useradd --create-home --shell /bin/sh {USER}
echo '{USER} ALL=(root) NOPASSWD: ALL' > /etc/sudoers.d/{USER}
chmod 644 /etc/ssh/leaselab_authorized_keys
"""
REMOVE_USER = f"""
chmod 600 /etc/ssh/leaselab_authorized_keys
rm -f /etc/sudoers.d/{USER}
userdel --force --remove {USER} 2> /dev/null
"""
MANAGEMENT = "ip -4 -oneline address show scope global | awk '$4 !~ /^198[.]18[.]/ {print $4}'"


@pytest.fixture
def user(on_host):
    """A user with sudo on each host of the bench."""
    with contextlib.ExitStack() as stack:
        for role in ("server", "partner", "generator"):
            stack.callback(on_host, role, REMOVE_USER)
            on_host(role, f"set -e\n{ADD_USER}")
        yield USER


@pytest.mark.parametrize("scenario", ["responder-v4-capped"])
def test_a_user_with_sudo_measures_over_a_jump_host(
    user, on_host, bench_file, results, tmp_path
):
    """The server is reached by its own management address, over the partner."""
    address = on_host("server", MANAGEMENT).partition("/")[0]
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"{address} {pinned_keys()['22041']}\n", encoding="utf-8")

    def reach(document):
        hosts = document["hosts"]
        gate = {**hosts["server"]["access"], "name": "jump host partner", "port": 22042}
        for host in hosts.values():
            host["access"] |= {"user": user, "sudo": True}
        way = {"address": address, "port": 22, "known_hosts_file": str(known_hosts)}
        hosts["server"]["access"] |= {**way, "jump": {**gate, "user": user}}

    done = leaselab("step", "sweep", bench_file(reach), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    trial, *_ = trials_of(json.loads(done.stdout))
    assert trial["held"]["server"] >= trial["completed"] > 0
