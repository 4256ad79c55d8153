"""What BIND 9 does for the server contract, with recorded answers of named 9.20.30 and 9.18.

A process of the tests replaces named: its statistics are answered, its log is written.
"""

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.contracts import contract_module

RECORDED = Path(__file__).parents[1] / "data" / "bind9"
LOADING = "general: info: found 2 CPUs, using 2 worker threads\n"
RUNNING = f"{LOADING}general: notice: all zones loaded\ngeneral: notice: running\n"
LOADED_ZONE = "zoneload: info: zone tld.test/IN: loaded serial 1\n"
UNLOADED = (
    "general: error: zone z0000001.test/IN: loading from master file zone.zone failed: file not"
    " found\ngeneral: error: zone z0000001.test/IN: not loaded due to errors.\n"
)


@pytest.fixture(scope="module")
def contract():
    with contract_module("bind9", "bind9_contract.server") as module:
        yield module


@pytest.fixture
def statistics():
    """What named's statistics channel answers: recorded files, of which the last one stays."""
    answers = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.path == "/json/v1/server"
            name = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(200)
            self.end_headers()
            self.wfile.write((RECORDED / name).read_bytes())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served.server_address[1], answers
        served.shutdown()


@pytest.fixture
def config(tmp_path, statistics):
    """Settings of a variant; its rndc writes down what it is asked."""
    rndc = tmp_path / "rndc"
    rndc.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    rndc.chmod(0o755)
    return {
        "role": "recursive",
        "process": {"argv": ["/usr/sbin/named"]},
        "udp_port": 53,
        "address": "127.0.0.1",
        "known_name": "z0000010.test.",
        "log_file": str(tmp_path / "named.log"),
        "lock_file": str(tmp_path / "lock"),
        "statistics_port": statistics[0],
        "rndc": [str(rndc), "-p", 953],
    }


def answered(contract, monkeypatch, rcode, answers):
    asked = []

    def ask(address, name, *, recursion):
        asked.append((address, name, recursion))
        return contract.dns.Answer(rcode, answers, 0)

    monkeypatch.setattr(contract.dns, "ask", ask)
    monkeypatch.setattr(contract.sampling, "udp_sockets", lambda *_: [["its own"]])
    return asked


def test_an_authority_holds_nothing_and_is_not_asked_to_forget(contract, config, tmp_path):
    assert contract.Server({**config, "role": "authoritative"}).reset() == {
        "held": None,
        "was": None,
    }
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("version", ["9.18", "9.20"])
def test_a_recursor_forgets_what_it_has_cached_and_counts_it(
    contract, config, statistics, tmp_path, version
):
    statistics[1][:] = [f"recursive-{version}.json", f"recursive-flushed-{version}.json"]
    answer = contract.Server(config).reset()
    document = json.loads((RECORDED / f"recursive-{version}.json").read_text())
    cache = document["views"]["_default"]["resolver"]["cache"]
    assert answer == {"held": 0, "was": sum(cache.values())}
    assert answer["was"] > 200
    assert (tmp_path / "asked").read_text() == "-p 953 flush\n"


def test_a_cache_that_stays_warm_is_no_reset(contract, config, statistics, monkeypatch):
    """Its declared state would be cold, and its figures those of a warm one."""
    monkeypatch.setattr(contract, "EMPTY_S", 0.3)
    statistics[1][:] = ["recursive-9.20.json"]
    with pytest.raises(contract.ContractError, match="606 sets of records in the cache after"):
        contract.Server(config).reset()


def test_a_flush_that_was_refused_says_why(contract, config, statistics, tmp_path):
    statistics[1][:] = ["recursive-9.20.json"]
    (tmp_path / "rndc").write_text("#!/bin/sh\necho 'rndc: connection refused' >&2\nexit 1\n")
    with pytest.raises(contract.ContractError, match="rndc flush: rndc: connection refused"):
        contract.Server(config).reset()


