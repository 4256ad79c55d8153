"""Following a sweep while it runs: the live file, what is made of it, and its views."""

import contextlib
import http.client
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.bench_document import DOCUMENT
from tests.examples import START, example_result
from tests.waiting import HANGS_S, until

from leaselab.archive.live import LiveFeed, LiveReader, live_path
from leaselab.archive.store import Store
from leaselab.cli.followed import RunningSource, find_source
from leaselab.cli.main import main
from leaselab.cli.watch import Sparkline
from leaselab.cli.watch_page import _server
from leaselab.lab.deploy.bench_file import parse_measured
from leaselab.model.journal import (
    Begun,
    BuildStep,
    Phase,
    RoundBegun,
    RoundDone,
    RunBegun,
    Sampled,
    TrialBegun,
    TrialEnded,
    TrialMade,
)
from leaselab.model.record import Provenance
from leaselab.model.trial import Load
from leaselab.report.console import Console
from leaselab.report.listing import span
from leaselab.report.live import CONFIRMING, LiveView
from leaselab.report.site.bracket_chart import bracket_chart
from leaselab.report.site.seconds_chart import seconds_chart

SWEEP = "20261121T113005Z-v4-memfile-3f9a"
BEGUN = Begun(
    bench=parse_measured(
        {**DOCUMENT, "procedure": {"name": "max-rate", "rounds": 9, "loss_ratio": 0.025}},
        "tests",
    ),
    started_at="2026-11-21T11:30:05Z",
    provenance=Provenance(leaselab_version="1"),
)


@pytest.fixture
def running(tmp_path):
    """A sweep in its second run: one trial done, another under way."""
    record = example_result()
    with Store(tmp_path).create(SWEEP) as sweep:
        first, second = record.rounds[:2]
        sweep.record(BEGUN)
        sweep.record(RoundBegun(index=1, started_at=first.started_at))
        for trial in first.trials:
            sweep.record(TrialMade(index=1, trial=trial))
        sweep.record(RoundDone(index=1, round=first))
        sweep.record(RoundBegun(index=2, started_at=second.started_at))
        sweep.record(TrialMade(index=2, trial=second.trials[0]))
        feed = LiveFeed(sweep.path)
        feed.write(Phase(text="connecting to the server"))
        feed.write(RunBegun(index=2))
        feed.write(TrialBegun(load=Load(6000, 5)))
        for sample in second.trials[1].samples["server"]:
            beside = replace(sample, beside_cpu_s={"database": sample.cpu_s})
            feed.write(Sampled(host="server", sample=beside))
        yield sweep, feed
        feed.close()


def make_rest(sweep):
    """Make the other trials of its second run."""
    for trial in example_result().rounds[1].trials[1:]:
        sweep.record(TrialMade(index=2, trial=trial))


def view_of(sweep):
    source = RunningSource(Store(sweep.path.parents[1]).running()[0])
    assert source.refresh()
    return source.view


def test_a_line_is_read_once_and_only_when_it_is_whole(tmp_path):
    feed, reader = LiveFeed(tmp_path / SWEEP), LiveReader(tmp_path / SWEEP)
    feed.write(Phase(text="starting"))
    assert [entry for _, entry in reader.news()] == [Phase(text="starting")]
    assert reader.news() == []
    with live_path(tmp_path / SWEEP).open("a") as stream:
        stream.write('{"at": "2026-')
    assert reader.news() == []
    LiveFeed(tmp_path / SWEEP).write(RunBegun(index=1))  # a resumed sweep empties the file
    assert [entry for _, entry in reader.news()] == [RunBegun(index=1)]


def test_a_live_file_that_cannot_be_written_is_said_once_and_stops_nothing(tmp_path, caplog):
    feed = LiveFeed(tmp_path / "nowhere" / SWEEP)
    for _ in range(3):
        feed.write(Phase(text="starting"))
    feed.close()
    assert len(caplog.records) == 1
    assert "`leaselab watch` cannot follow" in caplog.text


def test_the_trial_under_way_stands_beside_those_that_are_done(running):
    view = view_of(running[0])
    assert [len(trial.per_second) for trial in view.round().trials] == [1, 0]
    series = view.series()
    assert len(series["completed (1/s)"]) == 1
    assert series["leases held"][-1][1] > 0
    assert series["leases gained (1/s)"][-1][1] > 0
    assert len(series["CPUs busy"]) == 1 + 3
    assert [value for _, value in series["database CPUs"]] == pytest.approx([0.9] * 3)


