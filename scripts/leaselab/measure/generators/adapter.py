"""What an adapter of a traffic generator is: at the level of a trial.

An adapter owns the command line, the reading of what the tool prints, the early end, what
makes a trial doubtful, and the probe that proves that a server answers.  Nothing outside of
its module knows the tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from leaselab.measure.ports import GeneratorHost
from leaselab.model.bench import Bench
from leaselab.model.load import Load
from leaselab.model.procedure import Procedure
from leaselab.model.scenario import Scenario
from leaselab.model.trial import HostUse, Trial

GENERATOR_LIMITED = "generator-limited"
"""`Trial.reason` of a trial whose generator began fewer transactions than asked."""
GENERATOR_STALLED = "generator-stalled"
"""The generator, or its host, stood still and caught up in a burst, or dropped replies:
without that the trial might have passed."""

TIMEOUT_SLACK_S = 20.0
"""Time beyond traffic and wait after which a generator counts as hanging (s): some print for
seconds."""
PROBES = 5
"""Probes tried before a started server counts as answering nobody."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a trial beside the generator's own output."""

    refused: int = 0
    """Requests that the server says it refused."""
    generator: HostUse | None = None
    """What happened to the generator's host; None where nobody looked."""
    held: Mapping[str, int] = field(default_factory=dict)
    """What each server held when it was reset, by role."""
    in_use: int | None = None
    """What the server under test held after the load; None where it did not tell."""
    trouble: str = ""
    """How several servers differed from the state asked for; empty when they did not."""


class Reading(Protocol):
    """What a tool's output says of one load."""

    @property
    def argv(self) -> Sequence[str]:
        """The command line."""

    @property
    def output_gz(self) -> bytes:
        """What the tool printed, to be kept."""

    @property
    def conclusive(self) -> bool:
        """False where it was ended early, and might still have passed."""

    @property
    def answered_at(self) -> Any:  # noqa: ANN401  # numpy's array
        """When each transaction's last reply came (s since the start, shape (answered,))."""

    def trial(self, seen: Seen) -> Trial:
        """Return what came of the load: its figures, and the adapter's doubts."""


class Adapter(Protocol):
    """One generator, ready to offer loads to one point."""

    def __init__(self, bench: Bench, procedure: Procedure, host: GeneratorHost) -> None:
        """`procedure` says what is late, and how much a trial may lose."""

    @staticmethod
    def check_fits(scenario: Scenario, procedure: Procedure) -> None:
        """Raise a usage error where a scenario's load cannot hold a procedure."""

    @property
    def capacity(self) -> int | None:
        """How much one load may take: of what servers can hold, or of what must not come again.

        None where nothing bounds it.
        """

    @property
    def takes_clients(self) -> bool:
        """Whether a load may say how many clients there are, which come back in turn.

        False where its clients are nobody, or where the scenario says how many there are.
        """

    def answers(self) -> bool:
        """Whether the server completes a transaction: a running process is no proof."""

    def offer(self, load: Load, *, may_abort: bool) -> Reading:
        """Offer a load and read what came of it; raises a broken-lab error.

        The reading may be lazy: what takes long waits until it is asked for.
        """
