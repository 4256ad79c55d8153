"""``--config FILE``: a user's own configuration as the scenario of a command."""

from pathlib import Path

import pytest
from tests.repositories import commit, make_repository

from leaselab.cli.main import main

HOUSE = str(Path(__file__).parents[1] / "data/own/house.conf")
LEASES = HOUSE.replace("house.conf", "kea-leases4.csv")
OF_DNS = "bind9-delegations-size-10000-threads-1"
BOUNDS = ("--repo", ".", "--good", "a", "--bad", "b")


def test_a_file_is_measured_and_its_result_says_what_was_changed(lab, capsys):
    assert main(["run", "--config", HOUSE, "--set", "rounds=3"]) == 0
    (row,) = lab.store.index.every("*")
    scenario = lab.store.load(row["id"]).scenario
    assert row["scenario"].startswith("own-house-")
    changed = ["interfaces-config.interfaces: the test network"]
    assert (scenario.server.options["changed"], scenario.load["clients"]) == (changed, 75)
    printed = capsys.readouterr().err
    assert "75 of 192.168.1.0/24" in printed
    assert "br-lan" not in printed


def test_leases_of_a_dump_are_in_the_result_as_a_hash_and_numbers(lab, capsys):
    assert main(["run", "--config", HOUSE, "--leases", LEASES, "--set", "rounds=3"]) == 0
    assert main(["run", "--config", HOUSE, "--set", "rounds=3"]) == 0
    output = capsys.readouterr().err
    assert "leases: 10 fill it; left out: 2 expired" in output
    assert "1 of 10.99.0.0/24" in output
    with_leases, without = sorted(
        (lab.store.load(row["id"]).scenario for row in lab.store.index.every("*")),
        key=lambda scenario: scenario.load["clients"],
    )
    assert with_leases.name != without.name
    assert (with_leases.load["clients"], without.load["clients"]) == (70, 75)
    options = with_leases.server.options
    assert len(options["leases"]) == 64
    assert options["changed"][-1].startswith("leases: 10 fill it; left out: 2 expired")
    assert without.server.options["leases"] == ""
    files = (file for file in lab.store.root.rglob("*") if file.is_file())
    every = "".join(file.read_text("utf-8", errors="replace") for file in files)
    for marked in ("de:ad:be:ef", "annas-phone", "192.168.1.10", "10.99.0"):
        assert marked not in every


def test_what_is_left_out_is_said_first(lab, capsys):
    isp = HOUSE.replace("house.conf", "isp.conf")
    assert main(["run", "--config", isp, "--set", "rounds=3"]) == 2
    assert "isp.conf:9:" in capsys.readouterr().err
    assert main(["run", "--config", isp, "--without", "hook:radius", "--set", "rounds=3"]) == 0
    printed = capsys.readouterr().err
    places = [printed.index(word) for word in ("hook:radius", "loggers", "1020 of 10.1.0.0/20")]
    assert places == sorted(places)
    (row,) = lab.store.index.every("*")
    description = lab.store.load(row["id"]).scenario.description
    assert description == "isp.conf, without hook:radius, for clients that fit it"


def test_two_commits_are_compared_with_a_file_or_with_queries(lab, tmp_path):
    place, queries = make_repository(tmp_path / "server"), tmp_path / "q.txt"
    commits = [commit(place, f"Change {n}", {"n": str(n)}, minute=n) for n in range(2)]
    queries.write_text("www.tld.test A\n", encoding="utf-8")
    asked = ["--scenario", OF_DNS, "--queries", str(queries)]
    for words in (["--config", HOUSE], asked):
        command = ["compare", *commits, "--repo", str(place), "--live", *words]
        assert main(command) in (0, 1, 3)
    names = {row["scenario"].rpartition("-")[0] for row in lab.store.index.every("*")}
    assert names == {"own-house", f"{OF_DNS}-queries"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--without", "hook:ha"], "--without works only with --c"),
        (["run", "--leases", LEASES], "--leases works only with --c"),
        (["run", "v4-memfile", "--view", "a"], "--view works only with --c"),
        (["run", "--config", HOUSE, "--keama", "--view", "a"], "without --keama"),
        (["run", "--config", HOUSE, "--view", "a"], "--view a: its server has no views"),
        (["run", "--config", HOUSE, "--leases", HOUSE], "no file of leases"),
        (["run", "--config", "/nowhere"], "cannot be read"),
        (["bisect", *BOUNDS], "SCENARIO, or --config FILE"),
        (["bisect", "v4-memfile", "--config", HOUSE, *BOUNDS], "v4-memfile and --config"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_what_does_not_go_together_is_refused(words, message, refused):
    assert message in refused(*words)


@pytest.mark.usefixtures("lab")
def test_keama_is_asked_for_where_it_is_not(monkeypatch, tmp_path, refused):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("leaselab.inputs.keama._FOLDERS", str(tmp_path))
    dhcpd = HOUSE.replace("house.conf", "dhcpd.conf")
    assert "install isc-dhcp-keama" in refused("run", "--config", dhcpd, "--keama")
    keama = tmp_path / "keama"
    keama.write_text("#!/bin/sh\necho 'line 1: expecting a number' >&2; exit 255\n", "utf-8")
    keama.chmod(0o755)
    said = refused("run", "--config", dhcpd, "--keama")
    assert "keama does not take it (found line 1: expecting" in said
    assert "--keama works only with --c" in refused("run", "v4-memfile", "--keama")


def test_a_release_that_does_not_take_the_file_is_refused_before_a_host_is_prepared(
    lab, tmp_path, capsys
):
    file, place = tmp_path / "dnsmasq.conf", make_repository(tmp_path / "server")
    file.write_text("dhcp-option-pxe=3\ndhcp-range=10.0.0.10,10.0.0.20\n", encoding="utf-8")
    commit(place, "Release", {"CHANGELOG": "version 2.90\n"})
    lab.made_by = "docker"
    for what in (["--distribution", "bookworm"], ["--repo", str(place), "--commit", "HEAD"]):
        assert main(["run", "--config", str(file), "--set", "rounds=3", *what]) == 2
        reported = capsys.readouterr().err
        assert "does not take the configuration" in reported
        assert "2.90" in reported
    assert not lab.prepared


def test_threads_that_the_server_chose_beyond_its_quota_are_said_before_and_after(lab, capsys):
    lab.server = {"tuning": {"threads_by_default": "multi-threading.thread-pool-size"}}
    lab.facts = {"processors": 8, "cpu_limit": 2.0}
    assert main(["run", "--config", HOUSE, "--set", "rounds=3"]) == 0
    printed = capsys.readouterr()
    said = "8 threads, as it counts processors, and a quota gives it the time of 2"
    assert said in printed.err
    assert "set multi-threading.thread-pool-size to 2" in printed.err
    assert "threads beyond quota" in printed.out
