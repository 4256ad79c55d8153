"""Labels in the cells of wide tables: a small screen shows a row as lines, without its head."""

from __future__ import annotations

import re

from markupsafe import Markup

NO_VALUE = "-"
"""What a cell without a value shows; lines leave it out, by this label."""
_TABLE = re.compile(r'<table class="[^"]*\brecords\b[^"]*">.*?</table>', re.DOTALL)
_HEADING = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_UNIT = re.compile(r'<span class="note">(.*?)</span>')
_CELL = re.compile(r"<td((?:(?!colspan)[^>])*)>(?=(\s*-\s*</td>)?)")


def labelled(page: str) -> str:
    """Return the page; cells of tables of class ``records`` have the words of their column.

    These are ``data-label`` and, where the heading has one, ``data-unit``.  A cell that spans
    columns has none.
    """
    return _TABLE.sub(lambda table: _table(table[0]), page)


def _table(text: str) -> str:
    head, body = text.split("</thead>", 1)
    labels = [_attributes(heading) for heading in _HEADING.findall(head)]
    return head + "</thead>" + "</tr>".join(_row(row, labels) for row in body.split("</tr>"))


def _attributes(heading: str) -> str:
    unit = _UNIT.search(heading)
    words = Markup(_UNIT.sub("", heading)).striptags()  # noqa: S704  (it is of our template)
    label = f' data-label="{Markup.escape(words)}"'
    return f'{label} data-unit="{unit[1]}"' if unit else label


def _row(text: str, labels: list[str]) -> str:
    """The row with labels; its heading is in any place and needs none."""
    cells = re.split(r"(?=<t[dh][ >])", text)
    for place, label in enumerate(labels, start=1):
        if place < len(cells):
            cells[place] = _CELL.sub(
                lambda cell, label=label: (
                    f"<td{cell[1]}{f' data-label={NO_VALUE}' if cell[2] else label}>"
                ),
                cells[place],
                count=1,
            )
    return "".join(cells)
