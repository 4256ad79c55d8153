"""Bounds of a record's values: its readers can calculate with them, and show them.

A record may come from any source, so the bounds are part of its types: a decoded record has no
number whose square overflows, no text that fills a page, and no path out of its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

END: Final = r"$(?!\n)"
"""End of a pattern: Python's ``$`` alone would allow a newline after it."""
LONGEST: Final = 10_000
"""Most characters of a text, and most entries of a table."""
_MOST, _LEAST = 1e15, 1e-100
"""Bounds of a number that is not 0: its square and its reciprocal are still finite."""
_DEEPEST = 20
_SHOWN = 200
"""Most characters of an error about a value, which it may quote."""
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
"""Largest whole number that other programs read exactly."""
Amount = Annotated[float, Meta(ge=0, le=_MOST)]
"""A time, a rate or a ratio; never negative."""
Figure = Annotated[float, Meta(ge=-_MOST, le=_MOST)]
Text = Annotated[str, Meta(max_length=LONGEST)]
Word = Annotated[str, Meta(pattern=f"^[a-z0-9-]{{1,100}}{END}")]
Name = Annotated[str, Meta(pattern=f"^[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}{END}")]
"""A name used for pages and files: it cannot lead out of their folder."""
Processors = Annotated[
    str,
    Meta(pattern=f"^(?:[0-9]{{1,4}}(?:-[0-9]{{1,4}})?(?:,|{END}))*{END}", max_length=LONGEST),
]
"""In the kernel's list form, such as 0-3,8."""
_PART = r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f]{1,200}"
File = Annotated[str, Meta(pattern=f"^{_PART}(?:/{_PART}){{0,9}}{END}")]
"""A file of the result, by its path within it."""


class OutOfBoundsError(ValueError):
    """A value that no record can have."""


class Bounded(Struct, frozen=True, kw_only=True):
    """A struct that checks its own values beyond their types."""

    def __post_init__(self) -> None:
        """Raise OutOfBoundsError for such a value; nested structs have checked theirs."""
        for name in self.__struct_fields__:
            _check(getattr(self, name), name, _DEEPEST)


def clipped(text: str) -> str:
    """Return a text that a record can hold: the beginning of a text that is too long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def fitted(value: Any, deep: int = _DEEPEST) -> Any:  # noqa: ANN401  # JSON
    """Return JSON values with each text `clipped`; keys stay, as cut keys could collide."""
    match value:
        case str():
            return clipped(value)
        case Mapping() if deep:
            return {key: fitted(part, deep - 1) for key, part in value.items()}
        case list() | tuple() if deep:
            return [fitted(part, deep - 1) for part in value]
    return value


def misfit(error: Exception) -> str:
    """Return a decoder's message on a value that does not fit, in at most 200 characters."""
    text, pattern, rest = str(error).partition(" matching regex ")  # of no use to the user
    if pattern:
        text = f"{text} of another form - at {rest.rpartition(' - at ')[2]}"
    return text[:_SHOWN]


def _check(value: object, name: str, deep: int) -> None:
    match value:
        case bool() | None:
            return
        case str():
            good = len(value) <= LONGEST
        case int() | float():
            good = value == 0 or _LEAST <= abs(value) <= _MOST
        case dict():
            good = deep > 0 and len(value) <= LONGEST
            for key, part in value.items() if good else ():
                _check(key, name, deep)
                _check(part, name, deep - 1)
        case list() | tuple():
            good = deep > 0 and len(value) <= LONGEST
            for part in value if good else ():
                _check(part, name, deep - 1)
        case _:
            return
    if not good:
        shown = str(value)[:40]
        raise OutOfBoundsError(f"{name}: too long, too deep or out of range: {shown}")
