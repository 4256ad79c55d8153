"""kxdpgun: an open loop of queries past the kernel's sockets (AF_XDP), and counts alone.

It needs capabilities that its role checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from leaselab.measure.generators.adapter import Seen
from leaselab.measure.generators.kxdpgun_output import parse
from leaselab.measure.generators.open_loop import OpenLoop, OpenLoopReading, Output
from leaselab.model.load import Load


@dataclass(frozen=True)
class KxdpgunReading(OpenLoopReading):
    """What kxdpgun printed of one load."""

    @cached_property
    def output(self) -> Output:
        """What it printed, parsed; raises a broken-lab error for what is no measurement."""
        return parse(self.text(), self.generated.error)

    def dropped(self, seen: Seen) -> int:  # noqa: ARG002  # its packets pass the host's sockets
        """None: they are not counted."""
        return 0


class Kxdpgun(OpenLoop):
    """kxdpgun, against the server of one bench."""

    reading = KxdpgunReading

    def command(self, load: Load) -> list[str]:
        """Build the argv of one run."""
        settings = self._tool.settings
        argv = [self._tool.path, "-j", "-S", "1000", "-m", str(settings["mode"])]
        argv += ["-b", str(settings["batch"])]
        argv += ["-I", self._own.test_interface, "-l", self._own.test_address]
        argv += ["-t", str(load.duration_s), "-Q", str(load.rate)]
        return [*argv, "-i", self._queries, self._server]