def test_facts_say_where_the_sweep_is_how_the_bracket_closes_and_how_long_it_takes(running):
    sweep, _ = running
    first, second = example_result().rounds[:2]
    facts = view_of(sweep).facts(datetime.now(UTC) + timedelta(seconds=3))
    assert facts.pop("trial").startswith("6000/s for 5 s, since ")
    assert "above the limit" in facts.pop("last trial")
    busy = r"[\d.]+ CPUs busy, [\d.]+ MB of memory, \d+ leases held, \d+ packets dropped/s"
    assert re.fullmatch(busy, facts.pop("server"))
    wanted = {"phase": "measuring", "run": "2 of 9", "estimate so far": "6015/s"}
    assert facts.items() >= wanted.items()
    assert "bracket" not in facts, "no trial of this run has passed"
    make_rest(sweep)
    facts = view_of(sweep).facts(datetime.fromisoformat(second.started_at))
    lower, upper = second.trials[2].rate, second.trials[1].rate
    assert facts["bracket"].startswith(f"{lower} to {upper}/s, 0.8 % wide, goal 1 %")
    rest_s = 8 * first.wall_s + BEGUN.bench.procedure.confirming_s
    assert facts["time left"] == f"about {span(rest_s)}"


def test_the_picture_of_the_bracket_has_every_trial_of_the_run_and_closes(running):
    sweep, _ = running
    second = example_result().rounds[1]
    make_rest(sweep)
    view = view_of(sweep)
    bars, marks = bracket_chart(view.tried, view.procedure, "exchanges/s")["layer"]
    values = marks["data"]["values"]
    assert [value["rate"] for value in values] == [trial.rate for trial in second.trials]
    assert {value["verdict"] for value in values} == {"passed", "failed"}
    widths = [value["upper"] - value["lower"] for value in bars["data"]["values"]]
    assert widths == sorted(widths, reverse=True) != []
    sweep.record(RoundBegun(index=3, started_at=second.started_at))
    view = view_of(sweep)
    assert bracket_chart(view.tried, view.procedure, "exchanges/s") is None


def test_a_trial_that_ends_is_taken_from_the_journal(running):
    sweep, feed = running
    trial = example_result().rounds[1].trials[1]
    sweep.record(TrialMade(index=2, trial=trial))
    feed.write(TrialEnded(rate=trial.rate))
    view = view_of(sweep)
    assert [len(item.per_second) for item in view.round().trials] == [1, 3]
    assert "trial" not in view.facts(datetime.now(UTC))


def test_a_pause_is_shown_until_the_next_trial_and_a_confirmation_is_called_so():
    view = LiveView(SWEEP)
    assert view.series() == {}
    assert seconds_chart(view.round(), plural="", holds="", loss_goal=None) is None
    facts = view.state(START)["facts"]
    assert (facts["estimate so far"], facts["time left"]) == ("none yet", "")
    words = "waiting 10 s: generator-stalled, 3 trials in a row"
    trial = TrialBegun(load=Load(1768, 5))
    for event, phase in (
        (Phase(text=words), words),
        (trial, "measuring"),
        (Phase(text=CONFIRMING), CONFIRMING),
        (Phase(text="starting the server"), None),
        (trial, CONFIRMING),
    ):
        view.happened("2026-11-22T10:00:00+00:00", event)
        assert phase in (None, view.phase)


def test_watch_prints_its_state_as_json(running, capsys):
    assert main(["watch", "--json", "--results", str(running[0].path.parents[1])]) == 0
    state = json.loads(capsys.readouterr().out)
    assert (state["id"], state["run"], state["runs"]) == (SWEEP, 2, 9)
    assert state["values"] == [6015.0]


@contextlib.contextmanager
def watching(sweep, *words, **given):
    """Run `leaselab watch` on a sweep; it is ended with the context."""
    command = [sys.executable, "-m", "leaselab", "watch", *words, "--results"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*command, sweep.path.parents[1]], **piped | given)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=HANGS_S)


def test_watch_in_a_pipe_prints_lines_until_the_sweep_ends(running):
    sweep, _ = running
    with watching(sweep) as watch:
        line = watch.stdout.readline()
        assert "phase measuring; run 2 of 9; estimate so far 6015/s; trial 6000/s for" in line
        sweep.close()
        _, said = watch.communicate(timeout=HANGS_S)
    assert watch.returncode == 0
    assert f"{SWEEP} was interrupted: `leaselab resume {SWEEP}`" in said


@pytest.mark.parametrize("leave", ["q", "end"])
def test_the_terminal_shows_facts_and_lines_until_its_user_or_the_sweep_ends_it(running, leave):
    sweep, _ = running
    ours, theirs = pty.openpty()
    terminal = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    with watching(sweep, stdin=theirs, stdout=theirs, env=terminal) as watch:
        os.close(theirs)
        shown = ""
        while "leave; the sweep goes on" not in shown:
            shown += os.read(ours, 1 << 16).decode()
        if leave == "q":
            os.write(ours, b"q")
        else:
            sweep.close()
        _, said = watch.communicate(timeout=HANGS_S)
    os.close(ours)
    assert watch.returncode == 0
    assert f"{SWEEP} {'goes on' if leave == 'q' else 'was interrupted'}" in said
    assert "v4-memfile · kea 2.6.3" in shown
    assert "6000/s for 5 s" in shown


