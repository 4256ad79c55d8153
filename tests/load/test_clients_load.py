"""A file of clients as a load: the real generator, and a responder that answers it."""

import copy
import functools
import json
import operator
import os
import re
import shutil
import subprocess
from dataclasses import astuple

import numpy as np
import pytest
from tests import captures
from tests.leaseload import adapter as clients
from tests.leaseload import dns
from tests.load_programs import ROOT, load_programs
from tests.tools import AS_ROOT, run
from tests.waiting import HANGS_S

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.kept_scenarios import OWN
from leaselab.cli.main import main
from leaselab.inputs.clients.arrivals import Arrivals
from leaselab.inputs.clients.file import read_clients
from leaselab.inputs.clients.load import with_clients
from leaselab.measure.generators.adapter import Seen
from leaselab.model.errors import LeaselabError
from leaselab.model.trial import Load

WORDS = {
    4: ["dhcp4", "--server", "198.18.0.10", "--relay", "198.18.0.30"],
    6: ["dhcp6", "--server", "2001:2:0:1::10", "--relay", "2001:2:0:1::30"],
    "dns": ["dns", "--server", "198.18.0.10"],
}
HOW_IT_RAN = {"started_at_s", "took_s", "exchanges", "late_s", "last_reply_s", "setup_s"} | {
    *("peak_memory_bytes", "reply_times", "transport", "largest_lag_s"),
    *("answered", "window"),
}
"""Fields that are no counts of a load: they say how the program ran, for its own tests."""


def ip(*words):
    status, output = run(*AS_ROOT, "ip", *words)
    assert status == 0, output


@pytest.fixture(scope="module")
def network():
    """A network namespace whose loopback has the server's and the relay's addresses."""
    name = f"leaselab-clients-{os.getpid()}"
    ip("netns", "add", name)
    ip("-n", name, "link", "set", "lo", "up")
    for number in (10, 30):
        ip("-n", name, "address", "add", f"198.18.0.{number}/32", "dev", "lo")
        ip("-n", name, "address", "add", f"2001:2:0:1::{number}/128", "dev", "lo", "nodad")
    yield [*AS_ROOT, "ip", "netns", "exec", name]
    ip("netns", "delete", name)


def offered(target, network, faults, words):
    """The report of a load before a responder with faults; of clients, with leases."""
    name, _, address, *_ = WORDS[target]
    listen = ["--listen", address, *(["--interface", "lo"] if target == 6 else [])]
    server = subprocess.Popen(
        [*network, load_programs() / "leaserespond", name, *listen, *faults],
        stdout=subprocess.PIPE,
    )
    try:
        status, output = run(
            *(*network, load_programs() / "leaseload", *WORDS[target], "--interface", "lo"),
            *([] if target == "dns" else ["--fill"]),
            *("--late", "5", *words),
        )
    finally:
        server.terminate()
        server.wait(timeout=HANGS_S)
    assert status == 0, output
    return json.loads(output)


@pytest.mark.parametrize("family", [4, 6])
def test_clients_of_a_capture_run_as_a_load(family, network, tmp_path):
    """Each client of the file gets a lease of its own, and the shares are those that it has."""
    (tmp_path / "a.pcap").write_bytes(captures.isp().pcap())
    assert main(["clients", f"{tmp_path}/a.pcap", "-o", f"{tmp_path}/c.yml"]) == 0
    clients, file_hash = read_clients(tmp_path / "c.yml")
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    catalogue = Catalogue(tmp_path)
    scenario = catalogue.find(f"v{family}-memfile")
    load = with_clients(catalogue, scenario, clients, file_hash, scale=2).scenario.load
    population = tmp_path / OWN / f"{load['population']}.json"
    shares = clients.of(family).shares
    mix = ",".join(f"{word}={share}" for word, share in shares.items())
    load_words = ["--mix", mix, "--rate", "100", "--seconds", "2"]
    report = offered(family, network, [], ["--population", population, *load_words])
    assert report["filled"]["leases"] == load["clients"] == 80
    assert report["counts"]["completed"] == report["counts"]["attempted"] == 200
    begun = {word: counts["attempted"] / 200 for word, counts in report["kinds"].items()}
    assert begun.keys() == shares.keys()
    for word, share in shares.items():
        assert abs(begun[word] - share) < 0.15


