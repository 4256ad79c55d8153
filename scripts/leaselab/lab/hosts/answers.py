"""Answers of programs on hosts: decoded, or a broken lab."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from leaselab.model.bounds import misfit
from leaselab.model.errors import lab_broken

_T = TypeVar("_T")
NO_ANSWER = "printed is no answer"


class Address(msgspec.Struct):
    """An address of an interface."""

    local: str = ""


class Link(msgspec.Struct):
    """An interface of ``ip -json``, which has empty ones as well."""

    ifname: str = ""
    flags: list[str] = []
    addr_info: list[Address] = []


def decoded(answer: str | bytes, kind: type[_T], *, what: str, where: str, todo: str) -> _T:
    """Decode the JSON that a host printed; `what` is said of it where it does not fit.

    That is a broken-lab error: the program is of another release, or the login prints a
    greeting before it.
    """
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise lab_broken(
            f"{what}: {misfit(error)}", where=where, found=repr(answer[:80]), todo=todo
        ) from error
