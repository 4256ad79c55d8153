"""This repository's own pipelines, played with its scripts for each way to end.

Here `leaselab` is a stand-in that ends as configured; tests/lab runs the true one.
"""

import os
import re
import shutil
from functools import cache

import pytest
from tests.jobs.definitions import ROOT, parameters, pipelines
from tests.pipeline.executor import Controller
from tests.pipeline.jenkinsfile import read
from tests.repositories import git

STAGES = ["Check", "Provision", "Build", "Deploy", "Tune"]
STAGES += ["Measure", "Archive", "Report", "Verdict"]
JOB, RANGE, CHECK = "leaselab/commit", "leaselab/range", "leaselab/check"
SELFTEST, REVIEW = "leaselab/selftest", "leaselab/review"
LABEL, BROKEN = "leaselab-bench", "leaselab-broken"
FILES = {
    JOB: ROOT / "Jenkinsfile",
    RANGE: ROOT / "jobs/range.Jenkinsfile",
    CHECK: ROOT / "jobs/check.Jenkinsfile",
    SELFTEST: ROOT / "jobs/selftest.Jenkinsfile",
    REVIEW: ROOT / "jobs/review.Jenkinsfile",
}
# Which command ends badly, and how; otherwise it leaves what the true one leaves.
LEASELAB = r"""#!/usr/bin/env bash
set -eu
echo "$*" >> "$CALLS"
verb=$1
[[ ! $verb =~ ^(lab|step|dev)$ ]] || verb="$1 $2"
while (($#)); do
  case $1 in
    --id-file)
      case $verb in
        run | compare) printf '%s\n' 20261122T1 20261122T2 > "$2" ;;
        "step sweep" | "${FAILS:-}") echo 20261122T1 > "$2" ;;
      esac ;;
    --output | --markdown | --junit | --csv)
      if [[ $verb == report ]]; then mkdir -p "$2" && echo page > "$2/index.html"
      elif [[ $verb == review && $1 == --output ]]; then
        mkdir -p "$2" && echo page > "$2/review.html"
      elif [[ $2 == *.xml ]]; then echo '<testsuite><testcase name="a"/></testsuite>' > "$2"
      elif [[ $2 == *.csv ]]; then printf 'id,max_rate\na,4000\n' > "$2"
      elif [[ $2 == ci/* ]]; then echo text > "$2"
      fi ;;
  esac
  shift
done
[[ $verb != "${FAILS:-}" ]] || exit "$WITH"
[[ $verb != "step build" ]] || echo 0123456789abcdef
"""


@cache
def declared(path):
    """The parameters that the jobs which run a pipeline declare for it, and defaults of one."""
    place = str(path.relative_to(ROOT))
    jobs = [
        parameters(tree)
        for tree in pipelines().values()
        if tree.findtext("definition/scriptPath") == place
    ]
    assert len({frozenset(job) for job in jobs}) == 1, f"{place}: its jobs differ in parameters"
    return jobs[0]


@pytest.mark.parametrize("path", [*FILES.values(), ROOT / "jobs/release.Jenkinsfile"], ids=str)
def test_what_a_pipeline_says_is_short_bounded_and_left_to_scripts(path):
    """Each stage with steps has a timeout; a command is a script of scripts/ci and a word."""
    assert len(path.read_text("utf-8").splitlines()) <= 100
    for call in read(path).walk():
        if call.name == "stage" and call.child("steps"):
            assert any(each.name == "timeout" for each in call.child("options").calls())
        if call.name == "sh":
            (command,) = call.args
            match = re.fullmatch(r"(scripts/ci/[a-z_]+\.sh)( [a-z]+)?", command)
            assert match, command
            assert os.access(ROOT / match[1], os.X_OK), command


class Site:
    """A fork with the stand-in for `leaselab`, a server's repository, and a controller."""

    def __init__(self, folder):
        self.folder = folder
        self.fork = folder / "leaselab"
        self.fork.mkdir()
        shutil.copytree(ROOT / "scripts/ci", self.fork / "scripts/ci")
        program = self.fork / "leaselab"
        program.write_text(LEASELAB, encoding="utf-8")
        program.chmod(0o755)
        (self.fork / ".ci").mkdir()
        suite = self.fork / ".ci/run"
        suite.write_text('#!/bin/sh\nexec ./leaselab suite "$@"\n', encoding="utf-8")
        suite.chmod(0o755)
        self.server = folder / "server"
        self.server.mkdir()
        for place in (self.fork, self.server):
            git(place, "init", "--quiet", "--initial-branch=main")
            git(place, "add", "--all")
            git(place, "commit", "--quiet", "--allow-empty", "-m", "Begin")
        self.controller = Controller(
            folder / "jenkins",
            FILES,
            parameters={job: declared(path) for job, path in FILES.items()},
            labels=("leaselab", "leaselab-selftest"),
        )
        self.controller.have_resources({"rack1": [LABEL], "rack2": [LABEL]})
        self.runs = 0

    def run(self, job=JOB, fails="", with_=0, **parameters):
        """Run a build in which one command ends badly; its record and the commands it ran."""
        self.runs += 1
        calls = self.folder / f"calls{self.runs}"
        common = {
            "SCENARIO": "v4-memfile",
            "REPO": str(self.server),
            "OPTIONS": "--set rounds=3",
        }
        own = {
            JOB: {**common, "COMMIT": "main", "AGAINST": ""},
            RANGE: {**common, "BRANCH": "main", "COMMITS": "v1,v2"},
            CHECK: {"BENCH": "rack1"},
            SELFTEST: {},
            REVIEW: {"BENCH": "rack1", "REPO": str(self.server), "BRANCH": "main"},
        }[job]
        record = self.controller.run(
            job,
            self.fork,
            parameters={**own, **parameters},
            environment={"CALLS": str(calls), "FAILS": fails, "WITH": str(with_)},
        )
        reported = calls.read_text(encoding="utf-8") if calls.exists() else ""
        return record, reported.splitlines()


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def labels(site, bench):
    return site.controller.resources[bench]["labels"]


