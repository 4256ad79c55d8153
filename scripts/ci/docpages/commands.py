"""The page of commands, from their parsers."""

from __future__ import annotations

import argparse
import ast
import importlib
from collections import Counter
from typing import TYPE_CHECKING

from ci.docpages.table import table
from leaselab.cli.bench import ON_BENCHES
from leaselab.cli.main import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Option = tuple[str, str]
"""How an option is written, and its help."""
_SHARED = 4
"""Commands from which on an option is described once for all of them."""
_HIDDEN = (argparse._HelpAction, argparse._SubParsersAction)
"""Actions that are no option; argparse has no public names for them."""


def commands(root: Path) -> str:
    """Each command with what it takes; options that several have come first."""
    parsers = dict(_parsers())
    counts = Counter(option for parser in parsers.values() for option in _options(parser))
    shared = [option for option, count in counts.items() if count >= _SHARED]
    return "\n".join(
        [
            "# Commands\n",
            "`./leaselab COMMAND --help` prints the same. Exit codes: [here](exit-codes.md).\n",
            "## Options that several commands have\n",
            table(("option", "is"), shared),
            *(_section(name, parser, shared) for name, parser in parsers.items()),
            "## leaselab bench: simulations\n",
            table(("benchmark", "does"), _benchmarks(root)),
        ]
    )


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command and verb with its parser, in the order of the table of commands."""
    benches = [(f"bench {name}", module) for name, module in ON_BENCHES.items()]
    for name, module in [
        (row.name, f"leaselab.cli.{row.module}") for row in COMMANDS
    ] + benches:
        command = importlib.import_module(module)
        parser = argparse.ArgumentParser(description=command.HELP, allow_abbrev=False)
        command.add_arguments(parser)
        yield from _with_verbs(name, parser)


def _with_verbs(
    name: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    verbs = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not verbs:
        yield name, parser
    for action in verbs:
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for verb, inner in action.choices.items():
            inner.description = inner.description or helps.get(verb, "")
            yield from _with_verbs(f"{name} {verb}", inner)


def _options(parser: argparse.ArgumentParser) -> list[Option]:
    """What a command takes, positional arguments included."""
    return [
        (_written(action), _help(action))
        for action in parser._actions
        if not isinstance(action, _HIDDEN) and action.help != argparse.SUPPRESS
    ]


def _written(action: argparse.Action) -> str:
    metavar = action.metavar or action.dest
    if action.choices and not action.metavar:
        metavar = " or ".join(map(str, action.choices))
    shown = " ".join(metavar) if isinstance(metavar, tuple) else metavar
    if not action.option_strings:
        return f"`{shown}`"
    value = "" if action.nargs == 0 else f" {shown}"
    return ", ".join(f"`{word}{value}`" for word in action.option_strings)


def _help(action: argparse.Action) -> str:
    return action.help % vars(action) if action.help else ""


def _section(name: str, parser: argparse.ArgumentParser, shared: list[Option]) -> str:
    own = [option for option in _options(parser) if option not in shared]
    also = [_word(option) for option in _options(parser) if option in shared]
    what = parser.description or ""
    parts = [f"## leaselab {name}\n", f"{what[:1].upper()}{what[1:]}\n" if what else ""]
    parts.append(table(("option", "is"), own) if own else "")
    parts.append(f"Also: {', '.join(also)}.\n" if also else "")
    return "\n".join(filter(None, parts))


def _word(option: Option) -> str:
    """The option by its long name alone."""
    return f"`{option[0].strip('`').rpartition('`')[2].partition(' ')[0]}`"


def _benchmarks(root: Path) -> Iterator[tuple[str, str]]:
    """The simulations, by the first sentence of their modules."""
    for path in sorted((root / "benchmarks").glob("[!_]*.py")):
        told = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        what = told.partition("\n\n")[0].partition("`: ")[2]
        yield f"`leaselab bench {path.stem}`", what
