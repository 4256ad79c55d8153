"""From a commit to a result: dnsmasq, whose source a package mirror has, really built."""

import gzip
import json
import re
import signal
import time

import docker
import pytest
from tests.dnsmasq_changes import START, break_build, mend_build
from tests.lab.commands import complaint, leaselab, playbook
from tests.lab.faults import Host
from tests.repositories import commit, git, make_repository
from tests.sources import SourceLists, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"

COMMENT = "  /* a packet, a reply */\n"
DIE = '  die("not today", NULL, EC_MISC);\n'
"""What ends a server before it serves."""
FIXED = ["--procedure=fixed-load", "--set=rate=200", "--set=duration_s=3", "--set=rounds=1"]
BUILD_S = 900


class Source:
    """dnsmasq's repository with commits of the test's own on top: their hashes."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        repository_of("dnsmasq", ["trixie"], self.path, lists)
        self.broken = break_build(self.path, minute=10)
        self.mended = mend_build(self.path, COMMENT, minute=11)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def build(source):
    """Build a commit by hand; return how the playbook ended."""

    def build(ref, repository=None, **environment):
        settings = {"dnsmasq_repo": str(repository or source.path), "dnsmasq_commit": ref}
        return playbook("build", "-e", json.dumps(settings), timeout_s=BUILD_S, **environment)

    return build


@pytest.fixture(scope="module")
def measured(source, tmp_path_factory):
    """The folder of results of a commit that does not build and of one that is measured.

    Duels and searches of such commits are those of tests/lab/night.
    """
    results = tmp_path_factory.mktemp("commits") / "results"
    words = ["run", SCENARIO, *FIXED, "--repo", source.path, "--results", results]
    for name, code in ((source.broken, 5), (source.mended, 0)):
        done = leaselab(*words, "--commit", name, timeout_s=BUILD_S)
        assert done.returncode == code, done.stderr
    return results


def test_a_commit_that_does_not_build_is_a_result_with_the_compilers_words(source, measured):
    results = measured
    listed = leaselab("list", "--outcome", "build-failed", "--results", results, "--json")
    (row,) = json.loads(listed.stdout)
    assert row["commit"] == source.broken
    document = json.loads(leaselab("show", row["id"], "--results", results, "--json").stdout)
    (reason,) = document["reasons"]
    assert "rfc2131.c" in reason["text"]
    assert "error: " in reason["text"]
    (log,) = results.glob(f"*/*/{row['id']}/build.log.gz")
    assert b"this is not C" in gzip.decompress(log.read_bytes())
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_a_result_says_what_it_was_built_from_and_how(source, measured):
    document = json.loads(leaselab("show", "last", "--results", measured, "--json").stdout)
    server = document["servers"]["server"]
    assert server["commit"] == source.mended
    assert server["package"] is None
    build = server["build"]
    assert build["source"]["subject"] == "Mend it"
    assert build["source"]["repository"] == str(source.path)
    assert not build["source"]["dirty"]
    assert build["options"] == {"cflags": "-O2", "copts": "-DHAVE_DBUS"}
    assert "(Debian 14" in build["builder"]["compiler"]
    assert build["builder"]["distribution"] == "debian 13"
    assert "libc6" in build["runtime_packages"]
    assert server["version"] == build["source"]["described"].removeprefix("v")
    shown = leaselab("show", "--all", "last", "--results", measured).stdout
    line = rf"\bcommit +{source.mended}, 2026-11-01, Mend it$"
    assert re.search(line, shown, re.MULTILINE)


@pytest.mark.usefixtures("measured")
def test_a_commit_that_was_built_is_not_built_again(source, build):
    done = build(source.mended)
    assert done.returncode == 0, done.stdout
    assert "found built" in done.stdout


def test_a_checkout_whose_server_does_not_start_is_a_result(source, tmp_path):
    """It is built and deployed as a pipeline does, before it is committed."""
    head = git(source.path, "rev-parse", "HEAD")
    file = source.path / "src" / "dhcp.c"
    committed = file.read_text()
    file.write_text(committed.replace(START, START + DIE))
    try:
        made = leaselab("step", "build", SCENARIO, "--repo", source.path, "--worktree")
        assert made.returncode == 0, made.stderr
    finally:
        file.write_text(committed)
    key = made.stdout.strip()
    done = leaselab("step", "deploy", SCENARIO, "--build", key, "--results", tmp_path, "--json")
    assert done.returncode == 5
    assert "dnsmasq does not serve: " in complaint(done)
    assert "not today" in complaint(done)
    document = json.loads(done.stdout)
    assert document["outcome"] == "build-failed"
    server = document["servers"]["server"]
    assert server["commit"] == head
    assert server["build"]["source"]["dirty"]
    assert server["build"]["source"]["tree"] != git(source.path, "rev-parse", "HEAD^{tree}")


def test_a_tree_of_something_else_is_refused(build, tmp_path):
    other = make_repository(tmp_path / "other")
    commit(other, "No server", {"README": "nothing"})
    done = build("main", other)
    assert done.returncode != 0
    assert "no dnsmasq: no Makefile" in done.stdout


def test_a_full_builder_is_the_labs_fault_and_not_the_commits(source, tmp_path):
    settings = {
        "dnsmasq_repo": str(source.path),
        "dnsmasq_commit": commit(source.path, "Too large", {"b-file": ""}, minute=21),
        "build_disk_mib": 1 << 30,
    }
    log = tmp_path / "events"
    log.touch()
    done = playbook("build", "-e", json.dumps(settings), LEASELAB_EVENTS=str(log))
    assert done.returncode != 0
    assert "the builder's disk is full (found " in done.stdout
    failed = [json.loads(line) for line in log.read_text().splitlines()]
    (last,) = [event for event in failed if event["event"] == "failed"][-1:]
    assert last["outcome"] not in (1, 2, 3, 5)


@pytest.fixture
def building(source, tmp_path, engine):
    """A command whose build never ends by itself, once it has begun."""
    makefile = {"Makefile": f"all:\n\tsleep 600 # {tmp_path.name}\n"}
    name = commit(source.path, "Never end", makefile, minute=22)
    words = ["step", "build", SCENARIO, "--repo", source.path, "--commit", name]
    begun = engine(*words, "--results", tmp_path)
    deadline = time.monotonic() + BUILD_S
    while "sleep 600" not in running_on_the_builder():
        assert begun.process.poll() is None, begun.lines
        assert time.monotonic() < deadline
        time.sleep(1)
    return begun


def test_a_build_ends_with_the_command_that_asked_for_it(building):
    """On the builder as well, with all that it started; and the next build need not wait.

    Other signals are those of tests/unit/test_build_limits.py and tests/cli/test_playbook.py.
    """
    building.process.send_signal(signal.SIGTERM)
    building.end()
    deadline = time.monotonic() + 60
    while running_on_the_builder():
        assert time.monotonic() < deadline
        time.sleep(1)


@pytest.mark.parametrize("fault", ["freeze", "restart"])
def test_a_builder_that_goes_away_is_the_labs_fault_and_not_the_commits(building, fault):
    with Host("builder").undergoing(fault):
        code, last = building.end(timeout_s=BUILD_S)
    assert code == 4, last
    assert "leaselab-builder" in last


def running_on_the_builder():
    """Programs of the user that builds, and the contract's own that builds."""
    builder = docker.from_env().containers.get("leaselab-builder")
    shown = builder.exec_run(["ps", "-eo", "user:20,args"]).output.decode().splitlines()
    return " ".join(row for row in shown if "leaselab-build " in row or row.endswith(" build"))
