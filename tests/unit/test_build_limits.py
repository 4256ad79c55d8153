"""What a build may use, whose fault its end is, and that it ends with its caller."""

import contextlib
import gzip
import io
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from tests.builder import GOOD, made, running_as, temporary_builder
from tests.waiting import HANGS_S, until

MIB = 1 << 20
SLEEP = "exec sleep 600"


@pytest.fixture
def builder():
    with temporary_builder() as builder:
        yield builder


def python(code):
    """What a shell does to have Python run a line."""
    return f"/usr/bin/python3 -c '{code}'"


BIG = "truncate -s 4G"
SHARED = (
    "import mmap, time; m = mmap.mmap(-1, 400 << 20); m.write(bytes(400 << 20)); time.sleep(60)"
)
DEEP = """
import os
for _ in range(900): os.mkdir("d" * 200); os.chdir("d" * 200)
"""
WIDE = 'for n in $(seq 150); do echo > "$P/$n"; done'
EXCEEDED = {
    "time of a step that ignores signals": (
        {"make": "trap '' HUP INT TERM; while :; do sleep 1; done"},
        {"timeout_s": 1},
        "build_timeout_s 1 s",
    ),
    "time to identify": (
        {"make": GOOD, "identify": "grep -q x < /dev/zero"},
        {"step_timeout_s": 1},
        "step identify (limit: build_step_timeout_s 1 s)",
    ),
    "a fork bomb": ({"make": "f() { f | f & f; }; f"}, {}, "build_threads 50"),
    "memory": (
        {"make": python('x = b"x" * (1 << 40 >> 7); y = list(x)')},
        {},
        "build_memory_mib",
    ),
    "shared memory": (
        {"make": python(SHARED)},
        {"memory_bytes": 100 * MIB},
        "build_memory_mib 100 each",
    ),
    "a file": ({"make": f"{BIG} a; {GOOD}"}, {}, "build_disk_mib 64"),
    "files together at the end": (
        {"make": f"dd if=/dev/zero of=a bs=1M count=40; cp a b; {GOOD}"},
        {},
        "build_disk_mib 64",
    ),
    "number of files": (
        {"make": f"mkdir a; cd a; seq 1200 | xargs touch; cd ..; {GOOD}"},
        {},
        "build_disk_files 1000",
    ),
    "output in one line": ({"make": "tr '\\0' x < /dev/zero"}, {}, "build_log_mib 1 MiB"),
    "output of identify": (
        {"identify": "tr '\\0' x < /dev/zero"},
        {},
        "prints more than 1048576 bytes",
    ),
    "artifact": (
        {"make": f'{GOOD}; P="$3$LEASELAB_PREFIX"; truncate -s 2M "$P/a"'},
        {},
        "build_artifact_mib 1",
    ),
    "files of the artifact": (
        {"make": f'{GOOD}; P="$3$LEASELAB_PREFIX"; {WIDE}'},
        {},
        "build_artifact_files 100",
    ),
}


@pytest.mark.parametrize("name", EXCEEDED)
def test_a_commit_that_exceeds_a_limit_does_not_build_and_the_limit_is_named(builder, name):
    recipe, settings, words = EXCEEDED[name]
    builder.recipe(**recipe)
    done = builder("build", **settings)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    nothing_is_left(builder)


def nothing_is_left(builder):
    """No process, folder, or word of progress."""
    assert running_as(builder.user) == []
    places = ("work/*", "artifacts/*.new", "progress.json")
    assert [path for place in places for path in builder.cache.glob(place)] == []


