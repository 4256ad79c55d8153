"""From a commit to a result: dnsmasq, really built and profiled."""

import gzip
import json
import re
import signal

import pytest
from tests.lab.building import BUILD_S, SERVED, begin_endless_build, running_on_the_builder
from tests.lab.commands import complaint, leaselab
from tests.waiting import until

from leaselab.catalog.checkout import kept_folder

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

PROFILE = [
    "--procedure=profile",
    "--set=rounds=1",
    "--set=rate=1000",
    "--set=duration_s=2",
    "--set=wait_s=0.5",
    "--set=late_s=0.25",
    "--set=warm_up_s=0",
]
PERF = "/usr/bin/perf"


@pytest.fixture(scope="module")
def measured(source, tmp_path_factory):
    """The folder of results of a commit with its profile and of one that does not build.

    Duels and searches of such commits are those of tests/lab/night.
    """
    results = tmp_path_factory.mktemp("commits") / "results"
    for name, code in ((source.mended, 0), (source.broken, 5)):
        done = profile(source, name, results)
        assert done.returncode == code, done.stderr
    return results


def result_of(results, outcome):
    """The result with this outcome."""
    listed = leaselab("list", "--outcome", outcome, "--results", results, "--json")
    (row,) = json.loads(listed.stdout)
    return json.loads(leaselab("show", row["id"], "--results", results, "--json").stdout)


def profile(source, name, results):
    """Build, deploy and measure a commit."""
    words = ["run", SERVED, *PROFILE, "--repo", source.path, "--commit", name]
    return leaselab(*words, "--results", results, timeout_s=BUILD_S)


def test_a_commit_that_does_not_build_is_a_result_with_the_compilers_words(source, measured):
    document = result_of(measured, "build-failed")
    assert document["servers"]["server"]["commit"] == source.broken
    (reason,) = document["reasons"]
    assert "rfc2131.c" in reason["text"]
    assert "error: " in reason["text"]
    (log,) = measured.glob(f"*/*/{document['id']}/build.log.gz")
    assert b"this is not C" in gzip.decompress(log.read_bytes())
    assert leaselab("dev", "archive", "verify", "--results", measured).returncode == 0


@pytest.mark.usefixtures("measured")
def test_what_one_build_installed_on_the_builder_is_not_installed_again_for_the_next():
    logs = sorted(kept_folder("logs").glob("*-build-*.log"))
    *earlier, last = ("TASK [build : Install compiler" in log.read_text() for log in logs)
    assert any(earlier)
    assert not last


def test_a_result_says_what_it_was_built_from_and_how(source, measured):
    document = result_of(measured, "ok")
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
    shown = leaselab("show", "--all", document["id"], "--results", measured).stdout
    line = rf"\bcommit +{source.mended}, 2026-11-01, Mend it$"
    assert re.search(line, shown, re.MULTILINE)


def test_where_cpu_time_goes_is_sampled_in_the_local_lab(measured):
    """Half of it or more in the program itself, with whole stacks; nothing is lost."""
    document = result_of(measured, "ok")
    (round_,) = document["rounds"]
    (place,) = measured.glob(f"*/*/{document['id']}")
    text = gzip.decompress((place / round_["files"]["stacks"]).read_bytes()).decode()
    stacks = [line.rpartition(" ")[0] for line in text.splitlines()]
    assert all(stack.startswith("dnsmasq;") for stack in stacks)
    assert sum(";main;" in stack for stack in stacks) > 0.9 * len(stacks)
    assert round_["metrics"]["samples"] > 20
    assert round_["metrics"]["lost_samples"] == 0
    assert 0.2 < round_["metrics"]["sampled_us"] / round_["metrics"]["cpu_us"] < 1


@pytest.mark.usefixtures("measured")
def test_without_perf_there_is_no_profile_and_one_line_says_why(source, on_host, tmp_path):
    """The commit is neither built nor deployed again."""
    on_host("server", f"mv {PERF} {PERF}.away")
    try:
        done = profile(source, source.mended, tmp_path)
    finally:
        on_host("server", f"mv {PERF}.away {PERF}")
    assert done.returncode == 3, done.stderr
    assert "deployed as it was" in done.stderr
    assert f"there is no profile: {PERF} is not installed" in complaint(done)
    (path,) = tmp_path.glob("2*/*/*/result.json")
    assert json.loads(path.read_text(encoding="utf-8"))["outcome"] == "invalid"


def test_a_build_ends_with_the_command_that_asked_for_it(source, engine, tmp_path):
    """On the builder as well, with all that it started; and the next build need not wait.

    Other signals are those of tests/unit/test_build_limits.py and tests/cli/test_playbook.py,
    faults of the builder those of tests/lab/night.
    """
    building = begin_endless_build(engine, source, tmp_path)
    building.process.send_signal(signal.SIGTERM)
    building.end()
    until(running_on_the_builder, lambda programs: not programs)
