"""What the lab makes of a user's own configuration: what it changes, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from leaselab.lab.own_files import UnreadError
from leaselab.model.errors import LeaselabError, usage_error

UNREAD = "unread-files"
"""The word of ``--without`` for parts whose files are not here or cannot be read."""
_BRING = "name a file that you may read"
T = TypeVar("T")


class OwnForm:
    """Changes of a configuration, and words of ``--without`` whose parts were in it."""

    def __init__(self, without: Sequence[str]) -> None:
        self._without = tuple(without)
        self._refused: dict[str, tuple[str, str]] = {}
        self._unread: list[UnreadError] = []
        self.changes: list[str] = []
        """Each with its path, once."""
        self.left_out: list[str] = []
        """Words such as ``hook:radius`` whose parts were left out, in its order, once."""

    def change(self, change: str) -> None:
        """Note a change."""
        if change not in self.changes:
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
            if UNREAD in self._without:
                self.leave_out(UNREAD, error.what, spot)
                self.change(f"{name[:80]}: not read, and left out")
            self._unread.append(error)
        return None

    def check_used(self) -> None:
        """Raise a usage error for parts to leave out, and for a word to which none belongs."""
        if self._unread and UNREAD not in self._without:
            first, *others = self._unread
            first.found += f", and {len(others)} more such" if others else ""
            first.todo = f"{first.todo or _BRING}, or leave it out: --without {UNREAD}"
            raise first
        if self._refused:
            raise self._refusal()
        unused = [word for word in self._without if word not in self.left_out]
        if unused:
            raise usage_error(
                "nothing of that name would have to be left out",
                where=f"--without {unused[0]}",
                wanted=", ".join(sorted(self.left_out)) or "no --without",
            )

    def _refusal(self) -> LeaselabError:
        (word, (why, where)), *others = self._refused.items()
        also = ", ".join(f"{word} ({where}: {why})" for word, (why, where) in others)
        words = " ".join(f"--without {word}" for word in self._refused)
        return usage_error(
            f"the lab cannot have this: {why}",
            where=where,
            found=word,
            todo=f"measure the file without it{also and f' and {also}'}: {words}",
        )
