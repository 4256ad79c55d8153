"""Every procedure, and the function that builds one from parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast, get_args

import msgspec
import msgspec.inspect

from leaselab.model.errors import unknown, usage_error
from leaselab.model.procedure import WHERE
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.cost import Cost
from leaselab.model.procedures.duel import Duel
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MAX_RATE, MaxRate
from leaselab.model.procedures.operate import Operate
from leaselab.model.procedures.profile import Profile
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.procedures.replay import Replay

AnyProcedure = (
    MaxRate | FixedLoad | Event | Operate | Burst | Fill | Ramp | Replay | Duel | Profile | Cost
)
PROCEDURES: dict[str, type[AnyProcedure]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyProcedure)
}
"""Every procedure, by its name."""
SEE: Final = "leaselab run --procedure {} --help"
"""The command that lists the parameters of a procedure."""


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
    kind, see = PROCEDURES[name], SEE.format(name)
    known = list(kind.__struct_fields__)
    for parameter in parameters:
        if parameter in (*known, "name"):
            continue
        having = [
            other for other, has in PROCEDURES.items() if parameter in has.__struct_fields__
        ]
        if having:
            raise usage_error(
                f"{parameter} is no parameter of {name}",
                where=WHERE,
                wanted=f"procedure {' or '.join(having)}",
                todo=f"name another procedure, or see `{see}`",
            )
        raise unknown(f"parameter of {name}", parameter, known, WHERE, listed=see)
    try:
        procedure = msgspec.convert({**parameters, "name": name}, kind)
    except msgspec.ValidationError as error:
        place = re.search(r"at `\$\.(\w+)", str(error))
        wanted = values_of(name).get(place[1], "") if place else ""
        if place is None or not wanted:
            what = f"value of another type: {error}"
            raise usage_error(what, where=WHERE, todo=f"see `{see}`") from error
        raise usage_error(
            f"{place[1]} is not valid",
            where=WHERE,
            found=json.dumps(parameters[place[1]], default=str)[:40],
            wanted=wanted,
        ) from error
    procedure.check()
    return procedure


def values_of(procedure: str) -> dict[str, str]:
    """Words for the values that each parameter of a procedure may have."""
    info = cast("msgspec.inspect.StructType", msgspec.inspect.type_info(PROCEDURES[procedure]))
    return {field.name: _values(field.type) for field in info.fields}


def is_series(parameter: str) -> bool:
    """Whether it is a parameter of several numbers, in any procedure."""
    return any(
        field.name == parameter and isinstance(field.type, msgspec.inspect.VarTupleType)
        for kind in PROCEDURES.values()
        for field in cast("msgspec.inspect.StructType", msgspec.inspect.type_info(kind)).fields
    )


def _values(kind: msgspec.inspect.Type) -> str:
    """Words for the values of a type; empty where it is neither a number nor a choice."""
    match kind:
        case msgspec.inspect.UnionType():
            return next(filter(None, map(_values, kind.types)), "")
        case msgspec.inspect.VarTupleType():
            each = _values(kind.item_type)
            return f"{kind.min_length or 0} to {kind.max_length} of them, each {each}"
        case msgspec.inspect.StrType(pattern=str()):
            return "a word of small letters, digits and hyphens"
        case msgspec.inspect.LiteralType():
            return " or ".join(sorted(map(str, kind.values)))
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            what = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
            least = f"above {kind.gt:g}" if kind.ge is None else f"from {kind.ge}"
            most = f"and below {kind.lt:g}" if kind.le is None else f"to {kind.le:.12g}"
            return f"{what} {least} {most}"
    return ""
