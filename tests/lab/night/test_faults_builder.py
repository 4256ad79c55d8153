"""The builder goes away, or is full; a checkout is built whose server does not start."""

import json

import pytest
from tests.dnsmasq_changes import START
from tests.lab.building import BUILD_S, SERVED, begin_endless_build
from tests.lab.commands import complaint, leaselab, playbook
from tests.lab.faults import Host
from tests.repositories import commit, git, make_repository

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

DIE = '  die("not today", NULL, EC_MISC);\n'
"""What ends a server before it serves."""


@pytest.fixture
def build(source):
    """Build a commit by hand; return how the playbook ended."""

    def build(ref, repository=None, limits=None, **environment):
        settings = {"dnsmasq_repo": str(repository or source.path), "dnsmasq_commit": ref}
        words = ("-e", json.dumps({**settings, **(limits or {})}))
        return playbook("build", *words, timeout_s=BUILD_S, **environment)

    return build


def test_a_checkout_whose_server_does_not_start_is_a_result(source, tmp_path):
    """It is built and deployed as a pipeline does, before it is committed."""
    head = git(source.path, "rev-parse", "HEAD")
    file = source.path / "src" / "dhcp.c"
    committed = file.read_text()
    file.write_text(committed.replace(START, START + DIE))
    try:
        made = leaselab("step", "build", SERVED, "--repo", source.path, "--worktree")
        assert made.returncode == 0, made.stderr
    finally:
        file.write_text(committed)
    key = made.stdout.strip()
    done = leaselab("step", "deploy", SERVED, "--build", key, "--results", tmp_path, "--json")
    assert done.returncode == 5
    assert "dnsmasq does not serve: " in complaint(done)
    assert "not today" in complaint(done)
    document = json.loads(done.stdout)
    assert document["outcome"] == "build-failed"
    server = document["servers"]["server"]
    assert server["commit"] == head
    assert server["build"]["source"]["dirty"]
    assert server["build"]["source"]["tree"] != git(source.path, "rev-parse", "HEAD^{tree}")


def test_a_commit_that_was_built_is_not_built_again(source, build):
    for _ in range(2):
        done = build(source.mended)
        assert done.returncode == 0, done.stdout
    assert "found built" in done.stdout


def test_a_tree_of_something_else_is_refused(build, tmp_path):
    other = make_repository(tmp_path / "other")
    commit(other, "No server", {"README": "nothing"})
    done = build("main", other)
    assert done.returncode != 0
    assert "no dnsmasq: no Makefile" in done.stdout


def test_a_full_builder_is_the_labs_fault_and_not_the_commits(source, build, tmp_path):
    name = commit(source.path, "Too large", {"b-file": ""}, minute=21)
    log = tmp_path / "events"
    log.touch()
    done = build(name, limits={"build_disk_mib": 1 << 30}, LEASELAB_EVENTS=str(log))
    assert done.returncode != 0
    assert "the builder's disk is full (found " in done.stdout
    failed = [json.loads(line) for line in log.read_text().splitlines()]
    (last,) = [event for event in failed if event["event"] == "failed"][-1:]
    assert last["outcome"] not in (1, 2, 3, 5)


@pytest.mark.parametrize("fault", ["freeze", "restart"])
def test_a_builder_that_goes_away_is_the_labs_fault_and_not_the_commits(
    source, engine, tmp_path, fault
):
    building = begin_endless_build(engine, source, tmp_path)
    with Host("builder").undergoing(fault):
        code, last = building.end(timeout_s=BUILD_S)
    assert code == 4, last
    assert "leaselab-builder" in last
