"""The SQL of leases with which Kea begins, by real databases with the schema of its tool."""

import csv
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.contracts import ROLES, contract_module
from tests.tools import AS_ROOT, run, unpacked_root
from tests.waiting import HANGS_S

from leaselab.inputs.leases import read_leases
from leaselab.inputs.user_configuration import read_served

FILES = ROLES.parent / "tests/data/own"
PACKAGES = ("mariadb-server", "postgresql", "kea-admin")
SCRIPTED = ("bash", "coreutils", "dash", "grep", "mawk", "perl-base", "sed")
"""What the scripts of these packages are run with, which every installed Debian has."""
CLEAN = ["env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/tmp"]
ACCOUNT = "61999"
"""No account of this machine: a build, in another test, ends all that runs as its own."""
POSTGRES = [f"--userspec={ACCOUNT}:{ACCOUNT}"]
"""PostgreSQL refuses to run as root."""
CLIENTS = {
    "mysql": ["mariadb", "--skip-column-names", "--unbuffered"],
    "postgresql": ["psql", "-qAt", "-h", "/run/leaselab-postgresql", "-U", "postgres"],
}
BEGIN = {"mysql": "SET autocommit = 0;", "postgresql": "\\set AUTOCOMMIT off"}
CASES = [(suite, kind) for suite in ("bookworm", "trixie") for kind in CLIENTS]
"""Before Kea 2.3 an IPv6 address was text in MySQL."""
FILLED = {4: "house", 6: "isp6"}
COUNTED = {4: "SELECT SUM(leases) FROM lease4_stat;", 6: "SELECT SUM(leases) FROM lease6_stat;"}
COMPARED = {
    4: ("address", "hwaddr", "client_id", "valid_lifetime", "subnet_id", "state"),
    6: (
        *("address", "duid", "valid_lifetime", "subnet_id", "pref_lifetime"),
        *("lease_type", "iaid", "prefix_len", "state"),
    ),
}


class Database:
    """A database in the root of a release, and the settings that role kea has of it."""

    def __init__(self, suite, kind, packages=PACKAGES):
        self.kind, self.place = kind, unpacked_root(suite, *packages, *SCRIPTED)
        variables = yaml.safe_load((ROLES / "kea/vars/main.yml").read_text("utf-8"))
        self.tables = {
            name: variables[f"kea_{name}"] for name in ("lease_tables", "counting_tables")
        }
        self.settings = variables["kea_databases"][kind]
        (self.programs,) = self.place.glob("usr/lib/postgresql/*/bin")

    def words(self, *words, user=()):
        return [*AS_ROOT, "chroot", *user, self.place, *CLEAN, *words]

    def done(self, *words, user=(), **options):
        status, output = run(*self.words(*words, user=user), **options)
        assert status == 0, output
        return output

    def sql(self, text):
        return self.done(*CLIENTS[self.kind], input=text)

    def prepare(self):
        """Make its files; return the command that runs it."""
        make = [*AS_ROOT, "install", "-d", "-o", ACCOUNT, "-g", ACCOUNT]
        socket = self.place / self.settings["socket"].lstrip("/")
        run(*AS_ROOT, "rm", "-rf", self.place / "var/lib/data")
        if self.kind == "mysql":
            data = ["--no-defaults", "--user=root", "--datadir=/var/lib/data"]
            run(*AS_ROOT, "mkdir", "-p", socket.parent)
            self.done("mariadb-install-db", "--force", *data)
            heard = f"--socket={self.settings['socket']}"
            return self.words("mariadbd", *data, "--skip-networking", heard)
        accounts = f"root:x:0:0::/root:/bin/sh\npostgres:x:{ACCOUNT}:{ACCOUNT}::/tmp:/bin/sh\n"
        run(*AS_ROOT, "tee", self.place / "etc/passwd", input=accounts)
        run(*make, socket.parent, self.place / "var/lib/data")
        folder = f"/{self.programs.relative_to(self.place)}"
        data, trusted = ["-D", "/var/lib/data"], ["-U", "postgres", "-A", "trust", "-N"]
        self.done(f"{folder}/initdb", *data, *trusted, user=POSTGRES)
        heard = ["-h", "", "-k", self.settings["host"]]
        return self.words(f"{folder}/postgres", *data, *heard, user=POSTGRES)

    @contextmanager
    def running(self, log):
        command = [*map(str, self.prepare())]
        with log.open("wb") as output:
            server = subprocess.Popen(command, stdout=output, stderr=output)
        self.pid = server.pid
        try:
            until = time.monotonic() + HANGS_S
            create = self.words(*CLIENTS[self.kind])
            while run(*create, input="CREATE DATABASE kea;")[0]:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until, log.read_text(encoding="utf-8")
                time.sleep(0.2)
            yield self
        finally:
            server.terminate()
            server.wait(timeout=HANGS_S)

    def dumped(self, family):
        """What Kea's own tool says of the leases."""
        kind, *words = self.settings["schema_argv"][2:]
        access = words[: words.index("-n") + 2]
        self.done("rm", "-f", "/var/lib/dump.csv")
        self.done(
            "kea-admin",
            "lease-dump",
            kind,
            "-y",
            f"-{family}",
            *access,
            "-o",
            "/var/lib/dump.csv",
        )
        return (self.place / "var/lib/dump.csv").read_text(encoding="ascii")


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def database(request, tmp_path_factory):
    """A database with the schema, made as the contract makes it."""
    made = Database(*request.param)
    with made.running(tmp_path_factory.mktemp("database") / "log"):
        made.done("kea-admin", *made.settings["schema_argv"][1:])
        yield made


