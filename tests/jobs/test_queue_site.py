"""The file of a queue's site: what it makes, and what is refused."""

import asyncio
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from buildbot.config.master import FileLoader
from buildbot.process.results import RETRY
from buildbot.schedulers.timed import Nightly

from ci.benchqueue.site import cron, read_site
from ci.benchqueue.stages import Repeated
from leaselab.model.errors import LeaselabError

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "jobs/buildbot").glob("*.yaml"))
JOB = {"command": "true", "bench": "a"}


def refused(tmp_path, **changes):
    site = {"benches": {"a": {"tags": ["cpu"]}}, "canary": {"command": "true"}}
    file = tmp_path / "site.yaml"
    file.write_text(yaml.safe_dump({**site, "jobs": {"j": JOB}, **changes}), "utf-8")
    with pytest.raises(LeaselabError) as caught:
        read_site(file)
    assert caught.value.code == 2
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bench": {}}, "site.yaml: unknown key 'bench'; did you mean 'benches'?"),
        ({"benches": {}}, "site.yaml: benches: nothing in it (wanted one at least)"),
        ({"benches": {"a/b": {}}}, "benches: not a name (found 'a/b', wanted letters, digits"),
        ({"jobs": {"canary-a": JOB}}, "jobs: not a name (found 'canary-a'"),
        ({"page_port": "x"}, "page_port: value of another type (found str 'x', wanted int)"),
        (
            {"canary": {}},
            "site.yaml: canary: a scenario needs a clone of Leaselab (found none, wanted",
        ),
        ({"canary": {"command": "x", "start": "push"}}, "canary: no repository is watched"),
    ],
)
def test_a_wrong_site_is_refused(tmp_path, changes, said):
    assert said in refused(tmp_path, **changes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"scenario": "v4-memfile"},
            "two keys (found scenario and command, wanted scenario or",
        ),
        ({"command": ""}, "exactly one of two keys (found none, wanted scenario or command)"),
        ({"tags": []}, "exactly one of two keys (found bench and tags, wanted bench or tags)"),
        ({"bench": "b"}, "site.yaml: jobs: j: unknown bench 'b' (wanted one of a)"),
        ({"bench": "", "tags": ["nic"]}, "tags (found ['nic'], wanted a ['cpu'])"),
        ({"server": "kea"}, "jobs: j: unknown server 'kea'"),
        ({"against": "release"}, "against or anchor without a server (wanted server: NAME)"),
        ({"start": "push"}, "no repository is watched (wanted server: NAME)"),
        (
            {"start": "at noon"},
            "start is no time (found 'at noon', wanted push, or five fields",
        ),
        ({"start": "61 * * * *"}, "start is no time (found '61 * * * *'"),
        ({"priority": 1000}, "priority out of bounds (found 1000, wanted 0 to 999)"),
        ({"command": "", "scenario": "v4-memfile"}, "a scenario needs a clone of Leaselab"),
    ],
)
def test_a_wrong_job_is_refused(tmp_path, change, said):
    assert said in refused(tmp_path, jobs={"j": {**JOB, **change}})


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (
            {"scenario": "v4-memfile", "tags": ["cpu"]},
            "results of two benches are not compared (found tags ['cpu'], wanted bench",
        ),
        (
            {"scenario": "v4-memfil", "bench": "a"},
            "jobs: j: unknown scenario 'v4-memfil'; did you mean 'v4-memfile'",
        ),
    ],
)
def test_a_wrong_measurement_is_refused(tmp_path, job, said):
    leaselab = {"url": "x", "branch": "main"}
    assert said in refused(tmp_path, leaselab=leaselab, jobs={"j": job})


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_buildbot_takes_an_example(file, tmp_path, monkeypatch):
    (tmp_path / "password").write_text("made up", "utf-8")
    monkeypatch.setenv("LEASELAB_ROOT", str(ROOT))
    monkeypatch.setenv("LEASELAB_SITE", str(file))
    monkeypatch.setenv("LEASELAB_QUEUE", str(tmp_path))
    made = FileLoader(str(tmp_path), str(ROOT / "jobs/buildbot/master.cfg")).loadConfig()
    site = read_site(file)
    assert {worker.workername for worker in made.workers} == set(site.benches)
    builders = {builder.name: builder for builder in made.builders}
    assert set(builders) == {*site.jobs, *(f"canary-{bench}" for bench in site.benches)}
    for name, job in site.jobs.items():
        assert builders[name].workernames == site.benches_of(job)
        started = {
            timer.name for timer in made.schedulers.values() if name in timer.builderNames
        }
        assert f"{name}-by-hand" in started
        assert len(started) == 1 + bool(job.start)
        assert builders[name].factory.buildClass is Repeated
    assert made.buildbotNetUsageData is None


def test_a_build_whose_worker_dies_before_the_first_stage_goes_on_to_its_end():
    """Buildbot's own asks for a quarantine of that worker, which is none."""
    noted = []

    async def finish(*words):
        noted.append(words)

    request = SimpleNamespace(mergeSourceStampsWith=list, mergeReasons=str)
    updates = SimpleNamespace(finishStep=finish)
    master = SimpleNamespace(data=SimpleNamespace(updates=updates))
    builder = SimpleNamespace(master=master, config=None, config_version=0)
    build = Repeated([request], builder)
    build.workerforbuilder = SimpleNamespace(worker=None)
    build._preparation_step = SimpleNamespace(stepid=7)
    asyncio.run(build.buildPreparationFailure(ConnectionError(), "worker_ping"))
    assert noted == [(7, RETRY, False)]


def test_its_command_says_what_is_wrong(tmp_path):
    done = subprocess.run(
        [ROOT / "scripts/ci/queue", "check", tmp_path / "none.yaml"],
        env={**os.environ, "LEASELAB_QUEUE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.yaml: cannot be read: No such file or directory" in done.stderr


@pytest.mark.parametrize("days", ["*", "0", "6,0", "1-5", "sun"])
def test_days_of_the_week_are_those_of_cron(days):
    """Buildbot counts from Monday, and only where a day stands alone."""
    nightly = Nightly("n", ["j"], **cron(f"30 12 * 1 {days}"))
    assert nightly._timeToCron(cron(f"30 12 * 1 {days}")["dayOfWeek"], True) == days
