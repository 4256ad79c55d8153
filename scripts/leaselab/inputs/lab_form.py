"""What the lab makes of a user's own configuration: what it changes, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from leaselab.inputs.user_files import UnreadError
from leaselab.model.errors import LeaselabError, usage_error

UNREAD = "unread-files"
"""The word of ``--without`` for parts whose files are not here or cannot be read."""
_BRING = "name a file that you may read"
_LISTED = 9
"""Files that are listed beside the first one that is wrong."""
T = TypeVar("T")
E = TypeVar("E", bound=LeaselabError)


class LabForm:
    """Changes of a configuration, and words of ``--without`` whose parts were in it."""

    def __init__(self, without: Sequence[str]) -> None:
        self._without = tuple(without)
        self._refused: dict[str, tuple[str, str]] = {}
        self._unread: list[UnreadError] = []
        self.changes: list[str] = []
        self._once: set[str] = set()
        """Each with its path, once."""
        self.left_out: list[str] = []
        """Words such as ``hook:radius`` whose parts were left out, in its order, once."""

    def change(self, change: str) -> None:
        """Note a change; results have it, so it repeats no value of the file."""
        if change not in self._once:
            self._once.add(change)
            self.changes.append(change)

    def leave_out(self, word: str, why: str, where: str) -> None:
        """Leave a part of the file out; `check_used` refuses it if the user did not ask."""
        if word not in self._without:
            self._refused.setdefault(word, (why, where))
        elif word not in self.left_out:
            self.left_out.append(word)

    def unless_unread(self, read: Callable[[str, str], T], name: str, spot: str) -> T | None:
        """Return what `read` makes of a file's name and where that is; None for none.

        Without the file the part that names it is left out; `check_used` refuses it if the
        user did not ask.
        """
        try:
            return read(name, spot)
        except UnreadError as error:
            self.leave_unread(error, spot)
        return None

    def leave_unread(self, error: UnreadError, spot: str) -> None:
        """Leave out the part that names a file, as `unless_unread`."""
        self.leave_out(UNREAD, error.what, spot)
        if UNREAD in self._without:
            self.change("a file that it names: not read, and left out")
        self._unread.append(error)

    def reasons(self, *words: str) -> list[str]:
        """Why the lab cannot run parts that the user did not leave out, with their places."""
        refused = (self._refused[word] for word in words if word in self._refused)
        return [f"{where}: {why}" for why, where in refused]

    def check_used(self, *, serves: bool = True) -> None:
        """Raise a usage error for parts to leave out, and for a word to which none belongs.

        Where nobody is served without these parts either, to leave them out is no help.
        """
        if self._refused and (serves or UNREAD in self._refused):
            raise self._refusal()
        unused = [word for word in self._without if word not in self.left_out]
        if unused:
            raise usage_error(
                "the configuration has no such part to leave out",
                where=f"--without {unused[0]}",
                wanted=", ".join(sorted(self.left_out)) or "no --without",
            )

    def _refusal(self) -> LeaselabError:
        """Refuse all parts at once, with all words that the file needs."""
        refused = dict(self._refused)
        words = " ".join(f"--without {word}" for word in [*self.left_out, *refused])
        first = with_others(self._unread, "found") if refused.pop(UNREAD, None) else None
        parts = [f"{word} ({where}: {why})" for word, (why, where) in refused.items()]
        if first is not None:
            also = f", and leave out {' and '.join(parts)}" if parts else ""
            first.todo = f"{first.todo or _BRING}, or leave it out{also}: {words}"
            return first
        [(word, (why, where)), *_] = refused.items()
        also = "".join(f" and {part}" for part in parts[1:])
        return usage_error(
            f"the lab cannot run this part of the configuration: {why}",
            where=where,
            found=word,
            todo=f"measure the file without it{also}: {words}",
        )


def with_others(errors: Sequence[E], said: str) -> E:
    """Return the first of some errors, which lists the places of the others, too.

    `said` is the field of each that is listed.
    """
    first, *others = errors
    listed = [f"{error.where}: {getattr(error, said)}" for error in others[:_LISTED]]
    more = len(others) - len(listed)
    listed += [f"and {more} more such"] if more else []
    first.found = "; ".join([first.found, *listed])
    return first
