"""What Ansible says of an inventory: groups and variables, and how it would reach the hosts."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from leaselab.model.errors import lab_broken, usage_error

PARTS = ("dhcp_server", "dhcp_partner", "dhcp_generator", "builder")
"""Groups of the inventory whose hosts are reached."""
READING_S = 300.0
"""Longest time that Ansible may read an inventory, whose programs may ask others (s)."""
_MEMBERS = f"~^({'|'.join(PARTS)})$"
_ROOT = Path(__file__).resolve().parents[4]
_READER = _ROOT / "ansible" / "read_inventory.py"
_HOME = re.compile(r"Unable to create local directories '([^']+)'")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Logins:
    """How Ansible would reach the hosts of an inventory."""

    answers: Mapping[str, Mapping[str, Any]]
    """By host: what the action plugin `leaselab_login` answers."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """By host: why Ansible could not reach it at all, in its words."""


def ask_ansible(path: Path) -> tuple[Mapping[str, Any], Logins]:
    """Return what ``ansible-inventory --list`` prints, and how Ansible would reach the hosts.

    Two processes read the inventory at the same time, which takes about a second.  Warnings of
    Ansible are logged.  Raises a usage error for an inventory that Ansible cannot read, and a
    broken-lab error where Ansible has no folder for its own files.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = (str(_READER), name, str(path), _MEMBERS)
        events = folder / "events"
        done = _run(path, folder / "both", "python", *words, LEASELAB_EVENTS=str(events))
        lines = events.read_text("utf-8").splitlines() if events.exists() else []
        printed = {file.name: file.read_text("utf-8", "replace") for file in folder.iterdir()}
    logins = _logins(map(json.loads, lines))
    errors = {part: printed.get(f"{part}.err", "") for part in ("both", "list", "play")}
    for text in (warning for part in errors.values() for warning in _warnings(part)):
        _warn(path, text)
    codes = {"both": done.returncode, **(json.loads(done.stdout) if done.stdout else {})}
    for part, code in codes.items():
        if code != 0 and not logins.failures:
            if (said := _HOME.search(errors[part])) is not None:
                raise lab_broken(
                    "Ansible cannot write its folder of temporary files",
                    where=said[1],
                    wanted="a folder that this user may write",
                    todo="name one as home: HOME=FOLDER before the command",
                )
            raise usage_error(
                f"Ansible cannot read this inventory: {_error(errors[part])}",
                where=str(path),
                todo=f"correct what `ansible-inventory -i {path} --list` complains of",
            )
    return json.loads(printed["list"]), logins


def _run(
    path: Path, output: Path, program: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of Ansible as playbooks are; all that it has started ends with it.

    Its output goes to files, since a program of the inventory may keep a pipe open.
    """
    child = None
    with output.open("w+b") as stdout, output.with_suffix(".err").open("w+b") as stderr:
        try:
            child = subprocess.Popen(
                [Path(sys.executable).with_name(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                env={
                    **os.environ,
                    "ANSIBLE_CONFIG": str(_ROOT / "ansible.cfg"),
                    "COLUMNS": "100000",  # Ansible breaks lines of warnings
                    "ANSIBLE_LOAD_CALLBACK_PLUGINS": "true",  # also of `ansible`
                    "LC_ALL": "C.UTF-8",
                    **environment,
                },
            )
            status = child.wait(READING_S)
        except subprocess.TimeoutExpired as error:
            raise usage_error(
                f"Ansible did not read this inventory within {READING_S:g} s",
                where=str(path),
                todo=f"look at what keeps `ansible-inventory -i {path} --list` waiting",
            ) from error
        finally:
            if child is not None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(program, status, *texts)


def _warnings(stderr: str) -> list[str]:
    """What Ansible warns of, a text for each warning."""
    texts = re.findall(r"(?m)^\[(?:DEPRECATION )?WARNING\]: (.+)", stderr)
    return [text for text in texts if not text.startswith("Deprecation warnings can be")]


def _error(stderr: str) -> str:
    """What Ansible ended with, without the warnings before it."""
    before, _, error = stderr.partition("[ERROR]: ")
    return " ".join((error or before).split()).rstrip(".")


def _logins(events: Iterable[Mapping[str, Any]]) -> Logins:
    """What the action said of each host; the events are those of `leaselab_events`."""
    answers: dict[str, Mapping[str, Any]] = {}
    failures: dict[str, str] = {}
    for event in events:
        if event["event"] == "failed":
            failures[event["host"]] = event["msg"].removeprefix("Task failed: ")
        elif event["event"] == "stats":
            answers = event["custom"]
    return Logins(answers, failures)


@cache
def _warn(path: Path, text: str) -> None:
    """Say it once, however often an inventory is read."""
    _log.warning("%s: Ansible warns: %s", path, text)
