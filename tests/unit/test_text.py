"""How one result and the list of results read."""

import contextlib
import io
import os
import pty
import re
import threading
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
from leaselab.model.record import Metric
from leaselab.model.server import Beside, server_name
from leaselab.report.facts import confirmation_words
from leaselab.report.listing import heading, listing, number
from leaselab.report.text import print_result

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
        master, slave = pty.openpty()
        sent = bytearray()

        def read():
            with contextlib.suppress(OSError):  # how Linux says that the other end has closed
                while chunk := os.read(master, 65536):
                    sent.extend(chunk)

        reader = threading.Thread(target=read)  # a terminal's buffer is only 4 KiB
        reader.start()
        with os.fdopen(slave, "w") as stream:
            print_result(record, PLACE, stream, whole=whole)
        reader.join()
        os.close(master)
        raw = sent.decode()
        return raw, re.sub(r"\x1b\[[0-9;]*m", "", raw).replace("\r", "")

    return call


def test_a_pipe_gets_plain_lines():
    text = plain(example_result())
    assert text.startswith(PLAIN)
    assert not re.search("[\x1b\u2500-\u257f]", text)
    assert not re.search(" $", text, re.MULTILINE)


def test_provenance_names_what_can_move_a_result():
    record = example_result(commit="1a2b3c4d5e6f7a8b", version="2.7.0")
    database = {"database": Beside(version="MySQL 8.4", variables={"flush": 1})}
    text = plain(replace(record, servers={"server": replace(record.server, beside=database)}))
    for fact in (
        "server            kea 2.7.0 (1a2b3c4d5e)",
        "commit            1a2b3c4d5e6f7a8b",
        "factors           protocol DHCPv4, backend memfile, threading single, servers none",
        "leases            durability written\n",
        "database          MySQL 8.4, flush=1",
        "config/kea-dhcp4.conf (sha256 ",
        "loss at most 2.5 %, replies within 2 s, bracket at most 1 %, trials of 3 s",
        "perfdhcp 2.6.3",
        "docker, environment 1",
        "CPU 0, governor performance, kernel 6.12.48+deb13-amd64",
        "0.1.0 (b298d0f1c2)",
        "leaselab run --scenario v4-memfile",
        "2026-11-21 11:30:05 UTC",
        str(PLACE),
    ):
        assert fact in text


def test_uncommitted_changes_are_said():
    record = edited(
        example_result(), lambda value: value["provenance"].update(leaselab_dirty=True)
    )
    assert "(b298d0f1c2, with uncommitted changes)" in plain(record)


def test_an_invalid_sweep_says_why_first():
    lines = plain(invalid_result()).splitlines()
    assert lines[:3] == [
        "v4-memfile · kea 2.6.3 · durability written: invalid",
        "  generator-limited: run 3: perfdhcp started 5702 of 6000 exchanges/s asked for",
        "  no max rate: 2 of 9 runs measured theirs",
    ]
    assert (
        "  3         -          -          -       3              -  "
        "1 not valid: generator-limited" in lines
    )


def test_an_invalid_sweep_with_all_its_runs_is_not_shown_as_a_result():
    reasons = [{"word": "noisy", "text": "the runs spread by 12 %"}]
    lines = plain(example_result(outcome="invalid", reasons=reasons)).splitlines()
    assert lines[0] == "v4-memfile · kea 2.6.3 · durability written: invalid"
    assert lines[1] == "  noisy: the runs spread by 12 %"
    assert lines[2] == "  not to be relied on: 6006 ± 25 exchanges/s"


def test_a_refuted_sweep_does_not_say_that_its_runs_failed():
    record = example_result(outcome="invalid", reasons=[{"word": "not-sustained", "text": "x"}])
    refuted = tuple(replace(metric, value=None) for metric in record.metrics)
    lines = plain(replace(record, metrics=refuted)).splitlines()
    assert lines[2] == "  no max rate: 9 runs measured one, which was not confirmed"


def test_reasons_for_doubt_are_those_of_the_page():
    scattered = [0.9, 0.95, 1.0, 1.0, 1.0, 1.0, 1.0, 1.05, 1.1]
    record = example_result([6000 * each for each in scattered])
    lines = plain(record, whole=False).splitlines()
    assert lines[2].endswith("; trust: doubt")
    assert lines[3] == "  wide spread: spread of the runs 5.6 %"
    assert trust(flags(record)) == "doubt (wide spread)"
    assert trust(flags(example_result())) == "good"


def test_clients_that_come_back_are_said():
    record = example_result()
    assert "come back" not in plain(record)
    scenario = replace(record.scenario, load={**record.scenario.load, "clients": 8128})
    assert "\n  8128 clients come back in turn\n" in plain(replace(record, scenario=scenario))


def test_a_sweep_that_did_not_begin_has_no_tables():
    record = invalid_result()
    nothing = tuple(replace(metric, value=None) for metric in record.metrics)
    text = plain(replace(record, rounds=(), metrics=nothing, wall_s=0.0))
    assert "Runs" not in text
    assert "Latency" not in text
    assert "no max rate: 0 of 9 runs measured theirs" in text


