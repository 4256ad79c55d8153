"""Processes that a contract starts, watches and ends.

A process is a mapping: `argv` (program and arguments, by which it is known again),
`pid_file`, `output_file`, `error_words` (what marks an error in its logs, worst first), and
perhaps `log_files` (where its reasons stand, best first), `noise_words` (what marks an error
that says nothing), `user` (else root), `stop_signal` (else SIGTERM), `environment` and
`folders` (by path, `user` and octal `mode` of what it needs and a reboot empties or changes).
While it is counted, `launcher` are the words before its program, valgrind and its options, and
`counted_argv`, which it may have, are further arguments.
"""

import contextlib
import itertools
import os
import pwd
import signal
import subprocess
import time
from pathlib import Path

from leaselab_contract.confinement import Denials
from leaselab_contract.errors import ContractError, LabError

POLL_S, LEAST_POLL_S = 0.02, 0.002
TICKS = os.sysconf("SC_CLK_TCK")
VALGRIND = "/usr/bin/valgrind.bin"
"""Not Debian's script of that name, which would be another process to be found by."""
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class Child(subprocess.Popen):
    """A process that was started, and what AppArmor has denied since."""

    def __init__(self, *arguments, **options):
        self.denials = Denials()
        self._launched_at = time.monotonic()
        super().__init__(*arguments, **options)
        self.denials.follow(self.pid)

    @property
    def age_s(self):
        """How long ago it was launched (s)."""
        return time.monotonic() - self._launched_at


def launch(process):
    """Start it in a session of its own, with empty logs.

    A process that could not be found again by its pid file is not left running.  An error
    here is the host's fault, not that of the program that is started.
    """
    try:
        return _launch(process)
    except (OSError, LookupError) as error:
        name = Path(process["argv"][0]).name
        raise LabError(f"{name} cannot be started on this host: {error}") from None


