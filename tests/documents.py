"""The Markdown of the repository, and what tests read of it."""

import re
import shlex
import subprocess
from pathlib import Path

from leaselab.cli.commands import find

ROOT = Path(__file__).parents[1]
GENERATED = ("docs/generated/", "benchmarks/results/")
"""Folders of pages that a command makes."""
LAUNCHERS_OWN = {"extra", "test", "help", "version", "--version", "--help"}
"""What the launcher does itself, or the frame of the command line does."""


def tracked():
    """Every file of the repository, as paths below its root."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


DOCUMENTS = [name for name in tracked() if name.endswith(".md")]
WRITTEN = [
    name for name in DOCUMENTS if not name.startswith(GENERATED) and name != "CHANGELOG.md"
]
"""Pages that people write, the changelog aside."""


def text(document):
    return (ROOT / document).read_text(encoding="utf-8")


def prose(document):
    """The text without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text(document), flags=re.M | re.S)


def sentences(document):
    """The prose without tables, headings and what links lead to."""
    lines = [line for line in prose(document).splitlines() if not re.match(r" *[|#!]", line)]
    return re.sub(r"\]\([^)]*\)", "]", "\n".join(lines))


def shell_lines(document):
    """Lines of the blocks marked as shell, continued ones joined, comments left out."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", text(document), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [
        line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")
    ]


def launcher_calls(document):
    """Words after `./leaselab`, for each call of it in a shell block."""
    calls = []
    for line in (line for line in shell_lines(document) if "./leaselab" in line):
        for part in re.split(r"&&|\||;|&$", line):
            words = shlex.split(part, comments=True)
            words = words[1:] if words[:1] == ["sudo"] else words
            if words[:1] == ["./leaselab"]:
                calls.append(words[1:])
    return calls


def parsed(words):
    """Parse a call of the launcher; raises where its parser refuses it."""
    if words[0] in LAUNCHERS_OWN or words[:2] in (["dev", "test"], ["dev", "lint"]):
        return
    command, rest = find(words)
    command.parser().parse_args(rest)
