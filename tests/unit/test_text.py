"""How one result and the list of results read."""

import contextlib
import io
import os
import pty
import re
import threading
from pathlib import Path

import pytest
from tests.examples import MAX_RATES, example_result, invalid_result

from leaselab.model.server import server_name
from leaselab.report.listing import listing
from leaselab.report.text import print_result

PLACE = Path("/results/2026/11/20261121T113005Z-v4-memfile-3f9a")

PLAIN = """\
v4-memfile · kea 2.6.3 · durability written: 6006 ± 25 exchanges/s
  max rate, trimmed mean of 9 runs, 1 highest and 1 lowest dropped
  95 % interval 5981 to 6031; spread of all 9 runs 1.8 %
  server CPU 155.0 µs per exchange; measured in 3 min 4 s, 54 % of it traffic

Runs
run  max rate    bracket  completed  trials  CPU µs
  1      6015  5997-6045       5895       3   151.0
  2      5988  5970-6018       5869       3   152.0
  3      6122  6104-6153       6000       3   153.0  dropped: highest
  4      6003  5985-6033       5883       3   154.0
  5      5731  5714-5760       5617       3   155.0  dropped: lowest
  6      6040  6022-6070       5920       3   156.0
  7      5996  5978-6026       5876       3   157.0
  8      6021  6003-6051       5901       3   158.0
  9      5979  5961-6009       5860       3   159.0

Latency at the lower bound (ms, median of the runs)
stage            p50   p90    p99  p99.9    max
DISCOVER-OFFER  0.54  1.34   4.29   8.04  11.79
REQUEST-ACK     0.80  2.01   6.43  12.06  17.69
whole exchange  1.47  3.69  11.79  22.11  32.43

Provenance
"""


def plain(document):
    stream = io.StringIO()
    print_result(document, PLACE, stream)
    return stream.getvalue()


@pytest.fixture
def on_terminal(monkeypatch):
    """Print on a terminal of 80 columns; returns what it was sent, raw and readable."""

    def call(document):
        monkeypatch.setenv("COLUMNS", "80")
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
            print_result(document, PLACE, stream)
        reader.join(timeout=10)
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
    text = plain(example_result(commit="1a2b3c4d5e6f7a8b", version="2.7.0"))
    for fact in (
        "server            kea 2.7.0 (1a2b3c4d5e)",
        "commit            1a2b3c4d5e6f7a8b",
        "config/kea-dhcp4.conf (sha256 ",
        "loss at most 2.5 %, replies within 2 s, bracket at most 1 %, trials of 5 s",
        "perfdhcp 2.6.3",
        "docker, environment 1",
        "CPUs 0, governor performance, kernel 6.12.48+deb13-amd64",
        "0.1.0 (b298d0f1c2)",
        "leaselab run --scenario v4-memfile",
        "2026-11-21 11:30:05 UTC",
        str(PLACE),
    ):
        assert fact in text


def test_uncommitted_changes_are_said():
    document = example_result()
    document["provenance"]["leaselab_dirty"] = True
    assert "(b298d0f1c2, with uncommitted changes)" in plain(document)


def test_an_invalid_sweep_says_why_first():
    lines = plain(invalid_result()).splitlines()
    assert lines[:3] == [
        "v4-memfile · kea 2.6.3 · durability written: invalid",
        "  generator-limited: run 3: perfdhcp started 5702 of 6000 exchanges/s asked for",
        "  no max rate: 2 of 9 runs found theirs",
    ]
    assert (
        "  3         -          -          -       3       -  1 not valid: generator-limited"
        in (lines)
    )


def test_an_invalid_sweep_with_all_its_runs_is_not_shown_as_a_result():
    reasons = [{"word": "noisy", "text": "the runs spread by 12 %"}]
    lines = plain(example_result(outcome="invalid", reasons=reasons)).splitlines()
    assert lines[0] == "v4-memfile · kea 2.6.3 · durability written: invalid"
    assert lines[1] == "  noisy: the runs spread by 12 %"
    assert lines[2] == "  not to be relied on: 6006 ± 25 exchanges/s"


def test_a_sweep_that_did_not_begin_has_no_tables():
    document = invalid_result()
    document["runs"] = []
    document["summary"] |= {"cpu_us_per_exchange": None, "traffic_share": None}
    text = plain(document)
    assert "Runs" not in text
    assert "Latency" not in text
    assert "no max rate: 0 of 9 runs found theirs" in text


