"""From a commit to a result: dnsmasq, whose source a package mirror has, really built."""

import gzip
import json
import re
import secrets
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest
from tests.dnsmasq_changes import START, break_build, mend_build, slow_down
from tests.hostile import COMMAND
from tests.lab.commands import Engine, complaint, leaselab, playbook
from tests.repositories import commit, git, make_repository
from tests.sources import SourceLists, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"

COMMENT = "  /* a packet, a reply */\n"
DIE = '  die("not today", NULL, EC_MISC);\n'
"""What ends a server before it serves."""
SHORT = ["--trial-s=1", "--wait-s=0.5", "--late-s=0.25", "--warm-up-s=0", "--rounds=6"]
SLOWER = 150
"""By how many per cent answering a packet takes longer from the slow commit on: so much that
the first look of each duel tells."""
BUILD_S = 900


class Source:
    """dnsmasq's repository with commits of the test's own on top: their hashes."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        suites = ["bookworm", "trixie"]
        lists = SourceLists(folder / "lists", suites)
        self.old, self.base = repository_of("dnsmasq", suites, self.path, lists).values()
        self.broken = break_build(self.path, minute=10)
        self.mended = mend_build(self.path, COMMENT, minute=11)
        self.slow = slow_down(self.path, SLOWER, minute=12)


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
def hunted(source, tmp_path_factory):
    """The folder of a search's results, and what it found.

    Of three commits the first does not build, and the last is slow.
    """
    results = tmp_path_factory.mktemp("hunt") / "results"
    words = ["bisect", SCENARIO, "--repo", source.path, "--good", source.base]
    words += ["--bad", source.slow, *SHORT, "--no-profile", "--results", results]
    done = leaselab(*words, "--json", timeout_s=BUILD_S)
    assert done.returncode == 1, done.stderr
    return results, json.loads(done.stdout)


def test_a_slow_commit_is_named_after_a_duel_with_its_parent(source, hunted):
    _, found = hunted
    (culprit,) = found["culprits"]
    assert (culprit["hash"], culprit["after"]) == (source.slow, source.mended)
    assert culprit["ci95"][1] < 1
    duels = [(one["older"], one["newer"], one["answer"]) for one in found["duels"]]
    assert duels[0] == (source.base, source.slow, "slower")
    assert duels[-1] == (source.mended, source.slow, "slower")
    assert len({pair[:2] for pair in duels}) == len(duels)


def test_a_commit_that_does_not_build_is_a_result_with_the_compilers_words(source, hunted):
    results, found = hunted
    assert {one["hash"] for one in found["commits"] if one["broken"]} == {source.broken}
    (row,) = json.loads(
        leaselab("list", "--outcome", "build-failed", "--results", results, "--json").stdout
    )
    document = json.loads(leaselab("show", row["id"], "--results", results, "--json").stdout)
    (reason,) = document["reasons"]
    assert "rfc2131.c" in reason["text"]
    assert "error: " in reason["text"]
    (log,) = results.glob(f"*/*/{row['id']}/build.log.gz")
    assert b"this is not C" in gzip.decompress(log.read_bytes())
    assert leaselab("dev", "archive", "verify", "--results", results).returncode == 0


def test_a_result_says_what_it_was_built_from_and_how(source, hunted):
    results, _ = hunted
    document = json.loads(leaselab("show", "last", "--results", results, "--json").stdout)
    assert document["experiment"]["both_up"] is True
    server = document["servers"]["server"]
    assert server["commit"] == source.slow
    assert server["package"] is None
    build = server["build"]
    assert build["source"]["subject"] == "Wait for the clock"
    assert build["source"]["repository"] == str(source.path)
    assert not build["source"]["dirty"]
    assert build["options"] == {"cflags": "-O2", "copts": "-DHAVE_DBUS"}
    assert "(Debian 14" in build["builder"]["compiler"]
    assert build["builder"]["distribution"] == "debian 13"
    assert "libc6" in build["runtime_packages"]
    assert server["version"] == build["source"]["described"].removeprefix("v")
    shown = leaselab("show", "--all", "last", "--results", results).stdout
    line = rf"\bcommit +{source.slow}, 2026-11-01, Wait for the clock$"
    assert re.search(line, shown, re.MULTILINE)


def test_a_commit_is_never_built_twice_even_by_two_at_once(source, build):
    # of its own each time: the builder's cache outlasts labs and checkouts
    files = {"a-file": secrets.token_hex()}
    name = commit(source.path, f"A commit of its own {COMMAND}", files, minute=20)
    with ThreadPoolExecutor(2) as both:
        done = list(both.map(build, [name, name]))
    assert [one.returncode for one in done] == [0, 0], done[0].stdout + done[1].stdout
    assert sorted("found built" in one.stdout for one in done) == [False, True]


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


def test_a_build_ends_with_the_command_that_asked_for_it(source, tmp_path):
    """On the builder as well, with all that it started; and the next build need not wait.

    Other signals are those of tests/unit/test_build_limits.py and tests/cli/test_playbook.py.
    """
    makefile = {"Makefile": "all:\n\tsleep 600\n"}
    name = commit(source.path, "Never end", makefile, minute=22)
    words = ["step", "build", SCENARIO, "--repo", source.path, "--commit", name]
    engine = Engine(*words, "--results", tmp_path)
    deadline = time.monotonic() + BUILD_S
    while "sleep 600" not in running_on_the_builder():
        assert engine.process.poll() is None, engine.lines
        assert time.monotonic() < deadline
        time.sleep(1)
    engine.process.send_signal(signal.SIGTERM)
    engine.end()
    deadline = time.monotonic() + 30
    while running_on_the_builder():
        assert time.monotonic() < deadline
        time.sleep(1)


def running_on_the_builder():
    """Programs of the user that builds, and the contract's own that builds."""
    builder = docker.from_env().containers.get("leaselab-builder")
    shown = builder.exec_run(["ps", "-eo", "user:20,args"]).output.decode().splitlines()
    return " ".join(row for row in shown if "leaselab-build " in row or row.endswith(" build"))