def test_arrivals_of_a_capture_are_replayed_beside_the_clocks_of_leases(network, tmp_path):
    """Of 90 clients that came in one minute each begins; all renew after 2 s."""
    (tmp_path / "a.pcap").write_bytes(captures.campus().pcap())
    assert main(["clients", f"{tmp_path}/a.pcap", "-o", f"{tmp_path}/c.yml"]) == 0
    clients, file_hash = read_clients(tmp_path / "c.yml")
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    catalogue, arrivals = Catalogue(tmp_path), Arrivals(3, lease_clock=True)
    scenario = catalogue.find("v4-memfile")
    made = with_clients(catalogue, scenario, clients, file_hash, 2, arrivals=arrivals).scenario
    load, procedure = made.load, catalogue.procedure_of(made, {"speed": 45})
    assert procedure.load.duration_s == 4
    population = tmp_path / OWN / f"{load['population']}.json"
    words = [
        "--population",
        population,
        "--lease-clock",
        "--counts",
        procedure.load.counts_words,
    ]
    report = offered(4, network, ["--lease-time", "60,2,50"], [*words, "--seconds", "4"])
    assert report["kinds"]["new"]["completed"] == procedure.most_attempted
    assert report["kinds"]["renew"]["completed"] >= load["clients"]
    parts = report["parts"]
    assert sum(part["completed"] for part in parts) == report["counts"]["completed"]
    assert all(
        part["attempted"] > due for part, due in zip(parts, procedure.arrivals, strict=True)
    )


def leaves(value, path=()):
    """Each number, text or null of a document, with its place."""
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from leaves(value[key], (*path, key))
    else:
        yield path, value


def altered(document, path, value):
    """The document with other values at a place, one after the other."""
    others = {bool: [not value], str: [f"{value}x"], type(None): [7]}
    for other in others[type(value)] if type(value) in others else [3 * value + 7, 0]:
        copied = copy.deepcopy(document)
        functools.reduce(operator.getitem, path[:-1], copied)[path[-1]] = other
        yield copied


def comes_to(probe, document, load):
    """All that the engine makes of the reports of a probe and of a load."""
    made = dns if document["transport"] == "tcp" else of_clients
    adapter, _ = made(probe, document)
    try:
        probed = adapter.answers()
        reading = adapter.offer(load, may_abort=True)
        binned = [list(map(float, np.ravel(figure))) for figure in astuple(reading.binned)]
        return probed, reading.trial(Seen()), [*reading.answered_at], binned
    except LeaselabError as error:
        return str(error)


def test_each_field_of_a_report_is_read(network, tmp_path):
    """What leaseload counts and nothing reads has no part in a figure, whatever it says."""
    (tmp_path / "q.txt").write_text("a.lab.test A\n")
    asked = ["--queries", tmp_path / "q.txt", "--transport", "tcp"]
    mix = ["--clients", "60", "--mix", "new=0.4,renew=0.6", "--bin", "0.5"]
    often = ["--rate", "150", "--seconds", "2", "--late", "1", "--grace", "0"]
    read, unread = set(), set()
    for report in (
        offered("dns", network, [], [*asked, *often]),
        offered(4, network, ["--drop-second", "0.1"], [*mix, *often]),
        offered(4, network, [], [*mix, "--seconds", "2", "--counts", "150,150"]),
    ):
        late = {"after_traffic": 40, "early_mean_s": 1e-3, "early_spread_s": 1e-3}
        queued = {word: {**kind, **late} for word, kind in report["kinds"].items()}
        ways = report.get("connections")
        closed = {"connections": ways and {**ways, "closed": 1, "error": "reset"}}
        for others, load in (
            ({}, Load(150, 2)),
            ({}, Load(150, 2, counts=(150, 150))),
            ({}, Load(0, 9, at_once=300)),
            ({"starved": 1, "ended": "failed"}, Load(150, 2)),
            ({**late, "kinds": queued}, Load(150, 2)),
            (closed, Load(150, 2)),
        ):
            document = {**report, **others}
            plain = comes_to(report, document, load)
            for path, value in leaves(document):
                place = "/".join(map(str, path))
                field = re.sub(r"(kinds|refused|(?<!bins/)replies)/\w+|\d+", "*", place)
                if field in read or path[-1] in HOW_IT_RAN:
                    continue
                changed = altered(document, path, value)
                is_read = any(comes_to(report, other, load) != plain for other in changed)
                (read if is_read else unread).add(field)
    assert {"starved", "counts/lost", "connections/no_room"} <= read
    assert unread <= read, unread - read


def of_clients(*documents):
    return clients(*documents, clients=60, renewals=0.6, addresses=10**6)
