"""Following a sweep while it runs: the live file, what is made of it, and its views."""

import http.client
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.bench_document import DOCUMENT
from tests.examples import START, example_result

from leaselab.archive.live import LiveFeed, LiveReader, live_path
from leaselab.archive.store import Store
from leaselab.cli.followed import RunningSource, find_source
from leaselab.cli.main import main
from leaselab.cli.watch import Sparkline, picture
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


def test_what_a_server_holds_has_no_name_where_the_sweep_gives_none(running):
    sweep, _ = running
    view = LiveView(SWEEP)
    trial = example_result().rounds[0].trials[0]
    view.journaled(TrialMade(index=1, trial=trial))
    assert {"held", "gained (1/s)"} <= view.series().keys()
    assert "leases held" in view_of(sweep).series()


def test_facts_say_where_the_sweep_is(running):
    now = datetime.now(UTC) + timedelta(seconds=3)
    facts = view_of(running[0]).facts(now)
    assert facts["phase"] == "measuring"
    assert facts["run"] == "2 of 9"
    assert facts["trial"].startswith("6000/s for 5 s, since ")
    assert facts["estimate so far"] == "6015/s"
    assert "above the limit" in facts["last trial"]
    assert re.fullmatch(
        r"[\d.]+ CPUs busy, [\d.]+ MB of memory, \d+ leases held, \d+ packets dropped/s",
        facts["server"],
    )


def test_facts_say_how_the_bracket_closes_and_how_long_it_takes_yet(running):
    sweep, _ = running
    first, second = example_result().rounds[:2]
    rest_s = 8 * first.wall_s + BEGUN.bench.procedure.confirming_s
    now = datetime.fromisoformat(second.started_at)
    assert "bracket" not in view_of(sweep).facts(now), "no trial of this run has passed"
    for trial in second.trials[1:]:
        sweep.record(TrialMade(index=2, trial=trial))
    facts = view_of(sweep).facts(now)
    lower, upper = second.trials[2].rate, second.trials[1].rate
    assert facts["bracket"].startswith(f"{lower} to {upper}/s, 0.8 % wide, goal 1 %")
    assert facts["time left"] == f"about {span(rest_s)}"


def test_the_picture_of_the_bracket_has_every_trial_of_the_run_and_closes(running):
    sweep, _ = running
    second = example_result().rounds[1]
    for trial in second.trials[1:]:
        sweep.record(TrialMade(index=2, trial=trial))
    view = view_of(sweep)
    bars, marks = bracket_chart(view.tried, view.procedure, "exchanges/s")["layer"]
    values = marks["data"]["values"]
    assert [value["rate"] for value in values] == [trial.rate for trial in second.trials]
    assert {value["verdict"] for value in values} == {"passed", "failed"}
    widths = [value["upper"] - value["lower"] for value in bars["data"]["values"]]
    assert widths
    assert widths == sorted(widths, reverse=True)
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


def test_a_pause_is_shown_until_the_next_trial():
    view = LiveView(SWEEP)
    words = "waiting 10 s: generator-stalled, 3 trials in a row"
    view.happened("2026-11-22T10:00:00+00:00", Phase(text=words))
    assert view.facts(START)["phase"] == words
    view.happened("2026-11-22T10:00:10+00:00", TrialBegun(load=Load(1768, 5)))
    assert view.facts(START)["phase"] == "measuring"


def test_the_trials_of_the_confirmation_are_called_so():
    view = LiveView(SWEEP)
    view.happened("2026-11-22T10:00:00+00:00", Phase(text=CONFIRMING))
    view.happened("2026-11-22T10:00:01+00:00", Phase(text="starting the server"))
    view.happened("2026-11-22T10:00:02+00:00", TrialBegun(load=Load(1768, 5)))
    assert view.phase == CONFIRMING


def test_a_view_of_nothing_yet_has_no_lines():
    view = LiveView(SWEEP)
    assert view.series() == {}
    chart = seconds_chart(view.round(), plural="", holds="", loss_goal=None)
    assert chart is None
    facts = view.state(START)["facts"]
    assert (facts["estimate so far"], facts["time left"]) == ("none yet", "")


def test_watch_prints_its_state_as_json(running, capsys):
    assert main(["watch", "--json", "--results", str(running[0].path.parents[1])]) == 0
    state = json.loads(capsys.readouterr().out)
    assert (state["id"], state["run"], state["runs"]) == (SWEEP, 2, 9)
    assert state["values"] == [6015.0]


