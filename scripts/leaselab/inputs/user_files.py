"""Files that a user's own configuration names: read in place, or below a folder of theirs."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from leaselab.catalog.plain_file import check_inside, check_plain, content_of
from leaselab.inputs.json_tokens import below, in_place
from leaselab.model.errors import LeaselabError, Outcome, usage_error

MOST_BYTES = 16 * 1024 * 1024
"""Size of a file in a language of its own."""
_DEEPEST = 20
"""Files between the main file and the last that is included."""
_MOST_FILES = 1000
"""Files that one configuration may read; one that includes itself reads more."""
_MOST_ENTRIES = 20_000
"""Files and folders among which a configuration is looked for."""
_MOST_NAMED = 4
"""Files that an error names."""


class UnreadError(LeaselabError):
    """A file or folder that a configuration names is not here, or cannot be read."""

    def __init__(self, what: str, where: str, **fields: str) -> None:
        """A usage error."""
        super().__init__(Outcome.USAGE, what, where, **fields)


def _first(paths: Iterable[Path]) -> Path | None:
    """Return the first path of some at which something is; None without one."""
    for path in paths:
        with contextlib.suppress(OSError, ValueError):  # names that no file can have
            path.stat()
            return path
    return None


class UserFiles:
    """The main file of a configuration, and those that it names.

    Absolute names are looked for in a folder: ``/etc/bind/db.a`` as ``etc/bind/db.a``,
    ``bind/db.a`` or ``db.a`` there.  Of a file's those that are in no such place are, also in
    folders above it with their whole name: copies of machines have it so.  What lies outside
    the configuration's folder may be secret, and is read only where that is asked for.
    """

    def __init__(
        self,
        named: Path,
        names: Sequence[str],
        also: Sequence[Path] = (),
        root: Path | None = None,
    ) -> None:
        """`named` is a file, or a folder with one of the `names`; raises a usage error.

        `also` are files and folders outside of it that may be read; `root` is a folder in which
        `place` looks for absolute names.
        """
        self.folder = named if os.path.isdir(named) else None  # noqa: PTH112  # no error
        self.file = self._main(named, names) if self.folder else named
        self._root = root
        self.within = (self.folder or self.file.parent, *also, *([root] if root else []))
        """Folders, and files, of what it may name."""
        self._left = _MOST_FILES
        self.recoded = False
        """Whether one was read as Windows-1252 or Latin-1, as it is not UTF-8."""

    @staticmethod
    def _main(folder: Path, names: Sequence[str]) -> Path:
        held = []
        left = _MOST_ENTRIES
        for place, folders, files in os.walk(folder):
            left -= len(folders) + len(files)
            if left < 0:
                raise usage_error(
                    "a folder of too many files to look for a configuration in",
                    where=str(folder),
                    wanted=f"{_MOST_ENTRIES} at most",
                    todo="name the file itself, or the folder of the configuration",
                )
            held += [Path(place) / name for name in files if name in names]
        held.sort()
        if len(held) != 1:
            raise usage_error(
                "more than one configuration" if held else "no configuration in this folder",
                where=str(folder),
                found=", ".join(str(path.relative_to(folder)) for path in held[:_MOST_NAMED]),
                wanted=f"one file of {', '.join(sorted(names))}",
                todo="name the file itself"
                + (": --config " if held else "")
                + " or ".join(map(str, held[:_MOST_NAMED])),
            )
        return held[0]

    def decoded(self, path: Path) -> str:
        """Return the text of a file, whatever its bytes are; raises OSError."""
        content = content_of(path, MOST_BYTES)
        try:
            return content.decode()
        except UnicodeDecodeError:
            self.recoded = True
        try:
            return content.decode("cp1252")
        except UnicodeDecodeError:  # a few bytes are none of Windows'
            return content.decode("latin-1")

    def path(self, name: str, where: str, within: str = "") -> Path:
        """Return the path of a file or folder that the configuration names.

        A relative name is below the folder `within`, or beside the main file.  `where` is the
        line that names it; a usage error has it where there is no such file.
        """
        tried = self._below(Path(within) / name) if within else []
        path = _first([*tried, *self._below(Path(name))] if name else [])
        if path is None:
            raise UnreadError(
                "a file that it names is not here",
                where,
                found=name[:200] or "no name",
                todo="name a folder that has the configuration and its files: --config FOLDER",
            )
        try:
            self._check(path)
        except PermissionError as error:
            what, _, todo = str(error.strerror).partition("; ")
            raise UnreadError(
                f"a file that it names is {what}", where, found=str(path), todo=todo
            ) from error
        return path

    def place(self, name: str, folder: Path) -> Path:
        """Return the path of a file that one in a folder includes, or where it should be.

        Raises OSError for one that may not be read.
        """
        is_named = self._root or not name.startswith("/")
        named = (below(self._root) if self._root else in_place)(name, folder)
        tried = [named] if is_named else self._below(Path(name))
        path = _first(tried) or tried[0]
        self._check(path)
        return path

    def _check(self, path: Path) -> None:
        if path != Path(os.devnull):
            check_inside(path, self.within)

    def plain(self, name: str, where: str, within: str = "") -> Path:
        """Return as `path` for a plain file; the error has the line for another."""
        path = self.path(name, where, within)
        if not path.is_file():
            raise UnreadError("not a plain file", where, found=str(path))
        return path

    def _below(self, path: Path) -> list[Path]:
        """Where a name may lead, the best first."""
        if not path.is_absolute():
            return [self.file.parent / path, *([self.folder / path] if self.folder else [])]
        parts, folder = Path(os.path.normpath(path)).parts[1:], self.folder or self.file.parent
        tails = [folder.joinpath(*parts[at:]) for at in range(max(1, len(parts)))]
        # Another program's file of the same name is not the main file.
        tails = [held for held in tails if held != self.file]
        above = [held.joinpath(*parts) for held in self.file.absolute().parents]
        return tails if self.folder else [path, *tails, *above]

    def included(self, name: str, where: str, depth: int, within: str = "") -> tuple[str, str]:
        """Return as `text`; the file is included at this depth, which has a limit."""
        if depth == _DEEPEST:
            raise usage_error(
                "files are included too deeply",
                where=where,
                wanted=f"{_DEEPEST} files in each other at the most",
            )
        return self.text(name, where, within)

    def text(self, name: str, where: str, within: str = "") -> tuple[str, str]:
        """Return the text of a file and its path; errors as `path`."""
        path = self.path(name, where, within)
        self._left -= 1
        try:
            if self._left < 0:
                raise OSError(errno.EFBIG, f"more than {_MOST_FILES} files")
            text = "" if path == Path(os.devnull) else self.decoded(path)
            if "\0" in text:  # servers read up to it, or refuse it
                raise OSError(errno.EILSEQ, "not a text: it has a byte 0")
            return text, str(path)
        except OSError as error:
            raise UnreadError(
                f"included file not read: {error.strerror}",
                where,
                found=str(path),
                wanted=f"a file of text that you may read, {MOST_BYTES} bytes at most",
            ) from error

    def is_folder(self, name: str, where: str) -> bool:
        """Whether a name is that of a folder; errors as `path`."""
        return self.path(name, where).is_dir()

    def names(self, folder: str, where: str, within: str = "") -> list[str]:
        """Return the names of the plain files in a folder, in order; errors as `path`."""
        path = self.path(folder, where, within)
        names = []
        try:
            for entry in sorted(path.iterdir()):
                if not entry.is_dir():
                    check_plain(entry)
                    names.append(str(Path(folder) / entry.name))
        except OSError as error:
            raise UnreadError(
                f"folder not read: {error.strerror}",
                where,
                found=str(path),
                wanted="a folder that you may read",
            ) from error
        return names
