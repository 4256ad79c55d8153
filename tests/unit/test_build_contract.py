"""The build contract, run as it is installed, with recipes of the test's own."""

import json
import os
import socket
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest
from tests.builder import GOOD, made, temporary_builder
from tests.waiting import until


@pytest.fixture
def builder():
    with temporary_builder() as builder:
        yield builder


def test_a_commit_is_built_once_and_found_until_its_artifact_is_damaged(builder):
    """What is looked for counts as used, and what is built again is the same."""
    assert builder("find").returncode == 6
    first = made(builder("build"))
    again = made(builder("build"))
    assert (first["cached"], again["cached"]) == (False, True)
    place = builder.cache / "artifacts" / first["key"]
    os.utime(place, (0, 0))
    assert {**first, "cached": True} == again == made(builder("find"))
    assert time.time() - place.stat().st_mtime < 600
    assert (first["system"], first["options"]) == ("make", {"flags": "-O2"})
    assert first["builder"]["compiler"]
    artifact = place / "artifact.tar.gz"
    artifact.write_bytes(artifact.read_bytes()[:-1])
    assert builder("find").returncode == 6
    again = made(builder("build"))
    assert (again["cached"], again["artifact_sha256"]) == (False, first["artifact_sha256"])


@pytest.mark.parametrize(
    "change",
    [
        lambda builder: builder.settings["options"].update(flags="-O3"),
        lambda builder: builder.settings.update(builds="/opt/other"),
        lambda builder: builder.job.update(commit="e" * 40),
        lambda builder: builder.job.update(tree="e" * 40),
        lambda builder: builder.recipe(f"{GOOD}; true"),
    ],
    ids=["options", "builds", "commit", "tree", "recipe"],
)
def test_whatever_makes_another_binary_makes_another_key(builder, change):
    before = made(builder("key"))["key"]
    change(builder)
    assert made(builder("key"))["key"] != before


def test_a_recipe_gets_what_it_asks_for_and_its_phases_are_timed_whatever_it_prints(builder):
    names = ("PREFIX", "FLAGS", "JOBS", "DESCRIBED")
    words = " ".join(f'"$LEASELAB_{name}"' for name in names)
    odd = "echo '== forged'; printf '== %0240d\\n\\033[2J\\357a\\000b\\n' 0"
    builder.recipe(f"echo {words}; {odd}; head -c 300000 /dev/zero; sleep 2; {GOOD}")
    seconds = made(builder("build"))["seconds"]
    assert set(seconds) == {"configure", "make", "install", "total"}
    assert 2 <= seconds["make"] <= seconds["total"] - seconds["configure"]
    prefix, flags, jobs, described = builder.log().split("\n")[0].split()
    assert (prefix, flags, described) == (builder.prefix, "-O2", "v1")
    assert int(jobs) >= 1


@pytest.mark.parametrize(
    ("output", "reported"),
    [
        (["a.cc:1:2: warning: x", "a.cc:3:4: error: expected ';'", "b.cc:1:1: error: x"], 1),
        (["checking for boost... no", "configure: error: no boost"], 1),
        (["meson.build:96:0: ERROR: Dependency not found"], 0),
        (["x.o: undefined reference to `f'", "collect2: error: ld", "make: *** Error 1"], 0),
        (["nothing that anybody knows"], 0),
    ],
    ids=["compiler", "configure", "meson", "linker", "unknown"],
)
def test_a_commit_that_does_not_build_reports_the_first_error_and_keeps_the_log(
    builder, output, reported
):
    (builder.folder / "output").write_text("\n".join(output))
    builder.recipe(f"cat {builder.folder}/output; exit 1")
    done = builder("build")
    assert (done.returncode, done.stderr) == (1, f"{output[reported]}\n")
    assert builder.log().splitlines() == output
    assert list(builder.cache.glob("artifacts/*")) == []
    assert not (builder.cache / "work/some").exists()


def test_a_tree_of_another_server_is_refused(builder):
    builder.recipe(GOOD, identify="echo no server of this kind >&2; exit 2")
    done = builder("build")
    assert (done.returncode, done.stderr) == (2, "no server of this kind\n")


def test_two_at_once_build_once(builder):
    builder.recipe(f"sleep 1; {GOOD}")
    both = [builder.start("build", stdout=subprocess.PIPE) for _ in range(2)]
    assert sorted(json.loads(each.communicate()[0])["cached"] for each in both) == [False, True]