def test_a_server_that_takes_updates_starts_with_the_zones_as_they_were_made(
    contract, config, tmp_path, monkeypatch
):
    made, copies = tmp_path / "made", tmp_path / "copies"
    made.mkdir()
    copies.mkdir()
    (made / "tld.zone").write_text("as made")
    (copies / "tld.zone").write_text("updated")
    (copies / "tld.zone.jnl").write_text("")
    folders = {"made_folder": str(made), "zone_folder": str(copies)}
    server = contract.Server({**config, **folders, "role": "authoritative"})
    monkeypatch.setattr(contract.server.Server, "launch", lambda _: None)
    monkeypatch.setattr(contract.process, "end", lambda _: None)
    monkeypatch.setattr(server, "updated", lambda _: 5)
    with pytest.raises(contract.ContractError, match="5 updates right after a start"):
        server.reset()
    assert {path.name: path.read_text() for path in copies.iterdir()} == {"tld.zone": "as made"}


@pytest.fixture
def authority(contract, config, tmp_path, monkeypatch):
    """Settings of an authority that runs, with a zone file of yesterday."""
    monkeypatch.setattr(contract.process, "running_pid", lambda _: 7)
    monkeypatch.setattr(contract.sampling, "used", lambda *_: (0.0, 0))
    answered(contract, monkeypatch, "NOERROR", 1)
    zones = tmp_path / "zones"
    zones.mkdir()
    (zones / "tld.zone").write_text("")
    os.utime(zones / "tld.zone", (1e9, 1e9))
    (tmp_path / "named.log").write_text(RUNNING)
    (tmp_path / "loads.log").write_text(LOADED_ZONE)
    process = {"log_files": [config["log_file"]], "output_file": config["log_file"]}
    words = {"error_words": [": error:"], "noise_words": []}
    return {
        **config,
        "role": "authoritative",
        "process": {**process, **words},
        "loads_file": str(tmp_path / "loads.log"),
        "zone_folder": str(zones),
        "start_s": 0.3,
    }


@pytest.fixture
def reloads(contract, authority, monkeypatch):
    """Have the server log something on a reload, as named does."""

    def reloads(text, loads=""):
        def kill(*arguments):
            assert arguments == (7, signal.SIGHUP)
            for name, more in (("log_file", text), ("loads_file", loads)):
                with Path(authority[name]).open("a") as log:
                    log.write(more)

        monkeypatch.setattr(contract.os, "kill", kill)

    return reloads


def test_an_authority_reads_its_zone_again(contract, authority, reloads, tmp_path):
    """named passes over a file that is no newer than its zone."""
    reloads("general: notice: all zones loaded\n", LOADED_ZONE)
    answer = contract.Server(authority).reload()
    assert 0 < answer["reload_s"] < 30
    assert (tmp_path / "zones" / "tld.zone").stat().st_mtime > 1e9


def test_a_reload_that_does_not_end_is_none(contract, authority, reloads):
    """named says that all zones are loaded as it begins; what it loaded at its start is old."""
    reloads("general: notice: all zones loaded\n")
    with pytest.raises(contract.ContractError, match="not loaded within 0 s"):
        contract.Server(authority).reload()


@pytest.mark.parametrize(
    ("logged", "reason"),
    [
        (UNLOADED, r"zone z0000001\.test/IN: not loaded due to errors"),
        ("error: reloading configuration failed: unknown option\n", "failed: unknown option"),
    ],
)
def test_a_reload_that_fails_says_why(contract, authority, reloads, logged, reason):
    reloads(f"general: {logged}".replace("general: general", "general"))
    with pytest.raises(contract.ContractError, match=reason):
        contract.Server(authority).reload()


@pytest.mark.parametrize("version", ["9.18", "9.20"])
def test_a_server_that_answers_with_servfail_while_it_loads_is_not_ready(
    contract, config, statistics, monkeypatch, version
):
    """named answers from its start on: SERVFAIL for what it has not loaded yet."""
    statistics[1][:] = [f"recursive-{version}.json"]
    Path(config["log_file"]).write_text(LOADING)
    asked = answered(contract, monkeypatch, "SERVFAIL", 0)
    with pytest.raises(contract.ContractError, match="being loaded"):
        contract.Server(config).ready()
    assert asked == []
    Path(config["log_file"]).write_text(RUNNING)
    with pytest.raises(contract.ContractError, match="answers SERVFAIL with 0 records"):
        contract.Server(config).ready()
    answered(contract, monkeypatch, "NOERROR", 1)
    assert contract.Server(config).ready().startswith(f"{version}.")


