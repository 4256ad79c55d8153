"""``leaselab plan``: which experiment runs on which commit, and how soon a drop is reported."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from leaselab.analysis.planning import (
    MOST_LOAD,
    SWEEPS_A_WEEK,
    Plan,
    Wish,
    choose,
    enough,
    plan,
)
from leaselab.analysis.workload import Lab
from leaselab.archive.store import Store
from leaselab.cli.options import add_json, add_results, number, open_store, print_json, whole
from leaselab.lab.catalog import find_procedure, find_scenario, match_scenarios
from leaselab.lab.checkout import checkout_root
from leaselab.measure.generators import adapter_of
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.procedures.duel import EQUAL_ROUNDS, Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.report.plan import Assumed, counted, plan_document, print_plan
from leaselab.run.durations import durations

_DOCS = "default, docs/explanation/scaling.md"
_COSTS = {
    "duel_min": ("a duel of equal servers, mean", "min"),
    "measure_min": ("a sweep, nine runs, mean", "min"),
    "build_warm_min": ("a build with a warm cache", "min"),
}
"""Fields of a lab that the archive or an option may say, with words and unit."""
_OTHERS = {
    "prepare_min": ("check, provision, deploy, tune", "min"),
    "finish_min": ("archive, report, verdict", "min"),
    "build_cold_min": ("a build with an empty cache", "min"),
    "cold": ("share of builds with an empty cache", ""),
    "commits_a_push": ("commits that are pushed together, mean", ""),
    "office": ("share of pushes on working days, 8 to 18 h", ""),
    "poll_min": ("time between two looks at the repository", "min"),
    "mtbf_h": ("time until a bench breaks, mean", "h"),
    "repair_h": ("time until it is whole, mean", "h"),
}
"""Fields that are always as the model has them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plan``."""
    parser.add_argument(
        "pattern",
        nargs="+",
        metavar="PATTERN",
        help="scenarios, such as v4-memfile or 'v4-*'; the most important first",
    )
    parser.add_argument(
        "--commits-a-day",
        type=number(0, 1_000_000),
        required=True,
        metavar="N",
        help="mean over a week",
    )
    parser.add_argument(
        "--benches", type=whole(1, 1000), default=1, metavar="N", help="benches (default: 1)"
    )
    parser.add_argument(
        "--hours",
        type=number(0.01, 24),
        default=24.0,
        metavar="H",
        help="lab hours a day: jobs may begin on a bench in so many hours from 8 o'clock on "
        "(default: 24, at any hour)",
    )
    parser.add_argument(
        "--minutes-per-commit",
        type=number(0.01, math.inf),
        default=math.inf,
        metavar="MIN",
        help="most bench time of one push, build included (default: no limit)",
    )
    parser.add_argument(
        "--each-push",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="scenarios that have to be measured on each push, whatever else has to wait",
    )
    parser.add_argument(
        "--within",
        type=number(0.01, 1_000_000),
        metavar="H",
        help="hours from a push within which 95 of 100 drops must be reported",
    )
    parser.add_argument(
        "--sweeps-a-week",
        type=number(0, 7),
        metavar="N",
        help="sweeps of each scenario a week, for its history (default: 1, or 1/2 or 1/4 where "
        "the budget needs that; 0: none)",
    )
    parser.add_argument(
        "--drops",
        type=number(0, 100),
        default=1.0,
        metavar="PERCENT",
        help="share of the commits that are slower, and need a bisect, %% (default: 1)",
    )
    parser.add_argument(
        "--most-load",
        type=number(0.001, 0.999),
        default=MOST_LOAD,
        metavar="SHARE",
        help="highest load of the benches on a working day that a plan may have (default: "
        f"{MOST_LOAD:g})",
    )
    for name, (what, unit) in _COSTS.items():
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=number(0.001, 1_000_000),
            metavar="MIN",
            help=f"{what}, {unit} (default: from the archive, else {getattr(Lab(), name):.3g})",
        )
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Print the plan; an insufficient budget is a usage error with a sufficient one."""
    store = open_store(args, existing=True)
    must, names, left_out = _names(store, args.each_push, args.pattern)
    lab, assumed = _lab(args, store, names)
    wish = Wish(
        scenarios=len(names),
        pushed=len(must),
        sweeps_a_week=(SWEEPS_A_WEEK if args.sweeps_a_week is None else (args.sweeps_a_week,)),
        drops=args.drops / 100,
        minutes_per_commit=args.minutes_per_commit,
        most_load=args.most_load,
    )
    planned = _planned(lab, wish, args.within)
    if args.json:
        print_json(plan_document(planned, names, left_out, assumed))
    else:
        print_plan(planned, names, left_out, assumed)
    return Outcome.OK


