"""What a sweep shows while it runs."""

import io
import re
import sys
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from msgspec.structs import replace as change
from rich.console import Console
from tests.bench_document import DOCUMENT
from tests.examples import START, round_of, trial_of
from tests.hostile import CODES

from leaselab.cli import progress as module
from leaselab.cli.progress import LiveProgress, PlainProgress, TurnsProgress, progress
from leaselab.cli.terminal import guarded_streams
from leaselab.lab.deploy.bench_file import parse_bench
from leaselab.model.journal import Phase, RoundDone, RunBegun, TrialBegun, TrialMade
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Bracket
from leaselab.model.trial import Load
from leaselab.report.live import trial_words

trial = partial(trial_of, seconds=5)


LOWER, UPPER = trial(6000, lost=100), trial(6050, lost=1500)
FOUND = round_of(
    UPPER,
    LOWER,
    metrics={"max_rate": 6020.4},
    bracket=Bracket(lower=6000, upper=6050, lower_trial=1, upper_trial=0),
    traffic_s=10.0,
    wall_s=20.0,
)


def done(round_):
    return RoundDone(index=round_.index, round=round_)


@pytest.fixture
def bench():
    return parse_bench(DOCUMENT, "bench.json")


class Terminal(io.StringIO):
    """What a terminal gets."""

    encoding = "utf-8"

    def isatty(self):
        return True


def test_what_is_printed_beside_a_live_view_brings_no_codes(bench, monkeypatch):
    server = replace(bench.servers["server"], version=f"2.6{CODES}[/nosuch]")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    shown = progress(replace(bench, servers={"server": server}))
    with guarded_streams(), shown as listener:
        assert isinstance(listener, LiveProgress)
        sys.stderr.write(f"leaselab: {CODES}\n")
    printed = terminal.getvalue()
    assert ("2.6" in printed, "[/nosuch]" in printed) == (True, True)
    assert [code for code in ("\x1b[8m", "\x1b]0", "\x9b", "\u202e") if code in printed] == []


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets: clock.now (s)."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(module, "now", lambda: START + timedelta(seconds=Clock.now))
    return Clock


def fact(view, label):
    return view.view.facts(module.now())[label]


def drawn(view):
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(view)
    return re.sub(r" +", " ", console.file.getvalue())


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (trial(6000, lost=1500, aborted=True), "loss 5.00 %, above the limit, ended early"),
        (
            trial(6000, attempted=9000, valid=False, reason="too-few-clients", detail="9 of"),
            "9000 of 9000 in time, 30000 were due, loss 0.00 %, does not count: "
            "too-few-clients (9 of)",
        ),
    ],
)
def test_a_trial_in_a_line(bench, made, text):
    assert trial_words(made, bench.procedure).endswith(text)
    without_a_goal = trial_words(made, FixedLoad(rate=5000))
    assert ("counts" in without_a_goal) == made.valid


def test_a_pipe_gets_one_line_for_each_thing(bench):
    stream = io.StringIO()
    with progress(bench, stream=stream) as listener:
        listener(Phase(text="connecting to the server"))
        listener(RunBegun(index=1))
        listener(TrialBegun(load=Load(6050, 5)))
        listener(TrialMade(index=1, trial=UPPER), replayed=True)
        listener(TrialMade(index=1, trial=LOWER))
        listener(done(FOUND))
    assert stream.getvalue() == (
        "connecting to the server\n"
        "run 1/3: 6050/s for 5 s: 28750 of 30250 in time, loss 4.96 %, above the limit"
        " (from the journal)\n"
        "run 1/3: 6000/s for 5 s: 29900 of 30000 in time, loss 0.33 %, within the limit\n"
        "run 1/3: max rate 6020/s, bracket 6000 to 6050/s, 2 trials\n"
    )
    assert isinstance(listener, PlainProgress)


def test_a_duel_says_its_round_the_ratio_the_answer_and_the_time_left(bench, clock):
    view, bench = TurnsProgress(), replace(bench, procedure=Duel(rounds=74))
    listeners = [view.add(bench, f"{letter}, v4-memfile") for letter in "AB"]
    assert drawn(view).startswith("round 1 (5 to 74) · cannot tell yet\n")
    rates = [(3000, 2900), (3010, 3000), (2990, 2890), (3000, 3090), (2995, 2900)]
    for index, both in enumerate(rates, start=1):
        for listener, rate in zip(listeners, both, strict=True):
            made = trial(4000, lost=1500)
            metrics = {"completed_rate": rate, "loss_ratio": 0.1, "cpu_us": 1e6 / rate}
            listener(RunBegun(index=index))
            listener(TrialMade(index=index, trial=made))
            clock.now += 5
            listener(done(round_of(made, index=index, metrics=metrics)))
    said = r"round 6 \(5 to 74\) · B/A 0\.98\d · cannot tell yet · about \d+ min\n"
    assert re.match(said, drawn(view))
    assert "last trial 4000/s for 5 s: " in drawn(view)


