"""How one result and the list of results read."""

import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    PROCEDURE,
    confirmed,
    edited,
    example_result,
    invalid_result,
)

from leaselab.analysis.figures.credibility import flags, trust
from leaselab.archive.row import row_of
from leaselab.model.server import Beside, server_name
from leaselab.report.facts import confirmation_words
from leaselab.report.listing import listing, number
from leaselab.report.text import print_result
from leaselab.report.verdict.words import percent

PLACE = Path("/results/2026/11/20261121T113005Z-v4-memfile-3f9a")

PLAIN = """\
v4-memfile · kea 2.6.3 · durability written: 6006 ± 25 exchanges/s
  max rate, trimmed mean of 9 runs, 1 highest and 1 lowest dropped
  95 % interval 5981 to 6031; standard deviation of runs 1.8 %; trust: good
  server CPU 155.0 µs per exchange; measured in 2 min 28 s, 43 % of it traffic

Runs
run  max rate    bracket  completed  trials  server CPU µs
  1      6015  5997-6045       5895       3          151.0
  2      5988  5970-6018       5869       3          155.0
  3      6122  6104-6153       6000       3          159.0  dropped: highest
  4      6003  5985-6033       5883       3          154.0
  5      5731  5714-5760       5617       3          158.0  dropped: lowest
  6      6040  6022-6070       5920       3          153.0
  7      5996  5978-6026       5876       3          157.0
  8      6021  6003-6051       5901       3          152.0
  9      5979  5961-6009       5860       3          156.0

Latency at the lower bound (ms, median of the runs)
stage            p50   p90    p99  p99.9    max
DISCOVER-OFFER  0.54  1.34   4.29   8.04  11.79
REQUEST-ACK     0.80  2.01   6.43  12.06  17.69
whole exchange  1.47  3.69  11.79  22.11  32.43

Notes on this result
  not confirmed  no trial checked whether the server sustains it for longer
  no ceiling     the generator's ceiling on this bench was not measured
  traffic        43 % of the time was traffic

Provenance
"""


def plain(record, *, whole=True):
    stream = io.StringIO()
    print_result(record, PLACE, stream, whole=whole)
    return stream.getvalue()


@pytest.fixture
def on_terminal(monkeypatch):
    """Print on a terminal; returns what it was sent, raw and readable."""

    def call(record, columns=80, *, whole=True):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        stream = io.StringIO()
        stream.isatty = lambda: True
        print_result(record, PLACE, stream, whole=whole)
        return stream.getvalue(), re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())

    return call


def test_a_pipe_gets_plain_lines():
    text = plain(example_result())
    assert text.startswith(PLAIN)
    assert not re.search("[\x1b\u2500-\u257f]", text)
    assert not re.search(" $", text, re.MULTILINE)


def of_commit():
    record = example_result(commit="1a2b3c4d5e6f7a8b", version="2.7.0")
    database = {"database": Beside(version="MySQL 8.4", variables={"flush": 1})}
    record = replace(record, servers={"server": replace(record.server, beside=database)})
    made = replace(record.provenance, leaselab_dirty=True)
    load = {**record.scenario.load, "clients": 8128}
    return replace(record, provenance=made, scenario=replace(record.scenario, load=load))


def without_figures(record, **changes):
    nothing = tuple(replace(metric, value=None) for metric in record.metrics)
    return replace(record, metrics=nothing, **changes)


def unknown(document):
    for round_ in document["rounds"]:
        round_["metrics"]["cpu_us"] = None
        for trial in round_["trials"]:
            trial["cpu_us"] = None
            trial["latency_s"] = dict.fromkeys(trial["latency_s"])
    document["metrics"][2]["value"] = None
    forgotten = dict.fromkeys(("config_sha256", "package", "version", "durability"))
    document["servers"]["server"] |= forgotten
    for host in document["bench"]["hosts"].values():
        host.update(governor=None, cpu_model=None, tuning=None)


def holding(document):
    for item in document["rounds"]:
        for trial in item["trials"]:
            trial["held"] = {"server": trial["completed"] + item["index"], "partner": 7}


