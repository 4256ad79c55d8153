"""AppArmor: what confines a process, and what it was denied."""

import re
import subprocess
import time
from pathlib import Path

LABEL = "/proc/{}/attr/apparmor/current"
AUDIT_LOG = "/var/log/audit/audit.log"
"""Where denials go on a host that runs auditd."""
# Elsewhere they go to the journal: the kernel prints few of them, and later.
JOURNAL = (
    "journalctl",
    "--quiet",
    "--output=cat",
    "_TRANSPORT=audit",
    "+",
    "_TRANSPORT=kernel",
)
JOURNAL_S = 10.0
_ENFORCED = " (enforce)"
_REFUSED = re.compile(r"permission denied|operation not permitted", re.IGNORECASE)
_FIELD = re.compile(r'\b(\w+)=(?:"([^"]*)"|(\S+))')


def label_of(pid):
    """Return the profile and mode of a process, such as ``kea-dhcp4 (enforce)``.

    `unconfined` where it has none; None where the kernel has no AppArmor.
    """
    try:
        return Path(LABEL.format(pid)).read_text(encoding="utf-8").strip("\n\0 ") or None
    except OSError:
        return None


class Denials:
    """AppArmor denials of a process since its start, as far as this host's logs have them."""

    def __init__(self, audit_log=AUDIT_LOG):
        self._audit_log = Path(audit_log)
        self._audited = self._audit_size()
        self._since = int(time.time())
        self._pid = self._label = None

    def follow(self, pid):
        """Begin with a process that was just started."""
        self._pid, self._label = pid, label_of(pid) or ""

    def why(self, reason):
        """Return what it was denied last; empty where that is not why it failed.

        Where no log has a denial, the process's own `reason` counts: nothing but AppArmor
        refuses root.
        """
        if not self._label or not self._label.endswith(_ENFORCED):
            return ""
        denied = ""
        for line in [*self._journal_lines(), *self._audit_lines()]:
            fields = {name: quoted or plain for name, quoted, plain in _FIELD.findall(line)}
            if fields.get("apparmor") == "DENIED" and fields.get("pid") == str(self._pid):
                denied = _words(fields)
        if not denied and _REFUSED.search(reason):
            denied = f"what it names, by profile {self._label[: -len(_ENFORCED)]}"
        return denied

    def _journal_lines(self):
        try:
            done = subprocess.run(
                [*JOURNAL, f"--since=@{self._since}"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=JOURNAL_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []  # no systemd here
        return done.stdout.splitlines()

    def _audit_lines(self):
        if self._audit_size() <= self._audited:
            return []  # none, or a new file: what was in the old one is not looked for
        with self._audit_log.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._audited)
            return file.read().splitlines()

    def _audit_size(self):
        try:
            return self._audit_log.stat().st_size
        except OSError:
            return 0


def _words(fields):
    what = fields.get("name") or fields.get("capname") or fields.get("family") or "something"
    mask = fields.get("denied_mask") or fields.get("requested_mask")
    asked = f"{fields.get('operation', 'access')} of {what}" + (f" ({mask})" if mask else "")
    return f"{asked} by profile {fields.get('profile', 'unknown')}"
