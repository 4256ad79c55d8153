"""A database on the partner's host works there, is seen there, and keeps its secrets."""

import json

import pytest
from tests.lab.commands import files_with, leaselab, trials_of

pytestmark = pytest.mark.lab

PROGRAMS = {"v4-mysql-cluster": ("mariadbd", 3), "v4-postgresql-apart": ("postgres", 1)}
"""By scenario: the database's program, and how many of them a start brings up."""
SECRETS = ("database-password.json", "database-admin-password.json")


def running(on_host, role, program):
    """How many processes of a program were started by a contract on a host."""
    reported = on_host(role, f"pgrep --exact --parent 1 {program} | wc -l")
    return int(reported)


@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_database_apart_runs_on_the_partners_host_alone(deployed, on_host, scenario):
    program, nodes = PROGRAMS[scenario]
    variant = deployed["servers"]["partner"]["variant"]
    on_host("partner", f"/opt/leaselab/server start {variant}")
    try:
        assert running(on_host, "partner", program) == nodes
        assert running(on_host, "server", program) == 0
    finally:
        on_host("partner", f"/opt/leaselab/server stop {variant}")
    assert running(on_host, "partner", program) == 0


@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_result_has_the_time_of_a_database_apart_and_none_of_its_secrets(
    bench_file, results, on_host, scenario
):
    done = leaselab("step", "sweep", bench_file(), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    database = document["servers"]["partner"]
    assert document["scenario"]["support"]["kind"] == database["name"]
    assert document["servers"]["server"]["durability"] == database["durability"]
    assert document["servers"]["server"]["beside"] == {}
    program, nodes = PROGRAMS[scenario]
    for trial in trials_of(document):
        assert trial["held"]["server"] >= trial["completed"]
        assert "partner" not in trial["held"]
        first, *_, last = trial["samples"]["partner"]
        assert last["cpu_s"] - first["cpu_s"] > 5e-6 * trial["completed"]
        assert len(last["beside_cpu_s"]) == nodes - 1
        for name in last["beside_cpu_s"]:  # nodes apply what the first commits
            spent = last["beside_cpu_s"][name] - first["beside_cpu_s"][name]
            assert spent > 5e-6 * trial["completed"]
    for name in SECRETS:
        password = json.loads(on_host("partner", f"cat /opt/leaselab/{name}"))
        assert len(password) >= 32
        assert json.loads(on_host("server", f"cat /opt/leaselab/distant-{name}")) == password
        assert files_with(password, results) == []
    for role in ("server", "partner"):
        assert on_host(role, f"pgrep -x {program} || echo none") == "none\n"
