"""What a commit says is done by a user of its own, who may write nowhere else, without network.

The user is set for each program, and with it a filter of system calls that no program can
take off again: it makes no sockets.  A filter and not a network namespace, because that needs
no privilege that a container does not have, and because it keeps out of the sockets of the
builder's own services as well (name resolution, the bus), which are files and in every
namespace.
"""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

from leaselab_contract.errors import BeneathError
from leaselab_contract.process import ENVIRONMENT

_SOCKETS = ("socket",)
_RINGS = ("io_uring_setup", "io_uring_enter", "io_uring_register")
"""Another way to sockets; programs that know it do without."""
_END_ALL = "import os, signal; os.kill(-1, signal.SIGKILL)"
_END_S = 10.0
_POLL_S = 0.02


def start(config, argv, **options):
    """Start a program as the build's user; `options` are those of Popen."""
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            umask=0o022,
            preexec_fn=_no_sockets(),  # noqa: PLW1509  # takes no lock that a thread may hold
            **_who(config),
            **options,
        )
    except subprocess.SubprocessError as error:
        raise BeneathError(
            "the builder's kernel takes no filter of system calls, so a build would have the "
            f"network (found: {error}, wanted: seccomp)"
        ) from error


def run(config, argv):
    """Run a program to its end; return its status, output and errors (text)."""
    child = start(
        config,
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        cwd="/",
    )
    output, errors = child.communicate()
    return subprocess.CompletedProcess(argv, child.returncode, output, errors)


def give(config, *folders):
    """Make folders of the build's user."""
    who = _who(config)
    for folder in folders:
        folder.mkdir(parents=True, mode=0o755)
        os.chown(folder, who["user"], who["group"])


def end(config):
    """End whatever the build's user runs, however it was started.

    The kernel does so in one step, so that nothing can be started meanwhile.
    """
    who = _who(config)
    deadline = time.monotonic() + _END_S
    while _runs_something(who["user"]):
        if time.monotonic() > deadline:
            raise BeneathError(
                f"processes of user {who['user']}, by whom commits are built, do not end"
            )
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _END_ALL],
            stderr=subprocess.DEVNULL,
            check=False,
            **who,
        )
        time.sleep(_POLL_S)


def _who(config):
    """The user, as subprocess takes it; never root, and no group but its own."""
    uid, gid = int(config["uid"]), int(config["gid"])
    if uid < 1 or gid < 1:
        raise BeneathError(
            f"the build's user is not one of its own (found uid {uid}, gid {gid}, wanted both "
            "above 0); run the role again"
        )
    if os.geteuid() != 0:
        raise BeneathError(
            f"a build is started by root, which gives it to user {uid} "
            f"(found uid {os.geteuid()})"
        )
    return {"user": uid, "group": gid, "extra_groups": []}


def _no_sockets():
    """What a new process calls before its program, to be without sockets from then on.

    A pair of sockets that are connected with each other stays possible.  System calls of
    another architecture, by which this could be passed by, end the process.
    """
    try:
        import seccomp  # noqa: PLC0415  # Debian's package; said below where it is missing
    except ImportError as error:
        raise BeneathError("the builder lacks python3-seccomp; run the role again") from error

    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    for names, number in ((_SOCKETS, errno.EACCES), (_RINGS, errno.ENOSYS)):
        for name in names:
            rules.add_rule(seccomp.ERRNO(number), name)
    return rules.load


def _runs_something(uid):
    """Whether any process has this user; one that only waits to be reaped does nothing."""
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            told = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
        if str(uid) in fields["Uid"].split() and not fields["State"].strip().startswith("Z"):
            return True
    return False