def beside(document):
    for round_ in document["rounds"]:
        for trial in round_["trials"]:
            for place, sample in enumerate(trial["samples"]["server"]):
                spent = place * trial["completed"] / trial["duration_s"] * 34e-6
                sample["beside_cpu_s"] = {"database": spent}


HEAD = "v4-memfile · kea 2.6.3 · durability written: "
NOISY = [{"word": "noisy", "text": "the runs spread by 12 %"}]
CASES = {
    "provenance": (
        of_commit(),
        [
            "commit            1a2b3c4d5e6f7a8b",
            "factors           protocol DHCPv4, backend memfile, threading single",
            "database          MySQL 8.4, flush=1",
            "config/kea-dhcp4.conf (sha256 ",
            "CPU 0, governor performance, kernel 6.12.48+deb13-amd64",
            "0.1.0 (b298d0f1c2, with uncommitted changes)",
            "leaselab run --scenario v4-memfile",
            str(PLACE),
            "\n  8128 clients come back in turn\n",
        ],
        [],
    ),
    "why it is invalid": (
        invalid_result(),
        [
            f"{HEAD}invalid\n  generator-limited: run 3: perfdhcp started 5702 of 6000",
            "\n  no max rate: 2 of 9 runs measured theirs\n",
            "\n  3         -          -          -       3              -  "
            "1 not valid: generator-limited\n",
        ],
        [],
    ),
    "invalid with all its runs": (
        example_result(outcome="invalid", reasons=NOISY),
        [
            f"{HEAD}invalid\n  noisy: the runs spread by 12 %\n"
            "  not to be relied on: 6006 ± 25 exchanges/s\n",
        ],
        [],
    ),
    "refuted": (
        without_figures(example_result(outcome="invalid", reasons=NOISY)),
        ["9 runs measured one, which was not confirmed\n"],
        [],
    ),
    "not begun": (
        without_figures(invalid_result(), rounds=(), wall_s=0.0),
        ["no max rate: 0 of 9 runs measured"],
        ["Runs", "Latency"],
    ),
    "one run": (
        example_result(MAX_RATES[:1], procedure=replace(PROCEDURE, rounds=1, trim=0)),
        [f"{HEAD}6015 exchanges/s\n  max rate of one run\n"],
        [],
    ),
    "no trimming": (
        example_result(procedure=replace(PROCEDURE, trim=0)),
        ["\n  max rate, mean of 9 runs\n"],
        [],
    ),
    "unknown": (
        edited(example_result(), unknown),
        ["\n  1      6015  5997-6045       5895       3              -\n"],
        ["Latency", "None", "governor", "µs per", "durability"],
    ),
    "leases held": (
        edited(example_result(), holding),
        ["durability written, 17654 held at the lower bound\n"],
        [],
    ),
    "companion services": (
        edited(example_result(), beside),
        ["  server CPU 155.0 µs per exchange, database 34 µs; measured in "],
        [],
    ),
    "none of that": (
        example_result(),
        [],
        ["come back", "held at the lower bound", "uncommitted", "database"],
    ),
}
"""Of each record, what its text has and what it does not have."""


@pytest.mark.parametrize("name", CASES)
def test_a_result_says_what_it_is_of_and_nothing_that_is_unknown(name):
    record, there, absent = CASES[name]
    text = plain(record)
    assert [words for words in there if words not in text] == [], text
    assert [words for words in absent if words in text] == []


def test_reasons_for_doubt_are_those_of_the_page():
    scattered = [0.9, 0.95, 1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.1]
    record = example_result([6000 * each for each in scattered])
    lines = plain(record, whole=False).splitlines()
    assert lines[2].endswith("; trust: doubt")
    assert lines[3] == "  wide spread: spread of the runs 5.6 %"
    assert trust(flags(record)) == "doubt (wide spread)"
    assert trust(flags(example_result())) == "good"


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
@pytest.mark.parametrize("build", [lambda: confirmed(example_result()), invalid_result])
def test_a_terminal_holds_every_line_and_keeps_runs_brackets_and_what_was_dropped(
    on_terminal, build, columns
):
    record = build()
    raw, text = on_terminal(record, columns, whole=columns == 80)
    assert "\x1b[1mrun  " in raw
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= columns
    for round_ in record.rounds:
        if round_.bracket:
            bracket = f"{round_.bracket.lower:.0f}-{round_.bracket.upper:.0f}"
            rows = [line for line in lines if line.split()[:1] == [str(round_.index)]]
            assert any(bracket in row for row in rows)
    assert text.count("highest") == (2 if record.confirmation else 0)
    assert "…" not in text
    if record.confirmation:
        assert ("not shown at this width: server CPU µs" in text) == (columns == 60)