def _launch(process):
    make_folders(process)
    for path in {process["output_file"], *process.get("log_files", ())}:
        Path(path).unlink(missing_ok=True)
    # What a server logs and stores of its clients is not for all users of its host.
    who = {"umask": 0o027}
    if name := process.get("user"):
        user = pwd.getpwnam(name)
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    handle = os.open(process["output_file"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    with os.fdopen(handle, "wb") as output, _ignoring_limits():
        child = Child(
            [*process.get("launcher", ()), *process["argv"]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**ENVIRONMENT, **process.get("environment", {})},
            cwd="/",
            start_new_session=True,
            restore_signals=False,
            **who,
        )
    try:
        Path(process["pid_file"]).write_text(str(child.pid), encoding="ascii")
        _await_arguments(child.pid)
    except OSError:
        child.kill()
        child.wait()
        raise
    return child


@contextlib.contextmanager
def _ignoring_limits():
    """Have processes start with the signal of a limit to their files' size ignored, as Python.

    The signal of a closed pipe, which Python ignores, too, is left as others have it.
    """
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _await_arguments(pid):
    """Wait until a process has its arguments: for a moment after its start it has none.

    A server is found by its arguments: without them it could not be ended.
    """
    deadline = time.monotonic() + 1.0
    while alive(pid) and not Path(f"/proc/{pid}/cmdline").read_bytes():
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {pid} has no arguments")
        time.sleep(POLL_S)


def make_folders(process):
    """Make the folders that a process needs, with their owners: a reboot empties /run.

    The distribution's unit gives some of them to its own user at each boot or start; a
    confined server may not bypass these permissions, even as root.
    """
    for path in {process["pid_file"], process["output_file"], *process.get("log_files", ())}:
        Path(path).parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    for path, wanted in process.get("folders", {}).items():
        user = pwd.getpwnam(wanted.get("user") or "root")
        Path(path).mkdir(parents=True, exist_ok=True)
        os.chown(path, user.pw_uid, user.pw_gid)
        Path(path).chmod(int(wanted["mode"], 8))


@contextlib.contextmanager
def undone_by(stop):
    """Call `stop` if the rest of a start fails."""
    try:
        yield
    except Exception:
        with contextlib.suppress(Exception):  # the first reason is the one to report
            stop()
        raise


def wait_until(ready, child, process, seconds):
    """Return what `ready` returns once it no longer raises.

    Raises the process's own reason when it ends, or when the seconds are over.
    """
    began = time.monotonic()
    deadline = began + seconds
    while True:
        if child.poll() is not None:
            refuse_shutdown()
            raise _refused(child, last_reason(process))
        try:
            return ready()
        except (OSError, ValueError, ContractError) as error:
            if time.monotonic() > deadline:
                end(process)
                words = last_reason(process)
                raise _refused(
                    child, f"no answer within {seconds:.0f} s: {error}; last words: {words}"
                ) from None
        # The time of a start is measured: within a tenth, however short it is.
        time.sleep(max(LEAST_POLL_S, min(POLL_S, (time.monotonic() - began) / 10)))


def _refused(child, reason):
    """Return the error of a server that does not serve: the host's where AppArmor denied it."""
    denied = child.denials.why(reason)
    if denied:
        return LabError(
            f"AppArmor denies it {denied}; deploy again, which adds the lab's files to its "
            f"profile, or add what the site wants in /etc/apparmor.d/local; {reason}"
        )
    return ContractError(reason)


def running_pid(process):
    """Return its pid, None when it is gone."""
    wanted = [argument.encode() for argument in process["argv"]]
    try:
        pid = int(Path(process["pid_file"]).read_text(encoding="ascii"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if _without_launcher(command)[: len(wanted)] == wanted and alive(pid) else None


def _without_launcher(command):
    """Return a command line without valgrind and its options.

    A server that is counted, or was as its count was killed, is found and ended as always.
    """
    if command[0] != VALGRIND.encode():
        return command
    return list(itertools.dropwhile(lambda word: word.startswith(b"--"), command[1:]))


def end(process, seconds=10.0):
    """Stop it, by force when it does not obey in time; return whether it was running."""
    pid = running_pid(process)
    if pid is not None:
        os.kill(pid, getattr(signal, process.get("stop_signal", "SIGTERM")))
        deadline = time.monotonic() + seconds
        while alive(pid):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                deadline += seconds
            time.sleep(POLL_S)
    Path(process["pid_file"]).unlink(missing_ok=True)
    return pid is not None


def refuse_shutdown():
    """Raise LabError where the host shuts down: that ends every process."""
    try:
        state = subprocess.run(
            ["systemctl", "is-system-running"], capture_output=True, timeout=5.0, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # no systemd here
    if state.stdout.strip() == b"stopping":
        raise LabError("the host shuts down")


def last_reason(process):
    """Return the last of the worst errors of its logs, or the last line of the first."""
    for path in [*process.get("log_files", ()), process["output_file"]]:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        noise = process.get("noise_words", ())
        telling = [line for line in lines if not any(word in line for word in noise)]
        for word in process["error_words"]:
            bad = [line for line in telling if word in line]
            if bad:
                return bad[-1]
        if lines:
            return lines[-1]
    return "it wrote no log"


def stat_fields(pid):
    """Return /proc/PID/stat after the command's name, which may hold spaces."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return text.rpartition(") ")[2].split()


def open_files(pid):
    """Return the inode numbers of the files that a process has open."""
    opened = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            opened.add(file.stat().st_ino)
    return opened


def alive(pid):
    """Whether there is such a process; a zombie does not count.

    Its first thread is one while others wait for the disk, with its sockets still open.
    """
    try:
        fields = stat_fields(pid)
        return fields[0] != "Z" or int(fields[17]) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def tree(root):
    """Return the fields of /proc/PID/stat of a process and all below it, by pid.

    Not of its session or group: PostgreSQL's processes leave theirs.
    """
    fields, children = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found = stat_fields(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(folder.name)
        fields[pid] = found
        children.setdefault(int(found[1]), []).append(pid)
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return {pid: fields[pid] for pid in found if pid in fields}


def tree_cpu_s(root):
    """CPU time of a process and all below it, children that have ended included (s)."""
    ticks = sum(int(field) for fields in tree(root).values() for field in fields[11:15])
    return ticks / TICKS


def tree_bytes(root):
    """Resident memory of a process and all below it; what they share counts once (bytes)."""
    total = 0
    for pid in tree(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += sum(int(row.split()[1]) for row in rows if row.startswith("Pss:"))
    return total << 10