def test_a_duel_deploys_both_itself_and_is_judged_in_the_stage_verdict(site):
    record, calls = site.run(AGAINST="release", OPTIONS="--budget 30")
    assert record.result == "SUCCESS", record.log
    steps = [call.split()[1] for call in calls if call.startswith("step ")]
    assert {"deploy", "tune", "sweep"}.isdisjoint(steps)
    measured, judged = (call for call in calls if call.startswith("compare"))
    assert "--live --repo server" in measured
    assert measured.endswith(" -- release HEAD")
    assert judged.endswith(" -- 20261122T1 20261122T2")


def test_a_build_that_ends_well_calls_each_command_once_and_frees_the_bench(site):
    record, calls = site.run()
    assert record.result == "SUCCESS", record.log
    assert set(record.stages.values()) == {"SUCCESS"}
    steps = [f"step {item}" for item in ("provision", "build", "deploy", "tune", "sweep")]
    wanted = ["lab take", *steps]
    wanted += ["dev archive", "report", "compare", "export", "review", "lab release"]
    assert [call[: len(name)] for call, name in zip(calls, wanted, strict=True)] == wanted
    assert calls[0].startswith("lab take -i inventory/racks --bench=rack1 --take-over")
    assert calls[2].startswith("step build -i inventory/racks --bench=rack1 --repo server ")
    assert calls[2].endswith(" -- v4-memfile")
    assert "--build 0123456789abcdef" in calls[3]
    assert calls[7] == "report --against=previous --output ci/report -- 20261122T1"
    assert calls[8].startswith("compare --threshold=5 ")
    assert calls[8].endswith(" -- previous 20261122T1")
    assert calls[-1] == "lab release -i inventory/racks --bench=rack1"
    for name in ("comment.md", "junit.xml", "plot.csv", "report/index.html"):
        assert (record.folder / "archive" / "ci" / name).exists(), name


@pytest.mark.parametrize(
    ("fails", "code", "result", "last"),
    [
        ("compare", 1, "UNSTABLE", "Verdict"),
        ("step sweep", 3, "UNSTABLE", "Measure"),
        ("compare", 2, "FAILURE", "Verdict"),
        ("step build", 5, "FAILURE", "Build"),
        ("step tune", 77, "FAILURE", "Tune"),
    ],
)
def test_how_a_stage_ends_is_how_the_build_does(site, fails, code, result, last):
    """And later stages are skipped, what there is is published, the bench is freed and kept."""
    record, calls = site.run(fails=fails, with_=code)
    assert record.result == result, record.log
    names = list(record.stages)
    after = names[names.index(last) + 1 :]
    assert record.stages[last] == "UNSTABLE"
    assert {record.stages[name] for name in after if name in map(str.title, STAGES)} <= {
        "SKIPPED"
    }
    assert calls[-1].startswith("lab release ")
    assert labels(site, "rack1") == [LABEL]
    assert record.requested == []
    published = fails != "step tune"  # which archives nothing
    assert (record.folder / "archive" / "ci" / "comment.md").exists() == published


@pytest.mark.parametrize(("fails", "code"), [("lab take", 4), ("step sweep", 130)])
def test_another_bench_measures_what_a_broken_one_could_not(site, fails, code):
    record, calls = site.run(fails=fails, with_=code)
    assert record.result == "NOT_BUILT", record.log
    assert labels(site, "rack1") == [BROKEN]
    ((job, asked),) = record.requested
    assert (job, asked["OPTIONS"], asked["ATTEMPT"]) == (JOB, "--set rounds=3", "II")
    assert asked.keys() == record.parameters.keys()
    assert calls[-1].startswith("lab release ")
    again = site.controller.follow(
        record, site.fork, at_most=3, environment={"CALLS": str(site.folder / "again")}
    )
    assert [item.result for item in again] == ["SUCCESS"]
    called = (site.folder / "again").read_text(encoding="utf-8")
    assert "--bench=rack2" in called
    assert "--bench=rack1" not in called


