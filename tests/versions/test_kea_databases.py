"""The SQL of leases with which Kea begins, by real databases with the schema of its tool."""

import csv
import subprocess
import time
from contextlib import contextmanager

import pytest
import yaml
from tests.contracts import ROLES, contract_module
from tests.tools import AS_ROOT, run, unpacked_root

from leaselab.lab.leases import read_leases
from leaselab.lab.own import read_own

FILES = ROLES.parent / "tests/data/own"
PACKAGES = ("mariadb-server", "postgresql", "kea-admin")
SCRIPTED = ("bash", "coreutils", "dash", "grep", "mawk", "perl-base", "sed")
"""What the scripts of these packages are run with, which every installed Debian has."""
CLEAN = ["env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/tmp"]
POSTGRES = ["--userspec=999:999"]
"""PostgreSQL refuses to run as root."""
CLIENTS = {
    "mysql": ["mariadb", "--skip-column-names"],
    "postgresql": ["psql", "-qAt", "-h", "/run/leaselab-postgresql", "-U", "postgres"],
}
CASES = [(suite, kind) for suite in ("bookworm", "trixie") for kind in CLIENTS]
"""Before Kea 2.3 an IPv6 address was text in MySQL."""
FILLED = {4: "house", 6: "isp6"}
COUNTED = {
    4: "SELECT SUM(leases) FROM lease4_stat;",
    6: "SELECT SUM(leases) FROM lease6_stat;",
}
COMPARED = {
    4: ("address", "hwaddr", "client_id", "valid_lifetime", "subnet_id", "state"),
    6: (
        *("address", "duid", "valid_lifetime", "subnet_id", "pref_lifetime"),
        *("lease_type", "iaid", "prefix_len", "state"),
    ),
}


class Database:
    """A database in the root of a release, and the settings that role kea has of it."""

    def __init__(self, suite, kind):
        self.kind, self.place = kind, unpacked_root(suite, *PACKAGES, *SCRIPTED)
        variables = yaml.safe_load((ROLES / "kea/vars/main.yml").read_text("utf-8"))
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
        make = [*AS_ROOT, "install", "-d", "-o", "999", "-g", "999"]
        socket = self.place / self.settings["socket"].lstrip("/")
        run(*AS_ROOT, "rm", "-rf", self.place / "var/lib/data")
        if self.kind == "mysql":
            data = ["--no-defaults", "--user=root", "--datadir=/var/lib/data"]
            run(*AS_ROOT, "mkdir", "-p", socket.parent)
            self.done("mariadb-install-db", "--force", *data)
            heard = f"--socket={self.settings['socket']}"
            return self.words("mariadbd", *data, "--skip-networking", heard)
        account = "root:x:0:0::/root:/bin/sh\npostgres:x:999:999::/tmp:/bin/sh\n"
        run(*AS_ROOT, "tee", self.place / "etc/passwd", input=account)
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
        try:
            until = time.monotonic() + 60
            create = self.words(*CLIENTS[self.kind])
            while run(*create, input="CREATE DATABASE kea;")[0]:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until, log.read_text(encoding="utf-8")
                time.sleep(0.2)
            yield self
        finally:
            server.terminate()
            server.wait(timeout=30)

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
    own = read_own(FILES / f"{FILLED[family]}.conf", leases=dump)
    lines = tmp_path / "filled.csv"
    lines.write_text("".join(f"{line}\n" for line in own.filling.lines), encoding="ascii")
    config = {
        "family": family,
        "filled_file": str(lines),
        "database": database.settings,
    }
    with contract_module("kea", "kea_contract.filled") as filled:
        database.sql(filled.sql(config))
        written = database.dumped(family)
        wanted = filled.memfile(config, written.splitlines()[0])
    dumped, expected = (
        sorted(tuple(row[name] for name in COMPARED[family]) for row in csv.DictReader(text))
        for text in (written.splitlines(), wanted.splitlines())
    )
    assert dumped == expected
    assert len(dumped) == len(own.filling.lines) > 40
    assert int(database.sql(f"{database.settings['use_sql']}\n{COUNTED[family]}")) == len(
        dumped
    )
