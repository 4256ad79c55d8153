"""The legend of a chart as text of its page, which no small screen makes smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from leaselab.report.site.vega import ASIDE, Shape, Spec

_SHAPES = {
    Shape.CIRCLE: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9",
    Shape.SQUARE: "M2 2h8v8H2z",
    Shape.DIAMOND: "M6 .5 11 6 6 11.5 1 6z",
    Shape.UP: "M6 1.5 11 10.5H1z",
    Shape.DOWN: "M6 10.5 11 1.5H1z",
    Shape.CROSS: "M4 1h4v3h3v4H8v3H4V8H1V4h3z",
}
"""Outlines of marks in a square of 12 px."""


class Key(NamedTuple):
    """What a mark of a chart stands for."""

    name: str
    colour: str
    path: str


def legend(spec: Spec) -> list[tuple[str, list[Key]]]:
    """The marks of a chart, by the titles of its panels where these differ, or by its own."""
    panels = [
        (_title(panel), keys)
        for panel in spec.get("vconcat") or [spec]
        if (keys := list(_keys(panel)))
    ]
    if all(keys == panels[0][1] for _, keys in panels):
        return [(_own(spec), keys) for _, keys in panels[:1]]
    return panels


def _own(spec: Spec) -> str:
    """The title that the legend of a scale of colours has; empty without one."""
    legends = (_of(layer, "color").get("legend") for layer in spec.get("layer", ()))
    return next((str(own.get("title", "")) for own in legends if isinstance(own, dict)), "")


def _title(panel: Spec) -> str:
    """The title of the vertical axis."""
    titles = (_of(layer, "y").get("title") for layer in panel["layer"])
    return next((str(title) for title in titles if title), "")


def _of(layer: Spec, channel: str) -> Mapping[str, object]:
    encoding: Mapping[str, Mapping[str, object]] = layer.get("encoding", {})
    return encoding.get(channel, {})


def _keys(panel: Spec) -> Iterator[Key]:
    """Each name of a panel once, with its colour and its shape."""
    looks: dict[str, dict[str, str]] = {"color": {}, "shape": {}}
    for layer in panel["layer"]:
        for channel, known in looks.items():
            scale = _of(layer, channel).get("scale")
            if isinstance(scale, dict):
                known.update(zip(map(_word, scale["domain"]), scale["range"], strict=True))
    for name in looks["color"] | looks["shape"]:
        shape = Shape(looks["shape"].get(name, Shape.CIRCLE))
        yield Key(name, looks["color"].get(name, ASIDE), _SHAPES[shape])


def _word(value: object) -> str:
    """A name, or an end of a scale of colours."""
    return value if isinstance(value, str) else f"{value:+.3g}" if value else "0"
