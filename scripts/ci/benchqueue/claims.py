"""Claims of requests that never became builds.

Where a worker dies between the claim of a request and the start of its build, Buildbot 4.3
keeps the claim, and offers the request to nobody until the master starts again.
"""

from __future__ import annotations

from buildbot.data.resultspec import Filter
from buildbot.util.poll import method
from buildbot.util.service import BuildbotService
from twisted.python import log

LOOK_S = 5
GIVEN_BACK = "given back: the claim of request"
"""How a line of the log begins that names one."""


class Claims(BuildbotService):
    """Give back claims that two looks in turn see without a build."""

    name = "claims"
    _seen: frozenset[int] = frozenset()

    async def startService(self) -> None:  # noqa: N802  # Buildbot's
        """Begin to look."""
        await super().startService()
        self.look.start(interval=LOOK_S)

    async def stopService(self) -> None:  # noqa: N802  # Buildbot's
        """Stop looking."""
        await self.look.stop()
        await super().stopService()

    @method
    async def look(self) -> None:
        """Look for such claims, and have their requests wait again."""
        botmaster, updates = self.master.botmaster, self.master.data.updates
        if botmaster.brd.active:
            return  # it may be between a claim and the build
        mine = {"claimed": True, "complete": False, "claimed_by_masterid": self.master.masterid}
        claimed = await self.master.data.get(
            ("buildrequests",), filters=[Filter(key, "eq", [mine[key]]) for key in mine]
        )
        idle = frozenset(request["buildrequestid"] for request in claimed) - {
            request.id
            for builder in botmaster.builders.values()
            for build in builder.building
            for request in build.requests
        }
        for number in sorted(idle & self._seen):
            log.msg(f"{GIVEN_BACK} {number}")
            botmaster.remove_in_progress_buildrequest(number)
            await updates.unclaimBuildRequests([number])
            botmaster.maybeStartBuildsForAllBuilders()
        self._seen = idle
