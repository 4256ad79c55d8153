"""`leaselab list --scenarios`: the project's own scenarios, whole outputs."""

import re
import sys
from pathlib import Path

from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.main import main

ROOT = Path(__file__).parents[2]

WHAT = "Leases in memory and in a file on the server; no database"
DURABLE = "backend=mysql threading=single servers=none innodb_flush_log_at_trx_commit=1"
PARTS = (
    f"scenario:\n  name: v4-memfile-mt\n  description: {WHAT}\n  server:\n    kind: kea\n"
    "    options:\n      backend: memfile\n",
    "      hooks: lease_cmds\n",
    "      left_out: -\n",
    "  partner: False\n  support: None\n  beside: -\n  hosts: -\n  generator: leaseload\n",
    "    stages: DISCOVER-OFFER, REQUEST-ACK\n  load:\n    family: 4\n",
    "  factors:\n    protocol: DHCPv4\n    backend: memfile\n    threading: multi\n",
    "  across: threading, servers\n  axes: protocol, backend, threading, servers\n"
    "procedure:\n  name: max-rate\n  rounds: 3\n  trim: 0\n",
)
"""What is shown of a scenario, in this order; its options are those of the role."""


def test_a_pipe_gets_every_scenario_whole_however_narrow_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["list", "--scenarios"]) == 0
    names = [scenario.name for scenario in Catalogue(ROOT).match(["*"])]
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == sorted(names)
    assert {line.count("\t") for line in lines} == {2}
    several = "threading=multi servers=none multi_threading=True threads=4 queue_size=64"
    assert f"v6-memfile-mt\tDHCPv6\tbackend=memfile {several}" in lines
    assert f"v4-mysql-durable\tDHCPv4\t{DURABLE}" in lines
    assert "v4-pool-use-flq-fill-0.999\tDHCPv4\tallocator=flq fill=0.999" in lines


def on_a_terminal(monkeypatch, capsys, *words):
    """The lines of a list on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["list", "--scenarios", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_those_of_one_server_have_what_each_sets(monkeypatch, capsys):
    lines = on_a_terminal(monkeypatch, capsys, "--server", "NSD")
    assert lines[0] == "nsd: 10 scenarios"
    assert "    nsd-delegations-family-4  protocol=DNS family=4" in lines
    assert sum(line.startswith("    nsd-") for line in lines) == 10
    assert main(["list", "--scenarios", "--server", "keaa"]) == 2
    assert "unknown server 'keaa'; did you mean 'kea'?" in capsys.readouterr().err


def test_a_family_or_pattern_lists_its_points_with_the_factors_that_all_have(capsys):
    assert main(["list", "--scenarios", "v6-memfile-mt*"]) == 0
    names = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["v6-memfile-mt", "v6-memfile-mt-hs", "v6-memfile-mt-lb"]
    assert main(["list", "--scenarios", "threads"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    places = ["v4 memfile", "v6 memfile", "v4-mysql mysql", "v4-postgresql postgresql"]
    assert [line[:4] for line in lines] == [
        [f"{place}-threads-{threads}", f"DHCPv{place[1]}", backend, str(threads)]
        for place, backend in map(str.split, places)
        for threads in (1, 2, 4, 6, 8, 12)
    ]


def test_one_as_it_would_be_run(capsys):
    assert main(["show", "--scenario", "v4-memfile-mt", "--parameters", '{"rounds": 3}']) == 0
    shown, at = capsys.readouterr().out, 0
    for part in PARTS:
        at = shown.index(part, at)
    assert main(["show", "--scenario", "v4-mysql-durable"]) == 0
    beside = DURABLE.rpartition(" ")[2].replace("=", ": ")
    assert f"  beside:\n    mysql:\n      {beside}\n" in capsys.readouterr().out
    options = Catalogue(ROOT).find("v4-memfile-mt").server.options
    reported = shown.partition("    options:\n")[2].partition("  partner:")[0]
    assert re.findall(r"^      (\w+): ", reported, re.M) == [*options]


def test_as_json_there_are_all_of_them_and_what_a_deployment_reads_of_one(document):
    by_name = {row["name"]: row for row in document("list", "--scenarios")}
    assert by_name["v6-memfile"]["load"]["family"] == 6
    assert by_name["v4-memfile"]["server"]["options"]["multi_threading"] is False
    shown = document("show", "--scenario", "v4-memfile")
    assert shown.keys() == {"scenario", "procedure", "partners"}
    assert shown["procedure"]["rounds"] == 9
    named = ("v4-memfile", "v4-memfile-hs", "v4-mysql-shared-3", "bind9-recursive-hot")
    partners = [document("show", "--scenario", name)["partners"] for name in named]
    assert partners == [0, 1, 2, 1]
