"""Options that choose a procedure and change its parameters."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from leaselab.cli.options import digits, expecting
from leaselab.cli.parser import Choosing, hidden
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.procedure import AFTER_TRIAL, AT_START, WHERE
from leaselab.model.procedures import PROCEDURES
from leaselab.model.procedures.event import AFTER_SLACK_S
from leaselab.model.procedures.max_rate import MAX_RATE


@expecting("whole numbers, parted by commas")
def _rates(text: str) -> list[int]:
    return [int(rate) for rate in digits(text).split(",")]


@expecting("a whole number")
def _whole(text: str) -> int:
    return int(digits(text))


@expecting("a number")
def _number(text: str) -> float:
    return float(digits(text))


@dataclass(frozen=True, slots=True)
class _Parameter:
    """The option of a procedure's parameter."""

    option: str
    name: str
    text: str
    read: Callable[[str], Any] | tuple[str, ...] = _whole
    unset: str = ""
    """What holds where there is no default."""
    also: str = ""
    """What holds beside the default."""

    def is_of(self, procedure: str) -> bool:
        """Whether a procedure has it."""
        return self.name in PROCEDURES[procedure].__struct_fields__

    def help(self, procedure: str, where: str = "") -> str:
        """What it is, with its default in a procedure; `where` names that, if need be."""
        default = getattr(PROCEDURES[procedure](), self.name)
        if isinstance(default, tuple):
            default = ",".join(map(str, default))
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        default_text = (
            self.unset if default is None else ", or ".join(filter(None, (shown, self.also)))
        )
        return f"{self.text} (default{where}: {default_text})"


_PARAMETERS = (
    _Parameter("--runs", "rounds", "number of runs"),
    _Parameter("--trim", "trim", "runs dropped at each end"),
    _Parameter("--trial-s", "trial_s", "length of a trial, s"),
    _Parameter("--scout-s", "scout_s", "length of a scouting trial, s"),
    _Parameter("--wait-s", "wait_s", "wait for replies after the traffic, s", _number),
    _Parameter("--loss-ratio", "loss_ratio", "loss goal, 0 to 1", _number),
    _Parameter("--late-s", "late_s", "a later reply counts as lost, s", _number),
    _Parameter("--relative-width", "relative_width", "width of a bracket, 0 to 1", _number),
    _Parameter(
        "--start-rate",
        "start_rate",
        "first offered load, 1/s",
        also="a little above what this bench measured last",
    ),
    _Parameter("--min-rate", "min_rate", "lowest offered load tried, 1/s"),
    _Parameter("--max-rate", "max_rate", "highest offered load tried, 1/s"),
    _Parameter(
        "--warm-up-s", "warm_up_s", "trial at the start of each run, not counted, s; 0: none"
    ),
    _Parameter(
        "--warm-up-rate",
        "warm_up_rate",
        "load of that trial, 1/s",
        unset="that of the procedure's first",
    ),
    _Parameter(
        "--reset",
        "reset",
        "when the server is emptied: after each trial, or by its start only, which keeps its "
        "caches warm",
        (AFTER_TRIAL, AT_START),
    ),
    _Parameter("--confirm-s", "confirm_s", "traffic of the final confirmation, s; 0: none"),
    _Parameter("--max-trials", "max_trials", "trials of one run at most"),
    _Parameter("--rate", "rate", "offered load, 1/s", unset="the share of the max rate"),
    _Parameter(
        "--share",
        "share",
        "offered load over the max rate that this bench measured last, or measures first",
        _number,
    ),
    _Parameter("--duration-s", "duration_s", "traffic of the load, s"),
    _Parameter("--before-s", "before_s", "traffic before the event, s"),
    _Parameter(
        "--after-s",
        "after_s",
        "traffic after the event, s",
        also=f"{AFTER_SLACK_S} s beyond the pair's response delay",
    ),
    _Parameter("--at-once", "clients", "clients of a burst"),
    _Parameter(
        "--clients-s",
        "clients_s",
        "number of returning clients, as seconds of traffic at 0.6 of the load, s; 0: all "
        "are new",
    ),
    _Parameter("--returning", "returning", "clients that come back in turn; 0: all are new"),
    _Parameter("--limit-s", "limit_s", "give up after, s"),
    _Parameter("--rates", "rates", "loads of the steps, 1/s, comma-separated", _rates),
    _Parameter("--step-s", "step_s", "traffic of each step, s"),
    _Parameter(
        "--arrivals",
        "arrivals",
        "exchanges begun in each minute, comma-separated; --clients FILE sets them as well",
        _rates,
    ),
    _Parameter("--speed", "speed", "replay speed; 2 is twice as fast as recorded", _number),
    _Parameter("--fill", "fill", "share of the pool filled before the load, 0 to 1", _number),
    _Parameter("--fill-rate", "fill_rate", "load while filling, 1/s", unset="that of the load"),
    _Parameter("--fill-limit-s", "fill_limit_s", "longest time that filling may take, s"),
)
_DEST = "p_"
"""What comes before a parameter's name in the arguments that are parsed."""


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
        f"for {QUICK['confirm_s']} s; other options override it",
    )


