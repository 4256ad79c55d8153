"""What each procedure does with a point in one round."""

from __future__ import annotations

from typing import Any

from leaselab.measure.procedures.burst import AllAtOnce
from leaselab.measure.procedures.cost import Counting
from leaselab.measure.procedures.duel import DuelTrials
from leaselab.measure.procedures.event import Failing
from leaselab.measure.procedures.fill import Filled
from leaselab.measure.procedures.fixed_load import Steady
from leaselab.measure.procedures.max_rate import Search
from leaselab.measure.procedures.method import Method
from leaselab.measure.procedures.operate import Operations
from leaselab.measure.procedures.profile import Profiled
from leaselab.measure.procedures.ramp import Steps
from leaselab.measure.procedures.replay import Replayed
from leaselab.model.procedure import Procedure
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.cost import Cost
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.operate import Operate
from leaselab.model.procedures.profile import Profile
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.procedures.replay import Replay

_METHODS: dict[type[Procedure], type[Method[Any]]] = {
    MaxRate: Search,
    FixedLoad: Steady,
    Event: Failing,
    Operate: Operations,
    Burst: AllAtOnce,
    Fill: Filled,
    Ramp: Steps,
    Replay: Replayed,
    Duel: DuelTrials,
    Profile: Profiled,
    Cost: Counting,
}


def method_of(procedure: Procedure, capacity: int | None = None) -> Method[Any]:
    """Return how a procedure is carried out.

    `capacity` is how much the server can hold, as the generator's adapter says; None where
    nothing bounds it.
    """
    return _METHODS[type(procedure)](procedure, capacity)
