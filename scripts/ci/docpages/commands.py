"""The page of commands, from their parsers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ci.docpages.table import table
from leaselab.cli.commands import COMMANDS
from leaselab.cli.parser import Parser, help_of, written
from leaselab.cli.procedure_options import parameters_of
from leaselab.model.procedures import PROCEDURES

Option = tuple[str, str]
"""How an option is written, and its help."""
_SHARED = 4
"""Commands from which on an option is described once for all of them."""


def commands(root: Path) -> str:
    """Each command with what it takes; options that several have come first."""
    parsers = {command.name: command.parser() for command in COMMANDS}
    counts = Counter(option for parser in parsers.values() for option in _options(parser))
    shared = [option for option, count in counts.items() if count >= _SHARED]
    return "\n".join(
        [
            "# Commands\n",
            "`./leaselab COMMAND --help` prints the same. Exit codes: [here](exit-codes.md).\n",
            "## Options that several commands have\n",
            table(("option", "is"), shared),
            *(_section(name, parser, shared) for name, parser in parsers.items()),
            "## Parameters of procedures\n",
            "`--set NAME=VALUE` sets one; `run --procedure NAME --help` prints the same.\n",
            *(_parameters(name) for name in PROCEDURES),
            "## leaselab dev bench: simulations\n",
            table(("benchmark", "does"), _benchmarks(root)),
        ]
    )


def _options(parser: Parser) -> list[Option]:
    """What a command takes, positional arguments included."""
    return [
        (f"`{written(option).replace(', ', '`, `')}`", help_of(option))
        for option in (*parser.places, *parser.options)
        if option.dest != "help"
    ]


def _parameters(procedure: str) -> str:
    """The parameters of a procedure, with their defaults."""
    rows = [(f"`{name}`", text) for name, text in parameters_of(procedure)]
    return f"### {procedure}\n\n{table(('parameter', 'is'), rows)}"


def _section(name: str, parser: Parser, shared: list[Option]) -> str:
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
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        what = docstring.partition("\n\n")[0].partition("`: ")[2]
        yield f"`leaselab dev bench {path.stem}`", what
