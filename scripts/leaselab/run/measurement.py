"""The measurement of an experiment: its points in turn, round by round, until sealed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from leaselab.archive.calibration import ceiling_for, under
from leaselab.archive.live import LiveFeed
from leaselab.archive.published import by_role, published
from leaselab.archive.running import RunningSweep
from leaselab.archive.store import Store
from leaselab.lab.bench.lease import Lease
from leaselab.lab.bench.lock import lease_s
from leaselab.lab.deploy.deployment import distrust_deployment
from leaselab.measure.point import Point
from leaselab.measure.ports import Listener
from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.model.journal import Fault
from leaselab.model.record import GENERATOR
from leaselab.run.experiment import Ended, Part, begin, fetch_config
from leaselab.run.instruments import Instruments
from leaselab.run.listeners import Live, both
from leaselab.run.record import kept_words, record_of
from leaselab.run.workshop import Workshop

Show = Callable[[Bench, str], AbstractContextManager[Listener]]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Where measured points go, who sees them, and by which hosts they are measured."""

    store: Store
    root: Path
    """The checkout."""
    show: Show
    """`show(bench, name)` returns a context with the listener that shows a point's progress;
    `name` is empty for a single point."""
    lease: Lease
    """That of the bench."""
    workshop: Workshop

    def alone(self, bench: Bench) -> Ended:
        """Measure one point alone; errors as `begin` and `finish`."""
        (ident,) = self.store.fresh_ids(bench.scenario.name)
        points = begin(self.store, {ident: bench}, self.root)
        (ended,) = self.finish(points)
        return ended

    def finish(
        self,
        points: Sequence[RunningSweep],
        sealed: Callable[[Ended], object] = lambda _: None,
    ) -> list[Ended]:
        """Measure the remaining rounds of an experiment, and seal each point as it is finished.

        `sealed` gets each sealed point.  When the lab breaks or the user interrupts, the error
        is raised, and unsealed points can be resumed.  An invalid measurement or a server that
        does not start is also a result and is sealed with its reason.
        """
        with ExitStack() as stack:
            for running in points:
                stack.enter_context(running)
            parts = [Part.of(running) for running in points]
            try:
                return self._measure(parts, sealed)
            except BaseException as fault:
                _journal_fault(parts, fault, self.root)
                raise

    def _measure(self, parts: Sequence[Part], sealed: Callable[[Ended], object]) -> list[Ended]:
        began = time.monotonic()
        experiment = parts[0].experiment
        interleaved = experiment is None or experiment.interleaved
        with ExitStack() as stack:
            feeds: dict[str, Live] = {}
            listeners: dict[str, Listener] = {}
            for part in parts:
                name, folder = part.running.id, part.running.path
                shown = stack.enter_context(
                    self.show(part.bench, part.title if experiment else "")
                )
                feeds[name] = Live(stack.enter_context(closing(LiveFeed(folder))))
                listeners[name] = both(shown, feeds[name])
            instruments = stack.enter_context(
                self.workshop.connect(parts, listeners[parts[0].running.id])
            )
            held_for = experiment.id if experiment else parts[0].running.id
            longest = max(lease_s(part.bench) for part in parts)
            generator = instruments.hosts[GENERATOR]
            lock = stack.enter_context(self.lease.during(generator, held_for, longest))
            stack.enter_context(instruments.watching(parts))
            for part in parts:
                part.configs = {
                    role: fetch_config(part, server, instruments.hosts[role], role)
                    for role, server in part.bench.servers.items()
                }
                name = part.running.id
                part.point = instruments.point(part, feeds[name], listeners[name], lock)
            instruments.clear(parts)
            setup_s = (time.monotonic() - began) / len(parts)
            for part in parts:
                part.setup_s = setup_s

            def done(place: int) -> None:
                sealed(self._seal(parts[place]))

            made = [part.point for part in parts if part.point]
            if parts[0].bench.procedure.of_two:
                _fight(parts, instruments, feeds)
                for place in range(len(parts)):
                    done(place)
            else:
                run_points(made, interleaved=interleaved, done=done)
        return [part.ended for part in parts if part.ended]

    def _seal(self, part: Part) -> Ended:
        point = part.point
        if point is None:
            raise AssertionError("a point is sealed before it was measured")
        record = record_of(
            part.running.id,
            part.bench,
            point,
            setup_s=part.setup_s,
            started_at=part.begun.started_at,
            owner=self.lease.name,
            configs=part.configs,
            experiment=part.experiment,
            provenance=part.begun.provenance,
        )
        record = under(ceiling_for(self.store, record), record)
        if point.error is not None:
            _distrust(part.bench, point.error, self.root)
        part.ended = Ended(
            point.error, self.store.seal(part.running, published(record, part.names))
        )
        return part.ended


