"""Runs code of commits as a user of its own, in one folder, without network.

All of it is set for each program before it begins, and no program can take it off again: the
user, the limits, the folder (`landlock`, or `mounts` where the kernel has none), and a filter
of system calls.  The filter refuses sockets, and what would outlast the build beside files:
message queues, shared memory of System V, keys.  A filter and not namespaces, because those
need a privilege that a container does not have, and because a network namespace would not keep
a build out of the sockets of the builder's own services (name resolution, the bus), which are
files.
"""

import contextlib
import errno
import os
import resource
import selectors
import subprocess
import sys
import time
from pathlib import Path

from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import ENVIRONMENT

from leaselab_build import landlock, mounts

_REFUSED = {
    errno.EACCES: ("socket",),
    # Programs that use these can work without them.
    errno.ENOSYS: (
        *("io_uring_setup", "io_uring_enter", "io_uring_register"),  # another way to sockets
        *("mq_open", "mq_unlink", "msgget", "semget", "shmget"),
        *("memfd_create", "memfd_secret"),  # memory that no process seems to have
        *("add_key", "keyctl", "request_key"),
        *("bpf", "perf_event_open", "userfaultfd"),
    ),
}
_END_ALL = "import os, signal; os.kill(-1, signal.SIGKILL)"
_END_S = 10.0
_POLL_S = 0.02
_KEPT_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
_FIRST_TO_GO = "1000"
_COUNTED = ("RssAnon", "RssShmem", "VmSwap", "VmPTE")


def start(config, argv, **options):
    """Start a program as the build's user; `options` are those of Popen."""
    with contextlib.ExitStack() as stack:
        restrict, who = _to_its_folder(config, stack)
        stack.enter_context(_first_to_go())
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                umask=0o022,
                preexec_fn=_confined(config, restrict),  # noqa: PLW1509  # takes no lock
                **who,
                **options,
            )
        except subprocess.SubprocessError as error:
            raise LabError(
                f"the builder does not confine a build (found: Landlock {landlock.version()}, "
                f"{error}; wanted: seccomp, and Landlock 2 or later, which is Linux 5.19 with "
                "landlock in its list of security modules, or a root that may mount)"
            ) from error


def _to_its_folder(config, stack):
    """Return the call that limits a new process's writes to its folder, and Popen's user.

    Landlock is set by the user; mounts are set by root, who becomes the user afterwards.
    """
    who = _who(config)
    if landlock.is_there():
        rules = landlock.writable_below(work(config))
        stack.callback(os.close, rules)
        return lambda: landlock.restrict(rules), who

    def restrict():
        mounts.restrict(work(config))
        os.setgroups([])
        os.setresgid(*[who["group"]] * 3)
        os.setresuid(*[who["user"]] * 3)

    return restrict, {}


def run(config, argv):
    """Run a program to its end; return status, standard output and standard error (text).

    Raises ContractError where it says more than fits.
    """
    kept = {"stdout": bytearray(), "stderr": bytearray()}
    with (
        start(
            config,
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            cwd="/",
        ) as child,
        selectors.DefaultSelector() as both,
    ):
        for name in kept:
            both.register(getattr(child, name), selectors.EVENT_READ, name)
        while both.get_map():
            for key, _ in both.select():
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if not chunk:
                    both.unregister(key.fileobj)
                kept[key.data] += chunk
                if len(kept[key.data]) > _KEPT_BYTES:
                    end(config)
                    raise ContractError(
                        f"step {Path(argv[0]).name} prints more than {_KEPT_BYTES} bytes"
                    )
    texts = (text.decode(errors="replace") for text in kept.values())
    return subprocess.CompletedProcess(argv, child.returncode, *texts)


def work(config):
    """The one folder that the build's user may write to."""
    # The same path for every commit: ccache and the binaries have it inside.
    return Path(config["cache"]) / "work" / config["name"]


