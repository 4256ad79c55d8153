"""The build contract, run as it is installed, with recipes of the test's own."""

import gzip
import json
import shutil
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[2] / "roles"
GOOD = 'mkdir -p "$3$LEASELAB_PREFIX"; cp text "$3$LEASELAB_PREFIX/text"'


class Builder:
    """A builder in a folder: the contract, a recipe, settings, and a source to build."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        self.cache.mkdir()
        for part in ("build/files/leaselab_build", "contract/files/leaselab_contract"):
            shutil.copytree(ROLES / part, folder / Path(part).name)
        self.program = folder / "build-some"
        shutil.copy(ROLES / "build/files/build", self.program)
        (folder / "text").write_text("as committed")
        with tarfile.open(folder / "source.tar", "w") as files:
            files.add(folder / "text", "text")
        self.settings = {
            "name": "some",
            "recipe": str(folder / "recipe"),
            "options": {"flags": "-O2"},
            "prefix": "/opt/some",
            "cache": str(self.cache),
            "ccache_size": "1M",
            "free_bytes": 1,
            "timeout_s": 30,
        }
        self.job = {
            "commit": "c" * 40,
            "tree": "d" * 40,
            "described": "v1",
            "source": str(folder / "source.tar"),
        }
        self.recipe(GOOD)

    def recipe(self, build, identify="echo make"):
        script = (
            f"#!/bin/sh\nset -e\ncase $1 in\nidentify) {identify};;\nbuild) {build};;\nesac\n"
        )
        path = self.folder / "recipe"
        path.write_text(script)
        path.chmod(0o755)

    def __call__(self, verb, **settings):
        text = json.dumps({**self.settings, **settings})
        self.program.with_name("build-some.json").write_text(text)
        return subprocess.run(
            [self.program, verb],
            input=json.dumps(self.job),
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self):
        (path,) = self.cache.glob("logs/*.log.gz")
        return gzip.decompress(path.read_bytes()).decode()


@pytest.fixture
def builder(tmp_path):
    return Builder(tmp_path)


def made(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_commit_is_built_once_and_found_from_then_on(builder):
    assert builder("find").returncode == 6
    first = made(builder("build"))
    again = made(builder("build"))
    assert (first["cached"], again["cached"]) == (False, True)
    assert {**first, "cached": True} == again == made(builder("find"))
    assert (first["system"], first["options"]) == ("make", {"flags": "-O2"})
    assert first["seconds"]["total"] >= 0
    assert first["builder"]["compiler"]


def test_the_artifact_holds_what_was_installed_and_no_times(builder):
    key = made(builder("build"))["key"]
    path = builder.cache / "artifacts" / key / "artifact.tar.gz"
    with tarfile.open(path) as files:
        assert files.extractfile("opt/some/text").read() == b"as committed"
        assert {member.mtime for member in files} == {0}
        assert {member.uid for member in files} == {0}


def test_the_same_files_make_the_same_artifact(builder):
    first = made(builder("build"))
    shutil.rmtree(builder.cache / "artifacts")
    assert made(builder("build"))["artifact_sha256"] == first["artifact_sha256"]


@pytest.mark.parametrize(
    "change",
    [
        lambda builder: builder.settings["options"].update(flags="-O3"),
        lambda builder: builder.settings.update(prefix="/opt/other"),
        lambda builder: builder.job.update(commit="e" * 40),
        lambda builder: builder.job.update(tree="e" * 40),
        lambda builder: builder.recipe(f"{GOOD}; true"),
    ],
    ids=["options", "prefix", "commit", "tree", "recipe"],
)
def test_whatever_makes_another_binary_makes_another_key(builder, change):
    before = made(builder("key"))["key"]
    change(builder)
    assert made(builder("key"))["key"] != before


def test_a_damaged_artifact_is_built_again(builder):
    key = made(builder("build"))["key"]
    path = builder.cache / "artifacts" / key / "artifact.tar.gz"
    path.write_bytes(path.read_bytes()[:-1])
    assert builder("find").returncode == 6
    assert not made(builder("build"))["cached"]


def test_a_recipe_is_told_prefix_options_jobs_and_description(builder):
    names = ("PREFIX", "FLAGS", "JOBS", "DESCRIBED")
    told = " ".join(f'"$LEASELAB_{name}"' for name in names)
    builder.recipe(f"printf '%s\\n' {told}; {GOOD}")
    made(builder("build"))
    prefix, flags, jobs, described = builder.log().split()
    assert (prefix, flags, described) == ("/opt/some", "-O2", "v1")
    assert int(jobs) >= 1


def test_phases_are_timed(builder):
    builder.recipe(f"echo '== make'; sleep 0.3; echo '== install'; {GOOD}")
    seconds = made(builder("build"))["seconds"]
    assert set(seconds) == {"make", "install", "total"}


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "a.cc:1:2: warning: x\na.cc:3:4: error: expected ';'\n"
            "b.cc:1:1: error: other\nmake: *** [x] Error 1",
            "a.cc:3:4: error: expected ';'",
        ),
        (
            "checking for boost... no\nconfigure: error: no boost\n",
            "configure: error: no boost",
        ),
        (
            "meson.build:96:0: ERROR: Dependency not found",
            "meson.build:96:0: ERROR: Dependency not found",
        ),
        (
            "x.o: undefined reference to `f'\ncollect2: error: ld returned 1",
            "x.o: undefined reference to `f'",
        ),
        ("nothing that anybody knows", "nothing that anybody knows"),
    ],
    ids=["compiler", "configure", "meson", "linker", "unknown"],
)
def test_a_commit_that_does_not_build_tells_the_first_error_and_keeps_the_log(
    builder, output, reason
):
    (builder.folder / "output").write_text(output)
    builder.recipe(f"cat {builder.folder}/output; exit 1")
    done = builder("build")
    assert (done.returncode, done.stderr) == (1, f"{reason}\n")
    assert builder.log() == output
    assert list(builder.cache.glob("artifacts/*")) == []
    assert not (builder.cache / "work/some").exists()


def test_a_recipe_that_says_nothing_is_told_by_its_status(builder):
    builder.recipe("exit 7")
    done = builder("build")
    assert (done.returncode, done.stderr) == (1, "the recipe ended with status 7\n")


def test_a_build_without_an_end_is_ended(builder):
    builder.recipe("echo '== make'; sleep 60")
    done = builder("build", timeout_s=1)
    assert done.returncode == 1
    assert "does not end building within 1 s (last begun: make)" in done.stderr


def test_a_tree_of_another_server_is_refused(builder):
    builder.recipe(GOOD, identify="echo no server of this kind >&2; exit 2")
    done = builder("build")
    assert (done.returncode, done.stderr) == (2, "no server of this kind\n")


def test_a_full_disk_is_the_builders_fault(builder):
    done = builder("build", free_bytes=1 << 60)
    assert done.returncode == 4
    assert "the builder's disk is full (found " in done.stderr


def test_a_recipe_that_installs_nothing_is_the_builders_fault(builder):
    builder.recipe("true")
    done = builder("build")
    assert done.returncode == 4
    assert "installed nothing below /opt/some" in done.stderr


def test_two_at_once_build_once(builder):
    builder.recipe(f"sleep 1; {GOOD}")
    answers = []
    builder("key")  # writes the settings, which the two then share

    def build():
        done = subprocess.run(
            [builder.program, "build"],
            input=json.dumps(builder.job),
            capture_output=True,
            text=True,
            check=False,
        )
        answers.append(made(done)["cached"])

    both = [threading.Thread(target=build) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(answers) == [False, True]