def next_point(made: Sequence[int | None], *, interleaved: bool) -> int | None:
    """Return the next point, by the rounds that each has; None where all are finished.

    `made` has None for a finished point.  Interleaved points alternate, every other time in
    reverse order (A B B A …), so that a steady drift of the machine affects all equally;
    otherwise each is finished before the next begins.
    """
    left = [(rounds, place) for place, rounds in enumerate(made) if rounds is not None]
    if not left:
        return None
    if not interleaved:
        return left[0][1]
    fewest = min(rounds for rounds, _ in left)
    places = [place for rounds, place in left if rounds == fewest]
    return places[0] if fewest % 2 == 0 else places[-1]


def _fight(parts: Sequence[Part], instruments: Instruments, feeds: Mapping[str, Live]) -> None:
    """Make the rounds of a duel, from where its journals end."""
    made = [part.point for part in parts if part.point]
    if len(made) != 2:
        raise usage_error(
            "the other point of this duel is gone",
            where=parts[0].running.id,
            todo="measure again; remove that folder",
        )
    slowdown = (parts[0].experiment.slowdown if parts[0].experiment else None) or 0.0
    elsewhere = [
        instruments.trials(part, part.elsewhere, feeds[part.running.id])
        for part in parts
        if part.elsewhere is not None
    ]
    if slowdown:
        for trials in (made[1].trials, *elsewhere[1:]):
            trials.server.brake(slowdown)
    both = (elsewhere[0], elsewhere[1]) if len(elsewhere) == 2 else None
    instruments.duel((made[0], made[1]), both).run()


def run_points(
    points: Sequence[Point], *, interleaved: bool, done: Callable[[int], object]
) -> None:
    """Advance the points in turn until all are finished; `done` gets each finished point."""

    def made(point: Point) -> int | None:
        return None if point.finished else len(point.rounds)

    while (
        place := next_point([made(point) for point in points], interleaved=interleaved)
    ) is not None:
        points[place].advance()
        if points[place].finished:
            done(place)


def _journal_fault(parts: Sequence[Part], fault: BaseException, root: Path) -> None:
    """Journal the interruption of an experiment, and print how to resume it."""
    left = [part for part in parts if part.ended is None]
    if not left:
        return
    for part in left:
        text = by_role(kept_words(fault, part.bench.scenario), part.names)
        part.running.record(Fault(text=text or type(fault).__name__))
    go_on = f"go on with: ./leaselab resume {left[0].running.id}"
    if isinstance(fault, LeaselabError):
        _distrust(left[0].bench, fault, root)
        fault.todo = f"{fault.todo}; {go_on}" if fault.todo else go_on
    elif isinstance(fault, KeyboardInterrupt):
        fault.args = (go_on,)


def _distrust(bench: Bench, fault: LeaselabError, root: Path) -> None:
    """Make the next run deploy again where a server's host has failed."""
    serving = {bench.hosts[role].access.name for role in bench.servers}
    if fault.where in serving and fault.outcome is not Outcome.INVALID:
        distrust_deployment(root, bench.name)
