"""Options that choose a procedure and change its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.model.errors import usage_error
from leaselab.model.procedure import AFTER_TRIAL, AT_START
from leaselab.model.procedures import PROCEDURES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def _rates(text: str) -> list[int]:
    """Read whole numbers that are parted by commas."""
    return [int(one) for one in text.split(",")]


_OPTIONS: tuple[tuple[str, Callable[[str], Any] | tuple[str, ...], str, str], ...] = (
    ("--runs", int, "rounds", "number of runs (9; of a profile 8, of other procedures 3)"),
    ("--trim", int, "trim", "runs dropped at each end (1; of fewer than 5 runs 0)"),
    (
        "--trial-s",
        int,
        "trial_s",
        "length of a trial, s (5; of a fixed load 60 at most, while filling 30 at most)",
    ),
    ("--scout-s", int, "scout_s", "length of a scouting trial, s (1)"),
    ("--wait-s", float, "wait_s", "wait for replies after the traffic, s (4)"),
    ("--loss-ratio", float, "loss_ratio", "loss goal, 0 to 1 (0.025)"),
    ("--late-s", float, "late_s", "a later reply counts as lost, s (2)"),
    ("--width", float, "relative_width", "width of a bracket, 0 to 1 (0.01)"),
    (
        "--start-rate",
        int,
        "start_rate",
        "first offered load, 1/s (a little above what this bench measured last, or 2000)",
    ),
    ("--min-rate", int, "min_rate", "lowest offered load tried, 1/s (10)"),
    ("--max-rate", int, "max_rate", "highest offered load tried, 1/s (200000)"),
    (
        "--warm-up-s",
        int,
        "warm_up_s",
        "warm-up trial at the start of each run, not counted, s (1; 0: none)",
    ),
    (
        "--warm-up-rate",
        int,
        "warm_up_rate",
        "load of that trial, 1/s (that of the procedure's first)",
    ),
    (
        "--reset",
        (AFTER_TRIAL, AT_START),
        "reset",
        "when the server is emptied: after each trial, or by its start only, which keeps "
        "its caches warm (after-trial)",
    ),
    (
        "--confirm-s",
        int,
        "confirm_s",
        "traffic of the final confirmation, s (60; 0: none)",
    ),
    ("--max-trials", int, "max_trials", "trials of one run at most (40)"),
    ("--rate", int, "rate", "load of a fixed load, of an event or after filling, 1/s"),
    (
        "--share",
        float,
        "share",
        "the same, over the max rate that this bench measured last, or measures first (0.8; "
        "of an event 0.5)",
    ),
    (
        "--duration-s",
        int,
        "duration_s",
        "traffic of a fixed load, s (60; after filling 5, of a profile 8)",
    ),
    ("--before-s", int, "before_s", "traffic before an event, s (10)"),
    ("--after-s", int, "after_s", "traffic after an event, s (30)"),
    ("--clients", int, "clients", "clients of a burst (1000)"),
    (
        "--clients-s",
        int,
        "clients_s",
        "clients of a duel that come back in turn, as seconds of its load, s (1; 0: all new)",
    ),
    ("--limit-s", int, "limit_s", "give up after, s (120)"),
    (
        "--rates",
        _rates,
        "rates",
        "loads of a ramp's steps, 1/s, comma-separated (10000,50000,100000)",
    ),
    ("--step-s", int, "step_s", "traffic of each step, s (60)"),
    ("--floods", int, "floods", "floods of a run, the first of which is dropped (30)"),
    ("--flood-s", int, "flood_s", "length of a flood, s (30)"),
    ("--fill", float, "fill", "share of the pool that is filled before the load, 0 to 1 (0.5)"),
    ("--fill-rate", int, "fill_rate", "load while filling, 1/s (that of the load)"),
    ("--fill-limit-s", int, "fill_limit_s", "longest time that filling may take, s (1200)"),
)


QUICK: dict[str, Any] = {
    "name": "max-rate",
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
        f"for {QUICK['confirm_s']} s; other options go first",
    )


def add_procedure(parser: argparse.ArgumentParser) -> None:
    """Add an option for the procedure and each parameter; defaults stand in brackets."""
    group = parser.add_argument_group(
        "procedure", "measurement procedure; the scenario's file may have other defaults"
    )
    group.add_argument(
        "--procedure",
        choices=list(PROCEDURES),
        help="search for the max rate, offer a fixed load, kill a server under load (event), "
        "start all clients at once (burst), fill the pool before a load, offer steps of load, "
        "flood the server, or sample its CPU time by function (max-rate)",
    )
    _add(group, {parameter for _, _, parameter, _ in _OPTIONS})
    add_generator(group)


def add_parameters(parser: argparse.ArgumentParser, *parameters: str) -> None:
    """Add the options of some parameters, for a command with a procedure of its own."""
    group = parser.add_argument_group("parameters")
    _add(group, set(parameters))
    add_generator(group)


def add_generator(parser: argparse._ActionsContainer) -> None:
    """Add ``--generator``, read as `args.generator`."""
    parser.add_argument(
        "--generator",
        metavar="NAME",
        help="what makes the load, such as perfdhcp (default: what the load's file says)",
    )


def _add(group: argparse._ArgumentGroup, parameters: set[str]) -> None:
    for flag, kind, parameter, text in _OPTIONS:
        if parameter in parameters:
            how: dict[str, Any] = {"type": kind, "metavar": "N"}
            if isinstance(kind, tuple):
                how = {"choices": kind}
            group.add_argument(flag, help=text, dest=f"p_{parameter}", **how)


def procedure_overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given, as `procedure_of` takes them.

    Raises a usage error for a quick look at something else than a max rate.
    """
    named = getattr(args, "procedure", None)
    given: dict[str, Any] = {"name": named} if named else {}
    if getattr(args, "quick", False):
        if named not in (None, QUICK["name"]):
            raise usage_error(
                "a quick look is one at a max rate",
                where="--quick",
                found=f"--procedure {named}",
                wanted="no other procedure",
                todo="leave --quick out, and say --runs and --duration-s",
            )
        given |= QUICK
    for _, _, parameter, _ in _OPTIONS:
        value = getattr(args, f"p_{parameter}", None)
        if value is not None:
            given[parameter] = value
    return given
