"""What Kea does for the server contract beside what all servers do."""

import importlib
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contracts import ROLES, contract_module
from tests.server_kinds import KINDS, deployed
from tests.unit.test_server_kinds import failure, of
from tests.waiting import until

HUNG_UP = "mysql: ERROR 2026 (HY000): TLS/SSL error: Connection reset by peer"
CONTRACT = f"""#!/bin/sh
[ "$2" = v4-mysql ] || exit 9
case $1 in
    state) echo '{{"free_bytes": 1000, "reason": "signal 9"}}' ;;
    start) echo "leaselab-database: Can't init tc log" >&2; exit 1 ;;
    sql) echo "leaselab-database: {HUNG_UP}" >&2; exit 1 ;;
esac
"""
HEADS = {
    4: "address,hwaddr,client_id,valid_lifetime,expire,subnet_id\n",
    6: "address,duid,valid_lifetime,expire,subnet_id\n",
}


@pytest.fixture
def variant(request, tmp_path, monkeypatch):
    with deployed(KINDS[request.param], tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def module():
    """A module of it, as its contract finds it."""
    with contract_module("kea", "kea_contract.server"):
        yield lambda name: importlib.import_module(f"kea_contract.{name}")


@pytest.mark.parametrize(
    ("variant", "commands", "files"),
    [("kea with its hook", ["lease4-wipe 50"] * 2, 3), ("kea", ["config-reload"] * 2, 0)],
    indirect=["variant"],
)
def test_kea_wipes_its_subnet_or_reads_its_configuration_again(variant, commands, files):
    variant.server().start()
    variant.do(variant.kind.fill)
    variant.server().reset()
    emptied = [
        line for line in variant.asked() if not line.startswith(("statistic", "version"))
    ]
    assert emptied[-2:] == commands
    assert len(list(variant.folder.glob("leases.csv*"))) == files


@of("kea with its hook")
def test_kea_that_begins_with_leases_goes_back_to_them(variant):
    """The hook would wipe those as well; its columns are those that this release wrote."""
    filled, leases = variant.folder / "filled", variant.folder / "leases.csv"
    filled.write_text("10.0.0.1,32,0,7\n")
    variant.be(columns="address,subnet_id,new\n")
    server = variant.server(filled_file=str(filled))
    assert server.start()["pid"] in variant.running()
    variant.be(held=3)
    leases.write_text(leases.read_text() + "10.0.0.9,7,\n10.0.0.8,7,\n")
    assert server.reset() == {"held": 0, "was": 2}
    assert not any("wipe" in line for line in variant.asked())
    assert leases.read_text() == "address,subnet_id,new\n10.0.0.1,7,\n"


@of("kea")
def test_what_keas_lease_cache_saved_was_not_written(variant):
    variant.server().start()
    assert variant.server().take()["written"] == 2
    written = importlib.import_module("kea_contract.server").written
    for lacking in ({"pkt4-ack-sent": 5}, {"v4-lease-reuses": 5}):
        assert written(lacking, "pkt4-ack-sent", "v4-lease-reuses") is None


@of("kea")
def test_the_hash_of_keas_configuration_is_of_no_password(variant):
    hashes = []
    for password, name in (("one", "kea"), ("two", "kea"), ("two", "other")):
        database = {"password": password, "name": name}
        of_leases = {"lease-database": database, "hosts-databases": [database] * 2}
        variant.be(configuration={"Dhcp4": of_leases, "hash": password})
        hashes.append(variant.server().start()["config_sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


# --- its store ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "files", "wanted"),
    [
        (
            *(4, [["10.0.0.2,00:0C:01,,86400,1,1", "10.0.0.1,00:0c:02,,86400,1,1"]]),
            [("10.0.0.1", "000c02"), ("10.0.0.2", "000c01")],
        ),
        (6, [["2001:2::1,00:01:AB,86400,1,1"]], [("2001:2::1", "0001ab")]),
        (
            4,
            [
                ["10.0.0.3,00:0c:03,,0,1,1"],
                ["10.0.0.1,00:0c:02,,86400,1,1"],
                ["10.0.0.1,00:0c:01,,86400,1,1", "10.0.0.3,00:0c:03,,86400,1,1"],
            ],
            [("10.0.0.1", "000c02")],
        ),
        (4, [["10.0.0.1,00:0c:01,,86400,1,1", "10.0.0.2,00:0c"]], [("10.0.0.1", "000c01")]),
        (4, [], []),
    ],
    ids=["v4", "v6", "older files first", "cut short by a crash", "no file"],
)
def test_leases_are_those_of_all_files_by_address_and_client(
    module, tmp_path, family, files, wanted
):
    for suffix, lines in zip(("", ".1", ".2"), files, strict=False):
        path = tmp_path / f"leases.csv{suffix}"
        path.write_text(HEADS[family] + "\n".join(lines), encoding="ascii")
    known = {"family": family, "lease_file": str(tmp_path / "leases.csv"), "database": None}
    assert module("store").leases(known) == wanted


# --- a pair ---------------------------------------------------------------------------


@of("kea")
def test_a_pair_is_in_trouble_as_soon_as_its_partner_is_out_of_reach(variant):
    """Kea notices later."""
    variant.server().start()
    remote = {"last-state": "hot-standby", "communication-interrupted": False}

    def say(**changes):
        servers = {"local": {"state": "hot-standby"}, "remote": {**remote, **changes}}
        status = {"high-availability": [{"ha-servers": servers}]}
        variant.be(replies={"status-get": {"result": 0, "arguments": status}})

    say()
    with socket.create_server(("127.0.0.1", 0)) as partner:
        address, port = partner.getsockname()
        known = {"pair_partner": address, "pair_port": port, "pair_settle_s": 0.2}
        pair = variant.server(pair_state="hot-standby", **known)
        assert (pair.state(), pair.settle()) == ({"trouble": ""}, {"trouble": ""})
        say(**{"last-state": "waiting"})
        assert "partner waiting" in pair.state()["trouble"]
        say(**{"communication-interrupted": True})
        assert "interrupted" in pair.state()["trouble"]
        say()
    assert f"port {port} out of reach" in pair.state()["trouble"]
    assert "out of reach" in failure(pair.settle)


# --- what asks it for statistics ------------------------------------------------------


@contextmanager
def polling(path):
    """Its process, which is ended."""
    program = ROLES / "kea/files/kea_contract/poll.py"
    argv = [sys.executable, program, path, "stat-lease4-get", "0.05", "7"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(argv, **pipes) as child:
        try:
            yield child
        finally:
            child.terminate()


@of("kea")
def test_it_asks_again_and_again_until_kea_refuses(variant):
    """It says once that it was answered."""
    variant.server().start()
    asked = 'stat-lease4-get {"first-subnet-id": 1, "last-subnet-id": 7}'
    with polling(variant.settings["control_socket"]) as child:
        assert child.stdout.readline() == "answered\n"
        until(lambda: variant.asked().count(asked), lambda count: count > 3)
        assert child.poll() is None
        variant.be(replies={"stat-lease4-get": {"result": 2, "text": "not supported"}})
        output, _ = child.communicate()
    assert (output, child.returncode) == ("ERROR stat-lease4-get: not supported\n", 1)


def test_it_goes_on_where_nobody_answers(tmp_path):
    with polling(str(tmp_path / "nothing")) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1)
        child.terminate()
        assert child.stdout.read() == ""


# --- its database ---------------------------------------------------------------------


@pytest.fixture
def config(tmp_path):
    """Settings of a database whose contract answers that its client was hung up on."""
    (tmp_path / "empty.sql").write_text("TRUNCATE lease4;", encoding="ascii")
    contract = tmp_path / "database"
    contract.write_text(CONTRACT, encoding="ascii")
    contract.chmod(0o755)
    database = {"leases": True, "link": None, "hosts_file": None, "free_bytes": 1000}
    files = {"contract": contract, "pid_file": "pid", "empty_file": "empty.sql"}
    database |= {name: str(tmp_path / file) for name, file in files.items()}
    return {"database": database, "variant": "v4-mysql"}


def saying(config, script):
    Path(config["database"]["contract"]).write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")


@of("kea")
@pytest.mark.parametrize(("queue", "command"), [(True, "config-reload"), (False, "statistic-")])
def test_a_queue_of_free_addresses_is_made_again_after_a_reset(variant, config, queue, command):
    """Kea makes it as it reads its configuration, and only where there is none."""
    variant.server().start()
    saying(config, """[ $1 = sql ] && { echo 7; echo 0; } || echo '{"free_bytes": 1000}'""")
    config["database"]["queue"] = queue
    given = {"database": config["database"], "variant": "v4-mysql"}
    assert variant.server(**given).reset() == {"held": 0, "was": 7}
    assert variant.asked()[-1].startswith(command)


FAULTS = {
    "gone": (1000, "empty", "database is gone: signal 9"),
    "alive": (1000, "empty", HUNG_UP),
    "does not start": (1000, "prepare", "Can't init tc log"),
    "full": (2000, "prepare", "disk is full"),
}
"""Room that is wanted on its disk, what is done, and what is said."""


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_database_is_said(module, config, monkeypatch, fault):
    monkeypatch.setattr("leaselab_contract.database.DYING_S", 0.2)
    config["database"]["free_bytes"], verb, said = FAULTS[fault]
    if fault == "alive":
        Path(config["database"]["pid_file"]).write_text(str(os.getpid()), encoding="ascii")
    assert said in failure(lambda: getattr(module("database"), verb)(config))


def test_a_distant_one_is_asked_for_by_logging_in_and_its_disk_is_not_ours(module, config):
    """It has a contract of its own on its host, which watches it."""
    config["database"]["distant"] = True
    module("database").check_disk(config)
    saying(config, "[ $1 = login ] && { echo 'no route to it' >&2; exit 1; }")
    said = failure(lambda: module("database").check_after_death(config))
    assert said == "database login: no route to it"


def test_a_schema_far_away_is_made_by_its_script_and_without_kea_admin(module, config):
    script = Path(config["database"]["contract"]).with_name("create.sql")
    saying(config, f"[ $1 = sql ] && cat > {script}.heard")
    script.write_text("CREATE TABLE lease4 (a INT);\n", encoding="utf-8")
    config["database"] |= {"distant": True, "schema_file": str(script), "use_sql": "USE kea;"}
    module("database").make_schema(config)
    heard = script.with_name("create.sql.heard").read_text("utf-8")
    assert heard == "USE kea;\nCREATE TABLE lease4 (a INT);\n"


@of("kea")
def test_a_database_of_the_other_server_is_used_as_it_is(variant, config, tmp_path):
    """That server makes and empties it; this one only forgets what it has counted."""
    saying(config, f"echo $1 >> {tmp_path}/verbs; echo '{{}}'")
    config["database"] |= {"distant": True, "borrowed": True, "is_hook": True}
    server = variant.server(database=config["database"], variant="v4-mysql")
    assert server.start()["beside"] == {}
    variant.be(held=9)
    assert server.reset() == {"held": None, "was": None}
    assert variant.asked()[-1].startswith("statistic-reset")
    assert (tmp_path / "verbs").read_text("utf-8").split() == ["stop", "start", "login"]


def test_a_variant_of_an_older_release_has_no_link(module):
    """It lies there still after an update, and has to be stopped."""
    links = module("database").links
    assert links({"database": None}) == links({"database": {"contract": "database"}}) == []
    assert links({"database": {"link": {"argv": []}}}) == [{"argv": []}]


@of("kea")
def test_counters_of_leases_are_of_subnets_and_of_their_pools(variant):
    variant.server().start()
    names = ["subnet[7].assigned-nas", "subnet[7].pool[0].assigned-nas", "subnet[7].total-nas"]
    names += ["subnet[12].pd-pool[3].assigned-pds", "pkt6-received", "assigned-nas"]
    counts = {name: [[2, "2026-11-27 10:00:00"]] for name in names}
    variant.be(replies={"statistic-get-all": {"result": 0, "arguments": counts}})
    control, settings = importlib.import_module("kea_contract.control"), variant.settings
    assert control.counters(settings) == [(7, None, "nas"), (7, 0, "nas"), (12, 3, "pds")]
    assert control.leases({**settings, "leases_statistic": ""}) == 2
