"""``leaselab dev bench truth``, with the hosts left out."""

import json

import pytest

from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement, lab_broken

CAPPED = 2000 / 0.975


@pytest.fixture
def lab(lab):
    lab.rates = {"responder-v4-capped": 1.004 * CAPPED, "responder-v4-slow": 0.98 * CAPPED}
    return lab


def test_each_generator_is_measured_and_set_beside_the_truth(lab, capsys):
    assert main(["dev", "bench", "truth", "responder-v4-capped", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = document["rows"]
    assert [row["generator"] for row in rows] == ["leaseload", "perfdhcp"]
    assert [row["true"] for row in rows] == [pytest.approx(CAPPED)] * 2
    assert [row["error"] for row in rows] == [pytest.approx(0.004)] * 2
    assert document["kept"] is True
    archived = {row["id"] for row in lab.store.index.rows()}
    assert archived == {row["id"] for row in rows}
    assert [procedure.rounds for procedure in lab.procedures] == [3, 3]


def test_a_figure_that_is_too_far_off_is_reported_by_the_exit_code(lab, capsys):
    asked = ["dev", "bench", "truth", "responder-v4-capped", "responder-v4-slow"]
    assert main([*asked, "--generator", "leaseload", "--runs", "1"]) == 1
    capped, slow = capsys.readouterr().out.splitlines()[1:]
    assert capped.endswith("yes")
    assert slow.endswith("no")
    assert len(lab.rounds) == 2
    # that another generator is wrong is what one wants to know
    wrong = (*asked[:3], "responder-v4-slow", "--generator", "perfdhcp")
    assert main([*wrong, "--markdown", "-"]) == 0
    document = capsys.readouterr().out
    assert "3 runs for each figure" in document
    assert "| responder-v4-slow | perfdhcp | max rate | 2051/s | 2010/s | -2.00 % |" in document


def test_all_of_the_families_are_measured_from_whose_settings_something_follows(lab, capsys):
    for name in ("leaseload", "perfdhcp", "dnsperf"):
        lab.deploy_faults[name] = invalid_measurement("not now")
    assert main(["dev", "bench", "truth", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = {row["scenario"].split("-", 2)[2] for row in rows}
    assert names == {
        *("capped", "slow", "stalls", "collapses", "duplicates", "foreign", "warm-up"),
        *("filling", "drops", "refusals", "late", "malformed", "operated", "operated-200ms"),
    }
    ways = {row["scenario"].split("-")[1] for row in rows}
    assert ways == {"v4", "v6", "dns", "tcp", "dot", "https", "updates"}
    of_names = {row["generator"] for row in rows if row["scenario"].startswith("responder-dns")}
    assert of_names == {"leaseload", "dnsperf"}
    assert {row["why"] for row in rows} == {"not now"}


def test_a_generator_that_a_bench_cannot_run_is_left_out_of_the_rest(lab, capsys):
    lab.deploy_faults["perfdhcp"] = lab_broken("no perfdhcp here")
    asked = ["dev", "bench", "truth", "responder-v4-capped", "responder-v4-slow"]
    assert main([*asked, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    ours, other = ("leaseload", ""), ("perfdhcp", "no perfdhcp here")
    assert [(row["generator"], row["why"]) for row in rows] == [ours, other] * 2
    assert lab.deployed.count("responder-v4-slow") == 1
    lab.deploy_faults["responder-v4-slow"] = lab_broken("the host is gone")
    assert main([*asked, "--generator", "leaseload"]) == 4
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].endswith("yes"), "what was measured is shown"
    assert err.splitlines()[-1] == "leaselab: the host is gone"