def test_one_run_has_no_interval():
    once = replace(PROCEDURE, rounds=1, trim=0)
    record = example_result(MAX_RATES[:1], procedure=once)
    assert plain(record).splitlines()[:2] == [
        "v4-memfile · kea 2.6.3 · durability written: 6015 exchanges/s",
        "  max rate of one run",
    ]


def test_without_trimming_it_is_a_plain_mean():
    record = example_result(procedure=replace(PROCEDURE, trim=0))
    assert plain(record).splitlines()[1] == "  max rate, mean of 9 runs"


def test_v6_names_its_own_packets():
    text = plain(example_result(scenario="v6-memfile"))
    assert "SOLICIT-ADVERTISE" in text
    assert "DISCOVER" not in text


def test_unknown_values_are_dashes_or_left_out():
    def forget(document):
        for round_ in document["rounds"]:
            round_["metrics"]["cpu_us"] = None
            for trial in round_["trials"]:
                trial["cpu_us"] = None
                trial["latency_s"] = dict.fromkeys(trial["latency_s"])
        document["metrics"][2]["value"] = None
        document["servers"]["server"] |= {
            "config_sha256": None,
            "package": None,
            "version": None,
        }
        for host in document["bench"]["hosts"].values():
            host.update(governor=None, cpu_model=None, tuning=None)

    text = plain(edited(example_result(), forget))
    assert "Latency" not in text
    assert "None" not in text
    assert "governor" not in text
    assert "µs per" not in text
    assert "  1      6015  5997-6045       5895       3              -\n" in text


@pytest.mark.parametrize("build", [example_result, invalid_result])
def test_a_terminal_of_80_columns_holds_every_line(on_terminal, build):
    record = build()
    raw, text = on_terminal(record)
    assert "\x1b[" in raw
    assert re.search(r"\x1b\[1mrun  ", raw)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    for round_ in record.rounds:
        if round_.bracket is not None:
            assert f"{round_.bracket.lower:.0f}-{round_.bracket.upper:.0f}" in text
    assert "…" not in text


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_a_narrow_terminal_keeps_runs_brackets_and_what_was_dropped(on_terminal, columns):
    record = confirmed(example_result())
    _, text = on_terminal(record, columns, whole=False)
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= columns
    for round_ in record.rounds:
        bracket = f"{round_.bracket.lower:.0f}-{round_.bracket.upper:.0f}"
        assert any(
            line.split()[:1] == [str(round_.index)] and bracket in line for line in lines
        )
    assert text.count("highest") == text.count("lowest") == 2
    assert "confirmed at" in text
    assert "…" not in text
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


def test_stages_that_were_not_reported_have_no_row():
    def forget(document):
        for round_ in document["rounds"]:
            for trial in round_["trials"]:
                del trial["latency_s"]["whole exchange"]

    text = plain(edited(example_result(), forget))
    assert ["REQUEST-ACK", "0.80", "2.01", "6.43", "12.06", "17.69"] in [
        line.split() for line in text.splitlines()
    ]
    assert "whole exchange" not in text


OF_QUERIES = Metric(
    name="latency",
    title="median latency",
    unit="ms",
    better="lower",
    how="median",
    value=0.4321,
    n=9,
    ci95=(0.42, 0.4441),
)


def of_queries():
    """The record of a procedure that is about latency, on a server that holds nothing."""

    def change(document):
        document["scenario"]["transaction"] = {
            "name": "DNS query",
            "plural": "queries",
            "stages": ["QUERY-RESPONSE"],
        }
        document["scenario"]["factors"] = {"zones": 100}
        document["servers"]["server"] |= {"holds": "", "durability": None}
        document["metrics"][1]["unit"] = "queries/s"
        for round_ in document["rounds"]:
            round_ |= {
                "bracket": None,
                "metrics": {**round_["metrics"], "latency": 0.43 + round_["index"]},
            }

    record = edited(example_result(), change)
    return replace(record, metrics=(OF_QUERIES, *record.metrics[1:]))


def test_metrics_of_any_procedure_are_reported_by_their_own_words():
    lines = plain(of_queries()).splitlines()
    assert lines[:4] == [
        "v4-memfile · kea 2.6.3: 0.432 ± 0.012 ms",
        "  median latency, median of 9 runs",
        "  95 % interval 0.420 to 0.444; trust: good",
        "  completed rate 5886 ± 24 queries/s; server CPU 155.0 µs per exchange; "
        "measured in 2 min 28 s, 43 % of it traffic",
    ]
    assert lines[6] == "run  median latency  trials  completed rate queries/s  server CPU µs"
    assert lines[7].split() == ["1", "1.43", "3", "5895", "151.0"]
    assert "Latency (ms, median of the runs)" in lines
    reported = "\n".join(lines)
    assert "  factors           zones 100\n" in reported
    assert "leases" not in reported
    assert "durability" not in reported


