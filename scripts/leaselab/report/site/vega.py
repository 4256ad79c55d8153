"""Pieces of Vega-Lite charts, as dicts that both the drawing and the browser take.

Colours of marks are below: one colour, one meaning.  They are of Okabe and Ito's palette,
shifted so that each can be read on white and on dark ground; worse and better also differ in
their words.  Colours of text, axes and grid are left to the style sheet, which knows whether
it is dark.  Each chart is `width` wide; a page scales it down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import cycle, islice
from typing import Any

MEASURED = "#3a87c8"
"""What was measured, where nothing is judged; of two, the newer."""
WORSE = "#d1495b"
BETTER = "#1b9e77"
"""A change that was seen; likewise a trial that passed, and the best of several."""
DOUBT = "#e08a1e"
"""Suspected and not confirmed; a trial that failed."""
ASIDE = "#8a8a8a"
"""What is compared with, what does not count, and lines that figures are seen against."""


class Look(StrEnum):
    """What a change is."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    UNKNOWN = "unknown"


_OF_WORD = {
    **dict.fromkeys(("slower", "worse", "more"), Look.WORSE),
    **dict.fromkeys(("faster", "better", "less"), Look.BETTER),
    "equal": Look.SAME,
}


def look_of(word: str) -> Look:
    """The look of a comparison, by its word."""
    return _OF_WORD.get(word, Look.UNKNOWN)


LOOKS = {
    Look.WORSE: WORSE,
    Look.BETTER: BETTER,
    Look.SAME: MEASURED,
    Look.UNKNOWN: ASIDE,
}
"""Of changes."""
SERIES = (MEASURED, "#b06fb0", "#2fa4a8", "#9a7b4f", "#d883a4", "#6f7fd1")
"""Of several things in one chart, in their order; none of these means a judgement."""


class Shape(StrEnum):
    """Marks of charts, by Vega's names."""

    CIRCLE = "circle"
    SQUARE = "square"
    DIAMOND = "diamond"
    UP = "triangle-up"
    DOWN = "triangle-down"
    CROSS = "cross"


