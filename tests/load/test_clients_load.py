"""A file of clients as a load: the real generator, and a responder that answers it."""

import json
import os
import shutil
import subprocess

import pytest
from tests import captures
from tests.load_programs import ROOT, load_programs
from tests.tools import AS_ROOT, run

from leaselab.cli.main import main
from leaselab.lab.catalog import OWN, find_procedure, find_scenario
from leaselab.lab.clients.arrivals import Arrivals
from leaselab.lab.clients.file import read_clients
from leaselab.lab.clients.load import with_clients

WORDS = {
    4: ["dhcp4", "--server", "198.18.0.10", "--relay", "198.18.0.30"],
    6: ["dhcp6", "--server", "2001:2:0:1::10", "--relay", "2001:2:0:1::30"],
}


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


def offered(family, network, faults, words):
    """The report of a load with leases before a responder with faults."""
    listen = ["--listen", WORDS[family][2], *(["--interface", "lo"] if family == 6 else [])]
    server = subprocess.Popen(
        [*network, load_programs() / "leaserespond", WORDS[family][0], *listen, *faults],
        stdout=subprocess.PIPE,
    )
    try:
        status, output = run(
            *(*network, load_programs() / "leaseload", *WORDS[family], "--interface", "lo"),
            *("--fill", "--late", "5", *words),
        )
    finally:
        server.terminate()
        server.wait(timeout=60)
    assert status == 0, output
    return json.loads(output)


@pytest.mark.parametrize("family", [4, 6])
def test_clients_of_a_capture_run_as_a_load(family, network, tmp_path):
    """Each client of the file gets a lease of its own, and the shares are those that it has."""
    (tmp_path / "a.pcap").write_bytes(captures.isp().pcap())
    assert main(["clients", f"{tmp_path}/a.pcap", "-o", f"{tmp_path}/c.yml"]) == 0
    clients, file_hash = read_clients(tmp_path / "c.yml")
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    made = with_clients(
        tmp_path / "scenarios", f"v{family}-memfile", clients, file_hash, scale=2
    )
    load = find_scenario(tmp_path / "scenarios", made.name).load
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
    made = with_clients(
        *(tmp_path / "scenarios", "v4-memfile", clients, file_hash, 2),
        arrivals=Arrivals(3, lease_clock=True),
    )
    load = find_scenario(tmp_path / "scenarios", made.name).load
    procedure = find_procedure(tmp_path / "scenarios", made.name, {"speed": 45})
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