def test_points_in_turn_share_a_display_and_a_dumb_terminal_gets_lines(bench, monkeypatch):
    screen = Terminal()
    with progress(bench, "A", screen), progress(bench, "B", screen) as second:
        second(Phase(text="starting"))
    assert "B: starting" in screen.getvalue()
    monkeypatch.setenv("TERM", "dumb")
    plain = Terminal()
    with progress(bench, "A", plain) as first, progress(bench, "B", plain) as second:
        first(TrialMade(index=1, trial=LOWER))
        second(Phase(text="starting"))
    assert plain.getvalue().startswith("A: 6000/s for 5 s: ")
    assert plain.getvalue().endswith("\nB: starting\n")
    assert "\x1b" not in plain.getvalue()


def test_the_time_left_comes_from_the_runs_after_the_first(bench, clock):
    view = LiveProgress(bench)
    for index, seconds in ((1, 100), (2, 40)):
        view(RunBegun(index=index))
        clock.now += seconds
        view(done(change(FOUND, index=index, wall_s=seconds)))
    assert fact(view, "time left") == "about 1 min 53 s"  # 73 s of it for the confirmation
    view(RunBegun(index=3))
    clock.now += 30
    assert fact(view, "time left") == "about 1 min 23 s"
    clock.now += 300
    assert fact(view, "time left") == "this run takes longer than most, then about 1 min 13 s"


@pytest.mark.parametrize(
    ("procedure", "left"),
    [
        (FixedLoad(rate=9, duration_s=60), "about 3 min 16 s"),
        (Event(rate=9), "about 2 min 16 s"),
        (Duel(rounds=10), "at most 1 min 58 s"),
        (Burst(), "at most 53 min 39 s"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_before_the_first_run_the_time_left_is_that_of_the_procedure(bench, procedure, left):
    assert fact(LiveProgress(replace(bench, procedure=procedure)), "time left") == left


@pytest.mark.parametrize(
    ("procedure", "metrics", "line", "estimate"),
    [
        (FixedLoad(rate=9), {"p99_s": 0.01412}, "p99 latency 14.1 ms", "14.1 ms"),
        (Event(rate=9), {"outage_s": None}, "outage -", "none yet"),
    ],
)
def test_a_figure_of_another_procedure_has_its_name_and_unit(
    bench, procedure, metrics, line, estimate
):
    """And no bracket, as nothing was searched."""
    bench = replace(bench, procedure=procedure)
    stream = io.StringIO()
    item = change(FOUND, metrics=metrics, bracket=None, trials=(LOWER,))
    PlainProgress(bench, stream)(done(item))
    assert stream.getvalue() == f"run 1/3: {line}, 1 trial\n"
    view = LiveProgress(bench)
    view(done(item))
    assert fact(view, "estimate so far") == estimate


def test_the_estimate_is_computed_as_the_figure_will_be(bench):
    """Runs from the journal count in it, and not in the time that is left."""
    view = LiveProgress(replace(bench, procedure=MaxRate(rounds=9, trim=1)))
    for index, rate in enumerate((6000, 6010, 5000), start=1):
        view(done(change(FOUND, index=index, metrics={"max_rate": rate})))
    assert fact(view, "estimate so far") == "6000/s (5000 to 6010)"
    view = LiveProgress(bench)
    view(done(FOUND))
    assert fact(view, "time left") == "about 2 min 7 s"


def test_the_bracket_closes_on_a_bar(bench):
    view = LiveProgress(bench)
    view(RunBegun(index=1))
    view(TrialMade(index=1, trial=trial(8000, lost=20000)))
    assert "bracket" not in drawn(view)  # one end is not known yet
    for made, closed in ((trial(4000), 0.0), (LOWER, 0.3), (UPPER, 1.0)):
        view(TrialMade(index=1, trial=made))
        assert view.view.closed == pytest.approx(closed, abs=0.2)
    text = drawn(view)
    assert "v4-memfile on docker kea 2.6.3" in text
    assert "bracket 6000 to 6050/s, 0.8 % wide" in text
    assert "last trial 6050/s for 5 s: 28750 of 30250 in time" in text
    view(RunBegun(index=2))
    assert "bracket" not in drawn(view)
