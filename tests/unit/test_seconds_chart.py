"""A run second by second: what its panels show of a short and of a long one."""

import csv
import io
import re

import pytest
from msgspec.structs import replace
from tests.examples import START, example_trial, round_of

from leaselab.report.site.figure import svg
from leaselab.report.site.legend import legend
from leaselab.report.site.seconds_chart import seconds_chart, seconds_note

SPIKE_S = 0.9


def run_of(seconds):
    """A run of one trial, with one second of high latency in its middle."""
    trial = example_trial(100, seconds, 0.0, number=1, index=1, round_started=START)
    per_second, middle = list(trial.per_second), seconds // 2
    per_second[middle] = replace(per_second[middle], p99_s=SPIKE_S)
    return round_of(replace(trial, per_second=tuple(per_second)), started_at=START.isoformat())


def panel(seconds, title):
    """The values of the panel with this title."""
    chart = seconds_chart(run_of(seconds), plural="exchanges", holds="", loss_goal=0.025)
    for each in chart["vconcat"]:
        layer = each["layer"][0]
        if layer["encoding"]["y"]["title"] == title:
            return list(csv.DictReader(io.StringIO(layer["data"]["values"]))), layer
    raise AssertionError(title)


@pytest.mark.parametrize(("seconds", "points"), [(5, 5), (300, 300), (3600, 300)])
def test_a_long_run_is_drawn_in_at_most_300_points_and_none_of_its_worst_is_lost(
    seconds, points
):
    values, layer = panel(seconds, "latency (ms)")
    worst = [float(value["v"]) for value in values if value["n"] == "99 %"]
    assert points <= len(worst) <= points + 1
    assert max(worst) == 1000 * SPIKE_S
    assert layer["encoding"]["y"]["scale"]["domain"][1] > 1000 * SPIKE_S
    rates, _ = panel(seconds, "exchanges/s")
    assert {float(rate["v"]) for rate in rates} == {100.0}
    assert ("A point stands for 12 s" in seconds_note(run_of(seconds))) is (seconds == 3600)


@pytest.mark.parametrize("offered", [True, False])
def test_the_legend_of_a_run_names_the_marks_of_each_panel(offered):
    """The load that a ramp offers is a line of its own."""
    run = {"plural": "exchanges", "holds": "", "loss_goal": 0.025}
    chart = seconds_chart(run_of(5), **run, offered=offered)
    names = {title: [key.name for key in keys] for title, keys in legend(chart)}
    assert names["exchanges/s"] == ["offered"] * offered + ["started", "completed"]
    assert names["latency (ms)"] == ["median", "99 %"]


def test_a_goal_far_above_the_loss_stays_in_its_panel():
    """Outside of it, the drawing had thousands of pixels of nothing."""
    lossless = example_trial(6000, 5, 0.0001, number=1, index=1, round_started=START)
    round_ = replace(run_of(5), trials=(lossless,))
    spec = seconds_chart(round_, plural="exchanges", holds="leases", loss_goal=0.025)
    height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg(spec))[1])
    assert height < 160 * len(spec["vconcat"])
