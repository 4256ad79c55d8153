"""The playbooks by hand, without the command: from an inventory to an archived result."""

import json

import pytest
from tests.lab.commands import SMALL, changed, playbook

pytestmark = pytest.mark.lab

BEFORE_MEASURE = ("lab_up", "provision", "deploy", "tune")
ALL = (*BEFORE_MEASURE, "measure", "archive")


def test_the_playbooks_by_hand_measure_once_and_change_nothing_twice(tmp_path):
    """`site` deploys another configuration; again, all before `measure` changes nothing.

    Neither does a check of everything, nor one verb of it; a check foresees just that.
    """
    scenario = "v4-mysql"
    results = tmp_path / "results"
    settings = {"scenario": scenario, "leaselab_procedure": SMALL}
    own = {"LEASELAB_RESULTS": str(results)}
    done = playbook(("lab_up", "site"), "-e", json.dumps(settings), **own)
    assert done.returncode == 0, done.stdout[-2000:]
    (path,) = results.glob("*/*/*/result.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["scenario"]["name"] == scenario
    config = (path.parent / "config/leaselab-v4-mysql_dhcp.json").read_text(encoding="utf-8")
    assert '"enable-multi-threading": false' in config
    server = document["servers"]["server"]
    assert server["durability"] == "written"
    tuned = server["beside"]["database"]["variables"]
    assert tuned["innodb_flush_log_at_trx_commit"] == "2"
    foreseen = playbook(ALL, "-e", json.dumps(settings), "--check", "--diff", **own)
    assert changed(foreseen) == 0
    assert len(list(results.glob("*/*/*/result.json"))) == 1
    assert changed(playbook(BEFORE_MEASURE, "-e", json.dumps(settings))) == 0
    for verb in ("configure", "verify"):  # what these read of other verbs is read again
        some = playbook(("deploy", "tune"), "-e", json.dumps(settings), "--tags", verb)
        assert changed(some) == 0
        assert ("Start the server through its contract" in some.stdout) == (verb == "verify")
        assert "[kea : Disable the packaged service]" not in some.stdout


def test_a_deployment_that_kea_refuses_is_reported_in_kea_s_words():
    settings = {
        "scenario": "v4-memfile",
        "server_relay_addresses": ["not an address"],
        "bench_file_path": "/nowhere/bench.json",
    }
    done = playbook(("lab_up", "provision", "deploy"), "-e", json.dumps(settings))
    assert done.returncode != 0
    assert "not an address" in done.stdout
