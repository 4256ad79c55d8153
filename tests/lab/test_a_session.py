"""From a lab that is up to archived results, and again."""

import gzip
import json

import jsonschema
import pytest
from tests.lab.commands import ROOT, leaselab

pytestmark = pytest.mark.lab

SCENARIO = "v4-memfile"
QUICK = ["--wait-s", 0.5, "--late-s", 0.25, "--width", 0.5, "--trial-s", 1, "--confirm-s", 3]


@pytest.fixture(scope="module")
def measured(tmp_path_factory, bench_of):
    """The results folder of a short sweep of three runs, and what was printed of it."""
    results = tmp_path_factory.mktemp("session") / "results"
    bench_of(SCENARIO)
    done = leaselab("run", "--runs", 3, *QUICK, "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    assert "the server is deployed as it was" in done.stderr
    return results, json.loads(done.stdout)


def test_every_run_of_a_sweep_proves_its_bracket_with_trials_that_count(measured):
    _, document = measured
    assert document["outcome"] == "ok"
    assert len(document["runs"]) == 3
    for run in document["runs"]:
        assert all(trial["traffic_s"] <= 1.6 for trial in run["trials"])
        lower, upper = (run["trials"][run[end]] for end in ("lower_trial", "upper_trial"))
        assert lower["valid"]
        assert upper["valid"]
        assert lower["loss_ratio"] <= 0.025 < upper["loss_ratio"]
        assert upper["rate"] * (1 - 0.5) <= lower["rate"] + 1
        assert lower["rate"] <= run["max_rate"] <= upper["rate"]
        assert [trial["duration_s"] for trial in run["warm_ups"]] == [1]
    rates = [run["max_rate"] for run in document["runs"]]
    assert document["summary"]["max_rate"]["trimmed_mean"] == pytest.approx(sum(rates) / 3)
    confirmation = document["confirmation"]
    assert confirmation["holds"]
    assert confirmation["rate"] < min(run["lower_bound"] for run in document["runs"])
    assert len(confirmation["trials"]) == 3 + 1


def test_a_result_keeps_seconds_latencies_and_what_each_program_printed(measured):
    results, document = measured
    (place,) = results.glob("20*/*/*")
    schema = json.loads((ROOT / "results" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    for run in document["runs"]:
        for trial in run["trials"]:
            assert trial["per_second"]
            assert set(trial["latency_s"]) == {"offer", "ack", "exchange"}
            assert set(trial["hosts"]) == {"generator", "server"}
            assert all(1e-4 < time < 1 for time in trial["hosts"]["server"]["work_s"])
            for stage in trial["latency_s"].values():
                points = [stage[key] for key in ("p50", "p90", "p99", "p99.9", "max")]
                assert points == sorted(points)
            assert {"cpu_s", "rss_bytes", "udp_drops", "leases"} <= trial["samples"][0].keys()
            with gzip.open(place / trial["raw_file"]) as raw:
                assert b"Running: perfdhcp" in raw.read()


def test_what_was_measured_is_listed_shown_and_verified(measured):
    results, document = measured
    (row,) = json.loads(leaselab("list", "--results", results, "--json").stdout)
    assert row["id"] == document["id"]
    assert row["trimmed_mean"] == document["summary"]["max_rate"]["trimmed_mean"]
    shown = leaselab("show", "last", "--results", results)
    assert shown.stdout.startswith("v4-memfile · kea 2.6.")
    assert shown.stdout.count("counted") == 0
    assert leaselab("archive", "verify", "--results", results).returncode == 0


def test_a_rerun_measures_the_same_with_the_same_parameters(measured):
    results, document = measured
    done = leaselab("rerun", document["id"], "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["id"] != document["id"]
    assert again["goal"] == document["goal"]
    assert again["bench"]["environment"] == document["bench"]["environment"]
    assert len(leaselab("list", "--results", results).stdout.splitlines()) > 2
