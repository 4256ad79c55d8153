"""Mappings that record which of their keys were read."""

from __future__ import annotations

from typing import Any

from jenkins_jobs.loc_loader import LocDict, LocList


class Reading(LocDict):
    """A mapping as jenkins-job-builder passes it on, which records the keys read.

    `asked` holds every key that was asked for, present or not.  Copies share it, so what is
    read in a copy counts; iterating over the items reads all keys.
    """

    def __init__(self, source: dict[str, Any], place: str, book: list[Reading]) -> None:
        super().__init__(
            {key: _follow(value, f"{place}.{key}", book) for key, value in source.items()},
            getattr(source, "pos", None),
            getattr(source, "key_pos", None),
            getattr(source, "value_pos", None),
        )
        self.place, self.book = place, book
        self.given = set(source)
        self.asked: set[str] = set()
        book.append(self)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - as a dict has it
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - as a dict has it
        """As of any mapping."""
        self.asked.add(key)
        return super().get(key, default)

    def items(self) -> Any:  # noqa: ANN401 - a view of a dict
        """As of any mapping; all are read."""
        self.asked |= self.given
        return super().items()

    def values(self) -> Any:  # noqa: ANN401 - a view of a dict
        """As of any mapping; all are read."""
        self.asked |= self.given
        return super().values()

    def copy(self) -> Reading:
        """A copy that shares the record of read keys."""
        twin = Reading.__new__(Reading)
        LocDict.__init__(twin, dict(self), self.pos, self.key_pos, self.value_pos)
        twin.place, twin.book = self.place, self.book
        twin.given, twin.asked = self.given, self.asked
        return twin

    def forgive(self) -> None:
        """Count all of its keys as read, as other code checks them."""
        prefix = f"{self.place}."
        for other in self.book:
            if other is self or other.place.startswith(prefix):
                other.asked |= other.given

    def unread(self) -> set[str]:
        """The keys that were not read."""
        return self.given - self.asked


def _follow(value: Any, place: str, book: list[Reading]) -> Any:  # noqa: ANN401 - any YAML
    """`value`, with each mapping in it replaced by a `Reading`."""
    if isinstance(value, Reading):
        return value
    if isinstance(value, dict):
        return Reading(value, place, book)
    if isinstance(value, list):
        items = [_follow(item, place, book) for item in value]
        return LocList(items, getattr(value, "pos", None), getattr(value, "value_pos", None))
    return value
