"""Runs one playbook as a child and reports its events to the caller.

Its whole output goes to a log file; what a person needs to know comes through
the callback plugin `leaselab_events`, so that a failure is the failing task's own
words and not a page of YAML.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import yaml

from leaselab.catalog.checkout import checkout_root, kept_folder
from leaselab.model.errors import LeaselabError, Outcome, lab_broken

Event = Mapping[str, Any]
"""One line of the callback plugin; ansible/plugins/callback/leaselab_events.py lists them."""

_POLL_S = 0.1
_STOP_S = 10.0
_TAIL_LINES = 8


@dataclass(frozen=True, slots=True)
class PlaybookStats:
    """What a playbook that ended well reports."""

    changed: int
    """Tasks that changed something, over all hosts."""
    log: Path
    custom: Mapping[str, Any] = field(default_factory=dict)
    """What its tasks collected with `ansible.builtin.set_stats`."""


def run_playbook(
    names: str | Sequence[str],
    inventory: Path,
    extra_vars: Mapping[str, Any] | None = None,
    on_event: Callable[[Event], None] | None = None,
    keep: Callable[[], None] = lambda: None,
) -> PlaybookStats:
    """Run ``ansible/<name>.yml`` to its end, or several in one process, one after the other.

    Together they gather facts once.  `extra_vars` are data: Ansible fills in no template in
    any text of them.  `keep` is called over and over meanwhile; its error ends the playbook.
    Raises the failing task's message with its host, its outcome and the path
    of the log.  An interrupt stops the child before it goes on.
    """
    several = (names,) if isinstance(names, str) else tuple(names)
    name = "-".join(several)
    root = checkout_root()
    logs = kept_folder("logs")
    logs.mkdir(parents=True, exist_ok=True)
    logs.chmod(0o700)  # a failing task prints what it was given
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    log = logs / f"{stamp}-{name}-{os.getpid()}.log"
    events_file, variables = log.with_suffix(".events"), log.with_suffix(".variables")
    events_file.touch()
    argv = [
        # A kill of this process, which nothing can clean up after, ends the playbook as well.
        "setpriv",
        "--pdeathsig",
        "TERM",
        str(Path(sys.executable).with_name("ansible-playbook")),
        "-i",
        str(inventory.absolute()),
        *(str(root / "ansible" / f"{one}.yml") for one in several),
        "--extra-vars",
        f"@{variables}",
    ]
    events: list[Event] = []
    try:
        _write_data(variables, extra_vars or {})
        with log.open("wb") as output, events_file.open(encoding="utf-8") as lines:
            child = subprocess.Popen(
                argv,
                cwd=root,
                env=_environment(root, events_file),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # An interrupt reaches the child once, from here, and all of it.
                start_new_session=True,
            )
            try:
                _follow(child, lines, events, on_event, keep)
            finally:
                _stop(child)
    finally:
        events_file.unlink(missing_ok=True)
        variables.unlink(missing_ok=True)
    if child.returncode != 0:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        raise playbook_error(name, child.returncode, events, tail, log)
    stats = next((event for event in reversed(events) if event["event"] == "stats"), {})
    return PlaybookStats(
        changed=sum(host["changed"] for host in stats.get("hosts", {}).values()),
        log=log,
        custom=stats.get("custom", {}),
    )


def _write_data(path: Path, variables: Mapping[str, Any]) -> None:
    """Write variables for Ansible, with no text of them taken for a template.

    On a command line all texts would be templates, and a template can run commands.
    """
    plain = json.loads(json.dumps(dict(variables), default=str))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"!unsafe\n{yaml.safe_dump(plain)}")


def playbook_error(
    name: str, status: int, events: Sequence[Event], tail: Sequence[str], log: Path
) -> LeaselabError:
    """Return the error that a failed playbook stands for.

    A host that does not answer comes first: what failed after it follows from
    it.  Of several failures the last counts, as a `rescue` says more than the
    task it rescued; hosts that failed in the same task are named together.
    """
    todo = f"the whole output is in {log}"
    unreachable = [event for event in events if event["event"] == "unreachable"]
    if unreachable:
        return _unreachable_error(unreachable[-1], todo)
    failed = [event for event in events if event["event"] == "failed"]
    if failed:
        last = failed[-1]
        same = [e for e in failed if (e["task"], e["msg"]) == (last["task"], last["msg"])]
        hosts = list(dict.fromkeys(str(event["host"]) for event in same))
        place = ", ".join(hosts) if hosts != ["localhost"] else (last["role"] or "localhost")
        return LeaselabError(
            Outcome(last["outcome"]) if last["outcome"] in _CODES else Outcome.LAB,
            last["msg"].rstrip(". ") or f"task failed: {last['task']}",
            where=place,
            todo=todo,
        )
    return lab_broken(
        f"playbook {name} ended with status {status}: " + " / ".join(tail),
        where="ansible",
        todo=todo,
    )


_CODES = frozenset(outcome.value for outcome in Outcome if outcome is not Outcome.OK)


_WRONG_KEY = ("Host key verification failed", "HOST IDENTIFICATION HAS CHANGED")


def _unreachable_error(event: Event, todo: str) -> LeaselabError:
    message = " ".join(str(event["msg"]).split())
    if any(words in message for words in _WRONG_KEY):
        return lab_broken(
            "host key is not the pinned one",
            where=str(event["host"]),
            found="another key than the known_hosts file of the inventory has",
            wanted="the pinned key",
            todo="if the host was reinstalled, pin its new key (local lab: `leaselab lab "
            f"down`, then `up`); if not, do not connect: it may be another machine; {todo}",
        )
    return lab_broken(f"cannot be reached: {message}", where=str(event["host"]), todo=todo)


def _environment(root: Path, events_file: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
        "LEASELAB_EVENTS": str(events_file),
        "LEASELAB_ROOT": str(root),
        "LC_ALL": "C.UTF-8",  # Ansible refuses any other encoding
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
    }


def _follow(
    child: subprocess.Popen[bytes],
    lines: TextIO,
    events: list[Event],
    on_event: Callable[[Event], None] | None,
    keep: Callable[[], None],
) -> None:
    """Collect events until the child has ended.

    A file is followed rather than a pipe: what a playbook leaves running, such
    as an SSH master, would keep a pipe open.
    """
    rest = ""
    while True:
        ended = child.poll() is not None
        *whole, rest = (rest + lines.read()).split("\n")
        for line in whole:
            event = json.loads(line)
            events.append(event)
            if on_event is not None:
                on_event(event)
        if ended:
            return
        keep()
        time.sleep(_POLL_S)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the child and its own children, gently first; nothing to do when it has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_STOP_S)
