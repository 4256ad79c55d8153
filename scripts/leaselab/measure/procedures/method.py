"""How a procedure is carried out: the trials of a round, and those after the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.confirmation import Confirming
from leaselab.measure.search_error import too_few_clients
from leaselab.model.errors import LeaselabError, invalid_measurement
from leaselab.model.observation import Counted
from leaselab.model.procedure import STALLED_LIMIT, Procedure
from leaselab.model.procedures.one_load import OneLoad
from leaselab.model.record import TOO_FEW_CLIENTS, Bracket, Round
from leaselab.model.trial import Trial

P = TypeVar("P", bound=Procedure)
L = TypeVar("L", bound=OneLoad)

CLIENTS_PER_ATTEMPT = 2
"""Numbers of clients that a trial may use, over what it may attempt."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a round came to."""

    metrics: Mapping[str, float | None] = field(default_factory=dict)
    bracket: Bracket | None = None
    shown_trial: int | None = None
    """Position of the trial whose latency stands for the round."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What else is kept of the round, by name, such as stacks.folded.gz."""


class Method(Generic[P]):
    """One procedure, carried out; it keeps nothing from round to round.

    So a killed measurement is resumed by asking the same again: the trials that the journal
    has are the answers.
    """

    unbroken = False
    """Whether a round makes no sense of trials from before and after a start of the server: one
    that was interrupted is then made again, from its first trial on."""

    def __init__(self, procedure: P, capacity: int | None = None) -> None:
        """`capacity` is how much a server can hold of what it gives out; None without bound."""
        self.procedure = procedure
        self.capacity = capacity

    def first_load(self, earlier: Sequence[Round]) -> int:
        """Rate of the warm-up of a round (transactions/s)."""
        raise NotImplementedError

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Make the trials of one round, and say what they come to.

        Raises an invalid-measurement error where they come to nothing.
        """
        raise NotImplementedError

    def result_of(self, counted: Counted) -> Found:
        """Return what a count comes to, of a procedure that counts."""
        raise NotImplementedError

    def confirming(self, rounds: Sequence[Round], *, alone: bool) -> Confirming | None:
        """Return the trials after the last round, of which none is made; None without any.

        `alone`: it is one server, and not several that serve as one.
        """
        return None


class OneLoadMethod(Method[L]):
    """One of a single load, whose trials make no sense without those before."""

    unbroken = True

    @property
    def rate(self) -> int:
        """The load (transactions/s)."""
        if self.procedure.rate is None:
            raise AssertionError("the load is known before a point is measured")
        return self.procedure.rate

    def first_load(self, earlier: Sequence[Round]) -> int:
        """The load itself (transactions/s)."""
        return self.rate


def is_to_repeat(made: Sequence[Trial]) -> bool:
    """Whether a stall of the generator spoiled the last trial, and it may be made again."""
    return made[-1].reason == GENERATOR_STALLED and len(made) <= STALLED_LIMIT


def none_counts(made: Sequence[Trial], where: str) -> LeaselabError:
    """Return the error of a round whose trials all say nothing; `where` is its load."""
    if made[-1].reason == TOO_FEW_CLIENTS:
        return too_few_clients(made[-1], made, where)
    return invalid_measurement(
        "no trial of the round counts",
        where=where,
        found=", ".join(
            sorted(
                {
                    ": ".join(filter(None, (one.reason, one.detail)))
                    for one in made
                    if one.reason
                }
            )
        ),
        wanted="a valid trial",
        todo="read the trials' raw outputs, in raw/ of the result",
    )
