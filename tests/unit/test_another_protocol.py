"""A server of another protocol goes from scenario to page, and no room but its own knows it."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.formula import SCENARIO, STAGE, Flood, Zones, archived, formula_bench, formula_point

from leaselab.analysis.comparison.curve import curves_of
from leaselab.analysis.comparison.verdict import compare
from leaselab.archive.store import Store
from leaselab.model.record import Experiment
from leaselab.report.site.site import write_site
from leaselab.report.text import print_result

ROOT = Path(__file__).parents[2]
# few rounds: each has a chart, and drawing it takes longer than all that is measured here
MAX_RATE = {"name": "max-rate", "rounds": 2, "start_rate": 20_000, "confirm_s": 5}
BURST = {"name": "burst", "rounds": 2, "limit_s": 2}
FIXED = {"name": "fixed-load", "rate": 10_000, "duration_s": 9, "trial_s": 3, "rounds": 2}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    return root, [
        archived(root, 1, **MAX_RATE),
        archived(root, 2, 0.8 * Flood.per_s, **{**MAX_RATE, "confirm_s": 0}),
        archived(root, 3, **FIXED),
    ]


def test_a_burst_of_it_goes_to_its_page(tmp_path, capsys):
    """All are served, and in another result they are not: that one has no time."""
    served = archived(tmp_path, 4, **BURST, clients=90_000)
    late = archived(tmp_path, 5, 20_000.0, **BURST, clients=90_000)
    assert (served.figure.name, served.figure.unit) == ("served_s", "s")
    assert served.figure.value == pytest.approx(90_000 / Flood.per_s, rel=0.01)
    assert served.metric("served_rate").unit == "queries/s"
    assert served.outcome == late.outcome == "ok"
    assert late.figure.value is None
    assert late.metric("served_ratio").value == pytest.approx(4 / 9, rel=0.01)
    for record in (served, late):
        print_result(record, Store(tmp_path).place(record.id), whole=True)
        assert "90000 clients at once" in capsys.readouterr().out
    write_site(Store(tmp_path), tmp_path / "site")
    pages = {path.name: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    for record in (served, late):
        assert "clients served" in pages[f"{record.id}.html"]
        assert "by offered load" not in pages[f"{record.id}.html"]  # none was offered


def test_bursts_of_several_sizes_are_a_curve_and_a_page(tmp_path):
    """Their parameters differ, as these are the factor; one of them has no time."""
    sizes = {6: 40_000, 7: 80_000, 8: 160_000}
    ids = tuple(f"20261123T12000{n}Z-{SCENARIO['name']}-000{n}" for n in sizes)
    experiment = Experiment(id="20261123T120006Z-sizes", points=ids, interleaved=True)
    made = []
    for number, clients in sizes.items():
        of = {"experiment": experiment, "factors": {"clients": clients}}
        made.append(archived(tmp_path, number, **of, **BURST, clients=clients))
    (curve,) = curves_of(made)
    assert (curve.factor, curve.best.at) == ("clients", 40_000)
    seconds = {point.at: point.value for point in curve.points}
    assert seconds.pop(160_000) is None
    assert seconds == pytest.approx({40_000: 0.8, 80_000: 1.6}, rel=0.01)
    write_site(Store(tmp_path), tmp_path / "site")
    (page,) = (path.read_text("utf-8") for path in tmp_path.rglob(f"*{experiment.id}*.html"))
    assert "40000 clients at once, for 2 s at most; 80000 clients" in page


def test_a_search_with_hot_caches_resets_nothing_after_its_warm_up():
    """Where the trials are reset the cache is cold in each, and the server half as fast."""
    kept = {"reset": "at-start", "warm_up_s": 2, "warm_up_rate": 12_000}
    cold, hot = Zones(cold=0.5), Zones(cold=0.5)
    search = {**MAX_RATE, "max_rate": 60_000, "scout_s": 1, "trial_s": 1, "confirm_s": 2}
    slow = formula_point(formula_bench(**search), cold)
    fast = formula_point(formula_bench(**search, **kept), hot)
    assert hot.resets == 2 + 1  # after the proof that it serves, and before the confirmation
    assert cold.resets > 20
    assert fast.confirmation.holds
    for round_, other in zip(slow.rounds, fast.rounds, strict=True):
        ratio = other.metrics["max_rate"] / round_.metrics["max_rate"]
        assert ratio == pytest.approx(2, rel=0.05)
        assert [trial.rate for trial in other.warm_ups] == [12_000]


def test_a_fixed_load_with_hot_caches_keeps_its_warm_up():
    zones = Zones(cold=0.5)
    kept = {"reset": "at-start", "warm_up_s": 2, "warm_up_rate": 12_000}
    point = formula_point(formula_bench(**{**FIXED, "rate": 40_000}, **kept), zones)
    assert zones.resets == 2
    assert [round_.metrics["loss_ratio"] for round_ in point.rounds] == [0, 0]
    cold = formula_point(formula_bench(**{**FIXED, "rate": 40_000}), Zones(cold=0.5))
    assert all(round_.metrics["loss_ratio"] > 0.01 for round_ in cold.rounds)


@pytest.mark.parametrize(("late_s", "wait_s"), [(1.0, 2.0), (2.0, 4.0)])
def test_a_max_rate_with_the_goals_of_dns_is_found_and_confirmed(late_s, wait_s):
    """Half a per cent may be lost: the most that a goal lets through is nearly all."""
    goals = {"loss_ratio": 0.005, "late_s": late_s, "wait_s": wait_s}
    point = formula_point(formula_bench(**{**MAX_RATE, **goals}), Zones())
    for round_ in point.rounds:
        assert round_.metrics["max_rate"] == pytest.approx(Flood.per_s / 0.995, rel=0.01)
        assert round_.bracket.width <= 0.01
    assert point.confirmation.holds
    assert point.confirmation.loss_ratio <= 0.005


def test_its_figures_are_in_queries_and_its_rcodes_are_kept(results):
    fast, slow, fixed = results[1]
    assert fast.figure.unit == "queries/s"
    assert fast.figure.value == pytest.approx(Flood.per_s / 0.975, rel=0.02)
    assert any(trial.failures.get("REFUSED") for trial in fast.trials)
    assert fast.metric("cpu_us").value == pytest.approx(12, rel=0.1)
    assert fixed.metric("p99_s").value == pytest.approx(0.002)
    assert fixed.metric("loss_ratio").value == 0
    assert list(fixed.rounds[0].trials[0].latency_s) == [STAGE]
    assert compare(fast, slow).verdict.ratio == pytest.approx(0.8, rel=0.02)


def test_the_rooms_that_judge_keep_and_show_know_no_protocol():
    words = r"\b(kea|perfdhcp|dhcp\w*|leases?|discover|solicit|pairs?)\b(?!-state)"
    folders = [f"scripts/leaselab/{room}" for room in ("analysis", "archive", "report")]
    files = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    results = [
        f"{name}: {line.strip()}"
        for name in files
        if name.endswith((".py", ".html", ".js"))
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
        if re.search(words, line, re.IGNORECASE)
    ]
    assert results == []