P = 'P="$3$LEASELAB_PREFIX"'
PRIVATE = (
    "echo 'int f(void) { return 1; }' > f.c; gcc -shared -o libprivate.so.7 f.c; "
    "echo 'int f(void); int main(void) { return f(); }' > m.c; "
    f'{GOOD}; {P}; gcc -o "$P/m" m.c ./libprivate.so.7'
)
BELONG_TO_THE_COMMIT = {
    "a library that no package has": ({"make": PRIVATE}, "libprivate.so.7"),
    "nothing below the prefix": ({"make": "true"}, "installs nothing below"),
    "a file in the prefix's place": (
        {"make": 'mkdir -p "$3/opt/builds"; echo > "$3$LEASELAB_PREFIX"'},
        "installs nothing below",
    ),
    "a Latin-1 name of a setuid program": (
        {"make": f"{GOOD}; {P}; cd \"$P\"; cp text $(printf 's\\357'); chmod u+s s*"},
        "setuid",
    ),
    "a link to a Latin-1 name": (
        {"make": f'{GOOD}; {P}; ln -s "na$(printf \'\\357\')ve" "$P/x"'},
        "not the plain name",
    ),
    "a path that is too long": (
        {"make": f'{GOOD}; cd "$3$LEASELAB_PREFIX"; exec {python(DEEP)}'},
        "too long",
    ),
    "no binary": (
        {"make": f"{GOOD}; {P}; printf '\\177ELF\\2\\1\\1' > \"$P/x\""},
        "would install no binary",
    ),
    "odd output": (
        {
            "make": "printf '== %0240d\\n\\357\\000\\033[2J{{ x }}\\n' 0; "
            "printf '[9/%099999d]\\n' 0; exit 3"
        },
        "",
    ),
    "a long error": (
        {"make": "printf 'a.c:1:1: error: %0300000d\\n' 0; exit 1"},
        "error: 0000",
    ),
    "identify that fails": ({"identify": "kill -SEGV $$"}, "build system cannot be read"),
    "a step that is killed": ({"make": "kill -9 $$"}, "step make ended: Killed"),
    "all its processes killed": ({"make": "kill -9 -1"}, "installs nothing below"),
}


@pytest.mark.parametrize("name", BELONG_TO_THE_COMMIT)
def test_what_the_bytes_of_a_commit_cause_is_its_own_fault(builder, name):
    recipe, words = BELONG_TO_THE_COMMIT[name]
    builder.recipe(**recipe)
    done = builder("build", files=5000)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert words in done.stderr
    assert len(done.stderr) < 500
    assert done.stderr.removesuffix("\n").isprintable()
    nothing_is_left(builder)


def source(builder, *members):
    """The files of the commit: names (bytes, or text) and contents, as git archives them."""
    with tarfile.open(builder.job["source"], "w") as files:
        for name, content in (("text", b"x"), *members):
            member = tarfile.TarInfo(os.fsdecode(name))
            member.size = len(content)
            files.addfile(member, io.BytesIO(content))


def test_odd_names_in_a_commit_do_not_keep_it_from_being_built(builder):
    odd = [
        b"na\xefve.c",
        "new\nline",
        "-rf",
        " ",
        "TEXT",
        "a" * 255,
        "d/" * 1500 + "x",
        "\u202e",
    ]
    source(builder, *((name, b"") for name in odd))
    made(builder("build", files=5000))
    nothing_is_left(builder)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([("a" * 256, b"")], "cannot be written"),
        ([("d/" * 2500 + "x", b"")], "cannot be written"),
        ([(str(number), b"") for number in range(1500)], "build_disk_files 1000"),
        ([(str(number), bytes(9 * MIB)) for number in range(9)], "build_disk_mib 64"),
        ([("large", bytes(65 * MIB))], "build_disk_mib 64"),
    ],
    ids=["a long name", "a long path", "many files", "much", "a large file"],
)
def test_files_that_cannot_be_written_are_the_commits_fault(builder, members, words):
    source(builder, *members)
    done = builder("build")
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    nothing_is_left(builder)


def append(path, text):
    path.write_text(f"{path.read_text()}\n{text}")


BELONG_TO_THE_LAB = {
    "no room": (lambda _: {"disk_bytes": 1 << 60}, "the builder's disk is full (found "),
    "no recipe": (lambda it: (it.folder / "recipe").chmod(0o644), "Permission denied"),
    "no program": (lambda it: it.recipe(identify="none x"), "none: not found"),
    "a program that fails": (
        lambda it: append(it.folder / "leaselab_build/artifact.py", "def pack(*_): [][1]\n"),
        "the builder fails: IndexError",
    ),
    "a file for a folder": (lambda it: (it.cache / "logs").write_text("x"), "File exists"),
}
"""What the builder has, or the settings that it gets; and what is said."""


@pytest.mark.parametrize("fault", BELONG_TO_THE_LAB)
def test_what_the_builder_causes_is_not_the_commits_fault(builder, fault):
    act, words = BELONG_TO_THE_LAB[fault]
    settings = act(builder)
    done = builder("build", **(settings if isinstance(settings, dict) else {}))
    assert done.returncode == 4, done.stderr
    assert words in done.stderr


