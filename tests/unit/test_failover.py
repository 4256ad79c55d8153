"""What clients notice when the server of a pair dies."""

import gzip
import json

import numpy as np
import pytest
from tests.bench_document import DOCUMENT, host
from tests.doubles import perfdhcp_output

from leaselab.archive.failover import keep
from leaselab.lab.bench_file import parse_bench
from leaselab.measure.bench_trial import BenchTrials
from leaselab.measure.failover import Load, crash_under, figures, outage_s, served
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.observation import Generated
from leaselab.report.failover import failover_lines

LOAD = Load(rate=500, before_s=10, after_s=30)
PAIR = {
    **DOCUMENT,
    "hosts": {**DOCUMENT["hosts"], "partner": host("leaselab-partner", "198.18.0.20")},
    "partner": DOCUMENT["server"],
    "scenario": {**DOCUMENT["scenario"], "high_availability": {"mode": "hot-standby"}},
}


def replies(*silences, share=0.0):
    """When last replies come: all the time, but for silences (from, to) of that share."""
    times = np.arange(0, 40, 1 / LOAD.rate)
    keep_them = np.ones(times.size, dtype=bool)
    for start, end in silences:
        keep_them &= (times < start) | (times >= end)
    half = times[~keep_them][:: round(1 / share)] if share else times[:0]
    return np.sort(np.concatenate((times[keep_them], half)))


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (replies(), 0.0),
        (replies((10.0, 22.5)), 12.5),
        (replies((4.0, 4.2), (10.0, 22.5), (30.0, 30.1)), 12.5),
        (replies((10.0, 21.0), share=0.5), 11.0),
    ],
    ids=["nobody dies", "hot standby", "a machine that stumbles", "load balancing"],
)
def test_the_outage_is_the_longest_stretch_that_is_not_served(times, seconds):
    assert outage_s(served(times, LOAD), LOAD) == pytest.approx(seconds, abs=0.101)


@pytest.mark.parametrize(
    ("times", "what"),
    [
        (replies((10.0, 40.0)), "not served again"),
        (replies((1.0, 9.0)), "not served before"),
        (np.empty(0), "not served before"),
    ],
)
def test_a_load_that_is_not_served_has_no_figure(times, what):
    with pytest.raises(LeaselabError, match=what) as caught:
        outage_s(served(times, LOAD), LOAD)
    assert caught.value.outcome is Outcome.INVALID


class Pair:
    """A pair that dies without anybody noticing, and what its stores hold then."""

    def __init__(self, server, partner):
        self.stores = server, partner
        self.crashed = 0

    def crash(self):
        self.crashed += 1

    def leases(self):
        return self.stores


class Generator:
    """Prints what an undisturbed load of 41 s at 10/s prints."""

    def generate(self, argv, _environment, timeout_s):
        assert argv[-1] == "all"
        assert timeout_s > 41
        text = perfdhcp_output(400, 400, interval_s=0.1)
        return Generated(0, gzip.compress(text.encode(), mtime=0), "")


def test_the_stores_are_compared_address_by_address():
    load = Load(rate=10, before_s=10, after_s=30)
    pair = Pair(
        {"10.0.0.1": "a", "10.0.0.2": "b", "10.0.0.3": "c"}, {"10.0.0.1": "a", "10.0.0.2": "x"}
    )
    waited = []
    bench = parse_bench(PAIR, "tests")
    trials = BenchTrials(bench, pair, Generator())
    generated = crash_under(load, trials, pair, waited.append)
    assert (waited, pair.crashed) == ([10], 1)
    found = figures(generated, load, trials, pair)
    assert (found.server_leases, found.partner_leases) == (3, 2)
    assert (found.missing, found.conflicting) == (1, 1)
    assert (found.started, found.answered, found.lost) == (400, 400, 0)
    assert found.outage_s <= 0.1
    assert gzip.decompress(generated.output_gz).startswith(b"Running: perfdhcp")


FIGURES = {
    "outage_s": 11.3,
    "started": 20000,
    "answered": 14000,
    "lost": 6000,
    "server_leases": 5001,
    "partner_leases": 14000,
    "missing": 1,
    "conflicting": 0,
}


def test_they_are_kept_read_only_and_told_in_words(tmp_path):
    bench = json.loads(json.dumps(PAIR))
    document = {
        "id": "20261121T113005Z-v4-memfile-hs-3f9a",
        "scenario": {
            "name": "v4-memfile-hs",
            "high_availability": {
                "mode": "hot-standby",
                "heartbeat_s": 1.0,
                "max_response_delay_s": 10.0,
                "max_unacked_clients": 0,
            },
        },
        "load": {"rate": 500, "before_s": 10, "after_s": 30},
        "late_s": 2.0,
        "failovers": [FIGURES, {**FIGURES, "outage_s": 9.7}, {**FIGURES, "outage_s": 11.5}],
        "server": {"name": "kea", "version": "2.6.3", "commit": None, "durability": "written"},
        "bench": {"name": bench["name"], "environment": bench["environment"]},
    }
    place = keep(tmp_path, document, [b"raw", b"2", b"3"])
    assert json.loads((place / "failover.json").read_text(encoding="utf-8")) == document
    assert (place / "raw-1.txt.gz").read_bytes() == b"raw"
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o444}
    assert list(failover_lines(document)) == [
        "v4-memfile-hs · kea 2.6.3 · durability written: median 11.3 s of 3 (9.7 to 11.5 s) "
        "until leases flowed again",
        "",
        "failover  outage s  started  answered  lost  server leases  partner leases  missing  "
        "conflicting",
        "       1      11.3    20000     14000  6000           5001           14000        1  "
        "          0",
        "       2       9.7    20000     14000  6000           5001           14000        1  "
        "          0",
        "       3      11.5    20000     14000  6000           5001           14000        1  "
        "          0",
        "",
        "  load     500 exchanges/s for 10 s, server killed, 30 s more",
        "  lost     exchanges without both replies within 2 s each; answered: the last one "
        "came, in time or not",
        "  missing  the dead server's leases that the partner does not know; conflicting: "
        "whose address it gave to another client",
        "  pair     hot-standby, heartbeat 1 s, unreachable after 10 s, down after 0 "
        "unanswered clients",
        "  outage   in steps of 0.1 s, the longest stretch with less than 90 % of the load "
        "served",
        "  bench    docker, environment 1-0123456789ab",
    ]
    document |= {"failovers": [], "outcome": "invalid"}
    assert next(failover_lines(document)).endswith(": invalid")
    document["failovers"] = [FIGURES]
    assert next(failover_lines(document)).endswith(": 11.3 s until leases flowed again")
