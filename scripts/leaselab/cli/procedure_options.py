"""Options that choose a procedure and set its parameters."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from leaselab.cli.options import expecting
from leaselab.cli.parser import Parser
from leaselab.model.errors import usage_error
from leaselab.model.field_texts import field_texts
from leaselab.model.procedures import PROCEDURES, SEE, is_series, values_of
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.max_rate import MAX_RATE

SET = "--set"
_OF_ENGINE = ("seed", "wider")
"""Parameters of a duel that are known only once it is made."""

QUICK: dict[str, Any] = {
    "name": MAX_RATE,
    "rounds": 3,
    "trial_s": 2,
    "relative_width": 0.05,
    "confirm_s": 10,
}
"""Parameters of a first look at a max rate."""


def add_quick(parser: argparse.ArgumentParser) -> None:
    """Add ``--quick``, which `procedure_overrides` reads."""
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a first look at the max rate: {QUICK['rounds']} runs, trials of "
        f"{QUICK['trial_s']} s, brackets of {100 * QUICK['relative_width']:g} %%, confirmed "
        f"for {QUICK['confirm_s']} s; {SET} overrides it",
    )


def add_procedure(parser: argparse.ArgumentParser) -> None:
    """Add the procedure, after whose name help lists its parameters, and how to set these."""
    group = parser.add_argument_group("procedure")
    group.add_argument(
        "--procedure",
        choices=list(PROCEDURES),
        metavar="NAME",
        action=_Listing,
        help=f"{MAX_RATE} (default), fixed-load, ramp (steps of load), fill (the pool before a "
        "load), burst (all clients at once), replay (when clients came), event (servers are "
        "killed under load), operate (such as a reload under load), profile (CPU time by "
        "function), duel (of compare --live), or cost (count what it does)",
    )
    _add_set(
        group,
        "set a parameter of the procedure, such as rounds=3; may be repeated; --procedure NAME "
        "--help lists them (default: what the scenario's file says)",
    )


def add_parameters(
    parser: argparse._ActionsContainer, procedure: str = DUEL, such: str = "trial_s=2"
) -> None:
    """Add how the parameters of a procedure are set, and `add_generator`."""
    see = SEE.format(procedure)
    _add_set(
        parser,
        f"set a parameter of procedure {procedure}, such as {such}; may be repeated; "
        f"`{see}` lists them",
    )
    add_generator(parser)


def add_generator(parser: argparse._ActionsContainer) -> None:
    """Add ``--generator``, read as `args.generator`."""
    parser.add_argument(
        "--generator",
        metavar="NAME",
        help="what makes the load, such as perfdhcp (default: what the load's file says)",
    )


def _add_set(group: argparse._ActionsContainer, text: str) -> None:
    group.add_argument(
        SET, metavar="NAME=VALUE", type=_setting, action="append", default=[], help=text
    )


class _Listing(argparse.Action):
    """An option whose value is a procedure: help then ends with the parameters of that."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  # as argparse has it
        _option: str | None = None,
    ) -> None:
        """Keep the value."""
        setattr(namespace, self.dest, values)
        if isinstance(parser, Parser):
            parser.appendix = "\n".join(_lines(values))


def _lines(procedure: str) -> Iterator[str]:
    """The parameters of a procedure, for help."""
    width = shutil.get_terminal_size().columns - 2
    yield f"\nparameters of {procedure}:"
    for name, text in parameters_of(procedure):
        yield f"  {name}"
        yield from textwrap.wrap(
            text, width, break_on_hyphens=False, initial_indent="    ", subsequent_indent="    "
        )
    yield ""


def parameters_of(procedure: str) -> Iterator[tuple[str, str]]:
    """The parameters that may be set: ``NAME=DEFAULT``, and what each is and may be."""
    kind = PROCEDURES[procedure]
    texts, values, usual = field_texts(kind), values_of(procedure), kind()
    for name in (name for name in kind.__struct_fields__ if name not in _OF_ENGINE):
        default = getattr(usual, name)
        shown = ",".join(map(str, default if isinstance(default, tuple) else (default,)))
        text = texts[name].rstrip(".")
        unset = default in (None, ())
        yield name if unset else f"{name}={shown}", f"{text}; {values[name]}."


@expecting("NAME=VALUE, such as rounds=3")
def _setting(text: str) -> tuple[str, Any]:
    """A parameter and its value: a number, numbers parted by commas, or a word."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError(text)
    return name, [*map(_value, value.split(","))] if is_series(name) else _value(value)


def _value(text: str) -> object:
    with suppress(ValueError):
        return json.loads(text)
    return text


def procedure_overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given, as `procedure_of` takes them.

    Raises a usage error for a quick look at something else than a max rate.
    """
    named = getattr(args, "procedure", None)
    given: dict[str, Any] = {"name": named} if named else {}
    if getattr(args, "quick", False):
        if named not in (None, QUICK["name"]):
            raise usage_error(
                "works with procedure max-rate only",
                where="--quick",
                found=f"--procedure {named}",
                wanted="--procedure max-rate, or no --procedure",
                todo=f"leave --quick out, and set rounds and duration_s: {SET} rounds=3",
            )
        given |= QUICK
    for name, value in args.set:
        if name == "name" or name in _OF_ENGINE:
            raise usage_error(
                f"{name} is not set by it",
                where=SET,
                todo="name the procedure with --procedure"
                if name == "name"
                else "leave it out",
            )
        given[name] = value
    return given
