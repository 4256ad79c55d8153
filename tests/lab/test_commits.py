"""From a commit to a result: dnsmasq, whose source a package mirror has, really built."""

import gzip
import json
import os
import secrets
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.lab.commands import complaint, leaselab, playbook
from tests.repositories import commit, git, make_repository
from tests.sources import SourceLists, change, repository_of

pytestmark = pytest.mark.lab

REPLY = "  unsigned char *opt, *clid = NULL;\n  struct dhcp_lease *ltmp, *lease = NULL;\n"
COMMENT = "  /* a packet, a reply */\n"
NOT_C = "  this is not C;\n"
START = "void dhcp_init(void)\n{\n"
DIE = '  die("not today", NULL, EC_MISC);\n'
QUICK = ["--runs=1", "--trim=0", "--trial-s=1", "--wait-s=0.5", "--late-s=0.5", "--width=0.05"]
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
    return bench_of("v4-dnsmasq")


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


@pytest.mark.usefixtures("lab")
def test_a_range_is_built_and_measured_and_goes_on_after_a_kill(source, engine, tmp_path):
    """The broken commit is told, and nothing is measured twice."""
    results = tmp_path / "results"
    words = ["run", "v4-dnsmasq", "--repo", source.path, *QUICK, "--results", results]
    commits = ("--commits", f"{source.old}..{source.mended}")
    killed = engine(*words, *commits)
    killed.saw(r"^v4-dnsmasq at \w+ \(3 of 3\)", BUILD_S)
    os.kill(killed.process.pid, signal.SIGKILL)
    killed.end()

    done = run(source, *commits, results=results)
    assert done.returncode == 5, done.stderr
    rows = json.loads(done.stdout)
    expected = [source.base, source.broken, source.mended]
    assert [row["commit"] for row in rows] == expected
    found = {row["commit"]: row["results"]["v4-dnsmasq"] for row in rows}
    assert "measured before: " in done.stderr
    assert found[source.broken]["outcome"] == "build-failed"
    assert found[source.base]["max_rate"]
    assert found[source.mended]["max_rate"]

    (row,) = json.loads(
        leaselab("list", "--outcome", "build-failed", "--results", results, "--json").stdout
    )
    document = json.loads(leaselab("show", row["id"], "--results", results, "--json").stdout)
    (reason,) = document["reasons"]
    assert "rfc2131.c" in reason["text"]
    assert "error: " in reason["text"]
    (log,) = results.glob(f"*/*/{row['id']}/build.log.gz")
    assert b"this is not C" in gzip.decompress(log.read_bytes())

    again = run(source, *commits, results=results)
    assert again.stderr.count("measured before: ") == 3
    assert leaselab("archive", "verify", "--results", results).returncode == 0


@pytest.mark.usefixtures("lab")
def test_a_result_says_what_it_was_built_from_and_how(source, tmp_path):
    results = tmp_path / "results"
    done = run(source, "--commit", source.base, results=results)
    assert done.returncode == 0, done.stderr
    server = json.loads(done.stdout)["server"]
    assert server["commit"] == source.base
    assert server["package"] is None
    build = server["build"]
    assert build["source"]["subject"] == "dnsmasq 2.91"
    assert build["source"]["repository"] == str(source.path)
    assert not build["source"]["dirty"]
    assert build["options"] == {"cflags": "-O2", "copts": "-DHAVE_DBUS"}
    assert "(Debian 14" in build["builder"]["compiler"]
    assert build["builder"]["distribution"] == "debian 13"
    assert "libc6" in build["runtime_packages"]
    assert server["version"] == build["source"]["described"].removeprefix("v")
    shown = leaselab("show", "last", "--results", results).stdout
    assert f"commit          {source.base}, 2026-11-01, dnsmasq 2.91" in shown

    again = leaselab("rerun", "last", "--results", results, "--json", timeout_s=BUILD_S)
    assert again.returncode == 0, again.stderr
    same = json.loads(again.stdout)["server"]
    assert same["build"]["artifact_sha256"] == build["artifact_sha256"]


@pytest.mark.usefixtures("lab")
def test_a_checkout_is_measured_before_it_is_committed(source, tmp_path):
    """The last commit's server does not start; the checkout's does.  Step by step."""
    file = source.path / "src" / "dhcp.c"
    committed = file.read_text()
    file.write_text(committed.replace(DIE, "  /* not committed */\n"))
    try:
        key = built(source, "--worktree")
    finally:
        file.write_text(committed)
    assert leaselab("deploy", "v4-dnsmasq", "--build", key).returncode == 0
    bench = tmp_path / "bench.json"
    assert leaselab("tune", "v4-dnsmasq", *QUICK, "-o", bench).returncode == 0
    done = leaselab("sweep", bench, "--results", tmp_path / "results", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["server"]["build"]["source"]
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
    assert "found built" in build(name).stdout


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
    assert document["server"]["commit"] == source.mute


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


@pytest.mark.parametrize("scenario", ["v4-dnsmasq-file", "v6-dnsmasq", "v6-dnsmasq-file"])
def test_the_packaged_one_is_measured_likewise(scenario, bench_file, results):
    """As the distribution has it: both families, and leases in a file, too."""
    done = leaselab("sweep", bench_file(), "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["server"]["package"].startswith("dnsmasq-base 2.")
    assert document["server"]["durability"] == (
        "synced" if scenario.endswith("file") else "memory"
    )
    trials = [trial for run in document["runs"] for trial in run["trials"]]
    for trial in trials:
        assert trial["leases_held"][0] >= trial["completed"]
