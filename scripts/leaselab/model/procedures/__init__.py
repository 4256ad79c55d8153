"""Every procedure, and the function that builds one from parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast, get_args

import msgspec
import msgspec.inspect

from leaselab.model.errors import unknown, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MAX_RATE, MaxRate
from leaselab.model.procedures.profile import Profile
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.procedures.replay import Replay

AnyProcedure = MaxRate | FixedLoad | Event | Burst | Fill | Ramp | Replay | Duel | Profile
PROCEDURES: dict[str, type[AnyProcedure]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyProcedure)
}
"""Every procedure, by its name."""


def procedure_of(parameters: Mapping[str, Any]) -> AnyProcedure:
    """Build and check a procedure from the parameters that differ from their defaults.

    `name` is max-rate by default.  Raises a usage error for an unknown name (with the nearest),
    a value of another type, or parameters that no measurement can meet.
    """
    if not isinstance(parameters, Mapping):
        given = repr(parameters)[:80]
        raise usage_error("not a mapping", where=WHERE, found=given, wanted="NAME: VALUE, …")
    name = str(parameters.get("name", MAX_RATE))
    if name not in PROCEDURES:
        raise unknown("procedure", name, list(PROCEDURES), WHERE)
    kind = PROCEDURES[name]
    known = list(kind.__struct_fields__)
    for parameter in parameters:
        if parameter not in (*known, "name"):
            raise unknown(f"parameter of {name}", parameter, known, WHERE)
    try:
        procedure = msgspec.convert({**parameters, "name": name}, kind)
    except msgspec.ValidationError as error:
        place = re.search(r"at `\$\.(\w+)", str(error))
        parameter = place[1] if place else ""
        info = cast("msgspec.inspect.StructType", msgspec.inspect.type_info(kind))
        kinds = {field.name: field.type for field in info.fields}
        wanted = _bounds(kinds[parameter]) if parameter in kinds else ""
        if not wanted:
            raise usage_error(
                f"value of another type: {error}",
                where=WHERE,
                todo=f"see `leaselab run --procedure {name} --help`",
            ) from error
        raise usage_error(
            f"{parameter} is out of range",
            where=WHERE,
            found=json.dumps(parameters[parameter], default=str)[:40],
            wanted=wanted,
        ) from error
    procedure.check()
    return procedure


def _bounds(kind: msgspec.inspect.Type) -> str:
    """Words for the allowed values of a parameter; empty where it is not a number."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return next(filter(None, map(_bounds, kind.types)), "")
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return f"{kind.min_length} to {kind.max_length} of them, each {_bounds(kind.item_type)}"
    if not isinstance(kind, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        return ""
    what = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
    least = f"above {kind.gt:g}" if kind.ge is None else f"from {kind.ge}"
    most = f"and below {kind.lt:g}" if kind.le is None else f"to {kind.le:.12g}"
    return f"{what} {least} {most}"
