"""From a commit to a result: dnsmasq, whose source a package mirror has, really built."""

import gzip
import json
import re
import secrets
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.lab.commands import Engine, complaint, leaselab, playbook
from tests.repositories import commit, git, make_repository
from tests.sources import SourceLists, change, repository_of

pytestmark = pytest.mark.lab

SCENARIO = "v4-dnsmasq"

REPLY = "  unsigned char *opt, *clid = NULL;\n  struct dhcp_lease *ltmp, *lease = NULL;\n"
COMMENT = "  /* a packet, a reply */\n"
NOT_C = "  this is not C;\n"
START = "void dhcp_init(void)\n{\n"
DIE = '  die("not today", NULL, EC_MISC);\n'
QUICK = ["--runs=1", "--trial-s=1", "--wait-s=0.5", "--late-s=0.25", "--width=0.5"]
QUICK += ["--warm-up-s=0", "--confirm-s=0"]
BUILD_S = 900


class Source:
    """dnsmasq's repository with commits of the test's own on top: their hashes."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        suites = ["bookworm", "trixie"]
        lists = SourceLists(folder / "lists", suites)
        self.old, self.base = repository_of("dnsmasq", suites, self.path, lists).values()
        reply, start = "src/rfc2131.c", "src/dhcp.c"
        self.broken = self._change(reply, REPLY, NOT_C + REPLY, "Break the build", 10)
        self.mended = self._change(reply, NOT_C, COMMENT, "Mend it", 11)
        self.mute = self._change(start, START, START + DIE, "Build, but do not start", 14)

    def _change(self, name, old, new, subject, minute):
        return change(self.path, name, old, new, subject, minute=minute)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def lab(bench_of):
    """The local lab, up and provisioned."""
    return bench_of(SCENARIO)


@pytest.fixture
def build(source):
    """Build a commit by hand; return how the playbook ended."""

    def build(ref, repository=None, **environment):
        settings = {"dnsmasq_repo": str(repository or source.path), "dnsmasq_commit": ref}
        return playbook("build", "-e", json.dumps(settings), timeout_s=BUILD_S, **environment)

    return build


def run(source, *arguments, results):
    words = ["run", "v4-dnsmasq", "--repo", source.path, *QUICK, "--results", results]
    return leaselab(*words, *arguments, "--json", timeout_s=BUILD_S)


def built(source, *arguments):
    """Build what is named, as a pipeline does; return the key."""
    words = ["build", "v4-dnsmasq", "--repo", source.path, *arguments]
    done = leaselab(*words, timeout_s=BUILD_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def measured_range(source, lab, tmp_path_factory):
    """The folder of a range's results, the rows of it, and what was said at its end.

    Of two commits the first does not build; the command is interrupted in the sweep of the
    second, and given again.
    """
    assert lab["scenario"]["name"] == "v4-dnsmasq"
    results = tmp_path_factory.mktemp("range") / "results"
    commits = ("--commits", f"{source.base}..{source.mended}")
    words = ["run", "v4-dnsmasq", "--repo", source.path, *QUICK, "--results", results]
    stopped = Engine(*words, *commits)
    try:
        stopped.saw(r"^v4-dnsmasq at \w+: run 1/1: \d+/s for", BUILD_S)
        stopped.process.send_signal(signal.SIGTERM)
    finally:
        assert stopped.end()[0] == 130
    done = run(source, *commits, results=results)
    assert done.returncode == 5, done.stderr
    return results, json.loads(done.stdout), done.stderr


def test_a_range_is_built_and_measured_and_goes_on_after_an_interrupt(source, measured_range):
    """The broken commit is told, and nothing is measured twice."""
    results, rows, told = measured_range
    assert [row["commit"] for row in rows] == [source.broken, source.mended]
    found = {row["commit"]: row["results"]["v4-dnsmasq"] for row in rows}
    assert told.count("measured before: ") == 1
    assert "v4-dnsmasq: deployed as it was" in told
    assert " (from the journal)" in told
    assert found[source.broken]["outcome"] == "build-failed"
    assert found[source.mended]["value"]

    (row,) = json.loads(
        leaselab("list", "--outcome", "build-failed", "--results", results, "--json").stdout
    )
    document = json.loads(leaselab("show", row["id"], "--results", results, "--json").stdout)
    (reason,) = document["reasons"]
    assert "rfc2131.c" in reason["text"]
    assert "error: " in reason["text"]
    (log,) = results.glob(f"*/*/{row['id']}/build.log.gz")
    assert b"this is not C" in gzip.decompress(log.read_bytes())

    again = run(source, "--commits", f"{source.base}..{source.mended}", results=results)
    assert again.stderr.count("measured before: ") == 2
    assert leaselab("archive", "verify", "--results", results).returncode == 0


def test_a_result_says_what_it_was_built_from_and_how(source, measured_range):
    results, _, _ = measured_range
    document = json.loads(leaselab("show", "last", "--results", results, "--json").stdout)
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
    shown = leaselab("show", "last", "--results", results).stdout
    assert re.search(rf"\bcommit +{source.mended}, 2026-11-01, Mend it$", shown, re.MULTILINE)

    again = leaselab("rerun", "last", "--results", results, "--json", timeout_s=BUILD_S)
    assert again.returncode == 0, again.stderr
    same = json.loads(again.stdout)["servers"]["server"]
    assert same["build"]["artifact_sha256"] == build["artifact_sha256"]


@pytest.mark.usefixtures("lab")
def test_a_checkout_is_deployed_before_it_is_committed(source, on_host):
    """The last commit's server does not start; the checkout's does."""
    file = source.path / "src" / "dhcp.c"
    committed = file.read_text()
    file.write_text(committed.replace(DIE, "  /* not committed */\n"))
    try:
        key = built(source, "--worktree")
    finally:
        file.write_text(committed)
    assert leaselab("deploy", "v4-dnsmasq", "--build", key).returncode == 0
    path = f"/opt/leaselab/variants/v4-dnsmasq.{key[:10]}/deployed.json"
    deployed = json.loads(on_host("server", f"cat {path}"))
    made = deployed["build"]["source"]
    assert made["dirty"]
    assert made["hash"] == git(source.path, "rev-parse", "HEAD")
    assert made["tree"] != git(source.path, "rev-parse", "HEAD^{tree}")


@pytest.mark.usefixtures("lab")
def test_a_commit_is_never_built_twice_even_by_two_at_once(source, build):
    # of its own each time: the builder's cache outlasts labs and checkouts
    files = {"a-file": secrets.token_hex()}
    name = commit(source.path, "A commit of its own", files, minute=20)
    with ThreadPoolExecutor(2) as both:
        done = list(both.map(build, [name, name]))
    assert [one.returncode for one in done] == [0, 0], done[0].stdout + done[1].stdout
    assert sorted("found built" in one.stdout for one in done) == [False, True]


@pytest.mark.usefixtures("lab")
def test_a_commit_whose_server_does_not_start_is_a_result(source, tmp_path):
    key = built(source, "--commit", source.mute)
    words = ["deploy", "v4-dnsmasq", "--build", key, "--results", tmp_path, "--json"]
    done = leaselab(*words)
    assert done.returncode == 5
    assert "dnsmasq does not serve: " in complaint(done)
    assert "not today" in complaint(done)
    document = json.loads(done.stdout)
    assert document["outcome"] == "build-failed"
    assert document["servers"]["server"]["commit"] == source.mute


@pytest.mark.usefixtures("lab")
def test_a_tree_of_something_else_is_refused(build, tmp_path):
    other = make_repository(tmp_path / "other")
    commit(other, "No server", {"README": "nothing"})
    done = build("main", other)
    assert done.returncode != 0
    assert "no dnsmasq: no Makefile" in done.stdout


@pytest.mark.usefixtures("lab")
def test_a_full_builder_is_the_labs_fault_and_not_the_commits(source, tmp_path):
    settings = {
        "dnsmasq_repo": str(source.path),
        "dnsmasq_commit": commit(source.path, "Too large", {"b-file": ""}, minute=21),
        "build_disk_min_mib": 1 << 30,
    }
    log = tmp_path / "events"
    log.touch()
    done = playbook("build", "-e", json.dumps(settings), LEASELAB_EVENTS=str(log))
    assert done.returncode != 0
    assert "the builder's disk is full (found " in done.stdout
    failed = [json.loads(line) for line in log.read_text().splitlines()]
    (last,) = [event for event in failed if event["event"] == "failed"][-1:]
    assert last["outcome"] not in (1, 2, 3, 5)
