"""Claims of requests that never became builds.

Where a worker dies between the claim of a request and the start of its build, Buildbot 4.3
keeps the claim, and offers the request to nobody until the master starts again.
"""

from __future__ import annotations

from buildbot.data.resultspec import Filter
from buildbot.util import datetime2epoch
from buildbot.util.poll import method
from buildbot.util.service import BuildbotService

LOOK_S = 20
KEPT_S = 60
"""From a claim to its build Buildbot needs milliseconds."""


class Claims(BuildbotService):
    """Give back claims that are old and have no build."""

    name = "claims"

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
        master = self.master
        mine = {"claimed": True, "complete": False, "claimed_by_masterid": master.masterid}
        filters = [Filter(key, "eq", [value]) for key, value in mine.items()]
        for request in await master.data.get(("buildrequests",), filters=filters):
            number, claimed_at = request["buildrequestid"], request["claimed_at"]
            if datetime2epoch(claimed_at) > master.reactor.seconds() - KEPT_S:
                continue
            builds = await master.data.get(("buildrequests", number, "builds"))
            if all(build["complete"] and build["started_at"] < claimed_at for build in builds):
                master.botmaster.remove_in_progress_buildrequest(number)
                await master.data.updates.unclaimBuildRequests([number])
                master.botmaster.maybeStartBuildsForAllBuilders()
