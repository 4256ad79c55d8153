"""The tree of commands: their names, purposes and parsers."""

from __future__ import annotations

import argparse
import importlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from leaselab.cli.parser import Parser
from leaselab.model.errors import IN_USE, LeaselabError, Outcome, near, usage_error

INTERRUPTED = 130
"""Exit code of an interrupted command, as in a shell."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table: a module is imported only when its command is called."""

    name: str
    help: str
    """Its purpose; a list of commands shows the part before the semicolon."""
    place: str = ""
    """Its module; ``MODULE.VERB`` of several, the last word of its name by default.

    A module has `add_arguments` and `run`; of several commands `add_VERB` and `VERB`.
    """

    @property
    def short(self) -> str:
        """Its purpose, in a list of commands."""
        return self.help.partition(";")[0]

    def parser(self) -> Parser:
        """Its parser, with its arguments."""
        parser = Parser(f"leaselab {self.name}", f"{self.help[:1].upper()}{self.help[1:]}.")
        self._part("add_{}", "add_arguments")(parser)
        return parser

    @property
    def run(self) -> Callable[[argparse.Namespace], Outcome]:
        """Its function, which raises LeaselabError."""
        run: Callable[[argparse.Namespace], Outcome] = self._part("{}", "run")
        return run

    def _part(self, of_verb: str, alone: str) -> Any:  # noqa: ANN401  # a function of a module
        module, _, verb = (self.place or self.name.split()[-1]).partition(".")
        name = of_verb.format(verb) if verb else alone
        return getattr(importlib.import_module(f"leaselab.cli.{module}"), name)


