"""What single kinds of servers do for the contract beside what all of them do."""

import importlib
import json
import os
import signal
import socket
import subprocess
import threading

import pytest
from tests.contracts import contract_module
from tests.server_kinds import DATA, KINDS, LOADED, OF_START, deployed

NOT_LOADED = "general: error: zone a/IN: not loaded due to errors.\n"


@pytest.fixture
def variant(request, tmp_path, monkeypatch):
    with deployed(KINDS[request.param], tmp_path, monkeypatch) as made:
        yield made


def of(kind):
    return pytest.mark.parametrize("variant", [kind], indirect=True)


def answered_by_nothing(listening):
    """Read a command and close."""
    connection, _ = listening.accept()
    with connection:
        connection.recv(100)


def failure(act):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # of a module that is loaded later
        act()
    return str(caught.value)


# --- BIND 9 ---------------------------------------------------------------------------


@of("bind9 9.20")
def test_named_reads_its_zone_again(variant):
    """It passes over a file that is no newer than its zone."""
    zone = variant.folder / "zones/tld.zone"
    zone.parent.mkdir()
    zone.touch()
    started = variant.server().start()
    assert started["worker_threads"] == 2
    os.utime(zone, (1e9, 1e9))
    log, loads = (str(variant.folder / name) for name in ("log", "loads"))
    variant.be(reloads={log: "notice: all zones loaded\n", loads: OF_START})
    assert variant.server().reload()["reload_s"] > 0
    assert zone.stat().st_mtime > 1e9
    # It says that all zones are loaded as it begins; what it loaded at its start is old.
    variant.be(reloads={log: "notice: all zones loaded\n"})
    assert "not loaded within 0 s" in failure(variant.server(start_s=0.3).reload)
    for text in (NOT_LOADED, "general: error: reloading configuration failed: unknown\n"):
        variant.be(reloads={log: text})
        assert text.strip() in failure(variant.server().reload)


@of("bind9 9.20 as recursor")
def test_named_is_not_ready_before_its_zones_are_loaded_nor_emptied_where_rndc_fails(variant):
    variant.server().start()
    assert "rndc -p 953 flush" in variant.asked()
    (variant.folder / "log").write_text(LOADED.partition("\n")[0])
    assert "being loaded" in failure(variant.server().ready)
    variant.server(rndc=["rndc"]).reset()
    (variant.folder / "bin/rndc").write_text("#!/bin/sh\necho 'rndc: no key' >&2; exit 1\n")
    assert failure(variant.server().reset) == "rndc flush: rndc: no key"


# --- NSD ------------------------------------------------------------------------------


@of("nsd")
def test_a_process_of_nsd_that_was_replaced_is_a_server_that_died(variant):
    """Its parent starts another one at once: a client sees but a gap."""
    started = variant.server().start()
    server = variant.server()
    with subprocess.Popen(["sleep", "60"]) as gone:
        server.first = {started["pid"]: [], gone.pid: []}
        gone.kill()
    assert f"process {gone.pid} of nsd has ended" in failure(server.take)
    server.first = {started["pid"]: []}
    assert server.take()["rss_bytes"] > 0
    assert list(variant.server().end_and_start())[-1]
    assert server.take()["rss_bytes"] > 0, "an operation has restarted it"


@of("nsd")
def test_a_command_that_is_refused_or_a_socket_that_closes_is_no_count_of_zero(variant):
    variant.server().start()
    control = importlib.import_module("leaselab_contract.control")
    said = failure(lambda: control.ask(variant.settings["socket"], "NSDCT1", "nonsense", 60.0))
    assert "unknown command 'nonsense'" in said
    assert variant.asked()[-1] == "NSDCT1 nonsense"
    path = str(variant.folder / "closes")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        closing = threading.Thread(target=lambda: answered_by_nothing(listening))
        closing.start()
        with pytest.raises(ConnectionResetError):
            control.statistics(path, "NSDCT1", 60.0)
        closing.join()


# --- dnsmasq --------------------------------------------------------------------------


@of("dnsmasq")
def test_dnsmasq_ends_with_its_bus(variant):
    variant.server().start()
    assert len(variant.running()) == 2
    os.kill(variant.running()[0], signal.SIGKILL)
    assert variant.server().is_running()
    variant.server().stop()
    assert not (variant.folder / "bus").exists()


# --- PowerDNS -------------------------------------------------------------------------


@of("powerdns, cold")
def test_the_hash_is_of_what_runs_and_not_of_when_it_was_asked(variant):
    text = (DATA / "powerdns/current-config.txt").read_text("ascii")
    variant.server().start()
    before = variant.server().config_sha256(0)
    other = variant.folder / "later"
    other.write_text(text.replace("2026-11-24 08:46:21", "2026-11-25 09:00:00"))
    variant.be(configuration=str(other))
    assert variant.server().config_sha256(0) == before


@pytest.mark.parametrize("variant", ["powerdns, cold", "powerdns"], indirect=True)
def test_only_caches_that_begin_empty_are_purged(variant):
    variant.server().start()
    variant.be(held=7)
    variant.server().reset()
    purge = "pdns_control --config-dir=/etc/pdns-of-a-test purge"
    assert variant.asked().count(purge) == (variant.settings["cache"] == "cold")
    assert variant.server(cache="hot").reset() == {"held": None, "was": None}