def give(config, *folders):
    """Make folders of the build's user."""
    who = _who(config)
    for folder in folders:
        folder.mkdir(parents=True, mode=0o755)
        os.chown(folder, who["user"], who["group"])


def clear(*folders):
    """Remove folders of a build: by a program that neither depth nor length of names stops."""
    subprocess.run(["rm", "-rf", "--", *folders], check=True, env=ENVIRONMENT)


def end(config):
    """End all processes of the build's user, however they were started.

    The kernel does so in one step, so that nothing can be started meanwhile.
    """
    who = _who(config)
    deadline = time.monotonic() + _END_S
    while running(config)[0]:
        if time.monotonic() > deadline:
            raise LabError(
                f"processes of user {who['user']}, by whom commits are built, do not end"
            )
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _END_ALL],
            stderr=subprocess.DEVNULL,
            check=False,
            **who,
        )
        time.sleep(_POLL_S)
    # The kernel counts a process that is not reaped yet as one of the user's.
    while time.monotonic() < deadline and any(_orphaned(row) for row in _rows(config)):
        time.sleep(_POLL_S)


def running(config):
    """Return how many threads the build's user runs, and their memory (bytes).

    What only waits to be reaped does nothing.  Files that are mapped can be read again, so
    they do not count; what processes share counts for each.
    """
    rows = [row for row in _rows(config) if not _ended(row)]
    threads = sum(int(row["Threads"]) for row in rows)
    kib = sum(int(row[name].split()[0]) for row in rows for name in _COUNTED if name in row)
    return threads, kib << 10


def _rows(config):
    """Give /proc/PID/status of each process of the build's user, by field."""
    uid = str(config["uid"])
    for folder in os.scandir("/proc"):
        if not folder.name.isdigit():
            continue
        try:
            status = Path(folder.path, "status").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        row = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if uid in row["Uid"].split():
            yield row


def _ended(row):
    return row["State"].split()[0] in ("Z", "X")


def _orphaned(row):
    """Whether a process has ended, and has to be reaped by another process."""
    return _ended(row) and int(row["PPid"]) not in (os.getpid(), os.getppid())


def _who(config):
    """The user, as subprocess takes it; never root, and no group but its own."""
    uid, gid = int(config["uid"]), int(config["gid"])
    if uid < 1 or gid < 1:
        raise LabError(
            f"the build's user is not one of its own (found uid {uid}, gid {gid}, wanted both "
            "above 0); run the role again"
        )
    if os.geteuid() != 0:
        raise LabError(
            f"a build is started by root, which gives it to user {uid} "
            f"(found uid {os.geteuid()})"
        )
    return {"user": uid, "group": gid, "extra_groups": []}


@contextlib.contextmanager
def _first_to_go():
    """Make the kernel end this process and its children first when memory is full.

    It is inherited, and only root's own program can set it: for a moment, on itself.
    """
    own = Path("/proc/self/oom_score_adj")
    before = own.read_text(encoding="ascii")
    own.write_text(_FIRST_TO_GO, encoding="ascii")
    try:
        yield
    finally:
        own.write_text(before, encoding="ascii")


def _confined(config, restrict):
    """What a new process calls before its program.

    A pair of sockets that are connected with each other stays possible.  System calls of
    another architecture, by which the filter could be passed by, end the process.
    """
    try:
        import seccomp  # noqa: PLC0415  # Debian's package; said below where it is missing
    except ImportError as error:
        raise LabError("the builder lacks python3-seccomp; run the role again") from error

    refused = seccomp.SyscallFilter(seccomp.ALLOW)
    for number, names in _REFUSED.items():
        for name in names:
            refused.add_rule(seccomp.ERRNO(number), name)
    limits = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, config["disk_bytes"]),
        # Others may have the user's number in other containers; `limits` counts its own.
        (resource.RLIMIT_NPROC, 2 * config["threads"]),
    )

    def confine():
        for kind, most in limits:
            resource.setrlimit(kind, (most, most))
        restrict()
        refused.load()

    return confine
