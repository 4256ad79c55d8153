"""Plays of a test's own on this machine, by the Ansible of the project's environment.

They have an action that roles have not: `keep` writes a text to a file. A module would start
several processes for each.
"""

import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def play_here(folder, tasks, environment=None, **settings):
    """Play tasks on this machine, without its facts; `settings` are other keys of the play.

    `environment` is added to that of the test.
    """
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "tasks": tasks,
        **settings,
    }
    book = folder / "play.yml"
    book.write_text(yaml.safe_dump([play]), encoding="utf-8")
    ansible("ansible-playbook", "-i", "localhost,", book, **(environment or {}))


def ansible(program, *arguments, under=(), **environment):
    """Run a program of Ansible to its end, `under` another one's words; return its output.

    `environment` is added to that of the test.
    """
    settings = {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_ACTION_PLUGINS": str(ROOT / "tests/actions"),
    }
    words = (*under, Path(sys.executable).with_name(program), *arguments)
    return ended(words, **{**settings, **environment}).stdout


def ended(words, code=0, **environment):
    """Run a program from the project's folder until it ends with this code.

    `environment` is added to that of the test.
    """
    done = subprocess.run(
        words,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done
