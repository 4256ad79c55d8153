# ruff: noqa: ANN401 - Ansible's own objects carry no types
"""Ansible callback: events of a playbook as JSON lines for the `leaselab` command.

Writes to the file named by LEASELAB_EVENTS, and does nothing without it.  One object a
line, `event` says which:

- ``playbook``: name (of its file, without the suffix)
- ``play``: name
- ``task``: name, role ("" outside a role)
- ``changed``: host, role, task, item (what was changed, "" where there is no loop)
- ``failed``: host, role, task, msg, outcome (exit code: the number in the task's variable
  `leaselab_outcome`, else 4, a broken lab)
- ``unreachable``: host, role, task, msg
- ``stats``: hosts ({host: {ok, changed, failed, unreachable}}), custom (what
  `ansible.builtin.set_stats` collected)
"""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from typing import Any, TextIO

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
    name: leaselab_events
    type: notification
    short_description: events of a playbook as JSON lines
    description:
      - Writes plays, tasks, changes, failures and statistics to the file that the
        environment variable LEASELAB_EVENTS names.
"""

LAB_BROKEN = 4
CENSORED = "the task's output is hidden (no_log)"

# Ansible forks a process for each task.  Each would seek garbage in all that was imported,
# and thereby copy it: an eighth of a playbook's CPU time.
gc.freeze()
gc.set_threshold(100_000, 50, 1000)


class CallbackModule(CallbackBase):
    """Notification plugin; every line is flushed, since a reader follows the file."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "leaselab_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._file: TextIO | None = None
        path = os.environ.get("LEASELAB_EVENTS")
        if path:
            # Closed by the end of the process, like the play it writes about.
            self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115
        else:
            self.disabled = True

    def _write(self, event: str, **fields: Any) -> None:
        if self._file is not None:
            self._file.write(json.dumps({"event": event, **fields}, default=str) + "\n")
            self._file.flush()

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """One of the playbooks that were named starts."""
        self._write("playbook", name=Path(playbook._file_name).stem)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """A play starts."""
        self._write("play", name=play.get_name())

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002
        """A task starts on the first of its hosts."""
        self._write("task", **_names(task))

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        """A handler starts."""
        self._write("task", **_names(task))

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task without a loop ended well."""
        if result.result.get("changed") and "results" not in result.result:
            self._changed(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """One item of a loop ended well."""
        if result.result.get("changed"):
            self._changed(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed; in a block with `rescue` the play may still go on."""
        if ignore_errors:
            return
        self._write(
            "failed",
            host=_place(result),
            **_names(result.task),
            msg=_message(result.result),
            outcome=_outcome(result.task),
        )

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host did not answer."""
        self._write(
            "unreachable",
            host=_place(result),
            **_names(result.task),
            msg=str(result.result.get("msg", "")),
        )

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Everything has ended."""
        hosts = {}
        for host in sorted(stats.processed):
            summary = stats.summarize(host)
            hosts[host] = {
                "ok": summary["ok"],
                "changed": summary["changed"],
                "failed": summary["failures"],
                "unreachable": summary["unreachable"],
            }
        self._write("stats", hosts=hosts, custom=stats.custom.get("_run", {}))

    def _changed(self, result: Any) -> None:
        item = result.result.get("item", "")
        self._write(
            "changed",
            host=result.host.get_name(),
            **_names(result.task),
            item=item if isinstance(item, str) else "",
        )


def _place(result: Any) -> str:
    """Return the host that the task ran on: the one that it was delegated to, if any."""
    return str(result.task_fields.get("delegate_to") or result.host.get_name())


def _names(task: Any) -> dict[str, str]:
    """Return the task's name without its role, and the role."""
    role = task._role.get_name() if task._role else ""
    return {"task": task.name or task.action, "role": role}


def _outcome(task: Any) -> int:
    """Return the exit code the task gives its failure: a plain number, not a template."""
    given = str(task.get_vars().get("leaselab_outcome", LAB_BROKEN))
    return int(given) if given.isdigit() else LAB_BROKEN


def _message(result: dict[str, Any]) -> str:
    """Return the task's own message; for a loop, those of the failed items."""
    if result.get("_ansible_no_log"):
        return CENSORED
    items = [item for item in result.get("results", []) if item.get("failed")]
    if items:
        return "\n".join(dict.fromkeys(_message(item) for item in items))
    text = str(result.get("msg", "")).strip()
    # A program's last line is more specific than Ansible's "non-zero return code".
    if text in ("", "non-zero return code"):
        lines = str(result.get("stderr") or result.get("stdout") or "").strip().splitlines()
        text = "\n".join(lines[-5:]) or text
    return text
