"""What is to be measured: scenarios, each on a commit of its server or on the packaged one."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from leaselab.archive.ident import fresh_id
from leaselab.cli.bench_setup import build_commit, build_log, deploy, give_back, prepare
from leaselab.cli.options import checkout_root
from leaselab.cli.progress import progress
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.catalog import find_procedure
from leaselab.lab.roles import apart
from leaselab.lab.servers import can_have_company
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error
from leaselab.model.procedures import procedure_of
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Experiment
from leaselab.model.source import SHORT
from leaselab.run.experiment import (
    BENCH_FILE,
    Ended,
    archive_failure,
    begin,
    finish,
    open_experiment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from leaselab.archive.running import RunningSweep
    from leaselab.archive.store import Store
    from leaselab.cli.generator_source import GeneratorSource
    from leaselab.lab.inventory import Inventory
    from leaselab.model.procedures import AnyProcedure
    from leaselab.model.record import Record, Scenario
    from leaselab.model.source import Commit

HEADROOM = 1.15
"""First offered load over the max rate measured last: a trial that loses something
says how much is too much, one that loses nothing only says "more"."""
_SETTLED = frozenset({Outcome.OK.label, Outcome.BUILD.label})
"""Outcomes of which a second measurement of the same would tell nothing new."""
_QUICK_ROUNDS = 3
"""Rounds of a max rate that is measured only as something else is a share of it."""
_RECENT = 20
"""Newest results among which the last max rate of a bench is looked for."""


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario and, where it is not the distribution's server, a commit."""

    scenario: Scenario = field(hash=False)  # it has dictionaries
    commit: Commit | None = None
    distribution: str = ""
    """Release of what serves, where one was asked for; else the bench's own."""

    def __str__(self) -> str:
        """The scenario, the commit by its short hash, the release."""
        commit = f" at {self.commit.hash[:SHORT]}" if self.commit else ""
        return (
            f"{self.scenario.name}{commit}{' on ' * bool(self.distribution)}{self.distribution}"
        )


@dataclass(frozen=True, slots=True)
class _MaxRateFound:
    """A max rate of the archive."""

    rate: float
    """Transactions/s."""
    id: str
    """Of its result."""
    of_task: bool
    """Whether it is of the same commit or release, and not of another one."""


