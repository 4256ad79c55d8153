"""What a user has a configuration measured without, by words such as ``hook:radius``."""

from __future__ import annotations

from collections.abc import Sequence

from leaselab.model.errors import usage_error


class LeftOut:
    """The words of ``--without``, and those whose parts were in the file."""

    def __init__(self, without: Sequence[str]) -> None:
        self._without = tuple(without)
        self.words: list[str] = []
        """Those whose parts were left out, in the order of the file, each once."""

    def add(self, word: str, why: str, where: str) -> None:
        """Leave a part of the file out; a usage error where the user did not ask for that."""
        if word not in self._without:
            raise usage_error(
                f"the lab cannot have this: {why}",
                where=where,
                found=word,
                todo=f"measure the file without it: --without {word}",
            )
        if word not in self.words:
            self.words.append(word)

    def check_used(self) -> None:
        """Raise a usage error for a word to which no part of the file belongs."""
        unused = [word for word in self._without if word not in self.words]
        if unused:
            raise usage_error(
                "nothing of that name would have to be left out",
                where=f"--without {unused[0]}",
                wanted=", ".join(sorted(self.words)) or "no --without",
            )
