"""The tree of commands: their names, what each is for, and their parsers."""

from __future__ import annotations

import importlib
import textwrap
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from leaselab.cli.parser import Parser
from leaselab.model.errors import LeaselabError, Outcome, usage_error

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

INTERRUPTED = 130
"""Exit code of a command that was interrupted, as a shell has it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table: a module is imported only when its command is called.

    A module has `add_arguments` and `run`; of one with several commands they are named by the
    `verb`: `add_VERB` and `VERB`.
    """

    name: str
    module: str
    help: str
    verb: str = ""

    def parser(self) -> Parser:
        """Its parser, with what it takes."""
        module = importlib.import_module(f"leaselab.cli.{self.module}")
        words = self.help if self.verb else module.HELP
        parser = Parser(f"leaselab {self.name}", f"{words[:1].upper()}{words[1:]}")
        getattr(module, f"add_{self.verb or 'arguments'}")(parser)
        return parser

    @property
    def run(self) -> Callable[[argparse.Namespace], Outcome]:
        """What it does.  Raises LeaselabError."""
        module = importlib.import_module(f"leaselab.cli.{self.module}")
        run: Callable[[argparse.Namespace], Outcome] = getattr(module, self.verb or "run")
        return run


GROUPS = {
    "Measure": (
        Command(
            "run", "run", "set up the lab, measure scenarios, archive and show the results"
        ),
        Command("resume", "resume", "go on with a sweep that was interrupted"),
        Command("rerun", "rerun", "measure again what a result measured"),
    ),
    "Compare": (
        Command("compare", "compare", "say whether one server is slower than another"),
        Command("bisect", "bisect", "find the commit that made a server slower"),
        Command("review", "review", "detect performance changes in the archive"),
        Command("calibrate", "calibrate", "measure the false-alarm rate and power of a bench"),
    ),
    "Look": (
        Command("list", "list_", "list results, or scenarios"),
        Command("show", "show", "show one result, or one scenario"),
        Command("report", "report", "write results as pages that open from a disk"),
        Command("watch", "watch", "follow a sweep second by second while it runs"),
        Command("export", "export", "write results for other programs, such as spreadsheets"),
    ),
    "Lab": (
        Command("lab up", "lab", "bring up a lab of this machine", "up"),
        Command("lab down", "lab", "remove a lab's hosts, networks and keys", "down"),
        Command("lab status", "status", "show a bench, its hosts and its holder", "status"),
        Command("lab check", "check", "inspect a lab before anything touches it"),
        Command("lab take", "hold", "hold a bench over several commands", "take"),
        Command("lab release", "hold", "release a held bench", "release"),
        Command(
            "lab maintenance",
            "maintenance",
            "take a bench out of use, with a reason",
            "maintenance",
        ),
        Command("lab power", "power", "switch a host on or off", "power"),
        Command("lab prune", "prune", "remove old raw outputs and unused builds"),
    ),
    "Plan": (
        Command("plan", "plan", "plan what to measure on which commit, within a budget"),
        Command("capacity", "capacity", "say which configurations carry so many clients"),
        Command("clients", "clients", "count the clients of a capture for --clients"),
        Command("queries", "queries", "take the DNS queries of a capture for --queries"),
        Command("advise", "advise", "check a Kea configuration for known costs"),
    ),
    "Steps": (
        Command("step provision", "provision", "prepare the hosts of a bench"),
        Command("step build", "build", "build one commit of a server on the builder"),
        Command("step deploy", "deploy", "install a scenario's server, prove that it serves"),
        Command("step tune", "tune", "tune hosts and database; write bench.json"),
        Command("step sweep", "sweep", "run the sweep that a bench.json describes"),
    ),
    "Develop": (
        Command("dev test", "developer", "run the project's tests, the real lab included"),
        Command("dev lint", "developer", "run every linter"),
        Command("dev bench", "bench", "run a simulation of the project's methods"),
        Command("dev bench generators", "generators", "compare two generators on a bench"),
        Command("dev bench truth", "truth", "measure servers whose capacity is set"),
        Command(
            "dev archive verify", "archive_", "check results against their checksums", "verify"
        ),
        Command("dev archive where", "archive_", "print the folder of a result", "where"),
        Command("dev completion", "completion", "print the completion of bash or zsh"),
        Command("dev man", "manual", "print the manual page"),
    ),
}
"""The commands, by what they are for."""
COMMANDS = tuple(command for group in GROUPS.values() for command in group)


def find(words: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that the first words name, and the rest of them.

    Raises a usage error for none, with the nearest.
    """
    for count in (3, 2, 1):
        name = " ".join(words[:count])
        for command in COMMANDS:
            if command.name == name and len(words) >= count:
                return command, list(words[count:])
    raise _unknown(words)


def _unknown(words: Sequence[str]) -> LeaselabError:
    if words[0].startswith("-"):
        return usage_error(
            "options follow the command",
            found=words[0],
            wanted=f"leaselab COMMAND {words[0]}",
            todo="see `leaselab --help`",
        )
    group = [words[0]] if below(words[:1]) else []
    asked = [*group, *words[len(group) : len(group) + 1]]
    known = {" ".join(one.name.split()[: len(asked)]) for one in below(group)}
    near = get_close_matches(" ".join(asked), sorted(known), 1, 0.5)
    if not near and not group:  # such as `check`, which is `lab check`
        near = [one.name for one in COMMANDS if words[0] in one.name.split()]
    see = " ".join(["leaselab", *group, "--help"])
    return usage_error(
        f"unknown command {' '.join(asked)!r}",
        wanted=", ".join(sorted(known)) if group else "a command of leaselab",
        todo=f"did you mean `leaselab {near[0]}`?" if near else f"see `{see}`",
    )


def below(words: Sequence[str]) -> list[Command]:
    """The commands whose names begin with these words."""
    return [one for one in COMMANDS if one.name.split()[: len(words)] == list(words)]


def overview() -> str:
    """Every command by its group; of groups with a word of their own the verbs."""
    rows = []
    for title, commands in GROUPS.items():
        rows.append(title)
        first = commands[0].name.partition(" ")
        if first[1]:
            verbs = dict.fromkeys(one.name.split()[1] for one in commands)
            rows.append(f"  {first[0]:9}  {', '.join(verbs)}")
        else:
            rows += [f"  {one.name:9}  {one.help}" for one in commands]
    table = "\n".join(rows)
    return (
        "usage: leaselab COMMAND [OPTION...]\n\n"
        "A performance lab for DHCP and DNS servers: "
        "from a commit to a number that can be trusted.\n\n"
        f"{table}\n\n"
        "`leaselab COMMAND --help` has the options of a command, `leaselab lab --help` the\n"
        "commands of a group.\n\n"
        f"{textwrap.fill(f'exit codes: {_exit_codes()}', 80)}\n"
    )


def verbs(words: Sequence[str]) -> str:
    """The commands that begin with these words, for help."""
    commands = below(words)
    width = max(len(one.name) for one in commands)
    rows = "".join(f"  {one.name:{width}}  {one.help}\n" for one in commands)
    return f"usage: leaselab {' '.join(words)} COMMAND [OPTION...]\n\n{rows}"


def _exit_codes() -> str:
    return ", ".join(
        [*(f"{one.value} {one.meaning}" for one in Outcome), f"{INTERRUPTED} interrupted"]
    )
