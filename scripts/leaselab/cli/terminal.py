"""Standard output and error: own escape codes alone reach a terminal, messages are folded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from leaselab.model.text import Control, printable_lines
from leaselab.report.width import columns, folded


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Print untrusted texts without their terminal control characters.

    This covers all text on ``sys.stdout`` and ``sys.stderr``: versions that servers print,
    compilers' errors, subjects of commits.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        stream and cast("TextIO", kind(stream))
        for kind, stream in zip((_Guard, _Sentences), before, strict=True)
    )
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


class _Sentences(_Guard):
    """Standard error: what it says is in sentences, which a terminal has folded at words."""

    def write(self, text: str) -> int:
        width = None if isinstance(text, Control) else columns(self._stream)
        lines = printable_lines(text).split("\n") if width else []
        return super().write(
            "\n".join(folded(line, width) for line in lines) if width else text
        )