def _names(
    store: Store, each_push: Sequence[str], patterns: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Scenarios of each push; all, the most important first; and those that have no duel.

    They come in the order of the patterns; of one pattern's those that the archive has most
    results of come first.
    """
    folder = checkout_root() / "scenarios"
    results = Counter(row["scenario"] for row in store.index.rows())

    def meant(asked: Sequence[str]) -> list[str]:
        names: dict[str, None] = {}
        for pattern in asked:
            matching = [scenario.name for scenario in match_scenarios(folder, [pattern])]
            names.update(dict.fromkeys(sorted(matching, key=lambda name: -results[name])))
        return [*names]

    every = list(dict.fromkeys([*meant(each_push), *meant(patterns)]))
    names = [name for name in every if isinstance(find_procedure(folder, name, {}), MaxRate)]
    must = [name for name in meant(each_push) if name in names]
    left_out = [name for name in every if name not in names]
    if not names:
        raise usage_error(
            "none of these scenarios is measured by max rates, so none has a duel",
            found=", ".join(left_out[:4]),
            wanted="scenarios whose procedure is max-rate",
        )
    return must, names, left_out


def _planned(lab: Lab, wish: Wish, within: float | None) -> Plan:
    """The plan that fits; without one, a usage error with a sufficient budget."""
    counts = choose(lab, wish)
    if counts is None:
        raise _too_little(lab, wish)
    planned = plan(lab, wish, counts)
    if within is None:
        return planned
    slowest = _slowest(planned)
    if slowest <= within:
        return planned
    for benches in range(lab.benches + 1, 4 * lab.benches + 1):
        more = replace(lab, benches=benches)
        better = choose(more, wish)
        if better and _slowest(plan(more, wish, better)) <= within:
            todo = f"give it {benches} benches, or name fewer scenarios"
            break
    else:
        todo = (
            f"name fewer scenarios, or allow more hours: {4 * lab.benches} benches are not "
            "enough"
        )
    raise usage_error(
        "the budget does not suffice to report 95 of 100 drops in time",
        where="--within",
        found=f"{slowest:.1f} h" if math.isfinite(slowest) else "over a week",
        wanted=f"{within:g} h or less",
        todo=todo,
    )


def _slowest(planned: Plan) -> float:
    """The longest 95th percentile until a drop is reported, of all rhythms (h)."""
    return max((row.verdict.p95 for row in planned.rows), default=0.0)


def _too_little(lab: Lab, wish: Wish) -> LeaselabError:
    """The missing capacity, and a sufficient one."""
    would = enough(lab, wish)
    if would.minutes_per_commit is not None:
        return usage_error(
            "the budget of a push does not suffice",
            where="--minutes-per-commit",
            found=f"{wish.minutes_per_commit:g} min",
            wanted=f"{would.minutes_per_commit:.0f} min for {counted(wish.pushed, 'scenario')}",
            todo="raise it, or name fewer with --each-push",
        )
    ways = []
    if would.benches is not None:
        ways.append(counted(would.benches, "bench"))
    if would.hours is not None:
        ways.append(f"{would.hours:g} h a day")
    if would.scenarios:
        ways.append(f"the first {would.scenarios} of the {wish.scenarios} scenarios")
    each = "those of each push, and " if wish.pushed else ""
    return usage_error(
        f"the budget does not suffice for {each}a duel of each scenario a week",
        found=f"{counted(lab.benches, 'bench')}, {lab.open_h:g} h a day each",
        wanted=", or ".join(ways) or "fewer scenarios and more benches",
        todo="raise --benches or --hours, or name fewer scenarios",
    )


def _with_duels(lab: Lab, names: Sequence[str]) -> Lab:
    """Return the lab with durations of duels by default, mean over scenarios' generators."""
    duel, folder = Duel(), checkout_root() / "scenarios"
    minutes = fmean(
        duel.round_with_s(waits=adapter_of(find_scenario(folder, name)).waits) / 60
        for name in names
    )
    return replace(lab, duel_min=EQUAL_ROUNDS * minutes, drop_min=duel.rounds * minutes)


def _lab(
    args: argparse.Namespace, store: Store, names: Sequence[str]
) -> tuple[Lab, list[Assumed]]:
    """The planned lab, and the source of each of its figures."""
    known = durations(store, names)
    lab = Lab(
        benches=args.benches,
        commits_a_day=args.commits_a_day,
        open_h=args.hours,
        per_commit=0,
        nightly=0,
    )
    lab = _with_duels(lab, names)
    assumed = []
    values: dict[str, Any] = {}
    for name, (what, unit) in _COSTS.items():
        given = getattr(args, name)
        if given is not None:
            values[name], source = given, "option --" + name.replace("_", "-")
        elif name in known:
            values[name], source = known[name]
        else:
            values[name], source = getattr(lab, name), _DOCS
        assumed.append(Assumed(name, what, values[name], unit, source))
    values["drop_min"] = max(lab.drop_min, values["duel_min"])
    lab = replace(lab, **values)
    small = "a duel that finds a small drop"
    source = "a duel with its defaults, all looks"
    assumed.append(Assumed("drop_min", small, lab.drop_min, "min", source))
    assumed += [
        Assumed(name, what, getattr(lab, name), unit, _DOCS)
        for name, (what, unit) in _OTHERS.items()
    ]
    assumed.append(Assumed("drops", "commits that are slower", args.drops, "%", "--drops"))
    return lab, assumed