GROUPS = {
    "Measure": (
        Command("run", "set up the lab, measure scenarios, archive and show the results"),
        Command("resume", "go on with an interrupted sweep; its finished trials are kept"),
        Command("rerun", "measure again what a result measured; on its bench"),
    ),
    "Compare": (
        Command("compare", "say whether server B is slower than server A; exit code 1 if so"),
        Command("cost", "count what a commit costs more than its branch point; without Docker"),
        Command("check", "check the policy of a repository, leaselab.yml", "policy"),
        Command("bisect", "find the commit that made a server slower; exit code 1 if one did"),
        Command("review", "detect performance changes in the archive"),
        Command("calibrate", "measure what a bench can do; its generators, or its duels"),
    ),
    "Look": (
        Command("list", "list results, or scenarios; the newest result first", "list_"),
        Command("show", "show one result, or one scenario"),
        Command("report", "write results as pages that open from a disk"),
        Command("watch", "follow a sweep second by second; or the build before it"),
        Command("export", "write results for other programs, such as spreadsheets"),
        Command("sync", "copy missing results from another archive; each is verified"),
    ),
    "Lab": (
        Command("lab up", "bring up a lab of this machine", "lab.up"),
        Command("lab down", "remove a lab's hosts, networks and keys", "lab.down"),
        Command("lab status", "show a bench, its hosts and its holder"),
        Command("lab check", "inspect a lab before anything touches it"),
        Command("lab take", "hold a bench over several commands", "hold.take"),
        Command("lab release", "release a held bench", "hold.release"),
        Command(
            "lab maintenance", "take a bench out of use, with a reason", "hold.maintenance"
        ),
        Command("lab power", "switch a host on or off", "lab.power"),
        Command("lab prune", "remove old raw outputs and unused builds; results stay"),
    ),
    "Plan": (
        Command("capacity", "say which configurations carry so many clients"),
        Command(
            "clients",
            "count the clients of captures for --clients; keeps no identity",
            "captures.clients",
        ),
        Command(
            "leases",
            "say whether a capture shows a lease lost or given twice; exit code 1 if so",
            "captures.leases",
        ),
        Command(
            "queries", "take the DNS queries of a capture for --queries", "captures.queries"
        ),
        Command("advise", "check a Kea configuration for known costs"),
    ),
    "Steps": (
        Command("step provision", "prepare the hosts of a bench", "steps.provision"),
        Command("step source", "read one commit, write its files", "steps.source"),
        Command("step build", "build one commit of a server, print its key", "steps.build"),
        Command("step deploy", "install a scenario's server and prove it", "steps.deploy"),
        Command("step tune", "tune hosts and database, write bench.json", "steps.tune"),
        Command("step sweep", "run the sweep that a bench.json describes", "steps.sweep"),
    ),
    "Develop": (
        Command("dev test", "run tests, the real lab included", "developer.launched"),
        Command("dev lint", "run every linter", "developer.launched"),
        Command(
            "dev bench", "run a simulation of the project's methods", "developer.simulation"
        ),
        Command(
            "dev bench generators", "compare two generators on a bench", "generators.generators"
        ),
        Command("dev bench truth", "measure servers whose capacity is set", "generators.truth"),
        Command(
            "dev archive verify", "check results against their checksums", "developer.verify"
        ),
        Command("dev archive where", "print the folder of a result", "developer.where"),
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
    known = sorted({command.name.split()[len(asked) - 1] for command in below(group)})
    names = [" ".join([*group, name]) for name in near(asked[-1], known)]
    if not names and not group:  # such as `check`, which is `lab check`
        names = [command.name for command in COMMANDS if words[0] in command.name.split()]
    see = " ".join(["leaselab", *group, "--help"])
    todo = f"did you mean `leaselab {names[0]}`?" if names else f"all commands: `{see}`"
    if not names and not group and (scenario := _scenario_meant(words[0])):
        todo = f"to measure it: `leaselab run {scenario}`; {todo}"
    wanted = ", ".join(known) if group and not names else ""
    return usage_error(f"no command {' '.join(asked)!r}", wanted=wanted, todo=todo)


def _scenario_meant(word: str) -> str:
    """A scenario that a word names, or that is of the server it names; empty for none."""
    from leaselab.catalog.catalogue import Catalogue, of_server  # noqa: PLC0415
    from leaselab.cli.run import DEFAULT_SCENARIO  # noqa: PLC0415  # slow, rarely needed

    scenarios = Catalogue.here().scenarios
    names = [word] if word in scenarios else of_server(word, scenarios)
    return DEFAULT_SCENARIO if DEFAULT_SCENARIO in names else "".join(names[:1])


def below(words: Sequence[str]) -> list[Command]:
    """The commands whose names begin with these words."""
    return [
        command for command in COMMANDS if command.name.split()[: len(words)] == list(words)
    ]


def overview() -> str:
    """Every command by its group; of groups with a word of their own the verbs."""
    rows = []
    for title, commands in GROUPS.items():
        rows.append(title)
        first = commands[0].name.partition(" ")
        if first[1]:
            verbs = dict.fromkeys(command.name.split()[1] for command in commands)
            rows.append(f"  {first[0]:9}  {', '.join(verbs)}")
        else:
            rows += [f"  {command.name:9}  {command.short}" for command in commands]
    table = "\n".join(rows)
    return (
        "usage: leaselab COMMAND [OPTION...]\n\n"
        "A performance lab for DHCP and DNS servers:\n"
        "from a commit to a number that can be trusted.\n\n"
        f"{table}\n\n"
        "`leaselab COMMAND --help` has the options of a command,\n"
        "`leaselab lab --help` the commands of a group.\n\n"
        f"{textwrap.fill(f'exit codes: {_exit_codes()}', 80)}\n"
    )


def verbs(words: Sequence[str]) -> str:
    """The commands that begin with these words, for help."""
    commands = below(words)
    width = max(len(command.name) for command in commands)
    rows = "".join(f"  {command.name:{width}}  {command.short}\n" for command in commands)
    return f"usage: leaselab {' '.join(words)} COMMAND [OPTION...]\n\n{rows}"


def _exit_codes() -> str:
    return ", ".join(
        [
            *(f"{outcome.value} {outcome.meaning}" for outcome in Outcome),
            f"{IN_USE} the bench is in use",
            f"{INTERRUPTED} interrupted",
        ]
    )
