"""What a sweep shows while it runs."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from tests.bench_document import DOCUMENT

from leaselab.cli import progress as module
from leaselab.cli.progress import LiveProgress, PlainProgress, describe, progress
from leaselab.lab.bench_file import parse_bench
from leaselab.model.trial import RunEstimate, Trial, TrialRequest
from leaselab.report.live import CONFIRMING


def trial(rate, lost=0, **fields):
    started = rate * 5
    return Trial(rate, 5, started, started - lost, 0, lost, 5.0, **fields)


LOWER, UPPER = trial(6000, 100), trial(6050, 1500)
ESTIMATE = RunEstimate(6020.4, 5980.0, LOWER, UPPER, (UPPER, LOWER))


@pytest.fixture
def bench():
    return parse_bench(DOCUMENT, "bench.json")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets: clock.now (s)."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(module.time, "monotonic", lambda: Clock.now)
    return Clock


def drawn(view):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(view)
    return re.sub(r" +", " ", console.file.getvalue())


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (trial(6000, 100), "29900 of 30000 in time, loss 0.33 %, passes"),
        (trial(6000, 1500), "28500 of 30000 in time, loss 5.00 %, fails"),
        (trial(6000, 1500, aborted=True), "loss 5.00 %, fails, ended early"),
        (
            trial(6000, valid=False, reason="generator-limited"),
            "loss 0.00 %, does not count: generator-limited",
        ),
    ],
)
def test_a_trial_in_a_line(bench, made, text):
    line = describe(made, made.passes(bench.plan.goal))
    assert line.startswith("6000/s for 5 s: ")
    assert line.endswith(text)


def test_a_pipe_gets_one_line_for_each_thing(bench):
    stream = io.StringIO()
    with progress(bench, stream) as listener:
        listener.phase("connecting to the server")
        listener.run_started(1)
        listener.trial_started(TrialRequest(6050, 5))
        listener.trial_done(UPPER, replayed=True)
        listener.trial_done(LOWER, replayed=False)
        listener.run_done(1, ESTIMATE)
    assert stream.getvalue() == (
        "connecting to the server\n"
        "run 1/3: 6050/s for 5 s: 28750 of 30250 in time, loss 4.96 %, fails"
        " (from the journal)\n"
        "run 1/3: 6000/s for 5 s: 29900 of 30000 in time, loss 0.33 %, passes\n"
        "run 1/3: max rate 6020/s, bracket 6000 to 6050/s, 2 trials\n"
    )
    assert isinstance(listener, PlainProgress)


def test_a_terminal_gets_a_live_view_that_leaves_nothing_behind(bench):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    with progress(bench, Terminal()) as listener:
        assert isinstance(listener, LiveProgress)


def test_the_view_says_where_the_sweep_is(bench):
    view = LiveProgress(bench)
    assert "time left known after this run" in drawn(view)
    view.run_started(1)
    view.trial_started(TrialRequest(6050, 5))
    text = drawn(view)
    assert "v4-memfile on docker kea 2.6.3" in text
    assert "run 1 of 3" in text
    assert "6050/s for 5 s" in text
    view.trial_done(UPPER, replayed=False)
    text = drawn(view)
    assert "last trial 6050/s for 5 s: 28750 of 30250 in time" in text
    assert "estimate so far none yet" in text


def test_the_time_left_comes_from_the_runs_after_the_first(bench, clock):
    view = LiveProgress(bench)
    for index, seconds in ((1, 100), (2, 40)):
        view.run_started(index)
        clock.now += seconds
        view.run_done(index, ESTIMATE)
    assert view.time_left() == "about 1 min 16 s"  # 36 s of it for the confirmation
    view.run_started(3)
    clock.now += 30
    assert view.time_left() == "about 46 s"
    clock.now += 300
    assert view.time_left() == "this run takes longer than most, then about 36 s"


def test_the_confirmation_has_its_phase_and_its_time(bench, clock):
    bench = replace(
        bench,
        plan=replace(bench.plan, limits=replace(bench.plan.limits, trial_s=5, confirm_s=30)),
    )
    view = LiveProgress(bench)
    for index in (1, 2, 3):
        view.run_started(index)
        clock.now += 40
        view.run_done(index, ESTIMATE)
    assert view.time_left() == "about 36 s"
    view.phase(CONFIRMING)
    view.phase("starting the server")
    view.trial_started(TrialRequest(5000, 5))
    clock.now += 6
    assert "phase confirming the result" in drawn(view)
    assert view.time_left() == "about 30 s"


def test_runs_from_the_journal_count_in_the_estimate_not_in_the_time(bench):
    view = LiveProgress(bench)
    view.run_done(1, ESTIMATE)
    assert view.estimate() == "6020/s"
    assert view.time_left() == "known after this run"
