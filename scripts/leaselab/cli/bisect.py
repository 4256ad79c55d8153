"""``leaselab bisect``: find the commit that made a server slower, by duels."""

from __future__ import annotations

import shlex
import statistics
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from leaselab.analysis.archived_duels import FAILURES, Facts, facts_of
from leaselab.analysis.bisect import Limits, Step, next_step
from leaselab.cli.bench_options import add_full, add_inventory, check, inventory_of
from leaselab.cli.duel import PARAMETERS
from leaselab.cli.options import (
    add_id_file,
    add_json,
    add_layouts,
    add_markdown,
    add_results,
    markdown_alone,
    number,
    open_store,
    print_json,
    whole,
    without_effect,
    write_ids,
    write_output,
)
from leaselab.cli.own import add_clients, add_config, add_queries, named_scenario
from leaselab.cli.procedure_options import add_parameters, procedure_overrides
from leaselab.cli.progress import progress
from leaselab.cli.report import report_after
from leaselab.lab.catalog import find_scenario
from leaselab.lab.checkout import checkout_root
from leaselab.model.errors import (
    BELIEVED,
    LeaselabError,
    Outcome,
    invalid_measurement,
    regression,
    server_broken,
)
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.duel import DUEL, LEAST_ROUNDS, Duel
from leaselab.model.text import printable
from leaselab.report.bisect import (
    Hunted,
    closing,
    hunted_document,
    markdown_of_hunted,
    print_hunted,
)
from leaselab.report.hunting import HuntWords
from leaselab.run.contest import archived_duel, duel, over_layouts, say_cost
from leaselab.run.preparation import environment_of
from leaselab.run.profile import explain, profiles_of
from leaselab.run.record import command
from leaselab.run.session import Session
from leaselab.run.sources import open_source, source_folder
from leaselab.run.task import Task

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from leaselab.analysis.bisect import End, Known
    from leaselab.analysis.culprits import Gap
    from leaselab.analysis.layouts import OverLayouts
    from leaselab.analysis.verdict import Comparison
    from leaselab.lab.repository import Repository
    from leaselab.model.record import Record, Scenario
    from leaselab.model.source import Commit

