"""Every procedure, and what builds one of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from leaselab.model.errors import unknown, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.flood import Flood
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.profile import Profile
from leaselab.model.procedures.ramp import Ramp

if TYPE_CHECKING:
    from collections.abc import Mapping

AnyProcedure = MaxRate | FixedLoad | Event | Burst | Fill | Ramp | Flood | Duel | Profile
PROCEDURES: dict[str, type[AnyProcedure]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyProcedure)
}
"""Every procedure, by its name."""


def procedure_of(parameters: Mapping[str, Any]) -> AnyProcedure:
    """Build a procedure from parameters that differ from their defaults, checked.

    `name` says which, max-rate without it.  Raises a usage error for an unknown name (with
    the nearest), a value of another type, or parameters that no measurement could meet.
    """
    name = str(parameters.get("name", MaxRate.__struct_config__.tag))
    if name not in PROCEDURES:
        raise unknown("procedure", name, list(PROCEDURES), WHERE)
    kind = PROCEDURES[name]
    known = list(kind.__struct_fields__)
    for parameter in parameters:
        if parameter not in (*known, "name"):
            raise unknown(f"parameter of {name}", parameter, known, WHERE)
    try:
        found = msgspec.convert({**parameters, "name": name}, kind)
    except msgspec.ValidationError as error:
        raise usage_error(f"value of another type: {error}", where=WHERE) from error
    found.check()
    return found
