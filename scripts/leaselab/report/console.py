"""Rich's console, for untrusted texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich import console
from rich.segment import Segment

from leaselab.model.text import printable_lines
from leaselab.report.width import is_screen


class Console(console.Console):  # noqa: TID251
    """A console that takes texts literally: no markup, and no escape codes but its own."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (rich's own)
        if not is_screen(options.get("file") or sys.stdout):
            options.setdefault("color_system", None)
        super().__init__(markup=False, emoji=False, **options)

    def render(
        self,
        renderable: console.RenderableType,
        options: console.ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        """Render as rich does, with all texts made printable."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable_lines(text), style, control)
