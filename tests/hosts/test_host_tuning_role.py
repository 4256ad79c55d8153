"""Role host_tuning as it is played, in namespaces where the kernel's files are the test's."""

import json
from pathlib import Path

import pytest
from tests.plays import ansible

ROOT = Path(__file__).parents[2]
# Addresses of the test network, the kernel's files from folders, and a /run of its own.
ENTER = """
set -eu
mount -t sysfs none /sys
mount -t tmpfs none /run
mkdir -p /run/sysctl.d
ip link set lo up
ip link add name leaselab9 type veth peer name leaselab8
ip address add 198.18.0.10/24 dev leaselab9
ip address add 2001:2:0:1::10/64 dev leaselab9 nodad
mount --bind "$1/cpu" /sys/devices/system/cpu
mount --bind "$1/core" /proc/sys/net/core
shift
exec "$@"
"""
BEFORE = {
    "cpu/online": "0-1",
    "cpu/smt/control": "notsupported",
    "cpu/intel_pstate/no_turbo": "0",
    "cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "cpu/cpu1/cpufreq/scaling_governor": "schedutil",
    "cpu/cpu0/cpufreq/scaling_available_governors": "performance powersave schedutil",
    "cpu/cpu1/cpufreq/scaling_available_governors": "performance powersave schedutil",
    "core/rmem_default": "212992",
    "core/rmem_max": "212992",
}
SET = "host_tuning : Set processors, interrupts, the kernel's settings and units"
TUNED = {
    **BEFORE,
    "cpu/intel_pstate/no_turbo": "1",
    "cpu/cpu0/cpufreq/scaling_governor": "performance",
    "cpu/cpu1/cpufreq/scaling_governor": "performance",
    "core/rmem_default": "4194304",
    "core/rmem_max": "4194304",
}


def read(folder, names):
    return {name: (folder / name).read_text().strip() for name in names}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The results of each play's tasks, by its name; and the folder of what was there."""
    place = tmp_path_factory.mktemp("host-tuning")
    for name, content in BEFORE.items():
        path = place / "kernel" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    (place / "generators").mkdir()
    (place / "generators" / "perfdhcp.json").write_text("{}")
    (place / "seen").mkdir()
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "/usr/bin/python3",
        "bench_file_folder": str(place),
        "leaselab_test_address": "198.18.0.10",
        "leaselab_test_address6": "2001:2:0:1::10",
        "seen": str(place / "seen"),
    }
    groups = {
        "dhcp_server": {"hosts": {"one": variables}},
        "dhcp_generator": {"hosts": {"one": {}}},
    }
    (place / "inventory.json").write_text(json.dumps({"bench": {"children": groups}}))
    namespaces = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    output = ansible(
        "ansible-playbook",
        *("-i", place / "inventory.json"),
        ROOT / "tests/data/host_tuning/playbook.yml",
        under=[*namespaces, "sh", "-c", ENTER, "sh", place / "kernel"],
        ANSIBLE_STDOUT_CALLBACK="ansible.posix.json",
        ANSIBLE_LOCAL_TEMP=str(place / "ansible"),
        ANSIBLE_REMOTE_TEMP=str(place / "ansible-remote"),
    )
    document = json.loads(output[output.index("{") :])
    plays = {
        play["play"]["name"]: [
            (task["task"]["name"], task["hosts"]["one"]) for task in play["tasks"]
        ]
        for play in document["plays"]
    }
    return plays, place


def changed(tasks):
    return [name for name, result in tasks if result["changed"]]


def environment(tasks):
    (results,) = [
        result["ansible_facts"]["bench_file_environment"]
        for _, result in tasks
        if "bench_file_environment" in result.get("ansible_facts", {})
    ]
    return results


def document(tasks):
    return [
        result["ansible_facts"]["lab_host_document"]
        for _, result in tasks
        if "lab_host_document" in result.get("ansible_facts", {})
    ][-1]


def test_a_host_is_left_alone_where_its_inventory_does_not_say_so(played):
    tasks = played[0]["Read"]
    assert changed(tasks) == []
    assert document(tasks)["tuning"] is None
    assert document(tasks)["governors"] == {"powersave": "0", "schedutil": "1"}
    assert document(tasks)["nic"]["driver"] == "veth"


def test_check_mode_says_what_would_change(played):
    tasks = played[0]["Check"]
    assert changed(tasks) == [
        SET,
        "host_tuning : Record it on the host until the next boot",
    ]
    assert document(tasks)["turbo"] is True


def test_what_is_tuned_is_so_and_in_the_hosts_facts(played):
    plays, place = played
    assert read(place / "seen", TUNED) == TUNED
    assert "net.core.rmem_max=4194304" in (place / "seen/sysctl.d/99-leaselab.conf").read_text()
    planned = document(plays["Tune"])
    assert (planned["turbo"], planned["governor"]) == (False, "performance")
    assert planned["tuning"]["receive_buffer_bytes"]["found"] == 4194304
    assert planned["tuning"]["timers"]["found"] is None
    assert planned["tuning"]["backlog_packets"]["why"]


def test_a_scenario_sets_the_host_and_the_environment_keeps_its_name(played):
    """Else two points of one experiment could not be compared."""
    plays, place = played
    of_scenario = document(plays["Scenario"])
    assert of_scenario["governor"] == "powersave"
    assert of_scenario["tuning"]["governor"] == {
        "asked": "powersave",
        "found": "powersave",
        "why": None,
    }
    assert of_scenario["turbo"] is False, "what the inventory says of the rest still holds"
    names = [environment(plays[play]) for play in ("Read", "Tune", "Scenario")]
    assert names[0] != names[1] == names[2]
    noted = json.loads((place / "seen/scenario.json").read_text(encoding="utf-8"))
    assert noted == of_scenario["tuning"]


def test_after_a_scenario_the_host_is_what_its_inventory_says(played):
    """The files that were looked at were copied after it."""
    plays, _ = played
    assert SET in changed(plays["Retune"])
    assert document(plays["Retune"]) == document(plays["Tune"])


@pytest.mark.parametrize(
    ("play", "said"),
    [
        ("No SMT", "Found: smt: the processor has or may use one thread a core."),
        ("Left alone", "Found: host_tuning_enabled is false."),
    ],
)
def test_a_host_that_cannot_be_what_a_scenario_asks_for_is_refused(played, play, said):
    tasks = played[0][play]
    assert said in " ".join(dict(tasks)["Tell"]["msg"].split())
    assert changed(tasks) == []


def test_everything_is_restored(played):
    plays, place = played
    assert changed(plays["Restore"]) == ["host_tuning : Restore the earlier settings"]
    assert read(place / "kernel", BEFORE) == BEFORE
