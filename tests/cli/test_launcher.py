"""./leaselab: from a fresh checkout to a command, and what stands in its way."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.waiting import HANGS_S

ROOT = Path(__file__).parents[2]
TOOLS = (
    "bash", "cat", "df", "env", "flock", "git", "head", "id", "mkdir", "readlink", "rm", "sed",
    "sha256sum", "stat", "touch",
)  # fmt: skip
VERSION = "leaselab 0.1.0\n"


def launch(*words, cwd=None, user=None, **environment):
    """Run a program with nothing in its environment but what is named."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        **(user or {}),
    )


@pytest.fixture
def checkout(tmp_path):
    """A copy that was never used, on a path with a blank in it."""
    place = tmp_path / "a checkout"
    place.mkdir()
    for part in ("leaselab", "README.md", "pyproject.toml"):
        shutil.copy2(ROOT / part, place / part)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for part in ("requirements", "scripts"):
        shutil.copytree(ROOT / part, place / part, ignore=ignored)
    return place


@pytest.fixture
def bare_path(tmp_path):
    """A PATH with the launcher's own tools and neither ssh nor sudo."""
    place = tmp_path / "bin"
    place.mkdir()
    for tool in TOOLS:
        (place / tool).symlink_to(shutil.which(tool))
    return place


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_help_of_the_extras_lists_them_and_installs_nothing(checkout):
    extras = "captures collections jobs parquet queue"
    done = launch(checkout / "leaselab", "extra", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^  (\w+) ", done.stdout, re.M) == extras.split()
    done = launch(checkout / "leaselab", "extra", "nosuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"(found nosuch, wanted one of {extras})" in done.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("command", ["test", "dev lint"])
def test_help_of_the_developers_commands_is_the_engines_and_runs_nothing(command):
    done = launch(ROOT / "leaselab", *command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: leaselab dev {command.split()[-1]}" in done.stdout


def test_it_works_through_a_link_from_any_folder_and_sees_no_other_modules(tmp_path):
    """Python keeps what it compiled, whatever the environment says."""
    link, package = tmp_path / "linked", tmp_path / "other" / "leaselab"
    link.symlink_to(ROOT / "leaselab")
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('wrong leaselab')", encoding="utf-8")
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    done = launch(
        link, "--version", cwd=tmp_path, PYTHONPATH=str(package.parent), **environment
    )
    assert (done.stdout, done.returncode) == (VERSION, 0)
    assert list(tmp_path.rglob("leaselab/cli/main.*.pyc")) != []
    assert launch(link, "nosuch").returncode == 2


@pytest.mark.night
def test_first_use_heals_what_was_cut_short_and_two_at_once_set_up_once(checkout):
    """Also: an unchanged lock costs nothing afterwards, a changed one is installed."""
    leftover = checkout / ".venv"
    (leftover / "bin").mkdir(parents=True)
    (leftover / "unfinished").touch()
    (leftover / "bin" / "python").write_text("half", encoding="utf-8")
    launcher = checkout / "leaselab"
    home = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/root")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = [str(launcher), "--version"]
    both = [subprocess.Popen(words, env=home, **pipes) for _ in range(2)]
    answers = [process.communicate(timeout=HANGS_S) for process in both]
    assert [answer[0] for answer in answers] == [VERSION, VERSION], answers
    assert sum("setting up" in answer[1] for answer in answers) == 1

    assert launch(launcher, "--version", **home).stderr == ""
    with (checkout / "requirements" / "run.txt").open("a", encoding="utf-8") as lock:
        lock.write("# changed\n")
    changed = launch(launcher, "--version", **home)
    assert "setting up" in changed.stderr
    assert changed.stdout == VERSION


def calling(call, *arguments, **environment):
    """Call a function of the launcher."""
    functions = (ROOT / "leaselab").read_text(encoding="utf-8").rsplit("\nmain ", 1)[0]
    program = f"{functions}\n{call}"
    return launch("bash", "-c", program, ROOT / "leaselab", *arguments, **environment)


@pytest.mark.parametrize(
    ("part", "commands"),
    [
        ("run", ["", "export --csv"]),
        ("parquet", ["export --parquet -o x"]),
        ("captures", ["clients day.pcap", "queries day.pcap", "leases day.pcap"]),
        ("jobs", ["extra jobs"]),
        ("collections", ["extra collections"]),
        ("dev", ["dev lint"]),
    ],
)
def test_a_command_has_the_part_of_the_environment_that_it_needs(commands, part):
    for command in commands:
        assert calling('part_of "$@"', *command.split()).stdout.split() == [part]


ALL = "run captures collections jobs parquet queue dev"


@pytest.mark.parametrize(
    ("stamp", "part", "parts"),
    [
        (None, "run", "run"),
        ("0f run", "jobs", "run jobs"),
        ("0f run parquet", "run", "run parquet"),
        ("0f run jobs", "collections", "run collections jobs"),
        *(("0f run", "dev", ALL), ("0f run captures jobs dev", "run", ALL)),
    ],
)
def test_what_was_added_stays_whatever_is_asked_for_next(tmp_path, stamp, part, parts):
    if stamp:
        (tmp_path / "leaselab.stamp").write_text(stamp)
    done = calling('VENV=$HERE; parts_with "$1"', part, HERE=str(tmp_path))
    assert done.stdout.strip() == parts


def test_the_collections_that_the_playbooks_use_are_those_that_are_kept():
    files = [*ROOT.glob("roles/**/*.y*ml"), *ROOT.glob("ansible/**/*.y*ml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    used = set(re.findall(r"^[\s-]*(\w+\.\w+)\.\w+:", text, re.MULTILINE)) - {"ansible.builtin"}
    kept = calling('echo "${COLLECTIONS[@]}"').stdout.replace("/", ".").split()
    # community.docker imports that one
    assert {*kept} == {*used, "community.library_inventory_filtering_v1"}


@pytest.mark.parametrize("letter", "'$:\n%[\\{\x1b")
def test_a_path_that_a_tool_reads_otherwise_is_refused_before_anything_is_made(
    checkout, tmp_path, letter
):
    odd = checkout.rename(tmp_path / f"odd {letter}")
    before = {*odd.rglob("*")}
    done = launch(odd / "leaselab", "--version")
    assert done.returncode == 4
    assert "in the path of the checkout has a meaning to a tool" in done.stderr
    assert "move the checkout" in done.stderr
    assert {*odd.rglob("*")} == before


@pytest.fixture
def foreign(checkout):
    """A copy that its user may read and not write, and how a program is run as that user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        place = Path(shutil.copytree(checkout, f"{folder}/checkout"))
        place.chmod(0o555)
        nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        yield place, {} if os.geteuid() else nobody
        place.chmod(0o755)


@pytest.mark.parametrize("command", ["--version", "run", "extra jobs"])
def test_a_checkout_that_cannot_be_written_is_a_broken_lab_and_no_regression(foreign, command):
    place, user = foreign
    done = launch(place / "leaselab", *command.split(), user=user)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"leaselab: {place}: " in done.stderr
    assert "cannot write there, and it is not set up for this command; run it as" in done.stderr


@pytest.mark.parametrize("folder", [".venv", ".leaselab"])
def test_root_runs_nothing_that_everybody_may_write(checkout, folder):
    (checkout / folder).mkdir()
    (checkout / folder).chmod(0o777)
    done = launch(checkout / "leaselab", "--version", LEASELAB_PYTHON="/nowhere")
    assert done.returncode == 4
    words = f"{checkout / folder}: everybody may write in it, and root would run it"
    assert (words in done.stderr) is (os.geteuid() == 0)


@pytest.mark.parametrize(("mask", "made"), [("000", "775"), ("022", "755"), ("077", "700")])
def test_nothing_is_made_that_everybody_may_write(tmp_path, mask, made):
    places = "ROOT=$HERE VENV=$HERE/v STATE=$HERE/s"
    call = f"umask {mask}; {places}; check_checkout; mkdir $HERE/made"
    done = calling(call, HERE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"{(tmp_path / 'made').stat().st_mode & 0o777:o}" == made


def test_a_full_disk_is_refused_before_anything_is_made(tmp_path):
    full = "df() { printf 'Avail\\n12\\n'; }; ROOT=$HERE VENV=$HERE/v; have_room"
    done = calling(full, HERE=str(tmp_path))
    assert done.returncode == 4
    assert "no room for the environment (found 12 MB, wanted 500 MB)" in done.stderr


@pytest.mark.parametrize(
    ("index", "said"),
    [("https://ana:secret@127.0.0.1:9/simple", "//127.0.0.1:9/simple"), ("", "that of pip")],
)
def test_an_installer_that_fails_gives_its_reason_and_the_index_without_a_password(index, said):
    failing = "fails() { echo [Errno 9] no ${UV_DEFAULT_INDEX-} here; echo last; return 2; }"
    done = calling(f"{failing}; install uv fails", UV_DEFAULT_INDEX=index)
    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert last.startswith("leaselab: uv could not be installed: [Errno 9] no ")
    assert f"the Python package index is {'https:' * bool(index)}{said}; name another" in last
    assert "secret" not in done.stderr


def failed(launcher, **environment):
    """The last line of a launcher that cannot set up."""
    done = launch(launcher, "--version", **environment)
    assert done.returncode == 4
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("version", ["3.10.1", "3.14.1"])
def test_a_python_that_does_not_fit_is_named(checkout, tmp_path, version):
    python = tmp_path / "python"
    script(python, f'case $1 in --version) echo "Python {version}" ;; *) exit 1 ;; esac')
    said = failed(checkout / "leaselab", LEASELAB_PYTHON=str(python))
    assert f"no suitable Python (found Python {version}, wanted 3.11 to 3.13)" in said


def test_a_missing_package_that_cannot_be_installed_is_named(checkout, bare_path):
    script(bare_path / "sudo", "exit 1")
    script(bare_path / "apt-get", "exit 100")
    said = failed(checkout / "leaselab", PATH=str(bare_path))
    sudo = "sudo " if os.geteuid() else ""
    assert said.endswith(f"; run: {sudo}apt-get install -y openssh-client")


def test_a_missing_package_is_installed_where_that_asks_nothing(checkout, bare_path, tmp_path):
    """The stand-in for apt-get notes what it is asked for; then there is still no Python."""
    notes = tmp_path / "notes"
    script(bare_path / "sudo", 'shift; exec "$@"')
    script(bare_path / "apt-get", f'echo "$@" >> "{notes}"')
    nowhere = {"PATH": str(bare_path), "LEASELAB_PYTHON": "/nowhere"}
    assert "no suitable Python (found none" in failed(checkout / "leaselab", **nowhere)
    assert notes.read_text(encoding="utf-8").splitlines()[-1] == (
        "install -y -qq --no-install-recommends openssh-client"
    )


PARTS_PRINTED = """
python() { printf "%s\\n" "$4"; }
env() { shift; "$@"; }
nice() { shift 2; "$@"; }
"""
"""Has the launcher print the parts that it would run."""


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("", ["parallel", "lab"]),
        *(
            (words, ["lab"])
            for words in ("--part lab", "--part=lab -x", "tests/lab/night", "tests/vm")
        ),
        *((words, ["parallel"]) for words in ("--part quick", "--version", "tests/unit -x")),
        ("tests/unit tests/lab", ["parallel", "lab"]),
    ],
)
def test_only_the_parts_of_the_suite_that_are_meant_are_run(arguments, parts):
    done = calling(f'{PARTS_PRINTED}both_parts "$@"', *arguments.split())
    assert done.stdout.split() == parts


@pytest.mark.parametrize(
    ("parallel", "lab", "status"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1), (2, 1, 2), (5, 0, 0), (0, 5, 0), (5, 1, 1), (5, 5, 5)],
)
def test_the_suite_ends_as_its_parts_do(parallel, lab, status):
    """A part without a test of those that are meant ends with 5."""
    python = f"python() {{ [[ $4 == parallel ]] && return {parallel}; return {lab}; }}"
    done = calling(f"{PARTS_PRINTED}{python}; both_parts")
    assert done.returncode == status, done.stderr