def test_watch_in_a_pipe_prints_lines_until_the_sweep_ends(running):
    sweep, _ = running
    watch = subprocess.Popen(
        [sys.executable, "-m", "leaselab", "watch", "--results", sweep.path.parents[1]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = watch.stdout.readline()
        assert "phase measuring; run 2 of 9; estimate so far 6015/s; trial 6000/s for" in line
        sweep.close()
        _, said = watch.communicate(timeout=60)
    finally:
        watch.kill()
        watch.communicate(timeout=60)
    assert watch.returncode == 0
    assert f"{SWEEP} was interrupted: `leaselab resume {SWEEP}`" in said


def test_nothing_to_watch_is_said(tmp_path, capsys):
    assert main(["watch", "--results", str(tmp_path)]) == 2
    assert "no sweep is running" in capsys.readouterr().err


@pytest.mark.parametrize("leave", ["q", "end"])
def test_the_terminal_shows_facts_and_lines_until_its_user_or_the_sweep_ends_it(running, leave):
    sweep, _ = running
    ours, theirs = pty.openpty()
    watch = subprocess.Popen(
        [sys.executable, "-m", "leaselab", "watch", "--results", sweep.path.parents[1]],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    shown = ""
    while "leave; the sweep goes on" not in shown:
        shown += os.read(ours, 1 << 16).decode()
    if leave == "q":
        os.write(ours, b"q")
    else:
        sweep.close()
    _, said = watch.communicate(timeout=60)
    os.close(ours)
    assert watch.returncode == 0
    assert f"{SWEEP} {'goes on' if leave == 'q' else 'was interrupted'}" in said
    assert "v4-memfile · kea 2.6.3" in shown
    assert "6000/s for 5 s" in shown


def test_the_terminal_has_a_line_of_bars_for_each_figure(running):
    stream = io.StringIO()
    Console(file=stream, width=60).print(picture(view_of(running[0]), START))
    shown = stream.getvalue().splitlines()
    for name in ("completed (1/s)", "CPUs busy", "leases held", "leases gained (1/s)"):
        (line,) = [line for line in shown if line.startswith(f"{name} ")]
        assert re.search(r" [▁▂▃▄▅▆▇█]+ .* to ", line)
        assert len(line) <= 60


@pytest.mark.parametrize(
    ("values", "width", "bars"),
    [([0, 7], 9, "▁█"), ([5, 5, 5], 9, "▁▁▁"), ([9, 0, 1, 7], 3, "▁▂█"), ([3], 9, "▁")],
)
def test_a_line_has_the_newest_values_from_the_smallest_to_the_largest(values, width, bars):
    stream = io.StringIO()
    Console(file=stream, width=width).print(Sparkline(values))
    assert stream.getvalue().strip() == bars


def test_the_live_page_is_served_to_this_machine_alone_and_ends_with_the_sweep(running):
    sweep, _ = running
    command = [sys.executable, "-m", "leaselab", "watch", "--html", "--results"]
    watch = subprocess.Popen(
        [*command, sweep.path.parents[1]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = watch.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), watch.communicate(timeout=60)
        with urllib.request.urlopen(url) as answer:  # noqa: S310  # our own
            page = answer.read().decode()
        for asset in re.findall(r'(?:src|href)="/([^"]+)"', page):
            with urllib.request.urlopen(f"{url}{asset}") as answer:  # noqa: S310
                assert answer.status == 200
        with urllib.request.urlopen(f"{url}state.json") as answer:  # noqa: S310
            state = json.loads(answer.read())
        assert state["title"] == "v4-memfile · kea 2.6.3"
        assert state["chart"]["vconcat"]
        assert state["bracket"]["layer"]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}../../etc/passwd")  # noqa: S310
        rebound = urllib.request.Request(  # noqa: S310
            f"{url}state.json", headers={"Host": "page.example.org"}
        )
        with pytest.raises(urllib.error.HTTPError, match="421") as refused:
            urllib.request.urlopen(rebound)  # noqa: S310
        assert b"v4-memfile" not in refused.value.read()
        sweep.close()
        _, said = watch.communicate(timeout=60)
        assert f"{SWEEP} was interrupted" in said
        assert watch.returncode == 0
    finally:
        watch.kill()
        watch.communicate(timeout=60)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        *(
            (name, True)
            for name in ("127.0.0.1:8000", "127.0.0.1", "localhost:8000", "LOCALHOST")
        ),
        *((name, True) for name in ("[::1]:8000", "127.8.8.8")),
        *(
            (name, False)
            for name in ("page.example.org:8000", "localhost.example.org", "", None)
        ),
        *(
            (name, False)
            for name in ("192.0.2.1:8000", "127.0.0.1.example.org", "127.1", "[::1")
        ),
        *((name, False) for name in ("page.example.org/localhost", "localhost@example.org")),
    ],
)
def test_the_page_answers_those_who_ask_for_this_machine_by_a_name_of_its_own(host, ours):
    """Under any other, a page of the web could read it: DNS rebinding."""
    with _server(Answers(), 0) as server:
        assert server.server_address[0] == "127.0.0.1", "no other machine reaches it"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        there = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
        there.putrequest("GET", "/state.json", skip_host=True)
        if host is not None:
            there.putheader("Host", host)
        there.endheaders()
        answer = there.getresponse()
        assert (answer.status, answer.read() == b"measured") == (200 if ours else 421, ours)
        there.close()
        server.shutdown()


class Answers:
    """What a page has, whatever is asked for."""

    def content(self, _path):
        return b"measured", "text/plain"


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
    assert state["facts"] == {
        "phase": "building",
        "step": "make, 120 of 480, 3 min 20 s: Compiling a.cc",
    }
    source = find_source(store, None)
    assert source.refresh()
    feed.close()
    assert not source.refresh()
    assert "`leaselab watch` follows the sweep" in source.ending()


def test_of_the_builds_of_two_benches_the_newest_is_followed(building):
    store, feed = building
    other = LiveFeed(store.build_place("rack2.b"))
    time.sleep(0.002)
    other.write(BuildStep(**READING | {"described": "Kea-3.3.1"}))
    assert find_source(store, None).view.title == "kea Kea-3.3.1"
    other.close()
    assert find_source(store, None).view.title == "kea Kea-3.3.0-160-gd179a1e32a"
    feed.close()


def test_a_sweep_that_runs_comes_before_a_build(running):
    store = Store(running[0].path.parents[1])
    feed = LiveFeed(store.build_place("rack1"))
    feed.write(BuildStep(**READING))
    assert isinstance(find_source(store, None), RunningSource)
    feed.close()


def test_a_build_that_reported_nothing_for_long_has_ended(tmp_path, capsys):
    """It was killed: its live file stays."""
    store = Store(tmp_path)
    store.build_place("rack1").parent.mkdir()
    line = {"at": "2026-11-22T10:00:00.000Z", "event": "build", "data": READING}
    live_path(store.build_place("rack1")).write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["watch", "--results", str(tmp_path)]) == 2
    assert "no sweep is running" in capsys.readouterr().err