NAME = "bisect"
HELP = "Find the commit that made a server slower, by duels; exit code 1 if it is slower."
_RECENT = 20
"""Newest results of commits that say how long a build takes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bisect``."""
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="what is measured")
    add_config(parser)
    add_clients(parser)
    add_queries(parser)
    parser.add_argument(
        "--good", metavar="REF", required=True, help="commit of --repo before the change"
    )
    parser.add_argument(
        "--bad",
        metavar="REF",
        required=True,
        help="commit that is slower; the good end is on its line of first parents",
    )
    parser.add_argument(
        "--repo",
        metavar="URL|PATH",
        required=True,
        help="git repository of the server; a URL is mirrored first",
    )
    parser.add_argument(
        "--find",
        metavar="PERCENT",
        type=number(0.01, 49.99),
        default=100 * Limits().find,
        help="smallest drop that duels are to find, %%; a change counts from half of it on "
        f"(default: {100 * Limits().find:g})",
    )
    parser.add_argument(
        "--budget",
        metavar="MINUTES",
        type=number(0.01, 525_600),
        default=Limits().budget_minutes,
        help="lab time for all duels since the first of the two ends, also for those before an "
        "interrupt; builds and deployments come on top "
        f"(default: {Limits().budget_minutes:g})",
    )
    parser.add_argument(
        "--rounds",
        metavar="N",
        dest="p_rounds",
        type=whole(LEAST_ROUNDS, 1000),
        help="most rounds of a duel of the ends or of a commit with its parent, at its first "
        f"try, twice as many at another (default: {Limits().rounds})",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what the archive knows, what is next and what it may cost; touch nothing",
    )
    parser.add_argument(
        "--no-profile",
        action="store_true",
        help="do not profile each culprit and its parent, to say which functions cost more",
    )
    add_layouts(parser, "then measure each culprit and its parent")
    add_inventory(parser)
    add_full(parser)
    add_parameters(parser, DUEL, *PARAMETERS)
    add_markdown(parser, "write the comment for a merge request")
    add_results(parser)
    add_id_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Search, show, and raise what ends with another code than 0."""
    markdown_alone(args)
    if args.dry_run:
        idle = ("--markdown", "--id-file", "--no-profile", "--full", "--json")
        without_effect(args, "a search that measures", *idle)
    scenario = find_scenario(
        checkout_root() / "scenarios", named_scenario(args), args.generator
    )
    parameters = {**procedure_overrides(args), "name": DUEL, "find": args.find / 100}
    plan = procedure_of(parameters)
    if not isinstance(plan, Duel):
        raise AssertionError(f"{DUEL} is the name of {plan.name}")
    limits = _limits(args, plan)
    repository = open_source(args.repo)
    commits = repository.line(args.good, args.bad)
    inventory = inventory_of(args)
    check(scenario, plan, inventory)
    store = open_store(args)
    session = Session(store, inventory, parameters, full=args.full, show=progress)
    search = Search(session, scenario, repository, commits, plan, limits)
    if args.dry_run:
        session.lab.environment = environment_of(inventory)
        search.foresee()
        return Outcome.OK
    try:
        with session.leased(f"{NAME} {scenario.name}"):
            session.prepare("")
            end = search.run()
            if args.layouts:
                search.lay_out(end, args.layouts)
            if not args.no_profile:
                search.explain(end)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(*stop.args, _again()) from None
    except LeaselabError as fault:
        if fault.outcome is Outcome.LAB:
            fault.todo = "; ".join(filter(None, (fault.todo, _again())))
        raise
    finally:
        write_ids(args, *search.ids)
        report_after(store)
    return _print_hunted(args, search.hunted(end))


def _again() -> str:
    return f"the search goes on with the same command: {shlex.join(command())}"


def _limits(args: argparse.Namespace, plan: Duel) -> Limits:
    limits = Limits(args.find / 100, plan.rounds, plan.round_s / 60, args.budget)
    plan.within(60 * limits.budget_minutes)
    return limits


def _print_hunted(args: argparse.Namespace, hunted: Hunted) -> Outcome:
    """Write and print what was found."""
    if args.markdown is not None:
        write_output(args.markdown, markdown_of_hunted(hunted).encode())
    if args.json:
        print_json(hunted_document(hunted))
    elif not markdown_alone(args):
        print_hunted(hunted)
    sys.stdout.flush()
    raised = {
        Outcome.REGRESSION: regression,
        Outcome.INVALID: invalid_measurement,
        Outcome.BUILD: server_broken,
    }.get(hunted.outcome)
    if raised is not None:
        raise raised(printable(closing(hunted)), where=hunted.scenario)
    return Outcome.OK


@dataclass(slots=True)
class Search:
    """The search in one range: what the archive has of it, and the duels that are made."""

    session: Session
    scenario: Scenario
    repository: Repository
    commits: Sequence[Commit]
    """By their places."""
    plan: Duel
    limits: Limits
    ids: list[str] = field(default_factory=list)
    """Of the results that this search has made."""
    _read: dict[str, Record | None] = field(default_factory=dict)
    _layouts: dict[int, OverLayouts] = field(default_factory=dict)
    """Of culprits that were measured in several layouts."""

    def run(self) -> End:
        """Make duels until the search ends.

        Raises as `Session.measure`, and an invalid-measurement error where duels of the same
        two commits come to no verdict.
        """
        facts, words = self._facts(), self._words
        _say(*words.cost(facts, self._build_s()))
        while isinstance(step := next_step(facts.known, self.limits), Step):
            _say(words.step(facts, step))
            self._fight(step)
            before, facts = facts, self._facts()
            lines = [*words.found(before, facts)]
            _say(*lines or [self._no_verdict(step, before, facts)])
        return step

    def foresee(self) -> None:
        """Say what the archive knows, what is next and what that may cost."""
        facts, words = self._facts(), self._words
        _say(*words.cost(facts, self._build_s()))
        step = next_step(facts.known, self.limits)
        if isinstance(step, Step):
            _say(words.step(facts, step))
        else:
            _say(closing(self._hunted(facts, step)))

    def lay_out(self, end: End, layouts: int) -> None:
        """Make duels of each culprit and its parent in several layouts."""

        def made(first: Task, second: Task) -> Comparison:
            archived = archived_duel(self.session, first, second)
            if archived is not None:
                return archived
            one = duel(self.session, first, second)
            self.ids += one.ids
            return one.comparison

        for one in end.culprits:
            tasks = self._task(one.gap.after), self._task(one.gap.place)
            say_cost(self.session, tasks[1], layouts)
            self._layouts[one.gap.place], _ = over_layouts(made, *tasks, layouts)

    def explain(self, end: End) -> None:
        """Profile each culprit and its parent; errors as `leaselab.run.profile.explain`."""
        known = self._facts().known
        for one in end.culprits:
            tasks = self._task(one.gap.after), self._task(one.gap.place)
            self.ids += explain(self.session, *tasks, *self._confirmed(known, one.gap))

    @property
    def _words(self) -> HuntWords:
        return HuntWords(self.commits, self.limits)

    def _no_verdict(self, step: Step, before: Facts, now: Facts) -> str:
        """Say that a duel told nothing; raise where that is no use to repeat."""
        pair = step.older, step.newer
        texts = now.spoiled.get(pair, ())
        if len(texts) >= FAILURES or texts == before.spoiled.get(pair, ()):
            raise invalid_measurement(
                "inconclusive: repeated duels of these commits gave no verdict",
                where=" against ".join(self._words.name(place) for place in pair[::-1]),
                found=texts[-1] if texts else "nothing that belongs to this search",
                todo="see their results; the same command goes on with the search",
            )
        return f"no verdict, so it is measured again: {texts[-1]}"

    def hunted(self, end: End) -> Hunted:
        """Return all that was found."""
        return self._hunted(self._facts(), end)

    def _hunted(self, facts: Facts, end: End) -> Hunted:
        places = [one.gap.place for one in end.culprits]
        merged = {place: self.repository.merged(self.commits[place]) for place in places}
        profiles = {
            one.gap.place: profiles_of(
                self.session.store, *self._confirmed(facts.known, one.gap)
            )
            for one in end.culprits
        }
        return Hunted(
            self.scenario.name,
            self.session.inventory.bench,
            self.commits,
            facts.known,
            self.limits,
            end,
            facts.reasons,
            facts.unbuilt,
            {place: one for place, one in merged.items() if one is not None},
            {place: one for place, one in profiles.items() if one is not None},
            self._layouts,
        )

    def _confirmed(self, known: Known, gap: Gap) -> tuple[Record, Record]:
        """The results of the last duel that named a culprit: of its parent, and its own."""
        base = self._record(known.of(gap.after, gap.place)[-1].id)
        if base.experiment is None:
            raise AssertionError(f"{base.id} is of no duel")
        return base, self._record(base.experiment.points[1])

    def _task(self, place: int) -> Task:
        commit = self.commits[place]
        files = dict(self.session.files)
        if commit.tree not in files:
            files[commit.tree] = self.repository.archive(commit, source_folder())
            self.session.files = files
        return Task(self.scenario, commit)

    def _fight(self, step: Step) -> None:
        """Make the duel of a step, or go on with it where it was interrupted."""
        first, second = self._task(step.older), self._task(step.newer)
        session = replace(
            self.session, overrides={**self.session.overrides, "rounds": step.rounds}
        )
        session.complete((first, second), lambda _, ended: self.ids.append(ended.place.name))

    # ---- what the archive has

    def _facts(self) -> Facts:
        """Read the duels between commits of the range, and which of them fail."""
        tasks = {commit.hash: Task(self.scenario, commit) for commit in self.commits}
        records = []
        for row in self.session.store.index.rows(
            scenario=self.scenario.name, bench=self.session.inventory.bench
        ):
            counts = row["procedure"] == DUEL or row["outcome"] == Outcome.BUILD.label
            if counts and row["commit"] in tasks:
                record = self._readable(row["id"])
                task = tasks[row["commit"]]
                if record and self.session.earlier.is_like(task, record, self.plan):
                    records.append(record)
        return facts_of([*tasks], records, self.limits.find)

    def _record(self, ref: str) -> Record:
        return self._readable(ref) or self.session.store.load(ref)

    def _readable(self, ref: str) -> Record | None:
        if ref not in self._read:
            self._read[ref] = next(self.session.store.load_readable([ref]), None)
        return self._read[ref]

    def _build_s(self) -> float | None:
        """How long builds of the scenario's server took, by the newest results (s)."""
        rows = self.session.store.index.rows(scenario=self.scenario.name, limit=_RECENT)
        took = [
            build.seconds["total"]
            for row in rows
            if row["commit"] and row["outcome"] in BELIEVED
            if (record := self._readable(row["id"]))
            if (build := record.server.build) and "total" in build.seconds
        ]
        return statistics.median(took) if took else None


def _say(*lines: str) -> None:
    for line in lines:
        print(f"leaselab bisect: {printable(line)}", file=sys.stderr, flush=True)
