"""Which request may have a free bench: Buildbot asks before each start.

Buildbot itself takes the oldest of the highest priority in each builder.  Here each job has a
builder, and the same must hold among all jobs that want a bench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from buildbot.data.resultspec import Filter
from buildbot.master import BuildMaster
from buildbot.process.builder import Builder
from buildbot.process.buildrequest import BuildRequest
from buildbot.process.results import RETRY, SUCCESS
from buildbot.process.workerforbuilder import WorkerForBuilder

from ci.benchqueue.site import CANARY

BROKEN = "broken_bench"
"""Property of a build: the bench that it found broken."""
_MOST_BROKEN = 50
"""Requests that may all have found a bench broken, before the next waits for them."""


class Order:
    """The rule, for `canStartBuild` and `nextBuild` of each builder."""

    def __init__(self, benches_of: Mapping[str, Sequence[str]]) -> None:
        """`benches_of` has the benches of each builder, canaries included."""
        self._benches_of = benches_of

    async def next_build(
        self, builder: Builder, requests: Sequence[BuildRequest]
    ) -> BuildRequest | None:
        """The request of a builder that is the first for one of its free benches, if any.

        Without it, Buildbot tries all its waiting requests on all its benches, each time.
        """
        free = [one.worker.workername for one in builder.getAvailableWorkers()]
        first = [await self._first(builder.master, bench) for bench in free]
        return next((request for request in requests if request.id in first), None)

    async def can_start(
        self, builder: Builder, worker: WorkerForBuilder, request: BuildRequest
    ) -> bool:
        """Whether a request may start on a bench now: it may use it, and none is before it."""
        return request.id == await self._first(builder.master, worker.worker.workername)

    async def _first(self, master: BuildMaster, bench: str) -> int | None:
        """The request that has a bench next."""
        builders = master.botmaster.builders.values()
        names = {await one.getBuilderId(): one.name for one in builders}
        those = [key for key, name in names.items() if bench in self._benches_of.get(name, ())]
        waiting = {"claimed": False, "complete": False}
        for first in await master.data.get(
            ("buildrequests",),
            filters=[
                *(Filter(key, "eq", [value]) for key, value in waiting.items()),
                Filter("builderid", "in", those),
            ],
            order=["-priority", "buildrequestid"],
            limit=_MOST_BROKEN,
        ):
            number = int(first["buildrequestid"])
            if await _is_done(master, number):
                continue
            if await self._may_use(master, names[first["builderid"]], number, bench):
                return number
        return None

    async def _may_use(self, master: BuildMaster, name: str, request: int, bench: str) -> bool:
        benches = self._benches_of.get(name, ())
        if bench not in benches or name.startswith(CANARY):
            return bench in benches
        if not await _is_offered(master, bench):
            return False
        broken = await broken_benches(master, request)
        return bench not in broken or set(benches) <= set(broken)


async def _is_done(master: BuildMaster, request: int) -> bool:
    """Whether a build of a request has ended, and the master was killed before it noted so."""
    for build in await master.data.get(("buildrequests", request, "builds")):
        if build["complete"] and build["results"] != RETRY:
            await master.data.updates.claimBuildRequests([request])
            await master.data.updates.completeBuildRequests([request], build["results"])
            return True
    return False


async def _is_offered(master: BuildMaster, bench: str) -> bool:
    """Whether the newest canary of a bench has passed, or there was none."""
    canary = await master.data.updates.findBuilderId(f"{CANARY}{bench}")
    newest = await master.data.get(
        ("builders", canary, "buildrequests"), order=["-buildrequestid"], limit=1
    )
    return all(one["complete"] and one["results"] == SUCCESS for one in newest)


async def broken_benches(master: BuildMaster, request: int) -> list[str]:
    """The benches that the builds of a request found broken, one for each build."""
    found = []
    for one in await master.data.get(("buildrequests", request, "builds")):
        properties = await master.data.get(("builds", one["buildid"], "properties"))
        found += [properties[BROKEN][0]] if BROKEN in properties else []
    return found