def test_the_third_broken_bench_is_the_last_that_is_asked(site):
    """Or a fault that is none of the benches' would take all of them out of use."""
    record, _ = site.run(fails="step sweep", with_=4, ATTEMPT="III")
    assert record.result == "NOT_BUILT", record.log
    assert "3 benches were broken for this build" in record.log
    assert record.requested == []


def test_what_another_build_left_in_the_workspace_is_not_published(site):
    site.run()
    record, _ = site.run(COMMIT="no-such-branch", fails="step provision", with_=4)
    assert record.result == "NOT_BUILT"
    assert not list((record.folder / "archive").glob("**/comment.md"))
    record, _ = site.run(RANGE, BRANCH="no-such-branch")
    assert record.result == "FAILURE"
    assert not list((record.folder / "archive").glob("**/comment.md"))


@pytest.mark.parametrize(
    ("job", "name", "value"),
    [(JOB, "INVENTORY", "server/benches.yml"), (RANGE, "SCENARIO", "--results=/etc")],
)
def test_a_parameter_that_names_other_code_is_refused_before_any_command(
    site, job, name, value
):
    """`test_parameters` has what else is refused."""
    record, calls = site.run(job, **{name: value})
    assert record.result == "FAILURE", record.log
    assert record.stages["Check"] == "UNSTABLE"
    assert f"leaselab: {name} " in record.log
    assert calls == []
    assert labels(site, "rack1") == [LABEL]


def test_a_packaged_server_is_not_built_and_a_bench_that_stays_held_changes_nothing(site):
    record, calls = site.run(REPO="", fails="lab release", with_=4)
    assert record.result == "SUCCESS", record.log
    assert record.stages["Build"] == "SKIPPED"
    assert "build" not in {call.split()[1] for call in calls}
    assert "step deploy -i inventory/racks --bench=rack1 --build  " in calls[2]
    assert "the bench stays held until that expires" in record.log


def test_a_check_takes_a_broken_bench_out_of_use_and_puts_a_whole_one_back(site):
    prunes = "lab prune -i inventory/racks --bench=rack1"
    record, calls = site.run(CHECK, fails="lab take", with_=4)
    assert record.result == "NOT_BUILT"
    assert labels(site, "rack1") == [BROKEN]
    assert prunes in calls
    assert calls[-1].startswith("lab release ")
    record, _ = site.run(CHECK, fails="lab take", with_=2)
    assert record.result == "FAILURE"
    assert labels(site, "rack1") == [BROKEN]  # as it was: the inventory is wrong, not the bench
    record, calls = site.run(CHECK)
    assert record.result == "SUCCESS", record.log
    assert labels(site, "rack1") == [LABEL]
    assert "whole: " in site.controller.resources["rack1"]["note"]
    assert prunes in calls
    record, _ = site.run(CHECK, fails="lab prune", with_=4)
    assert record.result == "SUCCESS", "what a prune comes to is no fault of the bench"


@pytest.mark.parametrize(
    ("commits", "compared"), [("v1,v2", ["--scenario=v4-memfile"]), ("v1..v2", [])]
)
def test_two_releases_are_compared_and_others_are_shown(site, commits, compared):
    options = "--set=rounds=5 --every 3 --first-parent --set late_s=0.5"
    record, calls = site.run(RANGE, COMMITS=commits, OPTIONS=options)
    assert record.result == "SUCCESS", record.log
    (measured,) = [call for call in calls if call.startswith("run ")]
    assert f"--repo server --commits={commits} --id-file ci/ids {options}" in measured
    verdicts = [call.split() for call in calls if call.startswith("compare")]
    assert [call[4] for call in verdicts] == compared
    assert all(call[-3:] == ["--", "v1", "v2"] for call in verdicts)
    pages = [call for call in calls if "--release=v2 --against=v1" in call]
    assert len(pages) == len(compared)


def test_what_runs_at_night_is_tested_after_a_suite_that_failed_as_well(site):
    record, calls = site.run(SELFTEST, fails="suite", with_=1)
    assert record.result == "UNSTABLE", record.log
    assert record.stages["Suite"] == "UNSTABLE"
    assert record.stages["Night"] == record.stages["VM lab"] == "SUCCESS"
    assert calls == [
        "suite --junit-xml=ci/suite.xml --hypothesis-profile night",
        "test tests/lab/night --junit-xml=ci/night.xml",
        "test tests/vm --junit-xml=ci/vm.xml",
    ]


def test_a_review_measures_again_before_it_reports_but_not_on_a_broken_lab(site):
    record, calls = site.run(REVIEW, MONTH="2026-10")
    assert record.result == "SUCCESS", record.log
    measured, reported = (call for call in calls if call.startswith("review "))
    assert "--confirm --repo server --month=2026-10" in measured
    assert reported == "review --month=2026-10 --markdown ci/review.md --output ci/report"
    assert calls[-1].startswith("lab release ")
    record, calls = site.run(REVIEW, fails="lab take", with_=4)
    assert record.result == "NOT_BUILT"
    (reported,) = (call for call in calls if call.startswith("review "))
    assert reported == "review --month=last --markdown ci/review.md --output ci/report"
    assert labels(site, "rack1") == [BROKEN]