def test_how_far_a_build_has_come_is_reported_while_it_runs_and_not_afterwards(builder):
    """Steps as ninja and recipes count them."""
    (builder.folder / "go").write_text("")
    builder.recipe(
        "echo '[3/12] Compiling a.cc'; sleep 1.1; echo 'a line'; "
        f"while [ -e {builder.folder}/go ]; do sleep 0.05; done; {GOOD}"
    )
    assert progress_of(builder) is None
    build = threading.Thread(target=lambda: made(builder("build")))
    build.start()
    try:
        now = until(lambda: progress_of(builder), lambda now: now and now["doing"] == "a line")
    finally:
        (builder.folder / "go").unlink()
        build.join()
    assert (now["name"], now["described"], now["commit"]) == ("some", "v1", "c" * 40)
    assert (now["phase"], now["step"], now["steps"]) == ("make", 3, 12)
    assert now["elapsed_s"] >= 1
    assert progress_of(builder) is None


def progress_of(builder):
    """The first line of the verb that follows a build; none is under way where it is null."""
    return json.loads(builder("progress").stdout.splitlines()[0])


WRITE = """
import ctypes, os, sys
for path in sys.argv[1:]:
    for act in (
        lambda: os.open(path + "/left", os.O_CREAT | os.O_WRONLY),
        lambda: os.mkdir(path + "/left"),
        lambda: os.mkfifo(path + "/left"),
        lambda: os.symlink("x", path + "/left"),
        lambda: os.link("text", path + "/left"),
        lambda: os.rename("text", path + "/left"),
        lambda: open(path + "/all", "a"),
        lambda: os.remove(path + "/all"),
    ):
        try:
            act()
        except OSError:
            continue
        print(path)
c = ctypes.CDLL(None, use_errno=True)
for call in (
    lambda: c.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None),
    lambda: c.shmget(0, 4096, 0o1600),
    lambda: c.semget(0, 1, 0o1600),
    lambda: c.msgget(0, 0o1600),
    lambda: c.syscall(248, b"user", b"left", b"x", 1, -4),  # add_key, to the user's keyring
):
    if call() != -1:
        print("memory")
open("text", "a").close()
with open("/dev/null", "w") as nothing:
    print("x", file=nothing)
"""


@pytest.mark.parametrize("landlock", [True, False])
def test_a_commit_is_built_by_a_user_of_its_own_that_may_write_nowhere_else(builder, landlock):
    """Not even where all users may, as in /tmp, and neither what outlasts a process.

    A kernel without Landlock, as that of the virtual machines, does it by mounts.
    """
    if not landlock:
        module = builder.folder / "leaselab_build/landlock.py"
        text = module.read_text()
        module.write_text(text.replace("_ABI_MIN = 2", "_ABI_MIN = 1000"))
        assert module.read_text() != text
    shared = builder.folder / "shared"
    shared.mkdir()
    (shared / "all").touch()
    for path, mode in ((shared, 0o1777), (shared / "all", 0o666), (builder.cache, 0o777)):
        path.chmod(mode)
    (builder.folder / "write.py").write_text(WRITE)
    places = f"{shared} {builder.cache} {builder.cache}/work /tmp /var/tmp /dev/shm /run/lock"
    builder.recipe(f"id -u; id -G; umask; python3 {builder.folder}/write.py {places}; {GOOD}")
    made(builder("build"))
    user, groups, mask, *written = builder.log().split()
    assert (int(user), int(groups), mask) == (builder.user, builder.user, "0022")
    assert written == []
    assert list(shared.iterdir()) == [shared / "all"]


NETWORK = """
import socket
for family, place in {places}:
    try:
        socket.socket(family).connect(place)
    except PermissionError:
        print("refused")
    else:
        print("connected")
socket.socketpair()
"""


def test_a_build_reaches_neither_the_network_nor_a_service_of_the_builder(builder):
    """Both listen, and this test itself could connect."""
    path = str(builder.folder / "service")
    network, bus = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
    with network, bus:
        bus.bind(path)
        bus.listen()
        Path(path).chmod(0o777)
        places = [(int(socket.AF_INET), network.getsockname()), (int(socket.AF_UNIX), path)]
        (builder.folder / "reach.py").write_text(NETWORK.format(places=places))
        builder.recipe(f"/usr/bin/python3 {builder.folder}/reach.py; {GOOD}")
        made(builder("build"))
    assert builder.log().split() == ["refused", "refused"]


