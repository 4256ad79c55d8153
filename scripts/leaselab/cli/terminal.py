"""Standard output and error: only Leaselab's own escape codes reach a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from leaselab.model.text import Control, printable_lines


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Print untrusted texts without their terminal control characters.

    This covers all text on ``sys.stdout`` and ``sys.stderr``: versions that servers print,
    compilers' errors, subjects of commits.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and cast("TextIO", _Guard(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Guard:
    """A stream before another one, whose attributes it has."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = stream
        """What rich writes to: `leaselab.report.console` has made its texts printable."""

    def write(self, text: str) -> int:
        return self._stream.write(text if isinstance(text, Control) else printable_lines(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (the stream's own)
        return getattr(self._stream, name)