@pytest.mark.parametrize("rcode", ["REFUSED", "NXDOMAIN", "NOERROR"])
def test_a_server_that_answers_without_its_data_is_not_ready(
    contract, config, statistics, monkeypatch, rcode
):
    statistics[1][:] = ["authoritative-9.20.json"]
    Path(config["log_file"]).write_text(RUNNING)
    asked = answered(contract, monkeypatch, rcode, 0)
    with pytest.raises(contract.ContractError, match=f"answers {rcode} with 0 records"):
        contract.Server({**config, "role": "authoritative"}).ready()
    assert asked == [("127.0.0.1", "z0000010.test.", False)]


def test_an_answer_of_another_at_its_address_is_not_its_own(
    contract, config, statistics, monkeypatch
):
    """named goes on without a socket where another one has the port."""
    statistics[1][:] = ["authoritative-9.20.json"]
    Path(config["log_file"]).write_text(RUNNING)
    answered(contract, monkeypatch, "NOERROR", 1)
    monkeypatch.setattr(contract.sampling, "udp_sockets", lambda *_: [])
    with pytest.raises(contract.ContractError, match="named does not serve UDP port 53"):
        contract.Server(config).ready()


def test_a_server_without_one_of_its_zones_says_which(contract, config):
    Path(config["log_file"]).write_text(LOADING + UNLOADED + RUNNING)
    with pytest.raises(contract.ContractError, match=r"1 zones are missing: .*z0000001\.test"):
        contract.Server(config).check_zones()
    Path(config["log_file"]).write_text(RUNNING)
    contract.Server(config).check_zones()


def test_the_threads_are_those_that_it_says(contract, config):
    Path(config["log_file"]).write_text(RUNNING)
    assert contract.Server(config).worker_threads() == 2


@pytest.mark.parametrize("version", ["9.18", "9.20"])
def test_answers_are_counted_by_their_rcode(contract, config, statistics, monkeypatch, version):
    """A server that refuses everything is fast: a client alone may take that for answers."""
    statistics[1][:] = [f"authoritative-{version}.json"]
    monkeypatch.setattr(contract.sampling, "used", lambda *_: (1.5, 4096))
    monkeypatch.setattr(contract.sampling, "udp_drops", lambda *_: 0)
    taken = contract.Server({**config, "role": "authoritative"}).take()
    assert taken["counters"] == {
        "QUERY": 5,
        "NOERROR": 3,
        "NXDOMAIN": 1,
        "SERVFAIL": 0,
        "REFUSED": 1,
    }
    assert (taken["refused"], taken["held"], taken["cpu_s"]) == (1, None, 1.5)


@pytest.mark.parametrize("version", ["9.18", "9.20"])
def test_a_recursor_reports_how_often_it_had_to_ask(
    contract, config, statistics, monkeypatch, version
):
    """That is how a warm cache shows: it answers and asks nobody."""
    statistics[1][:] = [f"recursive-{version}.json"]
    monkeypatch.setattr(contract.sampling, "used", lambda *_: (1.5, 4096))
    monkeypatch.setattr(contract.sampling, "udp_drops", lambda *_: 0)
    taken = contract.Server({**config}).take()
    assert taken["counters"]["QryRecursion"] == taken["counters"]["QUERY"]
    assert taken["counters"]["Queryv4"] >= 2 * 200
    assert taken["held"] > 200


def test_a_server_too_busy_to_count_is_sampled_all_the_same(contract, config, monkeypatch):
    monkeypatch.setattr(contract.sampling, "used", lambda *_: (1.5, 4096))
    monkeypatch.setattr(contract.sampling, "udp_drops", lambda *_: 7)
    config |= {"statistics_port": 1}
    taken = contract.Server(config).take()
    assert (taken["counters"], taken["refused"], taken["held"]) == ({}, None, None)
    assert taken["udp_drops"] == 7


def test_what_it_runs_with_is_all_that_it_reads(contract, tmp_path):
    """Changed zones are another server than was deployed."""
    (tmp_path / "data").mkdir()
    (tmp_path / "named.conf").write_text("options {};\n")
    (tmp_path / "data/tld.zone").write_text("www A 192.0.2.1\n")
    settings = {
        "config_files": [str(tmp_path / "named.conf")],
        "zone_folder": str(tmp_path / "data"),
    }
    before = contract.Server(settings).config_sha256(0)
    assert contract.Server(settings).config_sha256(0) == before
    (tmp_path / "data/tld.zone").write_text("www A 192.0.2.2\n")
    assert contract.Server(settings).config_sha256(0) != before