Spec = dict[str, Any]
WIDTH = 480
"""Of one panel; with its axis two charts stand beside each other in a window of 1280 px, and
the style sheet makes words of one that is scaled to a phone as much larger."""
_ROW, _ABOVE = 42, 9
"""Height of a line of a chart of names, and how far above its middle the name ends (px)."""
_LONGEST = 330
"""Room for a name (px): it is larger on a phone."""
_TABLEAU = (
    "4c78a89ecae9f58518ffbf7954a24b88d27ab79a20f2cf5b43989483bcb6"
    "e45756ff9d9879706ebab0acd67195fcbfd2b279a2d6a5c99e765fd8b5a5"
)
_MANY = [f"#{_TABLEAU[at : at + 6]}" for at in range(0, len(_TABLEAU), 6)]
"""Colours of more things than have one of their own: Tableau's 20."""
_ISO = (
    "utcFormat(datum.value, utcseconds(datum.value) ? '%Y-%m-%d %H:%M:%S'"
    " : utchours(datum.value) || utcminutes(datum.value) ? '%Y-%m-%d %H:%M' : '%Y-%m-%d')"
)
"""Words of a moment on an axis: the date, with the time where a tick is not at midnight, and
its seconds where ticks are closer than minutes."""
OWN_COLOUR: Spec = {"field": "colour", "type": "nominal", "scale": None}
"""The colour that a value names itself."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "numberFormat": ".10~g",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "labelSeparation": 5,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleLimit": 400,
    },
    # above the axis: a word that stands upright is read with the head aside
    "axisY": {
        "titleAngle": 0,
        "titleAlign": "left",
        "titleY": -9,
        "titleX": 0,
    },
    # above the title of the vertical axis
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "top",
        "offset": 26,
        "title": None,
    },
    "text": {"fontSize": 12},
    "concat": {"spacing": 12},
}


def chart(layers: Sequence[Spec], *, height: int, name: str, width: int = WIDTH) -> Spec:
    """A chart of layers on the same axes; `name` is what a screen reader says of it."""
    return whole(panel(layers, height=height, width=width), name)


def panel(layers: Sequence[Spec], *, height: int, width: int = WIDTH) -> Spec:
    """The same as one of several charts.

    A layer that has nothing to show is left out: it would leave its scales without an end.
    """
    shown = [layer for layer in layers if layer.get("data", {}).get("values", True)]
    return {"width": width, "height": height, "layer": shown}


def stacked(panels: Sequence[Spec], *, name: str) -> Spec:
    """Charts below each other on one horizontal axis."""
    scale = {"x": "shared", "color": "independent"}
    return whole({"vconcat": list(panels), "resolve": {"scale": scale}, "spacing": 26}, name)


def whole(parts: Spec, name: str) -> Spec:
    """A chart of its own, with what all of them share."""
    return {"$schema": _SCHEMA, "description": name, "config": _CONFIG, **parts}


def table(values: Sequence[Mapping[str, Any]]) -> Spec:
    """The same as text with commas, for many values: a third of the size.

    The values of a field are numbers, None or words; words have no comma.
    """
    fields = list(values[0])
    body = (
        ",".join("NaN" if value[name] is None else str(value[name]) for name in fields)
        for value in values
    )
    return {"values": "\n".join([",".join(fields), *body]), "format": {"type": "csv"}}


def rows(values: Sequence[Mapping[str, Any]]) -> Spec:
    """The data of a chart or a layer."""
    return {"values": list(values)}


def layer(
    values: Sequence[Mapping[str, Any]],
    mark: Spec,
    encoding: Spec,
    **more: Any,  # noqa: ANN401  # Vega-Lite's
) -> Spec:
    """Marks of one kind, one for each of the values."""
    return {"data": rows(values), "mark": mark, "encoding": encoding, **more}


def in_percent(ratio: float) -> float:
    """A ratio as a change (%), for an axis around 0."""
    return round(100 * (ratio - 1), 3)


def dots(size: int, **more: Any) -> Spec:  # noqa: ANN401  # Vega-Lite's
    """The mark of values that a reader points at."""
    return {"type": "point", "filled": True, "size": size, "opacity": 1, **more}


def lines(width: float, **more: Any) -> Spec:  # noqa: ANN401  # Vega-Lite's
    """The mark of intervals, without a tooltip, as the points have one."""
    return {"type": "rule", "strokeWidth": width, "aria": False, **more}


def dashed(colour: str) -> Spec:
    """The mark of a value that others are seen against; the domain of its scale has it."""
    return {"type": "rule", "strokeDash": [5, 3], "color": colour, "aria": False}


def number(field: str, title: str | None, **options: Any) -> Spec:  # noqa: ANN401  # Vega-Lite's
    """A position by a number.

    An axis without a title has none; `zero` is off, as rates lie far from it.
    """
    scale = options.pop("scale", {})
    if "type" not in scale:
        scale = {"zero": False, **scale}
    return {
        "field": field,
        "type": "quantitative",
        "title": title and _title(title),
        "scale": scale,
        **options,
    }


def moments(field: str, title: str) -> Spec:
    """A position by a moment in UTC, as everywhere in the report."""
    return {
        "field": field,
        "type": "temporal",
        "title": title,
        "scale": {"type": "utc", "padding": 14},
        "axis": {
            "labelExpr": _ISO,
            "tickCount": 8,
            "labelFlush": 60,
            "labelOverlap": "greedy",
            "labelSeparation": 8,
        },
    }


def colours(field: str, names: Sequence[str], **options: Any) -> Spec:  # noqa: ANN401  # Vega-Lite's
    """A colour by name, in the order of the names."""
    palette = SERIES if len(names) <= len(SERIES) else _MANY
    scale = {"domain": list(names), "range": [*islice(cycle(palette), len(names))]}
    return {"field": field, "type": "nominal", "scale": scale, **options}


def looks(field: str, known: Mapping[str, str]) -> Spec:
    """A colour or a shape by name, in the order of the names."""
    scale = {"domain": list(known), "range": list(known.values())}
    return {"field": field, "type": "nominal", "scale": scale}


def named(values: Sequence[Mapping[str, Any]], layers: Sequence[Spec], *, name: str) -> Spec:
    """A chart of layers with a line for each `label`, which stands above its marks."""
    place = {"field": "label", "type": "nominal", "axis": None, "sort": None}
    text = {"type": "text", "align": "left", "baseline": "bottom", "dy": -_ABOVE}
    words = layer(
        values,
        {**text, "limit": _LONGEST, "aria": False},
        {"x": {"value": 2}, "text": {"field": "label"}},
    )
    lines = len({value["label"] for value in values})
    placed = [
        each
        if "y" in each["encoding"] or each["mark"].get("strokeDash")
        else {**each, "encoding": {**each["encoding"], "y": place}}
        for each in (*layers, words)
    ]
    return chart(placed, height=_ROW * lines, name=name)


def tooltip_fields(*fields: tuple[str, str, str]) -> list[Spec]:
    """The fields of a tooltip: name, title, number format (empty for text)."""
    return [
        {"field": field, "title": _title(title)}
        | ({"type": "quantitative", "format": shown} if shown else {"type": "nominal"})
        for field, title, shown in fields
    ]


def _title(text: str) -> str:
    """A title as a chart takes it.

    Vega-Lite writes it into an expression, where it escapes quotes, but no backslash.
    """
    return text.replace("\\", "\N{REPLACEMENT CHARACTER}")


def still(spec: Spec) -> Spec:
    """The same chart for a static drawing, without the parts for a browser.

    A mark with a link keeps its description; the others are covered by that of the chart.
    """
    kept = {name: value for name, value in spec.items() if name != "params"}
    for name in ("layer", "vconcat"):
        if name in kept:
            kept[name] = [still(part) for part in kept[name]]
    if "mark" in kept:
        encoding = kept["encoding"] = {
            name: {part: own for part, own in value.items() if part != "legend"}
            for name, value in kept["encoding"].items()
            if name != "tooltip"
        }
        mark = {name: value for name, value in kept["mark"].items() if name != "point"}
        kept["mark"] = mark if "href" in encoding else {**mark, "aria": False}
    return kept


ZOOM = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}
"""A parameter of a layer: the wheel and dragging move the horizontal axis."""