@dataclass(slots=True)
class Session:
    """Where tasks are measured and kept, and how; one for all of a command."""

    store: Store
    inventory: Inventory
    overrides: Mapping[str, Any]
    """Parameters of the procedure that were asked for."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """By tree: the tar of a commit's files."""
    full: bool = True
    """Whether to play everything again, also where it still stands as it was left."""
    generator: GeneratorSource | None = None
    """The commit of the generator that tasks are measured with; None for what is there."""
    built: dict[Commit, str | LeaselabError] = field(default_factory=dict)
    """Key of the artifact, or why there is none.  Filled as commits are built."""
    generator_key: str = ""
    """Key of the generator's artifact, once it is built."""
    environment: str = ""
    """The lab's own state; known once it is prepared."""
    distribution: str | None = None
    """What serves there now, None before it is prepared."""
    changed_hosts: bool = False
    """Whether the scenario tuned last has settings of its own for hosts."""
    begun: set[Task] = field(default_factory=set)
    """Tasks whose measurement was begun: from then on it can be resumed."""
    together: Sequence[Task] = ()
    """The points of the experiment that is being measured."""

    def prepare(self, distribution: str) -> None:
        """Bring it up and provision it, once for as long as the release stays the same."""
        if distribution != self.distribution:
            self.environment = prepare(self.inventory, distribution, full=self.full)
            self.distribution = distribution
            self.built.clear()  # for another release it is another artifact

    def measure(
        self,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        *,
        why: str | None = None,
        refused: Callable[[Task, LeaselabError], object] | None = None,
        anchor: Task | None = None,
    ) -> None:
        """Build, deploy, tune, measure and archive; `sealed` is told each result.

        Several tasks are the points of an experiment, which alternate round by round; `why`
        says why they do not (empty: as that was asked for).  `anchor` is the one of them that
        is the fixed reference.  A commit that does not build, or whose server does not start,
        is a result.  `refused` is told each task whose settings the hosts cannot have, and the
        others are measured; without it, that is raised.  At the end, hosts are what their
        inventory says; where the lab breaks they stay as they are, so that the measurement can
        be resumed.  Raises for a broken lab, and what `finish` raises.
        """
        self.together = tasks = self._with_known_rates(tasks, sealed, why, refused)
        ids = [fresh_id(task.scenario.name) for task in tasks]
        experiment = None
        if len(tasks) > 1:
            experiment = Experiment(
                id=ids[0],
                points=tuple(ids),
                interleaved=why is None,
                why=why or "",
                anchor=ids[tasks.index(anchor)] if anchor in tasks else None,
            )
        steps = [list(zip(tasks, ids, strict=True))]
        if why is not None:
            steps = [[pair] for pair in _by_hosts(steps[0])]
        for step in steps:
            try:
                self._measure(step, experiment, sealed)
            except LeaselabError as error:
                if refused is None or not _of_hosts(step, error):
                    raise
                refused(step[0][0], error)
        self.give_back()

    def duel(
        self,
        first: Task,
        second: Task,
        sealed: Callable[[Task, Ended], object],
        slowdown: float | None = None,
    ) -> None:
        """Build, deploy and tune two tasks, and measure them in turn until there is an answer.

        Where their servers can be up at once they are, at two addresses, which they change
        from round to round; so each is deployed at both.  `sealed` is told each result, and so
        is what does not build or start; then nothing is measured.  `slowdown` is that of
        `Experiment`, of a duel that calibrates.  Raises as `measure`.
        """
        tasks = (first, second)
        ids = [fresh_id(task.scenario.name) for task in tasks]
        experiment = Experiment(
            id=ids[0], points=tuple(ids), interleaved=True, slowdown=slowdown
        )
        of = dict(zip(ids, tasks, strict=True))

        def failed(side: int, error: LeaselabError) -> None:
            place = self.archive(tasks[side], error, ids[side], experiment)
            sealed(tasks[side], Ended(error, place))

        places = self._both_deployed(tasks, failed)
        if not places:
            return
        documents, *others = (dict(zip(ids, there, strict=True)) for there in places)
        elsewhere = others[0] if others else {}
        # The load follows A, and begins where A's is: both have the same parameters.
        procedure = documents[ids[0]]["procedure"]
        for document in (*documents.values(), *elsewhere.values()):
            document["procedure"] = procedure
        experiment = msgspec.structs.replace(experiment, both_up=bool(elsewhere))
        root = checkout_root()
        points = begin(
            self.store, documents, "bench.json", root, experiment, elsewhere=elsewhere
        )
        self.begun |= set(tasks)
        self._finish(points, of, sealed)

    def go_on_with_duel(
        self, first: Task, second: Task, sealed: Callable[[Task, Ended], object]
    ) -> bool:
        """Go on with an unfinished duel of the same two tasks; False without one.

        Parameters and errors as those of `duel`.
        """
        unfinished, tasks = self._unfinished(), (first, second)
        for point_id, begun in unfinished.items():
            points = (begun.get("experiment") or {}).get("points", [])
            if len(points) != 2 or points[0] != point_id or points[1] not in unfinished:
                continue
            of = dict(zip(points, tasks, strict=True))
            if all(self._same_bench(one, unfinished[at]["bench"]) for at, one in of.items()):

                def failed(side: int, error: LeaselabError) -> None:
                    place = self.archive(tasks[side], error)
                    sealed(tasks[side], Ended(error, place))

                if self._both_deployed(tasks, failed):
                    self.begun |= set(tasks)
                    self._finish(open_experiment(self.store, point_id), of, sealed)
                return True
        return False

    def _both_deployed(
        self, tasks: tuple[Task, Task], failed: Callable[[int, LeaselabError], object]
    ) -> list[list[dict[str, Any]]]:
        """Deploy two tasks, at two places where they can be up at once.

        Returns the bench documents of both at each place.  `failed` is told which of them does
        not build or start; then there are none.
        """
        made: list[list[dict[str, Any]]] = []
        for side, task in enumerate(tasks):
            made.append([])
            # A comes first at both: where it lies there since an earlier duel, it stays.
            for at in (1, 2):
                self.prepare(task.distribution)
                keep = [one["servers"]["server"]["variant"] for there in made for one in there]
                try:
                    made[-1].append(self._deployed(task, keep, at))
                except LeaselabError as error:
                    failed(side, error)
                    self.give_back()
                    return []
                if not can_have_company(parse_bench(made[-1][0], "bench.json")):
                    break
        # Both are at both places, or one after the other at the first.
        return [[first, second] for first, second in zip(*made, strict=False)]

    def _finish(
        self,
        points: Sequence[RunningSweep],
        of: Mapping[str, Task],
        sealed: Callable[[Task, Ended], object],
    ) -> None:
        """Measure what is left of some points, each of a task by its id; give hosts back."""

        def told(ended: Ended) -> None:
            sealed(of[ended.place.name], ended)

        finish(self.store, points, checkout_root(), progress, told)
        self.give_back()

    def give_back(self) -> None:
        """Tune hosts as their inventory says, where a scenario has set something else."""
        if self.changed_hosts:
            give_back(self.inventory)
            self.changed_hosts = False

    def _measure(
        self,
        step: Sequence[tuple[Task, str]],
        experiment: Experiment | None,
        sealed: Callable[[Task, Ended], object],
    ) -> None:
        """Deploy some tasks side by side, and measure them together."""
        documents: dict[str, tuple[Task, dict[str, Any]]] = {}
        for task, point_id in step:
            self.prepare(task.distribution)
            try:
                there = [one["servers"]["server"]["variant"] for _, one in documents.values()]
                documents[point_id] = task, self._deployed(task, there)
            except LeaselabError as error:
                place = self.archive(task, error, point_id, experiment)
                sealed(task, Ended(error, place))
        if not documents:
            return
        root = checkout_root()
        points = begin(
            self.store,
            {point_id: document for point_id, (_, document) in documents.items()},
            "bench.json",
            root,
            experiment,
        )
        self.begun |= {task for task, _ in documents.values()}
        finish(
            self.store,
            points,
            root,
            progress,
            lambda ended: sealed(documents[ended.place.name][0], ended),
        )

    def go_on(
        self, task: Task, tasks: Sequence[Task], sealed: Callable[[Task, Ended], object]
    ) -> bool:
        """Go on with an unfinished measurement of the same task; False without one.

        All unfinished points of its experiment are gone on with; `sealed` is told each result
        that is of one of `tasks`.
        """
        unfinished = self._unfinished()
        for point_id, begun in unfinished.items():
            if not self._same_bench(task, begun["bench"]):
                continue
            points = (begun.get("experiment") or {}).get("points", [point_id])
            of = {
                point: one
                for point in points
                if point in unfinished
                for one in tasks
                if self._same_bench(one, unfinished[point]["bench"])
            }
            for one in of.values():
                self._deployed(one)
            self.begun |= set(of.values())

            def ended(found: Ended, of: Mapping[str, Task] = of) -> None:
                if found.place.name in of:
                    sealed(of[found.place.name], found)

            opened = open_experiment(self.store, point_id)
            finish(self.store, opened, checkout_root(), progress, ended)
            self.give_back()
            return True
        return False

    def _unfinished(self) -> dict[str, Mapping[str, Any]]:
        """What unfinished measurements that nobody works on were begun with, by their ids."""
        return {
            sweep.id: begun
            for sweep in self.store.running()
            if not sweep.active and (begun := self.store.first_event(sweep)) is not None
        }

    def measured(self, task: Task, anchor: Task | None = None) -> str:
        """Id of a result of the same commit, scenario, parameters and bench, or none.

        With an `anchor`: one that alternated with that; what does not build needs none.
        """
        commit = task.commit.hash if task.commit else None
        for row in self.store.index.rows(
            scenario=task.scenario.name, commit=commit, bench=self.inventory.bench
        ):
            if row["outcome"] in _SETTLED:
                found = self.store.load(row["id"])
                # A commit that does not build has no figure that a procedure could move.
                built = found.outcome != Outcome.BUILD.label
                procedure = found.procedure if built else self.procedure(task)
                if (
                    _files(found.source) == _files(task.commit)
                    and (not built or self._measured_with(found.generator.options))
                    and self._same(task, found.bench.environment, procedure)
                    and (anchor is None or not built or self._beside(found, anchor))
                ):
                    return str(row["id"])
        return ""

    def is_like(self, task: Task, found: Record, procedure: AnyProcedure) -> bool:
        """Whether a result of a task's scenario on its bench is of it, whatever its rounds.

        That is: of the same commit and files, and of the same parameters in the same
        environment.  One that does not build was measured with none.
        """
        built = found.outcome != Outcome.BUILD.label
        return (
            _files(found.source) == _files(task.commit)
            and found.bench.environment == self.environment
            and (not built or self._measured_with(found.generator.options))
            and (not built or found.procedure.ruler() == procedure.ruler())
        )

    def _beside(self, found: Record, anchor: Task) -> bool:
        """Whether a result stands in a ratio to this anchor."""
        of = found.experiment
        if of is None or of.anchor is None or not of.interleaved:
            return False
        try:
            reference = self.store.load(of.anchor)
        except LeaselabError:
            return False  # its folder is damaged, or gone
        return _files(reference.source) == _files(anchor.commit)

    def procedure(self, task: Task) -> AnyProcedure:
        """The procedure of a task: what its file says, and what was asked for."""
        folder = checkout_root() / "scenarios"
        return find_procedure(folder, task.scenario.name, self.overrides)

    def _same_bench(self, task: Task, bench: Mapping[str, Any]) -> bool:
        """Whether an unfinished measurement with this bench document is of a task, here."""
        return (
            bench["name"] == self.inventory.bench
            and bench["scenario"]["name"] == task.scenario.name
            and _same_server(task, bench)
            and self._measured_with(bench["generator"].get("settings", {}))
            and self._same(task, bench["environment"], procedure_of(bench["procedure"]))
        )

    def _measured_with(self, settings: Mapping[str, Any]) -> bool:
        """Whether a generator with these settings is of the commit that was asked for."""
        wanted = self.generator.commit.hash if self.generator else None
        return bool(settings.get("commit") == wanted)

    def _same(self, task: Task, environment: str | None, procedure: AnyProcedure) -> bool:
        wanted = self.procedure(task)
        return environment == self.environment and (procedure.rounds, procedure.ruler()) == (
            wanted.rounds,
            wanted.ruler(),
        )

    def _with_known_rates(
        self,
        tasks: Sequence[Task],
        sealed: Callable[[Task, Ended], object],
        why: str | None,
        refused: Callable[[Task, LeaselabError], object] | None,
    ) -> Sequence[Task]:
        """Measure the max rates that loads are a share of, where the archive has none.

        Returns the tasks whose loads are known then; `sealed` is told the results of those
        that came to no max rate.  `why` and `refused` are as in `measure`.
        """
        unknown = [task for task in tasks if self._lacks_rate(task)]
        if not unknown:
            return tasks
        print("first the max rates that the loads are shares of", file=sys.stderr, flush=True)
        overrides = {"name": "max-rate", "rounds": _QUICK_ROUNDS, "confirm_s": 0}
        first = replace(self, overrides=overrides, begun=set())
        failed: set[Task] = set()

        def ended(task: Task, found: Ended) -> None:
            if found.error is not None:
                failed.add(task)
                sealed(task, found)

        def left_out(task: Task, error: LeaselabError) -> None:
            failed.add(task)
            if refused is None:
                raise error
            refused(task, error)

        first.measure(unknown, ended, why=why, refused=left_out)
        self.environment, self.distribution = first.environment, first.distribution
        return [task for task in tasks if task not in failed]

    def _lacks_rate(self, task: Task) -> bool:
        procedure = self.procedure(task)
        return procedure.share_of_max_rate is not None and self._last_max_rate(task) is None

    def _last_max_rate(self, task: Task) -> _MaxRateFound | None:
        """The newest max rate of a task's scenario on its bench; None without one.

        One of the same commit or release comes before newer ones of others.
        """
        rows = self.store.index.rows(
            scenario=task.scenario.name, outcome=Outcome.OK.label, bench=self.inventory.bench
        )
        found = None
        for row in [one for one in rows if one["metric"] == "max_rate" and one["value"]][
            :_RECENT
        ]:
            of_task = self._is_of(task, row)
            if of_task or found is None:
                found = _MaxRateFound(row["value"], row["id"], of_task)
            if of_task:
                break
        return found

    def _max_rate_for(self, task: Task, procedure: AnyProcedure) -> _MaxRateFound | None:
        """The max rate that a task's load follows: its own, or the lowest of its experiment."""
        tasks = self.together if procedure.same_load and task in self.together else (task,)
        found = [one for each in tasks if (one := self._last_max_rate(each)) is not None]
        return min(found, key=lambda one: one.rate, default=None)

    def _is_of(self, task: Task, row: Mapping[str, Any]) -> bool:
        """Whether a row of the index is of a task's commit or release."""
        if row["commit"] != (task.commit.hash if task.commit else None):
            return False
        path = self.store.root / row["path"] / BENCH_FILE
        try:
            return _same_server(task, json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError):
            return False  # of an older release, or imported without it

    def ready(self, task: Task, procedure: AnyProcedure) -> AnyProcedure:
        """Return a procedure with the load that it stands for, or where its search begins.

        A search begins a little above the bench's last max rate: it saves the first round's
        scouts; what the round finds, it still proves itself.  Raises a usage error where a
        load is a share of a max rate that nobody has measured.
        """
        known = self._max_rate_for(task, procedure)
        if isinstance(procedure, MaxRate):
            if known is None or "start_rate" in self.overrides:
                return procedure
            return msgspec.structs.replace(procedure, start_rate=round(HEADROOM * known.rate))
        if isinstance(procedure, Duel):
            if known is None or "rate" in self.overrides:
                return procedure
            rate = min(procedure.max_rate, round(procedure.over * known.rate))
            return msgspec.structs.replace(procedure, rate=rate)
        share = procedure.share_of_max_rate
        if share is None:
            return procedure
        if known is None:
            raise usage_error(
                "no max rate of this scenario is known on this bench",
                where=f"scenario {task.scenario.name}",
                todo="give the load with --rate, or measure first: leaselab run "
                f"{task.scenario.name}",
            )
        of = "" if known.of_task else ": of another build or release, as this one has none"
        if procedure.same_load and len(self.together) > 1:
            of = ": the same load for all, by the lowest that is known"
        print(
            f"{task}: the load is {share:g} of {known.rate:.0f}/s, the max rate of "
            f"{known.id}{of}",
            file=sys.stderr,
            flush=True,
        )
        return procedure.at_max_rate(known.rate)

    def _deployed(self, task: Task, keep: Sequence[str] = (), at: int = 1) -> dict[str, Any]:
        """Build, deploy and tune beside the variants to `keep`; return the bench document.

        `at` is the place on the test network, as of `deploy`.
        """
        document = deploy(
            task.scenario.name,
            self.inventory,
            self.ready(task, self.procedure(task)),
            self.artifact(task),
            generator_build=self._generator_artifact(),
            distribution=task.distribution,
            full=self.full,
            keep=keep,
            at=at,
        )
        self.changed_hosts = bool(task.scenario.hosts)
        return document

    def archive(
        self,
        task: Task,
        error: LeaselabError,
        point_id: str = "",
        experiment: Experiment | None = None,
    ) -> Path:
        """Seal the result of a commit that does not build or whose server does not start.

        Raises the error again where it is of another kind, or not of a commit.
        """
        if task.commit is None or error.outcome is not Outcome.BUILD:
            raise error
        return archive_failure(
            self.store,
            point_id or fresh_id(task.scenario.name),
            error=error,
            scenario=task.scenario,
            procedure=self.procedure(task),
            commit=task.commit,
            log=build_log(task.commit) if error is self.built.get(task.commit) else None,
            inventory=self.inventory,
            environment=self.environment,
            experiment=experiment,
            root=checkout_root(),
        )

    def artifact(self, task: Task) -> str:
        """Return the key of the task's artifact, none for packages.

        Raises what the build ended with; so it does for another task of the same commit.
        """
        commit = task.commit
        if commit is None:
            return ""
        if commit not in self.built:
            try:
                made = build_commit(
                    task.scenario.server.kind,
                    commit,
                    self.files[commit.tree],
                    self.inventory,
                    self.store.build_place,
                )
            except LeaselabError as error:
                if error.outcome is not Outcome.BUILD:
                    raise
                self.built[commit] = error
            else:
                self.built[commit] = str(made["key"])
        key = self.built[commit]
        if isinstance(key, LeaselabError):
            raise key
        return key

    def _generator_artifact(self) -> str:
        """Return the key of the generator's artifact; none where no commit of it was named.

        Raises a broken-lab error for one that does not build: no server is to blame.
        """
        source = self.generator
        if source is None:
            return ""
        if not self.generator_key:
            try:
                made = build_commit(
                    source.name,
                    source.commit,
                    source.files,
                    self.inventory,
                    self.store.build_place,
                )
            except LeaselabError as error:
                if error.outcome is not Outcome.BUILD:
                    raise
                raise lab_broken(
                    f"the generator does not build: {error.what}",
                    where=f"{source.name} {source.commit.hash}",
                    todo=f"see {build_log(source.commit)}, or name another commit",
                ) from error
            self.generator_key = str(made["key"])
        return self.generator_key


