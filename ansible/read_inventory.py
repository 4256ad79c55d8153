"""Program: what Ansible says of an inventory, and how it would reach the hosts.

    python ansible/read_inventory.py FOLDER INVENTORY GROUPS

Runs `ansible-inventory --list` and the action `leaselab_login` on the groups, side by side.
Their output goes to FOLDER/list and FOLDER/play, errors to the same with `.err`, and their exit
codes to stdout as JSON.  To import Ansible takes most of the time of either: here it is once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ansible.cli import CLI
from ansible.cli.adhoc import AdHocCLI
from ansible.cli.inventory import InventoryCLI


def started(command: type[CLI], output: Path, *words: str) -> int:
    """Run a command of Ansible in a process of its own; return its number."""
    child = os.fork()
    if child:
        return child
    for handle, path in ((1, output), (2, output.with_suffix(".err"))):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), handle)
    command.cli_executor([command.name, *words])  # ends the process
    raise SystemExit


def main(folder: str, inventory: str, groups: str) -> None:
    """Run both to their end."""
    source, place = ("-i", inventory), Path(folder)
    asked = ("--module-name", "leaselab_login", "--args", "stats=true")
    children = {
        "list": started(InventoryCLI, place / "list", "--list", *source),
        "play": started(AdHocCLI, place / "play", groups, *source, *asked),
    }
    ended = {name: os.waitpid(child, 0)[1] for name, child in children.items()}
    codes = {name: os.waitstatus_to_exitcode(status) for name, status in ended.items()}
    sys.stdout.write(json.dumps(codes))


if __name__ == "__main__":
    main(*sys.argv[1:])
