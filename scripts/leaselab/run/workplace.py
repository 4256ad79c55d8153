"""A bench and an archive that a command uses: preparation, builds and deployments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from leaselab.analysis.figures.credibility import beyond_quota
from leaselab.archive.store import Store
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root
from leaselab.catalog.releases import check_release, of_source, of_suite
from leaselab.lab.hosts.inventory import Inventory
from leaselab.measure.generators import check_fits
from leaselab.model import moment
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.procedures import AnyProcedure
from leaselab.model.record import SERVER, Experiment
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit
from leaselab.model.speech import announce
from leaselab.run.building import build_log
from leaselab.run.earlier import EarlierResults, MaxRates
from leaselab.run.experiment import BUILD_LOG, archive_failure
from leaselab.run.preparation import LeasedBench
from leaselab.run.record import command, failed_record, own_provenance
from leaselab.run.task import GeneratorSource, Task
from leaselab.run.variants import PLACES
from leaselab.run.workshop import Workshop, the_lab


@dataclass(slots=True)
class Prepared:
    """Present state of a bench's preparation; the sessions of a command share it."""

    environment: str = ""
    """The lab's own state; known once it is prepared."""
    distribution: str | None = None
    """Debian release of the server's host; empty for the bench's default, None before it is
    prepared."""
    changed_hosts: bool = False
    """Whether the scenario tuned last has host settings."""
    generator_key: str = ""
    """Key of the generator's artifact, once it is built."""
    leased: LeasedBench | None = None
    one_by_one: bool = False
    """Whether a server did not start that was deployed with others: it is not known which."""