def test_what_is_packed_is_below_the_prefix_and_roots_with_plain_modes_and_no_times(builder):
    """A commit installed a key of root's and a job of cron's as well."""
    builder.recipe(
        f'{GOOD}; P="$3$LEASELAB_PREFIX"; cp "$P/text" "$P/lib.so.1"; '
        'chmod 0775 "$P/lib.so.1"; chmod 0602 "$P/text"; '
        'ln -s lib.so.1 "$P/lib.so"; mkdir -m 2777 "$P/d"; '
        'ln -s ../lib.so "$P/d/up"; ln -s "$LEASELAB_PREFIX/lib.so" "$P/d/whole"; '
        'mkdir -p "$3/root/.ssh" "$3/etc/cron.d"; '
        'echo key > "$3/root/.ssh/authorized_keys"; echo job > "$3/etc/cron.d/x"'
    )
    key = made(builder("build"))["key"]
    top = f"opt/builds/{key}"
    with tarfile.open(builder.cache / "artifacts" / key / "artifact.tar.gz") as files:
        members = list(files)
        assert files.extractfile(f"{top}/text").read() == b"as committed"
    links = dict.fromkeys((f"{top}/d/up", f"{top}/d/whole", f"{top}/lib.so"), 0o777)
    folders = {top: 0o755, f"{top}/d": 0o755}
    plain = {f"{top}/lib.so.1": 0o755, f"{top}/text": 0o644}
    assert {member.name: member.mode for member in members} == {**links, **folders, **plain}
    owners = {(member.uid, member.gid, member.uname, member.mtime) for member in members}
    assert owners == {(0, 0, "root", 0)}


COMPILE = (
    "echo 'int f(void) { return 1; }' > a.c; "
    "CCACHE_LOGFILE=$TMPDIR/log gcc -c a.c; "
    "if grep -q 'Succeeded getting cached result' $TMPDIR/log; "
    "then echo hit; else echo miss; fi"
)


def kept_objects(builder):
    """What later builds read, by name: content and modification time."""
    return {
        path.relative_to(builder.cache): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in builder.cache.glob("objects/*/*/*")
    }


def compiled(builder, commit, **job):
    """Build a commit that compiles a file; return what ccache said of it."""
    builder.job.update(commit=commit * 40, **job)
    made(builder("build"))
    (path,) = builder.cache.glob("logs/*.log.gz")
    lines = builder.log()
    path.unlink()
    return lines.strip()


def test_only_an_accepted_commit_leaves_objects_for_builds_of_its_repository(builder):
    builder.recipe(f"{COMPILE}; {GOOD}")
    assert compiled(builder, "1", accepted=False) == "miss"
    assert kept_objects(builder) == {}
    assert compiled(builder, "2", accepted=True) == "miss"
    kept = kept_objects(builder)
    assert kept
    assert compiled(builder, "3", accepted=False) == "hit"
    assert kept_objects(builder) == kept
    fork = "https://git.example.org/fork.git"
    assert compiled(builder, "4", accepted=True, repository=fork) == "miss"
    assert kept_objects(builder).items() >= kept.items()


def test_a_commit_that_was_not_accepted_cannot_change_what_others_compile_to(builder):
    """It writes all over what it can, wherever ccache was configured to look."""
    builder.recipe(f"{COMPILE}; {GOOD}")
    compiled(builder, "1", accepted=True)
    kept = kept_objects(builder)
    find = f"find {builder.cache} -type f -path '*objects*'"
    builder.recipe(
        f"{COMPILE}; {GOOD}; for file in $({find}); do echo poison > $file || true; done; "
        f"find {builder.cache}/objects -mindepth 1 -delete || true"
    )
    builder.job.update(commit="2" * 40, accepted=False)
    assert "Permission denied" in [made(builder("build")), builder.log()][1]
    assert kept_objects(builder) == kept


def test_the_least_used_objects_are_forgotten(builder):
    builder.recipe(f"{COMPILE}; {GOOD}")
    builder.settings["ccache_size"] = "1Ki"
    compiled(builder, "1", accepted=True)
    assert sum(len(content) for content, _ in kept_objects(builder).values()) <= 1024