@pytest.mark.parametrize(
    ("values", "width", "bars"),
    [([0, 7], 9, "▁█"), ([5, 5, 5], 9, "▁▁▁"), ([9, 0, 1, 7], 3, "▁▂█"), ([3], 9, "▁")],
)
def test_a_line_has_the_newest_values_from_the_smallest_to_the_largest(values, width, bars):
    stream = io.StringIO()
    Console(file=stream, width=width).print(Sparkline(values))
    assert stream.getvalue().strip() == bars


def fetched(url):
    with urllib.request.urlopen(url) as answer:  # noqa: S310  # our own
        return answer.read()


def test_the_live_page_is_served_to_this_machine_alone_and_ends_with_the_sweep(running):
    sweep, _ = running
    with watching(sweep, "--html") as watch:
        url = watch.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), watch.communicate(timeout=HANGS_S)
        for asset in re.findall(r'(?:src|href)="/([^"]+)"', fetched(url).decode()):
            assert fetched(f"{url}{asset}")
        state = json.loads(fetched(f"{url}state.json"))
        assert state["title"] == "v4-memfile · kea 2.6.3"
        assert state["chart"]["vconcat"]
        assert state["bracket"]["layer"]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(f"{url}../../etc/passwd")
        sweep.close()
        _, said = watch.communicate(timeout=HANGS_S)
        assert f"{SWEEP} was interrupted" in said
        assert watch.returncode == 0


OURS = ("127.0.0.1:8000", "127.0.0.1", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.8.8")
OTHERS = (
    *("page.example.org:8000", "localhost.example.org", "", None, "192.0.2.1:8000", "127.1"),
    *("127.0.0.1.example.org", "[::1", "page.example.org/localhost", "localhost@example.org"),
)


class Answers:
    """What a page has, whatever is asked for."""

    def content(self, _path):
        return b"measured", "text/plain"


def test_the_page_answers_those_who_ask_for_this_machine_by_a_name_of_its_own():
    """Under any other, a page of the web could read it: DNS rebinding."""
    with _server(Answers(), 0) as server:
        assert server.server_address[0] == "127.0.0.1", "no other machine reaches it"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for host in (*OURS, *OTHERS):
            there = http.client.HTTPConnection(*server.server_address, timeout=HANGS_S)
            there.putrequest("GET", "/state.json", skip_host=True)
            if host is not None:
                there.putheader("Host", host)
            there.endheaders()
            answer = there.getresponse()
            seen = (answer.status, answer.read() == b"measured")
            assert seen == ((200, True) if host in OURS else (421, False)), host
            there.close()
        server.shutdown()


READING = {
    "name": "kea",
    "commit": "d" * 40,
    "described": "Kea-3.3.0-160-gd179a1e32a",
    "phase": "make",
    "step": 120,
    "steps": 480,
    "doing": "Compiling a.cc",
    "elapsed_s": 200.4,
}


@pytest.fixture
def building(tmp_path):
    """A build under way: its live file."""
    store = Store(tmp_path)
    store.build_place("rack1").parent.mkdir()
    feed = LiveFeed(store.build_place("rack1"))
    feed.write(BuildStep(**READING))
    yield store, feed
    feed.close()


def test_a_build_under_way_is_followed_where_no_sweep_runs(building, capsys):
    store, feed = building
    assert main(["watch", "--json", "--results", str(store.root)]) == 0
    state = json.loads(capsys.readouterr().out)
    assert state["title"] == "kea Kea-3.3.0-160-gd179a1e32a"
    step = "make, 120 of 480, 3 min 20 s: Compiling a.cc"
    assert state["facts"] == {"phase": "building", "step": step}
    source = find_source(store, None)
    assert source.refresh()
    feed.close()
    assert not source.refresh()
    assert "`leaselab watch` follows the sweep" in source.ending()


def test_of_the_builds_of_two_benches_the_newest_is_followed(building):
    store, feed = building
    other = LiveFeed(store.build_place("rack2.b"))

    def newest():
        other.write(BuildStep(**READING | {"described": "Kea-3.3.1"}))
        return find_source(store, None).view.title

    assert until(newest, lambda title: title == "kea Kea-3.3.1")
    other.close()
    assert find_source(store, None).view.title == "kea Kea-3.3.0-160-gd179a1e32a"
    with store.create(SWEEP):
        assert isinstance(find_source(store, None), RunningSource), "a sweep comes first"
    feed.close()


def test_a_build_that_reported_nothing_for_long_has_ended(tmp_path, capsys):
    """It was killed: its live file stays."""
    store = Store(tmp_path)
    store.build_place("rack1").parent.mkdir()
    line = {"at": "2026-11-22T10:00:00.000Z", "event": "build", "data": READING}
    live_path(store.build_place("rack1")).write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["watch", "--results", str(tmp_path)]) == 2
    assert "no sweep is running" in capsys.readouterr().err