@dataclass(slots=True)
class Workplace:
    """A bench, an archive and the requested parameters, shared by all of a command."""

    store: Store
    inventory: Inventory
    catalogue: Catalogue
    overrides: Mapping[str, Any]
    """Requested parameters of the procedure."""
    files: dict[str, Path] = field(default_factory=dict)
    """By tree: the tar of a commit's files."""
    full: bool = True
    """Whether to run all playbooks again, also where their result is still valid."""
    generator: GeneratorSource | None = None
    """The commit of the generator for the tasks; None for the installed generator."""
    built: dict[tuple[Commit, int], str | LeaselabError] = field(default_factory=dict)
    """Key of the artifact by commit and layout, or the error of its build.  Filled as commits
    are built."""
    kept: dict[tuple[Commit, int], str] = field(default_factory=dict)
    """Keys of artifacts, by commit and layout, that are used as they are and not built."""
    check: Callable[[Task, Bench], object] = lambda *_: None
    """Raises where what was deployed is not what the task is to measure."""
    lab: Prepared = field(default_factory=Prepared)
    together: Sequence[Task] = ()
    """The points of the experiment that is being measured."""
    workshop: Workshop = field(default_factory=the_lab)

    @contextmanager
    def leased(self, purpose: str) -> Iterator[None]:
        """Lease the bench for the context; `purpose` is public."""
        self.store.check_room()
        with self.workshop.lease(self.inventory, purpose) as bench:
            self.lab.leased = bench
            yield
        self.lab.leased = None

    @property
    def bench(self) -> LeasedBench:
        """The bench, which `leased` has locked."""
        if self.lab.leased is None:
            raise AssertionError("a bench is changed that is not leased")
        return self.lab.leased

    @property
    def earlier(self) -> EarlierResults:
        """Archived results of tasks on the bench in its present state."""
        generator = self.generator.commit.hash if self.generator else None
        return EarlierResults(
            self.store,
            self.inventory.bench,
            self.lab.environment,
            self.catalogue,
            self.overrides,
            generator,
        )

    @property
    def max_rates(self) -> MaxRates:
        """The measured max rates of the bench."""
        return MaxRates(self.earlier, self.together)

    def procedure(self, task: Task) -> AnyProcedure:
        """The procedure of a task: that of its file, with the requested parameters."""
        return self.catalogue.procedure_of(task.scenario, self.overrides)

    def check_tasks(self, *tasks: Task) -> None:
        """Raise the usage errors of tasks that can be found without access to hosts."""
        for task in tasks:
            check_bench(task.scenario, self.procedure(task), self.inventory)
            self.check_release(task)

    def check_release(self, task: Task) -> None:
        """Refuse a server whose release does not take its configuration, as far as it is known.

        By the commit's files, or by the suite that the servers of a local lab have.
        """
        server, commit, release = task.scenario.server, task.commit, None
        if (commit, task.layout) in self.kept:
            return  # built and measured before
        if commit is not None:
            files = self.files.get(commit.tree)
            release = of_source(server.kind, files) if files else None
        elif suite := task.distribution or self.inventory.suite(server.kind):
            release = of_suite(server.kind, suite)
        check_release(task.scenario.name, server.options, release)

    def prepare(self, distribution: str) -> None:
        """Bring the bench up and provision it, once for each change of the release."""
        if distribution != self.lab.distribution:
            self.lab.environment = self.workshop.prepare(
                self.bench, distribution, full=self.full
            )
            self.lab.distribution = distribution
            self.built.clear()  # another release needs another artifact

    def give_back(self) -> None:
        """Tune hosts to the settings of their inventory, where a scenario has changed some."""
        if self.lab.changed_hosts:
            self.workshop.give_back(self.bench)
            self.lab.changed_hosts = False

    def deployed(
        self, task: Task, keep: Sequence[str] = (), places: Sequence[int] = PLACES[:1]
    ) -> list[Bench]:
        """Build, deploy and tune beside the variants to `keep`.

        Returns one bench for each of `places`, or one where the server cannot be up at two (see
        `leaselab.run.variants.deploy`).
        """
        deploy = partial(
            self.workshop.deploy,
            task.scenario,
            self.bench,
            self.max_rates.ready(task, self.procedure(task)),
            self.artifact(task),
            generator_build=self._generator_artifact(),
            distribution=task.distribution,
            full=self.full,
            keep=keep,
            places=places,
        )
        ahead = [] if self.full or self.lab.one_by_one else [*self._ahead(task)]
        try:
            benches = deploy(ahead=ahead)
        except LeaselabError as error:
            if not ahead or error.outcome is not Outcome.BUILD:
                raise
            self.lab.one_by_one = True
            benches = deploy()
        self.lab.changed_hosts = bool(task.scenario.hosts)
        self.check(task, benches[0])
        facts = benches[0].hosts[SERVER].facts
        limits = facts.get("processors"), facts.get("cpu_limit")
        if beyond := beyond_quota(benches[0].server.tuning, *limits):
            announce(f"{task}: {beyond}")
        return benches

    def _ahead(self, task: Task) -> Iterator[str]:
        """The artifacts of other points that can be deployed by the same playbooks."""
        for other in self.together:
            like = replace(other, commit=task.commit, layout=task.layout) == task
            if like and other != task and task.commit and other.commit:
                try:
                    yield self.artifact(other)
                except LeaselabError as error:
                    if error.outcome is Outcome.LAB:
                        raise  # any other one is raised when it is its turn

    def archive(
        self,
        task: Task,
        error: LeaselabError,
        point_id: str = "",
        experiment: Experiment | None = None,
    ) -> Path:
        """Seal the result of a commit that does not build or whose server does not start.

        Raises the error again where it is of another kind, or not of an unchanged commit.
        """
        if task.commit is None or task.layout or error.outcome is not Outcome.BUILD:
            raise error
        log = build_log(task.commit) if error in self.built.values() else None
        # The path of the playbook's output on this machine is of no use to other readers.
        todo = f"its whole log: {BUILD_LOG} of the result" if log else ""
        record = failed_record(
            point_id or self.store.fresh_ids(task.scenario.name)[0],
            error=replace(error, todo=todo),
            scenario=task.scenario,
            procedure=self.procedure(task),
            commit=task.commit,
            inventory=self.inventory,
            environment=self.lab.environment,
            started_at=moment.now(),
            experiment=experiment,
            provenance=own_provenance(checkout_root(), command()),
        )
        return archive_failure(self.store, record, log, self.inventory)

    def artifact(self, task: Task) -> str:
        """Return the key of the task's artifact, none for packages.

        Raises the error of the build, also for further tasks of the same commit.
        """
        commit = task.commit
        if commit is None:
            return ""
        build = (commit, task.layout)
        if build not in self.built:
            self.check_release(task)
            kind, files = task.scenario.server.kind, self.files.get(commit.tree)
            self.built[build] = self._build(kind, commit, files, task.layout)
        key = self.built[build]
        if isinstance(key, LeaselabError):
            raise key
        return key

    def _generator_artifact(self) -> str:
        """Return the key of the generator's artifact; none where no commit of it was named.

        Raises a broken-lab error for a failed build, as it is not the server's fault.
        """
        source = self.generator
        if source is None:
            return ""
        if not self.lab.generator_key:
            key = self._build(source.name, source.commit, source.files)
            if isinstance(key, LeaselabError):
                raise lab_broken(
                    f"the generator does not build: {key.what}",
                    where=f"{source.name} {source.commit.hash}",
                    todo=f"see {build_log(source.commit)}, or name another commit",
                ) from key
            self.lab.generator_key = key
        return self.lab.generator_key

    def _build(
        self, name: str, commit: Commit, files: Path | None, layout: int = 0
    ) -> str | LeaselabError:
        """Build a commit of a server or generator; return its key, or why there is none."""
        if (commit, layout) in self.kept:
            return self.kept[commit, layout]
        if files is None:
            raise AssertionError(f"{commit.hash} is built without its files")
        try:
            return self.workshop.build(
                name, commit, files, self.bench, self.store, layout=layout, full=self.full
            )
        except LeaselabError as error:
            if error.outcome is not Outcome.BUILD:
                raise
            return error


def check_bench(scenario: Scenario, procedure: AnyProcedure, inventory: Inventory) -> None:
    """Raise the usage errors that can be found without access to hosts."""
    check_fits(scenario, procedure)
    inventory.check_partners(scenario.partners)