def test_the_short_form_leaves_room_on_a_screen_of_24_lines(on_terminal):
    """For the page and three commands, which `run` adds."""
    record = confirmed(example_result())
    _, text = on_terminal(record, whole=False)
    assert len(text.rstrip().splitlines()) <= 20
    short, whole = plain(record, whole=False), plain(record)
    *lines, path = short.splitlines(keepends=True)
    assert path == f"  result  {PLACE}\n"
    assert whole.startswith("".join(lines))
    assert "Provenance" not in short
    assert "Latency" not in short


@pytest.mark.parametrize(
    ("value", "unit", "like", "text"),
    [
        (7.312, "exchanges/s", None, "7.31"),
        (0.0, "exchanges/s", None, "0"),
        (0.00123, "s", None, "0.00123"),
        (0.0001, "s", 0.5, "0.000"),
    ],
)
def test_a_figure_has_the_digits_that_are_read(value, unit, like, text):
    assert number(value, unit, like) == text


def test_no_change_is_no_loss():
    """A fall that is shown as 0 has no sign of one."""
    assert [percent(ratio) for ratio in (0.99999, 0.969)] == ["+0.0 %", "-3.1 %"]


def test_a_list_has_a_line_each():
    lost = dict.fromkeys(("value", "metric", "unit", "durability", "server", "version"))
    row = row_of(example_result(), "a")
    bad = row | {"outcome": "lab-broken", "value": None, "commit": "1a2b3c4d5e6f"}
    headings, cells = listing([row, bad, row | lost | {"outcome": "unreadable"}])
    assert headings == ["id", "procedure", "durability", "server", "commit", "max rate/s"]
    assert [line[1:] for line in cells] == [
        ["max-rate", "written", "kea 2.6.3", "", "6006"],
        ["max-rate", "written", "kea 2.6.3", "1a2b3c4d5e", "lab-broken"],
        ["max-rate", "-", "-", "", "unreadable"],
    ]
    headings, _ = listing([row, row | {"metric": "completed_rate"}])
    assert headings[-1] == "figure/s", "of several figures in one unit, the heading has it"
    count = row | {"metric": "instructions", "unit": "instructions per query"}
    assert listing([count])[0][-1] == "instructions per query"
    named = {"server": "kea", "version": None, "commit": "a" * 40}
    assert server_name(named) == "kea (aaaaaaaaaa)"


def spoilt(document):
    for trial in document["confirmation"]["trials"]:
        trial |= {"valid": False, "reason": "generator-stalled"}


def passed_afterwards(document):
    document["confirmation"] |= {"holds": False}
    last = document["confirmation"]["trials"][-1]
    last |= {"completed": last["attempted"], "late": 0, "lost": 0}


FASTER = confirmed(example_result(), overload_completes=3.0)
NOT_TRIED = replace(example_result(), procedure=replace(PROCEDURE, confirm_s=0))


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (confirmed(example_result()), ("confirmed", "5428", "(90 % of", "60 s", "1.30 %")),
        (confirmed(example_result(), loss=0.03), ("not confirmed", "3.00 %", "at most 2.5 %")),
        (FASTER, ("not confirmed", "of 21712", "17193, far more")),
        (edited(FASTER, passed_afterwards), ("not confirmed", "21712", "more than 6122")),
        (edited(FASTER, spoilt), ("not confirmed", "none", "(generator-stalled)")),
        (NOT_TRIED, ("not confirmed", "switched off (confirm_s=0)")),
        (example_result(), ("not confirmed", "the sweep ended before that")),
    ],
)
def test_a_confirmation_is_reported_with_its_load_its_loss_and_why_it_failed(record, words):
    first, *others = words
    reported = confirmation_words(record)
    assert reported.startswith(first)
    assert [part for part in others if part not in reported] == []
