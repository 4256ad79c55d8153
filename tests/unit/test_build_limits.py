"""What a build may use, whose fault its end is, and that it ends with its caller."""

import contextlib
import io
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


@pytest.fixture
def builder():
    with temporary_builder() as builder:
        yield builder


def python(code):
    """What a shell does to have Python run a line."""
    return f"/usr/bin/python3 -c '{code}'"


def fails(words, make=GOOD, identify="echo make", members=(), **settings):
    """What a recipe does, files of the commit, settings that differ, and what is said of it."""
    return {"make": make, "identify": identify}, members, settings, words


def installed(act):
    """What a shell does to install something more below the prefix, `$P`."""
    return f'{GOOD}; P="$3$LEASELAB_PREFIX"; {act}'


SHARED = (
    "import mmap, time; m = mmap.mmap(-1, 400 << 20); m.write(bytes(400 << 20)); time.sleep(60)"
)
NUMBERS = [str(number) for number in range(1500)]
REFUSED = {
    "time of a step that ignores signals": fails(
        "build_timeout_s 1 s", "trap '' HUP INT TERM; while :; do sleep 1; done", timeout_s=1
    ),
    "time to identify": fails(
        "step identify (limit: build_step_timeout_s 1 s)",
        identify="grep -q x < /dev/zero",
        step_timeout_s=1,
    ),
    "a fork bomb": fails("build_threads 50", "f() { f | f & f; }; f"),
    "memory": fails("build_memory_mib", python('x = b"x" * (1 << 40 >> 7); y = list(x)')),
    "shared memory": fails("build_memory_mib 100 each", python(SHARED), memory_bytes=100 * MIB),
    "a file": fails("build_disk_mib 64", f"truncate -s 4G a; {GOOD}"),
    "files together at the end": fails(
        "build_disk_mib 64", f"dd if=/dev/zero of=a bs=1M count=40; cp a b; {GOOD}"
    ),
    "number of files": fails(
        "build_disk_files 1000", f"mkdir a; cd a; seq 1200 | xargs touch; cd ..; {GOOD}"
    ),
    "output in one line": fails("build_log_mib 1 MiB", "tr '\\0' x < /dev/zero"),
    "output of identify": fails(
        "prints more than 1048576 bytes", identify="tr '\\0' x < /dev/zero"
    ),
    "artifact": fails("build_artifact_mib 1", installed('truncate -s 2M "$P/a"')),
    "files of the artifact": fails(
        "build_artifact_files 100", installed('for n in $(seq 150); do echo > "$P/$n"; done')
    ),
    "a long name": fails("cannot be written", members=[("a" * 256, b"")]),
    "a long path": fails("cannot be written", members=[("d/" * 2500 + "x", b"")]),
    "many files": fails("build_disk_files 1000", members=[(it, b"") for it in NUMBERS]),
    "much": fails("build_disk_mib 64", members=[(it, bytes(9 * MIB)) for it in NUMBERS[:9]]),
    "a large file": fails("build_disk_mib 64", members=[("large", bytes(65 * MIB))]),
}
"""What a commit does beyond its limits, or has as files."""
OUT = "/x: it is a link that leads out of /opt/builds/"
PRIVATE = (
    "echo 'int f(void) { return 1; }' > f.c; gcc -shared -o libprivate.so.7 f.c; "
    "echo 'int f(void); int main(void) { return f(); }' > m.c; "
    + installed('gcc -o "$P/m" m.c ./libprivate.so.7')
)
DEEP = """
import os
for _ in range(900): os.mkdir("d" * 200); os.chdir("d" * 200)
"""
ITS_OWN = {
    "a setuid program": fails("/text: it has setuid or", installed('chmod u+s "$P/text"')),
    "an absolute link": fails(OUT, installed('ln -s /etc/shadow "$P/x"')),
    "a relative link": fails(OUT, installed('ln -s ../../etc "$P/x"')),
    "a link behind another": fails(
        OUT, installed('mkdir "$P/a"; ln -s .. "$P/a/up"; ln -s a/up/../../etc "$P/x"')
    ),
    "a pipe": fails(
        "/x: it is neither a file, a folder nor a symbolic link", installed('mkfifo "$P/x"')
    ),
    "a library that no package has": fails("libprivate.so.7", PRIVATE),
    "nothing below the prefix": fails("installs nothing below", "true"),
    "a file in the prefix's place": fails(
        "installs nothing below", 'mkdir -p "$3/opt/builds"; echo > "$3$LEASELAB_PREFIX"'
    ),
    "a link above the prefix": fails("installs nothing below", 'ln -s /usr "$3/opt"'),
    "a Latin-1 name of a setuid program": fails(
        "setuid", installed("cd \"$P\"; cp text $(printf 's\\357'); chmod u+s s*")
    ),
    "a link to a Latin-1 name": fails(
        "not the plain name", installed('ln -s "na$(printf \'\\357\')ve" "$P/x"')
    ),
    "a path that is too long": fails(
        "too long", installed(f'cd "$P"; exec {python(DEEP)}'), files=5000
    ),
    "no binary": fails(
        "would install no binary", installed("printf '\\177ELF\\2\\1\\1' > \"$P/x\"")
    ),
    "odd output": fails(
        *("", "printf '== %0240d\\n\\357\\000\\033[2J{{ x }}\\n[9/%099999d]\\n' 0 0; exit 3")
    ),
    "a long error": fails("error: 0000", "printf 'a.c:1:1: error: %0300000d\\n' 0; exit 1"),
    "identify that fails": fails("build system cannot be read", identify="kill -SEGV $$"),
    "a step that is killed": fails("step make ended: Killed", "kill -9 $$"),
    "all its processes killed": fails("installs nothing below", "kill -9 -1"),
}
"""What is wrong with what a commit does or installs."""