def _same_server(task: Task, bench: Mapping[str, Any]) -> bool:
    """Whether a bench document is of a task's commit, or of the packages of its release."""
    source = (bench["servers"]["server"].get("build") or {}).get("source")
    of_commit = (source["hash"], source["tree"]) if source else None
    return (
        of_commit == _files(task.commit) and bench.get("distribution", "") == task.distribution
    )


def _files(commit: Commit | None) -> tuple[str, str] | None:
    return (commit.hash, commit.tree) if commit else None


def separate(tasks: Sequence[Task]) -> str:
    """Return why tasks cannot lie side by side on a bench; empty where they can."""
    if len({task.distribution for task in tasks}) > 1:
        return "the bench has one host for servers, and each release needs its own"
    return apart(task.scenario for task in tasks)


def _by_hosts(steps: Sequence[tuple[Task, str]]) -> list[tuple[Task, str]]:
    """Put tasks together that need the same of the hosts: these are set anew less often."""
    needs = [(task.distribution, task.scenario.hosts) for task, _ in steps]
    return [
        steps[place]
        for place in sorted(range(len(steps)), key=lambda at: needs.index(needs[at]))
    ]


def _of_hosts(step: Sequence[tuple[Task, str]], error: LeaselabError) -> bool:
    """Whether a task was refused for what it asks of hosts, before anything was changed."""
    return len(step) == 1 and bool(step[0][0].scenario.hosts) and error.outcome is Outcome.USAGE
