"""A profile: where a variant's processes spend their CPU time, by perf, and their waits.

The event is cpu-clock: it is CPU time, which is what is asked for, and it is there on hosts
without counters, such as virtual machines.  Stacks are unwound from .eh_frame, which every
program has, so that no server is compiled in another way to be profiled.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
from pathlib import Path

from leaselab_contract.errors import ContractError, last_line
from leaselab_contract.process import ENVIRONMENT, tree
from leaselab_contract.verbs import emit
from leaselab_contract.waits import Watch

PERF = "/usr/bin/perf"
EVENT = "cpu-clock"
FREQUENCY_HZ = 997
"""Samples per second of CPU time; a prime, so that no timer of a server keeps step with it."""
STACK_BYTES = 8192
"""How much of a thread's stack a sample has, to be unwound afterwards."""
BEGIN_S = 20.0
END_S = 60.0
FOLDER = "/dev/shm"  # noqa: S108  # private files in it; no disk takes part in a trial
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
UNKNOWN = "[unknown]"
_HEAD = re.compile(r"(?P<thread>\S(?:.*\S)?)\s+(?P<period>\d+)")
_NUMBER = re.compile(r"[-_/:]?(?<!\d)\d+$")
_FRAME = re.compile(r"(?P<address>[0-9a-f]+) (?P<symbol>.*) \((?P<file>[^(]*)\)")
_KERNEL = re.compile(r"ffff[89a-f][0-9a-f]{11}")
"""Addresses of the kernel on processors of 64 bits."""
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)?\D+(?P<count>\d+)")


def profile(pid, peer):
    """Sample until standard input is closed; print that it has begun, then the samples.

    `peer` names what the server has connected to, by its address.
    """
    with tempfile.TemporaryDirectory(prefix="leaselab-profile.", dir=FOLDER) as folder:
        data = Path(folder) / "perf.data"
        pids = sorted(tree(pid))
        with recording(pids, data) as perf:
            watch = Watch(pids, peer)
            hurry()
            emit({"recording": True})
            watch.until(closed)
            waits = watch.taken()
            end(perf)
        emit({**read(data), "waits": waits})


def hurry():
    """Come before other processes, where the host lets it: a look must not wait for them."""
    with contextlib.suppress(PermissionError):
        priority = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, priority, os.sched_param(1))


def closed(seconds):
    """Wait; return whether standard input was closed meanwhile."""
    return bool(select.select([0], [], [], seconds)[0]) and not os.read(0, 4096)


@contextlib.contextmanager
def recording(pids, data):
    """Sample processes, all their threads and children by perf; it has begun on entry."""
    asked, answered = os.pipe(), os.pipe()
    argv = [
        *(PERF, "record", "--event", EVENT, "--freq", str(FREQUENCY_HZ)),
        *("--call-graph", f"dwarf,{STACK_BYTES}", "--no-buildid", "--no-buildid-cache"),
        *("--delay", "-1", "--control", f"fd:{asked[0]},{answered[1]}"),
        *("--output", str(data), "--pid", ",".join(map(str, pids))),
    ]
    try:
        perf = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            pass_fds=(asked[0], answered[1]),
        )
    except FileNotFoundError:
        raise ContractError(
            f"{PERF} is not installed; `leaselab run --procedure profile` installs it"
        ) from None
    finally:
        os.close(asked[0])
        os.close(answered[1])
    try:
        with os.fdopen(asked[1], "wb", 0) as ask, os.fdopen(answered[0], "rb") as answer:
            with contextlib.suppress(BrokenPipeError):
                ask.write(b"enable\n")
            if not (select.select([answer], [], [], BEGIN_S)[0] and answer.read(3)):
                perf.kill()
                raise ContractError(refused(perf.communicate()[1].decode(errors="replace")))
            yield perf
    finally:
        perf.kill()
        perf.wait()
        perf.stderr.close()


def refused(words):
    """Return in one line why perf does not run here; `words` is its standard error."""
    level = PARANOID.read_text(encoding="ascii").strip() if PARANOID.exists() else "not there"
    error = [line for line in words.partition("Error:")[2].splitlines() if line.strip()]
    return (
        f"perf may not sample here: {error[0].strip() if error else last_line(words)} "
        f"(found kernel.perf_event_paranoid {level}; wanted 2 or less and a system call filter "
        "that allows perf_event_open, or CAP_PERFMON)"
    )


def end(perf):
    """Make perf write its recording; it may have ended with the server."""
    perf.send_signal(signal.SIGINT)
    try:
        status = perf.wait(END_S)
    except subprocess.TimeoutExpired:
        raise ContractError(f"perf did not end within {END_S:.0f} s") from None
    if status not in (0, -signal.SIGINT):
        words = perf.stderr.read().decode(errors="replace")
        raise ContractError(f"perf ended with {status}: {last_line(words)}")


def read(data):
    """Return what a recording has: event, samples by stack, how many, CPU time, lost ones.

    perf appends ``:u`` to the event where it may not sample the kernel.
    """
    event = perf_says("evlist", "--input", str(data)).split()[0]
    text = perf_says(
        *("script", "--input", str(data), "--no-inline", "--show-lost-events"),
        *("--fields", "comm,period,ip,sym,dso"),
    )
    return {"event": event, **fold(text.splitlines())}


def perf_says(*arguments):
    """Return what perf prints."""
    done = subprocess.run([PERF, *arguments], capture_output=True, env=ENVIRONMENT, check=False)
    if done.returncode:
        raise ContractError(
            f"perf {arguments[0]}: {last_line(done.stderr.decode(errors='replace'))}"
        )
    return done.stdout.decode(errors="replace")


def fold(lines):
    """Count samples by their stack, outermost frame first, joined by semicolons.

    Functions without symbols that called each other, and are of one file, are one frame.
    """
    stacks, sampled_ns, lost = {}, 0, 0
    thread, frames = "", []
    for line in [*lines, ""]:
        if found := _LOST.search(line):
            lost += int(found["count"])
        elif not line.strip():
            if thread:
                key = ";".join([thread, *reversed(frames)])
                stacks[key] = stacks.get(key, 0) + 1
            thread, frames = "", []
        elif found := _FRAME.fullmatch(line.strip()):
            name = named(**found.groupdict())
            if not (name.startswith("[") and frames[-1:] == [name]):
                frames.append(name)
        elif found := _HEAD.fullmatch(line.strip()):
            # threads of one pool have one name and a number
            thread = _NUMBER.sub("", found["thread"]).replace(";", ":") or found["thread"]
            sampled_ns += int(found["period"])
    return {
        "samples": sum(stacks.values()),
        "sampled_s": sampled_ns / 1e9,
        "lost": lost,
        "stacks": stacks,
    }


def named(address, symbol, file):
    """Name a function; one without a symbol by the file that it is in, in brackets.

    The kernel's addresses have neither where perf may not read their symbols.
    """
    kernel = _KERNEL.fullmatch(address) is not None
    if symbol != UNKNOWN:
        return symbol.replace(";", ":") + "_[k]" * kernel
    name = file.rpartition("/")[2].strip("[]")
    return "[kernel]" if kernel else f"[{name}]"
