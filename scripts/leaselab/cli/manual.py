"""``leaselab dev man``: the manual page, made from the parsers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from leaselab import __version__
from leaselab.cli.commands import COMMANDS, INTERRUPTED
from leaselab.cli.parser import help_of, written
from leaselab.model.errors import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from leaselab.cli.commands import Command

HELP = "Print the manual page: save it as leaselab.1 in a man1 folder."


def add_arguments(_: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(_: argparse.Namespace) -> Outcome:
    """Print it."""
    sys.stdout.write(manual())
    return Outcome.OK


def manual() -> str:
    """The page, for man."""
    codes = [(str(one.value), one.meaning) for one in Outcome]
    lines = [
        f'.TH LEASELAB 1 "" "leaselab {__version__}" "User Commands"',
        ".SH NAME",
        "leaselab \\- a performance lab for DHCP and DNS servers",
        ".SH SYNOPSIS",
        ".B leaselab",
        "COMMAND [OPTION...]",
        ".SH COMMANDS",
        *(line for command in COMMANDS for line in _section(command)),
        ".SH EXIT STATUS",
        *(line for row in [*codes, (str(INTERRUPTED), "interrupted")] for line in _row(*row)),
    ]
    return "\n".join([*lines, ""])


def _section(command: Command) -> Iterator[str]:
    parser = command.parser()
    yield f".SS {_text(parser.shape)}"
    yield _text(parser.description or "")
    for action in parser.shown:
        if action.dest != "help":
            yield from _row(written(action), help_of(action))


def _row(term: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_text(term)}", _text(text) or "\\&")


def _text(text: str) -> str:
    """A text on one line that troff takes as it is."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{line}" if line.startswith((".", "'")) else line