@pytest.mark.parametrize(
    ("value", "unit", "like", "text"),
    [
        (None, "exchanges/s", None, "-"),
        (6006.4, "exchanges/s", None, "6006"),
        (25.3, "exchanges/s", 6006.4, "25"),
        (7.312, "exchanges/s", None, "7.31"),
        (0.0, "exchanges/s", None, "0"),
        (155.04, "µs per exchange", None, "155.0"),
        (0.00123, "s", None, "0.00123"),
        (0.0001, "s", 0.5, "0.000"),
    ],
)
def test_a_figure_has_the_digits_that_are_read(value, unit, like, text):
    assert number(value, unit, like) == text


def test_a_column_of_rates_says_so():
    assert heading("max_rate", "exchanges/s") == "max rate/s"
    assert heading("median latency", "ms") == "median latency (ms)"


def test_a_list_has_a_line_each():
    row = {
        "id": "20261121T113005Z-v4-memfile-3f9a",
        "procedure": "max-rate",
        "outcome": "ok",
        "value": 6006.4,
        "metric": "max_rate",
        "unit": "exchanges/s",
        "durability": "written",
        "server": "kea",
        "version": "2.6.3",
        "commit": None,
    }
    bad = row | {"outcome": "lab-broken", "value": None, "commit": "1a2b3c4d5e6f"}
    lost = row | {
        "outcome": "unreadable",
        "value": None,
        "metric": None,
        "unit": None,
        "durability": None,
        "server": None,
        "version": None,
    }
    headings, cells = listing([row, bad, lost])
    assert headings == ["id", "procedure", "durability", "server", "commit", "max rate/s"]
    assert [line[1:] for line in cells] == [
        ["max-rate", "written", "kea 2.6.3", "", "6006"],
        ["max-rate", "written", "kea 2.6.3", "1a2b3c4d5e", "lab-broken"],
        ["max-rate", "-", "-", "", "unreadable"],
    ]
    headings, _ = listing([row, row | {"metric": "completed_rate"}])
    assert headings[-1] == "figure/s", "of several figures in one unit, the heading has it"


def test_a_server_is_named_alike_from_an_index_row_and_a_record():
    server = example_result(commit="a" * 40).server
    assert server_name(server) == "kea 2.6.3 (aaaaaaaaaa)"
    assert server_name(replace(server, commit=None)) == "kea 2.6.3"
    assert server_name({"server": "kea", "version": None, "commit": "a" * 40}) == (
        "kea (aaaaaaaaaa)"
    )


def test_a_result_says_how_many_leases_its_rate_was_reached_with():
    assert "held at the lower bound" not in plain(example_result())  # as before the field

    def hold(document):
        for item in document["rounds"]:
            for trial in item["trials"]:
                trial["held"] = {"server": trial["completed"] + item["index"], "partner": 7}

    record = edited(example_result(), hold)
    lower = [round_.shown.held["server"] for round_ in record.rounds]
    expected = f"{sorted(lower)[len(lower) // 2]} held at the lower bound"
    assert expected in plain(record)


def test_companion_services_are_reported_with_their_cost():
    def share(document):
        for round_ in document["rounds"]:
            for trial in round_["trials"]:
                for place, sample in enumerate(trial["samples"]["server"]):
                    spent = place * trial["completed"] / trial["duration_s"] * 34e-6
                    sample["beside_cpu_s"] = {"database": spent}

    text = plain(edited(example_result(), share))
    assert "  server CPU 155.0 µs per exchange, database 34 µs; measured in " in text


def not_tried(**parameters):
    record = example_result()
    return replace(record, procedure=replace(record.procedure, **parameters))


def passed_afterwards(document):
    document["confirmation"] |= {"holds": False}
    last = document["confirmation"]["trials"][-1]
    last |= {"completed": last["attempted"], "late": 0, "lost": 0}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            confirmed(example_result()),
            "confirmed at 5428 exchanges/s (90 % of the figure) over 60 s: loss 1.30 %",
        ),
        (
            confirmed(example_result(), loss=0.03),
            "not confirmed at 5428 exchanges/s over 60 s: loss 3.00 %, and the goal is at most "
            "2.5 %",
        ),
        (
            confirmed(example_result(), overload_completes=3.0),
            "not confirmed at 5428 exchanges/s over 60 s: loss 1.30 %, but of 21712 "
            "exchanges/s the server completed 17193, far more than the runs found",
        ),
        (
            edited(confirmed(example_result()), passed_afterwards),
            "not confirmed: 21712 exchanges/s passed after the runs, but none of them found "
            "more than 6122",
        ),
        (not_tried(confirm_s=0), "not confirmed: switched off (confirm_s=0)"),
        (example_result(), "not confirmed: the sweep ended before that"),
    ],
)
def test_a_confirmation_is_reported_in_a_sentence(record, message):
    assert confirmation_words(record) == message


def test_a_confirmation_none_of_whose_trials_counts_says_why():
    def spoil(document):
        for trial in document["confirmation"]["trials"]:
            trial |= {"valid": False, "reason": "generator-stalled"}

    record = edited(confirmed(example_result()), spoil)
    assert confirmation_words(record).endswith(
        "60 s: none of the trials counts (generator-stalled)"
    )
