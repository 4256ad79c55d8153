"""What PowerDNS does for the server contract, with what its own programs printed (4.9.18)."""

import json
from pathlib import Path

import pytest
from tests.contracts import contract_module

DATA = Path(__file__).parents[1] / "data/powerdns"
RECORDED = (DATA / "show.txt").read_text(encoding="ascii")
CONTROL = """#!/bin/sh
# Tells what PowerDNS told; a purge leaves what `left` says, one fewer each time.
[ "$1" = --config-dir=/etc/pdns-of-a-test ] || exit 9
case $2 in
    show) sed "s/packetcache-size=0/packetcache-size=$(cat "$0.size")/" "$0.show" ;;
    purge)
        left=$(cat "$0.left")
        echo "$left" > "$0.size"
        echo $((left > 0 ? left - 1 : 0)) > "$0.left" ;;
    current-config) cat "$0.config" ;;
    *) echo "Unknown command: '$2'"; exit 1 ;;
esac
"""


def of_powerdns(name):
    """A module of it, found where the contract finds it."""

    @pytest.fixture(scope="module")
    def module():
        with contract_module("powerdns", f"powerdns_contract.{name}") as result:
            yield result

    return module


server = of_powerdns("server")
control = of_powerdns("control")
zones = of_powerdns("zones")
store = of_powerdns("store")


@pytest.fixture
def config(tmp_path):
    """Settings of a variant whose server has 7 answers in its packet cache."""
    program = tmp_path / "pdns_control"
    program.write_text(CONTROL, encoding="ascii")
    program.chmod(0o755)
    for end, text in (
        ("size", "7"),
        ("left", "0"),
        ("show", RECORDED),
        ("config", (DATA / "current-config.txt").read_text("ascii")),
    ):
        program.with_name(f"pdns_control.{end}").write_text(text, encoding="ascii")
    return {
        "cache": "cold",
        "control_program": str(program),
        "config_folder": "/etc/pdns-of-a-test",
        "state_folder": str(tmp_path / "state"),
        "database": None,
    }


def keep(config, end, text):
    Path(f"{config['control_program']}.{end}").write_text(text, encoding="ascii")


@pytest.mark.parametrize("cache", ["cold", "mixed"])
def test_a_reset_empties_caches_that_begin_empty_and_counts(server, config, cache):
    assert server.Server({**config, "cache": cache}).reset() == {"held": 0, "was": 7}


def test_what_was_under_way_is_emptied_once_more(server, config):
    keep(config, "left", "2")
    assert server.Server(config).reset() == {"held": 0, "was": 7}


def test_a_cold_cache_that_stays_warm_is_an_error(server, config):
    """As while traffic runs: the trial would begin with what is there."""
    keep(config, "left", "90")
    with pytest.raises(server.ContractError, match=r"^86 cached answers left after purging 5 "):
        server.Server(config).reset()


@pytest.mark.parametrize("cache", ["none", "hot"])
def test_where_nothing_is_to_be_emptied_nothing_is(server, config, cache):
    assert server.Server({**config, "cache": cache}).reset() == {"held": None, "was": None}
    assert Path(f"{config['control_program']}.size").read_text(encoding="ascii") == "7"


def test_the_servers_own_reason_is_reported(control, config):
    with pytest.raises(
        control.program.ContractError, match=r"rping: Unknown command: 'rping'$"
    ):
        control.control(config, "rping")


def test_counters_have_their_names(control, config):
    known = control.counters(config)
    assert known["zone-cache-size"] == 10000
    assert control.cached(known) == 7 + known["query-cache-size"] == 7


def test_the_hash_is_of_what_runs_and_not_of_when_it_was_asked(control, config):
    text = (DATA / "current-config.txt").read_text(encoding="ascii")
    result = control.config_hash(config)
    keep(config, "config", text.replace("2026-11-24 08:46:21", "2026-11-25 09:00:00"))
    assert control.config_hash(config) == result
    keep(config, "config", text.replace("# max-queue-length=5000", "max-queue-length=50"))
    assert control.config_hash(config) != result