def test_a_disk_that_others_fill_is_not_the_commits_fault(builder):
    """The build writes a little, and then there is no room, on a disk of the test's own."""
    disk = builder.folder / "disk"
    with mounted(disk, "size=90m"):
        shutil.copytree(builder.cache, disk / "cache")
        builder.settings["cache"] = str(disk / "cache")
        builder.settings["disk_bytes"] = 80 * MIB
        (builder.folder / "go").touch()
        builder.recipe(
            f"while [ -e {builder.folder}/go ]; do sleep 0.1; done; "
            "dd if=/dev/zero of=a bs=1M count=20"
        )
        child = builder.start("build", stderr=subprocess.PIPE)
        await_process(builder)
        with contextlib.suppress(OSError), (disk / "others").open("wb") as file:
            while True:
                file.write(bytes(MIB))
                file.flush()
        (builder.folder / "go").unlink()
        _, errors = child.communicate()
    assert child.returncode == 4, errors
    assert b"the builder's disk is full" in errors


@contextlib.contextmanager
def mounted(place, options):
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def await_process(builder, there=True):
    """Until the build's step make runs, which sleeps; or until nothing of the build does.

    Between two steps nothing of a build runs, and its next step still begins.
    """
    name = "sleep" if there else ""
    until(lambda: running_as(builder.user, name), lambda running: bool(running) == there)


def test_a_log_keeps_the_begin_of_a_long_line_and_memory_stays_flat(builder):
    builder.recipe(f"head -c 60000000 /dev/zero | tr '\\0' x; echo; {GOOD}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    made(builder("build", log_bytes=100 * MIB))
    assert builder.log() == f"{'x' * 4096} [… 59995904 bytes]\n"
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert largest == before or largest < 60_000  # KiB, of the largest process


def closes_output(child, _):
    child.stdout.close()


def closes_terminal(_, terminal):
    os.close(terminal)


def ends(number):
    def end(child, _):
        child.send_signal(number)

    end.__name__ = signal.Signals(number).name
    return end


def kills_what_builds(child, _):
    (builder,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(int(builder), signal.SIGKILL)


@pytest.mark.parametrize(
    "leave",
    [
        closes_output,
        closes_terminal,
        *map(ends, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)),
        kills_what_builds,
    ],
    ids=lambda leave: leave.__name__,
)
def test_a_build_ends_with_its_caller(builder, leave):
    """With all that it started: what ignores signals, and what has left its session."""
    builder.recipe("trap '' HUP INT TERM; setsid sleep 600 & sleep 600; sleep 600")
    terminal, inside = pty.openpty()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    if leave is closes_terminal:
        options["preexec_fn"] = lambda: login(inside)
    with builder.start("build", **options) as child:
        os.close(inside)
        await_process(builder)
        leave(child, terminal)
        await_process(builder, there=False)
        assert child.wait(HANGS_S) != 0
    if leave is not closes_terminal:
        os.close(terminal)
    builder.recipe()
    made(builder("build"))
    nothing_is_left(builder)


def login(terminal):
    """As sshd does it: a session with a terminal."""
    os.setsid()
    os.close(os.open(os.ttyname(terminal), os.O_RDWR))


def test_a_build_that_waits_names_what_it_waits_for_and_not_without_end(builder):
    builder.recipe(SLEEP)
    with builder.start("build", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        await_process(builder)
        builder.job["commit"] = "e" * 40
        done = builder("build", wait_s=1)
        assert done.returncode == 4
        assert "the builder has built some cccccccccc for " in done.stderr
        assert "waited 1 s for it (limit: build_wait_s)" in done.stderr
        with builder.start("build", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as second:
            time.sleep(1)
            second.terminate()
            second.communicate(timeout=HANGS_S)
        assert running_as(builder.user), "who only waits ends nothing of another's"
        first.terminate()
        first.communicate(timeout=HANGS_S)
    nothing_is_left(builder)


def test_the_record_of_a_build_that_prints_odd_things_is_read(builder):
    (builder.folder / "printed").write_text("x" * 300_000 + "\x1b[2J\xefa\0b")
    builder.recipe(f"cat {builder.folder}/printed; {GOOD}")
    assert json.loads(json.dumps(made(builder("build"))))["system"] == "make"
    assert gzip.decompress(next(builder.cache.glob("logs/*.gz")).read_bytes())
