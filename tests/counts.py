"""Archived counts of a made-up server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace
from tests.examples import begun, built, example_result

from leaselab.analysis.figures.summary import metrics_of
from leaselab.archive.store import Store
from leaselab.measure.procedures.cost import Counting
from leaselab.model.observation import Counted, CountedStep, Counts, FunctionCost
from leaselab.model.procedures.cost import COST, MORE, USUAL, Cost
from leaselab.model.record import Record

PLAN = Cost(rounds=3)
LIBC, OWN = "libc.so.6", "dnsmasq"


def function(
    name: str,
    own: int,
    *,
    file: str = OWN,
    library: int = 0,
    allocator: int = 0,
    calls: int = 0,
) -> FunctionCost:
    """What a function has done, together with what it had libraries do."""
    shared, whole = file == LIBC, own + library + allocator
    return FunctionCost(file, name, own, library, allocator, shared, whole, calls)


def counts(
    *,
    reply: int = 0,
    calls: int = 3,
    writes: int = 0,
    times: int = 1,
    main: int = 0,
    allocated: int = 0,
) -> dict[str, Counts]:
    """What a server has done for 300 transactions.

    In each, `reply` is how many more instructions the function of that name has, `main` how
    many fewer that one has, `allocated` how many more the allocator has; `calls` are those of
    recvmsg, `times` those of the first.
    """
    spent = 60_000 + 300 * allocated
    work = {"library": 60_000, "allocator": spent, "calls": 300 * times}
    functions = (
        function("main", 30_000 - 300 * main),
        function("dhcp_reply", 300 * (800 + reply), **work),
        function("memcpy", 60_000, file=LIBC, calls=600),
        function("malloc", spent, file=LIBC, calls=600),
        function("(below main)", 3_000, file=LIBC),
    )
    return {
        "valgrind": Counts(functions),
        "plain": Counts(
            system_calls={"recvmsg": 300 * calls, "poll": 299},
            written_bytes=writes,
            user_s=0.3,
            system_s=0.7,
        ),
    }


def counted(**changes: int) -> Counted:
    """A count in one start; `changes` as of `counts`."""
    usual = CountedStep(300, 300, **counts(**changes))
    return Counted({USUAL: usual, MORE: CountedStep(100, 1000, **counts(**changes))})


def archived_count(
    store: Store, name: str, *starts: Counted, environment: str = "1", **commit: Any
) -> Record:
    """An archived result of some starts, by what each has counted; the name says when.

    With a `commit`, it is of that; further fields are the commit's.
    """
    started = datetime.strptime(name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    method, base = Counting(PLAN), example_result(started=started)
    rounds, files = [], {}
    for index, start in enumerate(starts, start=1):
        result = method.result_of(start)
        path = f"rounds/run-{index}-cost.json.gz"
        (files[path],) = result.files.values()
        rounds.append(
            replace(
                base.rounds[0],
                index=index,
                metrics=dict(result.metrics),
                files={COST: path},
                trials=(),
                warm_ups=(),
                shown_trial=None,
                bracket=None,
            )
        )
    made = replace(
        base,
        id=name,
        procedure=PLAN,
        bench=replace(base.bench, environment=environment),
        rounds=tuple(rounds),
        metrics=metrics_of(PLAN.metrics("exchanges"), rounds, PLAN),
        confirmation=None,
    )
    made = built(made, **commit) if commit else made
    running = begun(store, made)
    for path, content in files.items():
        running.write_bytes(path, content)
    store.seal(running, made)
    return made