def add_procedure(parser: argparse.ArgumentParser) -> None:
    """Add an option for the procedure and each parameter.

    Help has a parameter, with its default, once its procedure was named.
    """
    group = parser.add_argument_group(
        "procedure",
        "`--procedure NAME --help` shows the parameters of one; the scenario's file may have "
        "other defaults",
    )
    group.add_argument(
        "--procedure",
        choices=list(PROCEDURES),
        action=Choosing,
        help="search for the max rate, offer a fixed load, kill a server under load (event), "
        "start all clients at once (burst), fill the pool before a load, offer steps of load, "
        "replay when clients came, or sample its CPU time by function "
        f"(default: {MAX_RATE})",
    )
    for parameter in _PARAMETERS:
        helps = {name: parameter.help(name) for name in PROCEDURES if parameter.is_of(name)}
        hidden(_add(group, parameter), "procedure", helps)


def add_parameters(parser: argparse.ArgumentParser, procedure: str, *parameters: str) -> None:
    """Add the options of some parameters, for a command with a procedure of its own.

    Help names that procedure beside a default: the list of options of all commands has it too.
    """
    group = parser.add_argument_group("parameters")
    for parameter in _PARAMETERS:
        if parameter.name in parameters:
            _add(group, parameter).help = parameter.help(procedure, f" of a {procedure}")
    add_generator(group)


def add_generator(
    parser: argparse._ActionsContainer, action: type[argparse.Action] | str = "store"
) -> None:
    """Add ``--generator``, read as `args.generator`."""
    parser.add_argument(
        "--generator",
        metavar="NAME",
        action=action,
        help="what makes the load, such as perfdhcp (default: what the load's file says)",
    )


def _add(group: argparse._ArgumentGroup, parameter: _Parameter) -> argparse.Action:
    how: dict[str, Any] = {"type": parameter.read, "metavar": "N"}
    if isinstance(parameter.read, tuple):
        how = {"choices": parameter.read}
    return group.add_argument(parameter.option, dest=f"{_DEST}{parameter.name}", **how)


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
                todo="leave --quick out, and set --runs and --duration-s",
            )
        given |= QUICK
    for parameter in _PARAMETERS:
        value = getattr(args, f"{_DEST}{parameter.name}", None)
        if value is not None:
            given[parameter.name] = value
    return given


def named_by_options(error: LeaselabError) -> LeaselabError:
    """Return an error of parameters by the names that a user gave them: ``--relative-width``.

    Any other error as it is.
    """
    if error.where != WHERE:
        return error
    options = {parameter.name: parameter.option for parameter in _PARAMETERS}
    word = re.compile(rf"(?<![\w-])({'|'.join(options)})(?![\w-])")

    def named(text: str) -> str:
        return word.sub(lambda name: options[name[1]], text)

    unfit = re.fullmatch(r"unknown parameter of (\S+) '(\w+)'", error.what)
    if unfit and unfit[2] in options:
        return _unfit(unfit[1], unfit[2])
    what, where = error.what, WHERE
    if first := word.match(what):  # elsewhere, words such as `clients` are not parameters
        where, what = options[first[1]], what[first.end() + 1 :]
    return replace(
        error,
        where=where,
        what=what,
        found=named(error.found),
        wanted=named(error.wanted),
        todo=named(error.todo) or "see `leaselab run --procedure NAME --help`",
    )


def _unfit(procedure: str, parameter: str) -> LeaselabError:
    """The refusal of an option whose parameter a procedure does not have."""
    (known,) = (known for known in _PARAMETERS if known.name == parameter)
    having = filter(known.is_of, PROCEDURES)
    return usage_error(
        f"procedure {procedure} has no such parameter",
        where=known.option,
        wanted=f"{known.option} with {' or '.join(having)}",
        todo=f"name another procedure, or see `leaselab run --procedure {procedure} --help`",
    )