def test_rows_are_as_the_tables_have_them(zones):
    """Names without their last dot, priorities apart, text escaped as COPY reads it."""
    made, records = zones.rows((DATA / "zone2json.json").read_text(encoding="utf-8"))
    assert made == ["1\ttest0000001.test\tNATIVE\n", "2\ttest0000002.test\tNATIVE\n"]
    assert len(records) == 12
    assert records[0] == (
        "1\ttest0000001.test\tSOA\t"
        "a.invalid hostmaster.test0000001.test 0 10800 3600 604800 3600\t3600\t0\n"
    )
    assert records[4] == "1\ttest0000001.test\tMX\tmail.test0000001.test\t3600\t10\n"
    assert '\tTXT\t"back\\\\\\\\slash \\\\"quoted\\\\" \\\\009tab"\t' in records[5]
    assert records[8] == "2\twww.test0000002.test\tA\t1.1.1.1\t3600\t0\n"


def test_the_rows_come_between_what_copies_them(zones):
    sql = zones.copy_sql(["1\tz.test\tNATIVE\n"], ["1\tz.test\tNS\tns.test\t60\t0\n"])
    assert sql == (
        "BEGIN;\n"
        "COPY domains (id, name, type) FROM stdin;\n1\tz.test\tNATIVE\n\\.\n"
        "COPY records (domain_id, name, type, content, ttl, prio) FROM stdin;\n"
        "1\tz.test\tNS\tns.test\t60\t0\n\\.\n"
        "COMMIT;\nVACUUM (FREEZE, ANALYZE) domains, records;\n"
    )


def test_the_list_of_zones_has_the_path_of_each_file(zones, tmp_path):
    (tmp_path / "zones.tsv").write_text("z1.test.\tzone.zone\nz2.test.\tzone.zone\n", "ascii")
    zones.write_list({"data": {"folder": str(tmp_path)}}, tmp_path / "zones.conf")
    assert (tmp_path / "zones.conf").read_text(encoding="ascii") == "".join(
        f'zone "z{number}.test" {{ type master; file "{tmp_path}/zone.zone"; }};\n'
        for number in (1, 2)
    )


@pytest.mark.parametrize(
    ("said", "made_again"), [("abc", False), ("other", True), (None, True)]
)
def test_lmdb_files_of_other_zones_are_made_again(store, config, monkeypatch, said, made_again):
    folder = Path(config["state_folder"])
    folder.mkdir()
    config |= {"data": {"made": {"sha256": "abc"}}, "store": {"lmdb_shards": 64}}
    if said:
        text = json.dumps({"sha256": said, "lmdb_shards": 64})
        (folder / "made.json").write_text(text, encoding="ascii")
    done = []
    monkeypatch.setattr(store, "make_lmdb", lambda _config, wanted: done.append(wanted))
    assert store.prepare(config) == {}
    assert done == ([{"sha256": "abc", "lmdb_shards": 64}] if made_again else [])


def test_zones_that_were_not_all_loaded_are_not_served(store, config):
    config["data"] = {"zones": 3, "folder": "/zones"}
    with pytest.raises(store.LabError, match=r"not all zones .*found 2, wanted 3.*/zones$"):
        store.check(config, "zones", 2)


@pytest.mark.parametrize("key", ["", "leaselab.test:bGFi"])
def test_a_zone_is_updated_by_its_key_if_there_is_one(zones, key):
    config = {"known_name": "tld.test.", "store": {"update_key": key}}
    first, *others = zones.allowing(config)
    assert first == ("set-meta", "tld.test", "SOA-EDIT-DNSUPDATE", "INCREASE")
    of_key = [
        ("import-tsig-key", "leaselab.test", "hmac-sha256", "bGFi"),
        ("set-meta", "tld.test", "TSIG-ALLOW-DNSUPDATE", "leaselab.test"),
    ]
    assert others == (of_key if key else [])


def test_lmdb_files_are_brought_back_as_they_were_made(store, config):
    """Those of a reader that is gone, too, which were not there."""
    folder = Path(config["state_folder"])
    made = folder / "made"
    made.mkdir(parents=True)
    for name in ("pdns.lmdb", "pdns.lmdb-0"):
        (made / name).write_text("as made")
        (folder / name).write_text("updated")
    (folder / "pdns.lmdb-lock").write_text("")
    (folder / "made.json").write_text("{}")
    store.restore({**config, "made_folder": str(made)})
    files = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert files == {"pdns.lmdb": "as made", "pdns.lmdb-0": "as made", "made.json": "{}"}
    assert (made / "pdns.lmdb").read_text() == "as made"