def test_one_run_has_no_interval():
    document = example_result(MAX_RATES[:1], goal={"runs": 1, "trim": 0})
    assert plain(document).splitlines()[:2] == [
        "v4-memfile · kea 2.6.3 · durability written: 6015 exchanges/s",
        "  max rate of one run",
    ]


def test_without_trimming_it_is_a_plain_mean():
    document = example_result(goal={"trim": 0})
    assert plain(document).splitlines()[1] == "  max rate, mean of 9 runs"


def test_v6_names_its_own_packets():
    text = plain(example_result(scenario="v6-memfile"))
    assert "SOLICIT-ADVERTISE" in text
    assert "DISCOVER" not in text


def test_unknown_values_are_dashes_or_left_out():
    document = example_result()
    for run in document["runs"]:
        for trial in run["trials"]:
            trial["cpu_us_per_exchange"] = None
            trial["latency_s"] = {"offer": None, "ack": None, "exchange": None}
    document["summary"]["cpu_us_per_exchange"] = None
    document["server"] |= {"config_sha256": None, "package": None, "version": None}
    for host in document["bench"]["hosts"].values():
        host.update(governor=None, cpu_model=None, tuning=None)
    text = plain(document)
    assert "Latency" not in text
    assert "None" not in text
    assert "governor" not in text
    assert "  1      6015  5997-6045       5895       3       -\n" in text


@pytest.mark.parametrize("build", [example_result, invalid_result])
def test_a_terminal_of_80_columns_holds_every_line(on_terminal, build):
    document = build()
    raw, text = on_terminal(document)
    assert "\x1b[" in raw
    assert "───" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    for run in document["runs"]:
        if run["lower_bound"] is not None:
            assert f"{run['lower_bound']:.0f}-{run['upper_bound']:.0f}" in text
    assert "…" not in text


def test_stages_that_were_not_told_have_no_row():
    document = example_result()
    for run in document["runs"]:
        del run["lower_trial"], run["upper_trial"]
        for trial in run["trials"]:
            del trial["latency_s"]["exchange"]
    text = plain(document)
    assert ["REQUEST-ACK", "0.80", "2.01", "6.43", "12.06", "17.69"] in [
        line.split() for line in text.splitlines()
    ]
    assert "whole exchange" not in text


def test_a_list_has_a_line_each():
    row = {
        "id": "20261121T113005Z-v4-memfile-3f9a",
        "outcome": "ok",
        "trimmed_mean": 6006.4,
        "durability": "written",
        "server": "kea",
        "version": "2.6.3",
        "commit": None,
    }
    bad = row | {"outcome": "lab-broken", "trimmed_mean": None, "commit": "1a2b3c4d5e6f"}
    lost = row | {
        "outcome": "unreadable",
        "trimmed_mean": None,
        "durability": None,
        "server": None,
        "version": None,
    }
    assert list(listing([row, bad, lost])) == [
        "id                                outcome       max rate/s  durability  server",
        "20261121T113005Z-v4-memfile-3f9a  ok                  6006  written     kea 2.6.3",
        "20261121T113005Z-v4-memfile-3f9a  lab-broken             -  written     "
        "kea 2.6.3 (1a2b3c4d5e)",
        "20261121T113005Z-v4-memfile-3f9a  unreadable             -  -           -",
    ]
    assert list(listing([])) == ["no results"]


def test_a_server_is_named_alike_from_an_index_row_and_a_document():
    assert server_name({"name": "kea", "version": "2.6.3", "commit": None}) == "kea 2.6.3"
    assert server_name({"server": "kea", "version": None, "commit": "a" * 40}) == (
        "kea (aaaaaaaaaa)"
    )


def test_a_result_says_how_many_leases_its_rate_was_reached_with():
    document = example_result()
    assert "held at the lower bound" not in plain(document)  # as results before the field
    for run in document["runs"]:
        for trial in run["trials"]:
            trial["leases_held"] = [trial["completed"] + run["index"], 7]
    lower = [run["trials"][run["lower_trial"]]["leases_held"][0] for run in document["runs"]]
    expected = f"{sorted(lower)[len(lower) // 2]} held at the lower bound"
    assert expected in plain(document)
