"""What each procedure does with a point in one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaselab.measure.procedures.event import Crash
from leaselab.measure.procedures.fixed_load import Steady
from leaselab.measure.procedures.max_rate import Search
from leaselab.model.procedure import Event, FixedLoad, MaxRate

if TYPE_CHECKING:
    from leaselab.measure.procedures.method import Method
    from leaselab.model.procedure import Procedure

_METHODS: dict[type[Procedure], type[Method[Any]]] = {}
_METHODS |= {MaxRate: Search, FixedLoad: Steady, Event: Crash}


def method_of(procedure: Procedure) -> Method[Any]:
    """Return how a procedure is carried out."""
    return _METHODS[type(procedure)](procedure)