@pytest.mark.parametrize("name", [*REFUSED, *ITS_OWN])
def test_what_a_commit_exceeds_or_causes_is_its_fault_and_named_in_a_line(builder, name):
    recipe, members, settings, words = (REFUSED | ITS_OWN)[name]
    builder.recipe(**recipe)
    source(builder, *members)
    done = builder("build", **settings)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert words in done.stderr
    assert len(done.stderr) < 500
    assert done.stderr.removesuffix("\n").isprintable()
    nothing_is_left(builder)


def nothing_is_left(builder):
    """No process, folder, or word of progress."""
    assert running_as(builder.user) == []
    places = ("work/*", "artifacts/*.new", "progress.json")
    assert [path for place in places for path in builder.cache.glob(place)] == []


def source(builder, *members):
    """The files of the commit: names (bytes, or text) and contents, as git archives them."""
    with tarfile.open(builder.job["source"], "w") as files:
        for name, content in (("text", b"x"), *members):
            member = tarfile.TarInfo(os.fsdecode(name))
            member.size = len(content)
            files.addfile(member, io.BytesIO(content))


def test_odd_names_in_a_commit_do_not_keep_it_from_being_built(builder):
    odd = [b"na\xefve.c", "new\nline", "-rf", " ", "TEXT", "\u202e"]
    source(builder, *((name, b"") for name in [*odd, "a" * 255, "d/" * 1500 + "x"]))
    made(builder("build", files=5000))
    nothing_is_left(builder)


def append(path, text):
    path.write_text(f"{path.read_text()}\n{text}")


BELONG_TO_THE_LAB = {
    "a build by root": (lambda _: {"uid": 0}, "is not one of its own (found uid 0"),
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


def kills_what_builds(child, _):
    (builder,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(int(builder), signal.SIGKILL)


LEAVE = {
    "closes output": lambda child, _: child.stdout.close(),
    "closes terminal": lambda _, terminal: os.close(terminal),
    **{
        number.name: lambda child, _, number=number: child.send_signal(number)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    },
    "kills what builds": kills_what_builds,
}


@pytest.mark.parametrize("how", LEAVE)
def test_a_build_ends_with_its_caller(builder, how):
    """With all that it started: what ignores signals, and what has left its session."""
    builder.recipe("trap '' HUP INT TERM; setsid sleep 600 & sleep 600; sleep 600")
    terminal, inside = pty.openpty()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    if how == "closes terminal":
        options["preexec_fn"] = lambda: login(inside)
    with builder.start("build", **options) as child:
        os.close(inside)
        await_process(builder)
        LEAVE[how](child, terminal)
        await_process(builder, there=False)
        assert child.wait(HANGS_S) != 0
    if how != "closes terminal":
        os.close(terminal)
    builder.recipe(f"setsid sleep 600 > /dev/null 2>&1 & {GOOD}")
    made(builder("build"))
    nothing_is_left(builder)


def login(terminal):
    """As sshd does it: a session with a terminal."""
    os.setsid()
    os.close(os.open(os.ttyname(terminal), os.O_RDWR))


def test_a_build_that_waits_names_what_it_waits_for_and_not_without_end(builder):
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    builder.recipe("exec sleep 600")
    with builder.start("build", **pipes) as first:
        await_process(builder)
        builder.job["commit"] = "e" * 40
        done = builder("build", wait_s=1)
        assert done.returncode == 4
        assert "the builder has built some cccccccccc for " in done.stderr
        assert "waited 1 s for it (limit: build_wait_s)" in done.stderr
        with builder.start("build", **pipes) as second:
            time.sleep(1)
            second.terminate()
            second.communicate(timeout=HANGS_S)
        assert running_as(builder.user), "who only waits ends nothing of another's"
        first.terminate()
        first.communicate(timeout=HANGS_S)
    nothing_is_left(builder)
