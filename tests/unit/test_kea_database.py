"""The database of Kea's leases, as Kea's contract sees it through the database's own."""

import subprocess
from pathlib import Path

import pytest
from tests.contracts import contract_module

HUNG_UP = "mysql: ERROR 2026 (HY000): TLS/SSL error: Connection reset by peer"
CONTRACT = f"""#!/bin/sh
[ "$2" = v4-mysql ] || exit 9
case $1 in
    state) echo '{{"free_bytes": 1000, "reason": "signal 9"}}' ;;
    start) echo "leaselab-database: Can't init tc log" >&2; exit 1 ;;
    sql) echo "leaselab-database: {HUNG_UP}" >&2; exit 1 ;;
esac
"""


@pytest.fixture(scope="module")
def database():
    """The module, found where the contract finds it."""
    with contract_module("kea", "kea_contract.database") as database:
        yield database


@pytest.fixture
def config(tmp_path):
    """Settings of a database whose contract answers that its client was hung up on."""
    (tmp_path / "empty.sql").write_text("TRUNCATE lease4;", encoding="ascii")
    contract = tmp_path / "database"
    contract.write_text(CONTRACT, encoding="ascii")
    contract.chmod(0o755)
    return {
        "database": {
            "leases": True,
            "link": None,
            "hosts_file": None,
            "contract": str(contract),
            "pid_file": str(tmp_path / "pid"),
            "free_bytes": 1000,
            "empty_file": str(tmp_path / "empty.sql"),
        },
        "variant": "v4-mysql",
    }


def test_a_database_that_died_of_a_reset_or_before_it_is_reported_as_gone(database, config):
    with pytest.raises(database.LabError, match=r"^the database is gone: signal 9$"):
        database.empty(config)


@pytest.mark.parametrize("queue", [True, False])
def test_a_queue_of_free_addresses_is_made_again_after_a_reset(
    database, config, monkeypatch, queue
):
    """Kea makes it as it reads its configuration, and only where there is none."""
    Path(config["database"]["contract"]).write_text(
        "#!/bin/sh\necho 7; echo 0\n", encoding="ascii"
    )
    config["database"]["queue"] = queue
    asked = []
    monkeypatch.setattr(database, "control", lambda _, command: asked.append(command))
    monkeypatch.setattr(database, "forget_leases", lambda _: asked.append("statistics"))
    monkeypatch.setattr(database, "check_disk", lambda _: None)
    assert database.empty(config) == (7, 0)
    assert asked == (["config-reload"] if queue else ["statistics"])


def test_a_database_that_lives_and_refuses_is_reported_in_its_clients_words(
    database, config, monkeypatch
):
    monkeypatch.setattr("leaselab_contract.database.DYING_S", 0.2)
    with subprocess.Popen(["sleep", "60"]) as living:
        Path(config["database"]["pid_file"]).write_text(str(living.pid), encoding="ascii")
        try:
            with pytest.raises(database.LabError, match=r"^database sql: .*reset by peer$"):
                database.empty(config)
        finally:
            living.kill()


@pytest.mark.parametrize(
    ("wanted_bytes", "message"),
    [(1000, "^database start: .*Can't init tc log$"), (2000, "^the database's disk is full ")],
)
def test_one_that_does_not_start_on_a_full_disk_is_reported_as_that(
    database, config, wanted_bytes, message
):
    config["database"]["free_bytes"] = wanted_bytes
    with pytest.raises(database.LabError, match=message):
        database.prepare(config)


def test_a_distant_one_is_asked_for_by_logging_in_and_its_disk_is_not_ours(database, config):
    """It has a contract of its own on its host, which watches it."""
    config["database"]["distant"] = True
    database.check_disk(config)
    Path(config["database"]["contract"]).write_text(
        "#!/bin/sh\n[ $1 = login ] && { echo 'no route to it' >&2; exit 1; }\n",
        encoding="ascii",
    )
    with pytest.raises(database.LabError, match=r"^database login: no route to it$"):
        database.check_after_death(config)


def test_a_schema_far_away_is_made_by_its_script_and_without_kea_admin(
    database, config, tmp_path
):
    heard = tmp_path / "heard"
    contract = Path(config["database"]["contract"])
    contract.write_text(f"#!/bin/sh\n[ $1 = sql ] && cat > {heard}\n", encoding="ascii")
    script = tmp_path / "create.sql"
    script.write_text("CREATE TABLE lease4 (a INT);\n", encoding="utf-8")
    config["database"] |= {"distant": True, "schema_file": str(script), "use_sql": "USE kea;"}
    database.make_schema(config)
    assert heard.read_text("utf-8") == "USE kea;\nCREATE TABLE lease4 (a INT);\n"


def test_a_variant_of_an_older_release_has_no_link(database):
    """It lies there still after an update, and has to be stopped."""
    assert database.links({"database": None}) == []
    assert database.links({"database": {"contract": "database"}}) == []
    assert database.links({"database": {"link": {"argv": []}}}) == [{"argv": []}]


def test_counters_of_leases_are_of_subnets_and_of_their_pools(monkeypatch):
    names = (
        *("subnet[7].assigned-nas", "subnet[7].pool[0].assigned-nas", "subnet[7].total-nas"),
        *("subnet[12].pd-pool[3].assigned-pds", "pkt6-received", "assigned-nas"),
    )
    statistics = {name: [[2, "2026-11-27 10:00:00"]] for name in names}
    with contract_module("kea", "kea_contract.control") as control:
        monkeypatch.setattr(control, "control", lambda *_, **__: statistics)
        assert control.counters({}) == [(7, None, "nas"), (7, 0, "nas"), (12, 3, "pds")]
        assert control.leases({"leases_statistic": ""}) == 2
