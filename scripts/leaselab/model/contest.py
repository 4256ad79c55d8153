"""A contest: two that are measured in turn and judged together, by the plan of a duel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from leaselab.model.procedures import AnyProcedure
from leaselab.model.procedures.duel import Duel

Side = TypeVar("Side")


@dataclass(frozen=True, slots=True)
class Contest(Generic[Side]):
    """Two tasks, two benches or two results, and the plan of the duel that they are in."""

    a: Side
    """The one whose load both get."""
    b: Side
    plan: Duel


def contest_by(procedure: AnyProcedure, a: Side, b: Side) -> Contest[Side] | None:
    """The contest of two that are measured by a procedure; None where it is no duel."""
    return Contest(a, b, procedure) if isinstance(procedure, Duel) else None
