"""What the points of an experiment spend their CPU time on: functions, and a flame graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leaselab.analysis.comparison.cost import judge_cost
from leaselab.analysis.comparison.profile import ProfileDifference, Spent, Stack, difference
from leaselab.model.record import Record
from leaselab.report.profile import (
    Table,
    call_headings,
    call_rows,
    headings,
    headline,
    notes,
    rows,
    short_name,
    summary,
    where,
)
from leaselab.report.site import vega
from leaselab.report.site.figure import Figure, figure
from leaselab.report.verdict.cost import HEADINGS, closing_words, limits_words
from leaselab.report.verdict.cost import rows as cost_rows

LEAST = 0.002
"""Share of the whole from which on a function is drawn: a narrower one is less than 2 px."""
DEEPEST = 60
"""Most functions on top of each other that are drawn."""
_NOTE = (
    "A box is as wide as the CPU time that B spends in a function and in what it calls, which "
    "is on top of it; red: more than A, blue: less.  Strong colours: functions whose own "
    "time is seen to differ."
)
_ROW_PX, _LETTER_PX = 18, 7.2
"""Height of a function in the drawing, and width of a letter in it (px)."""


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """Two profiles as a page shows them."""

    where: str
    """What is shown of them."""
    title: str
    headline: str
    summary: str
    tables: Sequence[Table]
    """By function; of counts also what was counted, first, and system calls."""
    verdict: str
    """Of two counts, in a sentence."""
    notes: Sequence[str]
    figure: Figure | None


def profile_parts(
    points: Sequence[tuple[Record, str, Sequence[Spent]]],
) -> list[ProfilePart]:
    """Compare each point that has a profile with the first of its kind of transaction.

    Points are records, labels, and what rounds were spent on.
    """
    firsts: dict[str, tuple[Record, str, Sequence[Spent]]] = {}
    parts: list[ProfilePart] = []
    for point in points:
        record, label, spent = point
        if not spent:
            continue
        base = firsts.setdefault(record.scenario.transaction.name, point)
        if base is point:
            continue
        first, first_label, first_spent = base
        made = difference(first, record, first_spent, spent)
        if made is not None:
            title = f"A: {first_label}; B: {label}"
            name = f"flames-{len(parts) + 1}" if parts else "flames"
            said, tables, remarks = (
                "",
                [Table("", headings(made), [*rows(made)])],
                [*notes(made)],
            )
            if (cost := judge_cost(first, record)) is not None:
                said = closing_words(cost, label, first_label, made)
                tables.insert(0, Table("", HEADINGS, [*cost_rows(cost)], code=False))
                tables.append(Table("", call_headings(made), [*call_rows(made)]))
                remarks.append(limits_words(cost))
            parts.append(
                ProfilePart(
                    where(counted=made.counted),
                    title,
                    headline(made),
                    summary(made),
                    tables,
                    said,
                    remarks,
                    figure(
                        name,
                        "Differential flame graph",
                        flames(made),
                        note=_NOTE,
                    ),
                )
            )
    return parts


@dataclass(slots=True)
class _Frame:
    """A function where certain others have called it."""

    before: float = 0.0
    after: float = 0.0
    """CPU time for each transaction in A and in B (us)."""
    called: dict[str, _Frame] = field(default_factory=lambda: defaultdict(_Frame))


def flames(profiles: ProfileDifference) -> vega.Spec | None:
    """Draw a flame graph of B, coloured by what it spends more or less than A."""
    root = _tree(profiles.stacks)
    if not root.after:
        return None
    boxes = [*_boxes(root, 0.0, 0, LEAST * root.after)]
    if not boxes:
        return None
    most = max(abs(float(str(box["more"]))) for box in boxes) or 1.0
    depth = 1 + max(int(str(box["row"])) for box in boxes)
    seen = {short_name(function.name) for function in profiles.functions if function.seen}
    for box in boxes:
        box["seen"] = box["name"] in seen
        letters = int(vega.WIDTH * float(str(box["spent"])) / root.after / _LETTER_PX)
        name = str(box["name"])
        box["label"] = name if len(name) <= letters else f"{name[: max(0, letters - 1)]}…"
        box["label"] = box["label"] if letters > 3 else ""
    x = vega.number(
        "from", f"CPU time in B ({profiles.unit})", scale={"domain": [0, root.after]}
    )
    y = {
        "field": "row",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, depth], "nice": False},
    }
    ends = {"x2": {"field": "to"}, "y2": {"field": "top"}}
    colour = {
        "field": "more",
        "type": "quantitative",
        "scale": {"domain": [-most, 0, most], "range": [vega.MEASURED, vega.ASIDE, vega.WORSE]},
        "legend": {"title": f"B - A ({profiles.unit})", "gradientLength": 180, "tickCount": 3},
    }
    tooltip = vega.tooltip_fields(
        ("name", "", ""),
        ("spent", "B", ".2f"),
        ("before", "A", ".2f"),
        ("more", "B - A", "+.2f"),
    )
    mark = {"type": "rect", "stroke": vega.ASIDE, "strokeWidth": 0.4}
    strong = {"condition": {"test": "datum.seen", "value": 1}, "value": 0.45}
    text = {"type": "text", "align": "left", "dx": 3, "baseline": "middle"}
    middle = {**y, "field": "middle"}
    layers = [
        vega.layer(
            boxes,
            mark,
            {"x": x, "y": y, **ends, "color": colour, "opacity": strong, "tooltip": tooltip},
        ),
        vega.layer(
            [box for box in boxes if box["label"]],
            {**text, "aria": False},
            {"x": x, "y": middle, "text": {"field": "label"}, "tooltip": tooltip},
        ),
    ]
    return vega.chart(layers, height=_ROW_PX * depth, name="Differential flame graph")


def _tree(stacks: Mapping[Stack, tuple[float, float]]) -> _Frame:
    """Join stacks by what they have in common from the outermost function on."""
    root = _Frame()
    for stack, (before, after) in stacks.items():
        frame = root
        for name in ("", *stack[:DEEPEST]):
            frame = frame if not name else frame.called[name]
            frame.before += before
            frame.after += after
    return root


def _boxes(
    frame: _Frame, start: float, row: int, least: float
) -> Iterator[dict[str, float | int | str]]:
    """The boxes above a function, the ones that it calls by their names."""
    for name, called in sorted(frame.called.items()):
        if called.after >= least:
            yield {
                "name": short_name(name),
                "from": round(start, 4),
                "to": round(start + called.after, 4),
                "row": row,
                "middle": row + 0.5,
                "top": row + 1,
                "spent": round(called.after, 4),
                "before": round(called.before, 4),
                "more": round(called.after - called.before, 4),
            }
            yield from _boxes(called, start, row + 1, least)
        start += called.after
