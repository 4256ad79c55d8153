"""Processes that a contract starts, watches and ends.

A process is a mapping: `argv` (program and arguments, by which it is known again),
`pid_file`, `output_file`, `log_files` (where its reasons stand, best first),
`error_words` (what marks an error there, worst first), `noise_words` (what marks one
that says nothing), `user` (null: root), `stop_signal`, and perhaps `environment`.
"""

import os
import pwd
import signal
import subprocess
import time
from pathlib import Path

from leaselab_contract.errors import ContractError

POLL_S = 0.02
TICKS = os.sysconf("SC_CLK_TCK")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


def launch(process):
    """Start it in a session of its own, with empty logs."""
    for path in {process["output_file"], *process["log_files"]}:
        Path(path).unlink(missing_ok=True)
    who = {}
    if process["user"]:
        user = pwd.getpwnam(process["user"])
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with Path(process["output_file"]).open("wb") as output:
        child = subprocess.Popen(
            process["argv"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**ENVIRONMENT, **process.get("environment", {})},
            cwd="/",
            start_new_session=True,
            **who,
        )
    Path(process["pid_file"]).write_text(str(child.pid), encoding="ascii")
    return child


def wait_until(ready, child, process, seconds):
    """Return what `ready` returns once it no longer raises.

    Raises the process's own reason when it ends, or when the seconds are over.
    """
    deadline = time.monotonic() + seconds
    while True:
        if child.poll() is not None:
            raise ContractError(last_reason(process))
        try:
            return ready()
        except (OSError, ValueError, ContractError) as error:
            if time.monotonic() > deadline:
                end(process)
                raise ContractError(
                    f"no answer within {seconds:.0f} s: {error}; "
                    f"last words: {last_reason(process)}"
                ) from None
        time.sleep(POLL_S)


def running_pid(process):
    """Return its pid, None when it is gone."""
    wanted = [argument.encode() for argument in process["argv"]]
    try:
        pid = int(Path(process["pid_file"]).read_text(encoding="ascii"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if command[: len(wanted)] == wanted and alive(pid) else None


def end(process, seconds=10.0):
    """Stop it, by force when it does not obey in time; return whether it was running."""
    pid = running_pid(process)
    if pid is not None:
        os.kill(pid, getattr(signal, process["stop_signal"]))
        deadline = time.monotonic() + seconds
        while alive(pid):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                deadline += seconds
            time.sleep(POLL_S)
    Path(process["pid_file"]).unlink(missing_ok=True)
    return pid is not None


def last_reason(process):
    """Return the last of the worst errors of its logs, or the last line of the first."""
    for path in [*process["log_files"], process["output_file"]]:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if not any(w in line for w in process["noise_words"])]
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


def alive(pid):
    """Whether there is such a process; one that only waits to be reaped is none."""
    try:
        return stat_fields(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def tree_cpu_s(root):
    """CPU time of a process and all below it, children that have ended included (s).

    Not of its session or group: PostgreSQL's processes leave theirs.
    """
    ticks, children = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = stat_fields(folder.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(folder.name)
        ticks[pid] = sum(int(field) for field in fields[11:15])
        children.setdefault(int(fields[1]), []).append(pid)
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return sum(ticks.get(pid, 0) for pid in found) / TICKS
