"""From a lab that is up to archived results, and again."""

import gzip
import hashlib
import json
import shutil

import jsonschema
import pytest
from tests.lab.commands import ROOT, leaselab, trials_of

from leaselab.model.errors import Outcome

pytestmark = pytest.mark.lab

SCENARIO = "responder-v4-capped"
"""A server whose capacity is set, so that two runs of a sweep agree on any machine."""
QUICK = [
    "--set=wait_s=0.5",
    "--set=late_s=0.25",
    "--set=relative_width=0.5",
    "--set=trial_s=1",
    "--set=confirm_s=3",
]

TRIES = 5


@pytest.fixture(scope="module")
def measured(tmp_path_factory, bench_of):
    """The results folder of a short sweep of two runs, and what was printed of it.

    Where other work stopped the hosts during a run, the sweep is refused, and made again as its
    message says.
    """
    bench_of(SCENARIO)
    for _ in range(TRIES):
        results = tmp_path_factory.mktemp("session") / "results"
        words = ["run", SCENARIO, "--set=rounds=2", *QUICK]
        done = leaselab(*words, "--results", results, "--json")
        if done.returncode != Outcome.INVALID.value or "measure again" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    assert f"{SCENARIO}: deployed as it was" in done.stderr
    return results, json.loads(done.stdout)


def loss_ratio(trial):
    return 1 - trial["completed"] / trial["attempted"]


def test_every_run_of_a_sweep_proves_its_bracket_with_trials_that_count(measured):
    _, document = measured
    assert document["outcome"] == "ok"
    rounds = document["rounds"]
    assert len(rounds) == 2
    for round_ in rounds:
        assert all(trial["duration_s"] == 1 for trial in round_["trials"])
        bracket = round_["bracket"]
        lower, upper = (
            round_["trials"][bracket[end]] for end in ("lower_trial", "upper_trial")
        )
        assert lower["valid"]
        assert upper["valid"]
        assert loss_ratio(lower) <= 0.025 < loss_ratio(upper)
        assert (lower["rate"], upper["rate"]) == (bracket["lower"], bracket["upper"])
        assert upper["rate"] * (1 - 0.5) <= lower["rate"] + 1
        assert lower["rate"] <= round_["metrics"]["max_rate"] <= upper["rate"]
        assert [trial["duration_s"] for trial in round_["warm_ups"]] == [1]
    rates = [round_["metrics"]["max_rate"] for round_ in rounds]
    figure = document["metrics"][0]
    assert (figure["name"], figure["unit"], figure["n"]) == ("max_rate", "exchanges/s", 2)
    assert figure["value"] == pytest.approx(sum(rates) / 2)
    confirmation = document["confirmation"]
    assert confirmation["holds"]
    assert confirmation["rate"] < figure["value"]
    rates = [trial["rate"] for trial in confirmation["trials"]]
    overload, below = max(rates), confirmation["rate"]
    others, after = rates[1 : rates.index(overload)], rates[rates.index(overload) + 1 :]
    assert {rates[0], *after} == {below}
    assert max(others) > max(round_["bracket"]["upper"] for round_ in rounds)
    assert overload == pytest.approx(4 * below, abs=2)


def test_a_result_keeps_seconds_latencies_and_what_each_program_printed(measured):
    results, document = measured
    (place,) = results.glob("20*/*/*")
    schema = json.loads((ROOT / "results" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    stages = ["DISCOVER-OFFER", "REQUEST-ACK", "whole exchange"]
    trials = trials_of(document)
    assert any(
        sample["held"] for trial in trials for sample in trial["samples"].get("server", [])
    )
    for trial in trials:
        assert trial["per_second"]
        assert list(trial["latency_s"]) == stages
        assert set(trial["hosts"]) == {"generator", "server"}
        assert all(1e-4 < time < 1 for time in trial["hosts"]["server"]["work_s"])
        for stage in trial["latency_s"].values():
            points = [stage[key] for key in ("p50", "p90", "p99", "p99.9", "max")]
            assert points == sorted(points)
        seen = [sample["cpu_s"] for sample in trial["samples"].get("server", [])]
        assert seen == sorted(seen)  # a short trial may lie between two samples
        assert trial["held"]["server"] >= trial["completed"]
        with gzip.open(place / trial["raw_file"]) as raw:
            assert b'"started_at_s":' in raw.read()


def test_what_was_measured_is_listed_shown_and_verified(measured):
    results, document = measured
    (row,) = json.loads(leaselab("list", "--results", results, "--json").stdout)
    assert row["id"] == document["id"]
    assert (row["metric"], row["value"]) == ("max_rate", document["metrics"][0]["value"])
    shown = leaselab("show", "last", "--results", results)
    assert f"{SCENARIO} · responder " in shown.stdout
    assert "confirmed at " in shown.stdout
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_a_result_that_was_tampered_with_is_not_shown(measured, tmp_path):
    results = shutil.copytree(measured[0], tmp_path / "results")
    (path,) = results.glob(f"*/*/{measured[1]['id']}/result.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["metrics"][0]["value"] *= 1.1
    path.chmod(0o600)
    path.write_text(json.dumps(document), encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for verb in (["show"], ["show", "--json"], ["dev", "archive", "verify"], ["rerun"]):
        done = leaselab(*verb, document["id"], "--results", results)
        assert done.returncode == 3
        assert str(path) in done.stderr
        assert f"(found {digest}, wanted " in done.stderr
        assert done.stdout == "" or verb[0] == "dev"