@pytest.fixture
def powerdns():
    with contract_module("powerdns", "powerdns_contract.server"):
        yield lambda name: importlib.import_module(f"powerdns_contract.{name}")


def test_rows_are_as_the_tables_have_them_between_what_copies_them(powerdns):
    """Names without their last dot, priorities apart, text escaped as COPY reads it."""
    zones = powerdns("zones")
    made, records = zones.rows((DATA / "powerdns/zone2json.json").read_text(encoding="utf-8"))
    assert made == ["1\ttest0000001.test\tNATIVE\n", "2\ttest0000002.test\tNATIVE\n"]
    assert len(records) == 12
    soa = "a.invalid hostmaster.test0000001.test 0 10800 3600 604800 3600"
    assert records[0] == f"1\ttest0000001.test\tSOA\t{soa}\t3600\t0\n"
    assert records[4] == "1\ttest0000001.test\tMX\tmail.test0000001.test\t3600\t10\n"
    assert '\tTXT\t"back\\\\\\\\slash \\\\"quoted\\\\" \\\\009tab"\t' in records[5]
    _, first, second = zones.copy_sql(made, records).split("COPY ")
    assert first.splitlines(True)[1:3] == made
    assert second.splitlines(True)[1:13] == records


def test_the_list_of_zones_has_the_path_of_each_file(powerdns, tmp_path):
    names, place = ("z1.test", "z2.test"), tmp_path / "zones.conf"
    text = "".join(f"{name}.\tzone.zone\n" for name in names)
    (tmp_path / "zones.tsv").write_text(text, "ascii")
    powerdns("zones").write_list({"data": {"folder": str(tmp_path)}}, place)
    assert place.read_text("ascii").splitlines() == [
        f'zone "{name}" {{ type master; file "{tmp_path}/zone.zone"; }};' for name in names
    ]


UTIL = """#!/bin/sh
case $2 in
    list-all-zones) echo z1.test; echo z2.test ;;
    b2b-migrate) echo > {0}/new.lmdb ;;
esac
"""


@pytest.mark.parametrize("said", ["abc", "other", ""])
def test_lmdb_files_of_other_zones_are_made_again_and_not_of_some(powerdns, tmp_path, said):
    util, state = tmp_path / "pdnsutil", tmp_path / "state"
    util.write_text(UTIL.format(state))
    util.chmod(0o755)
    (tmp_path / "zones.tsv").write_text("z1.test.\tz.zone\nz2.test.\tz.zone\n", "ascii")
    state.mkdir()
    (state / "old.lmdb").touch()
    (state / "made.json").write_text(f'{{"sha256": "{said}", "shards": 64}}' if said else "")
    folders = {"state_folder": str(state), "load_folder": "/load", "config_folder": "/own"}
    config = {"database": None, "util_program": str(util), "store": {"shards": 64}, **folders}
    config["data"] = {"made": {"sha256": "abc"}, "zones": 2, "folder": str(tmp_path)}
    store = powerdns("store")
    assert store.prepare(config) == {}
    assert (state / "old.lmdb").exists() == (said == "abc")
    assert (state / "new.lmdb").exists() == (said != "abc")
    assert json.loads((state / "made.json").read_text()) == {"sha256": "abc", "shards": 64}
    config["data"] |= {"zones": 3, "made": {"sha256": "of three"}}
    said = failure(lambda: store.prepare(config))
    assert "found 2, wanted 3" in said
    assert str(tmp_path) in said


@pytest.mark.parametrize("key", ["", "leaselab.test:bGFi"])
def test_a_zone_is_updated_by_its_key_if_there_is_one(powerdns, key):
    config = {"known_name": "tld.test.", "store": {"update_key": key}}
    first, *others = map(" ".join, powerdns("zones").allowing(config))
    assert first == "set-meta tld.test SOA-EDIT-DNSUPDATE INCREASE"
    imported = "import-tsig-key leaselab.test hmac-sha256 bGFi"
    allowed = "set-meta tld.test TSIG-ALLOW-DNSUPDATE leaselab.test"
    assert others == ([imported, allowed] if key else [])


def test_a_server_that_is_counted_has_the_configuration_that_was_deployed(powerdns, tmp_path):
    def reported(*lines, counted=("--lmdb-map-size=1024",)):
        program, text = tmp_path / "control", "\n".join(("# Autogenerated now", *lines))
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        program.chmod(0o755)
        settings = {"control_program": program, "config_folder": "x"}
        settings["process"] = {"counted_argv": [*counted]}
        return powerdns("control").config_hash(settings)

    deployed = reported("# lmdb-map-size=16000", "local-port=53")
    assert reported("lmdb-map-size=1024", "local-port=53") == deployed
    assert reported("lmdb-map-size=1024", "local-port=54") != deployed
    assert reported("lmdb-map-size=1024", "local-port=53", counted=()) != deployed