@pytest.mark.parametrize("family", FILLED)
def test_keas_own_tool_finds_the_leases_that_were_written(database, family, tmp_path):
    dump = read_leases([FILES / f"kea-leases{family}.csv"])
    own = read_served(FILES / f"{FILLED[family]}.conf", leases=dump)
    lines = tmp_path / "filled.csv"
    lines.write_text("".join(f"{line}\n" for line in own.filling.lines), encoding="ascii")
    config = {"family": family, "filled_file": str(lines), "database": database.settings}
    with contract_module("kea", "kea_contract.filled") as filled:
        database.sql(filled.sql(config))
        written = database.dumped(family)
        wanted = filled.memfile(config, written.splitlines()[0])
    dumped, expected = (
        sorted(tuple(row[name] for name in COMPARED[family]) for row in csv.DictReader(text))
        for text in (written.splitlines(), wanted.splitlines())
    )
    assert dumped == expected
    assert len(dumped) == len(own.filling.lines) > 8
    assert int(database.sql(f"{database.settings['use_sql']}\n{COUNTED[family]}")) == len(
        dumped
    )


def test_its_syncs_take_longer_for_a_while(database, monkeypatch):
    """Of all of its processes, which sync what is committed."""
    table = f"{database.settings['use_sql']}\nCREATE TABLE written (number INTEGER);"
    write = f"{database.settings['use_sql']}\nINSERT INTO written VALUES (1);"
    database.sql(table)
    with contract_module("leaselab_contract", "leaselab_contract.disk") as disk:
        monkeypatch.setattr(disk, "SLOW_S", float(HANGS_S))
        steps = disk.slow(database.pid)
        next(steps)
        while not next(steps):
            database.sql(write)
        steps.close()
        processes = disk.process.tree(database.pid)
    statuses = [Path(f"/proc/{pid}/status").read_text("utf-8") for pid in processes]
    assert all("TracerPid:\t0\n" in status for status in statuses)


@pytest.mark.parametrize(("family", "kind"), [(4, "addresses"), (6, "nas")])
def test_leases_written_at_once_into_the_empty_table_are_all_counted(
    database, family, kind, tmp_path, monkeypatch
):
    """The trigger of the later one waits for the row that the first one counts in."""
    config = {"family": family}
    tables = {name: database.tables[name][family] for name in database.tables}
    config["database"] = {**database.settings, **tables}
    emptying = config["database"]["empty_sql"]
    config["database"]["empty_sql"] = emptying.replace("{{ server_family }}", str(family))
    counted = [(7, None, kind), (7, 0, kind)]
    texts = []
    with contract_module("kea", "kea_contract.database") as contract:
        monkeypatch.setattr(contract, "ask", lambda _config, _verb, text: database.sql(text))
        monkeypatch.setattr(contract, "counters", lambda _config: counted)
        database.sql(contract.empty_sql(config))
        for number in (1, 2):
            address = f"192.0.2.{number},32" if family == 4 else f"2001:db8::{number},128"
            file = tmp_path / f"{number}.csv"  # a file is read once
            file.write_text(f"{address},0,7\n", encoding="ascii")
            texts.append(contract.filled.sql({**config, "filled_file": str(file)}))
    first, second = (
        subprocess.Popen(
            [*map(str, database.words(*CLIENTS[database.kind]))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        for _ in texts
    )
    first.stdin.write(f"{BEGIN[database.kind]}\n{texts[0]}\nSELECT 'written';\n")
    assert first.stdout.readline() == "written\n"
    second.stdin.write(texts[1])
    second.stdin.close()
    time.sleep(0.5)  # it waits for the first one to end
    assert first.communicate("COMMIT;\n", timeout=HANGS_S)[0] == ""
    assert second.stdout.read() == ""
    assert second.wait(HANGS_S) == 0
    use = database.settings["use_sql"]
    assert database.sql(f"{use}\n{COUNTED[family]}").strip() == "2"
