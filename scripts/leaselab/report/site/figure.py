"""A chart of a page: as SVG, and with the description for redrawing in a browser.

One library draws the SVG and provides the browser's script, from one description: Vega, which
is included in vl-convert-python, so that nothing is fetched and no third-party code is stored
here.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cache

import vl_convert
from markupsafe import Markup, escape

from leaselab.report.site.legend import Key, legend
from leaselab.report.site.vega import Spec, still

_BASE = "https://vega.github.io/vega-datasets/"
"""What vl-convert puts before a relative link; Vega in a browser leaves them alone."""
_SIZE = re.compile(r'<svg( [^>]*? width="[\d.]+") height="[\d.]+"')
_PRECISE = re.compile(r"(?<!\d)(\d+\.\d)\d+")
_EMPTY = re.compile(r'<path class="(?:back|fore)ground" aria-hidden="true" d=""[^>]*/>')
_IDLE = re.compile(
    r' (?:font-family|pointer-events|aria-roledescription|stroke-miterlimit)="[^"]*"'
    r'| role="graphics-[^"]*"| (?:stroke-width|opacity|fill-opacity|stroke-opacity)="1"'
    r'|<text [^>]*opacity="0"[^>]*>[^<]*</text>'
    r'|<path class="background" aria-hidden="true" d="[^"]*"(?: pointer-events="none")?/>'
)
"""What a drawing without scripts, in a page with a font of its own, has no use for."""
_NAMED = re.compile(r'<[a-z]+ [^>]*aria-label="[^>]*>')
_ROLE = re.compile(r'role="graphics-[a-z]*"')
"""Roles of parts with a name, such as an axis: readers know few of them."""
_NUMBERS = re.compile(r' (?:d|transform|x2|y2|x|y|width|height)="[^"]*"')
_FONT = re.compile(r'font-size="([\d.]+)px"')
_ROOM = 1.25
"""Width of words of DejaVu Sans, the widest of Debian's, over that of the font that is
measured; with some room."""
_SERVED = "globalThis.vegaEmbed = vegaEmbed; globalThis.vega = vega;"


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of a page."""

    id: str
    """Name within its page: letters, digits and hyphens."""
    title: str
    drawing: Markup
    spec: Spec
    """Description for a browser with scripts."""
    note: str = ""
    """Note on how to read it."""

    @property
    def keys(self) -> list[tuple[str, list[Key]]]:
        """Its legend, which the drawing leaves out."""
        return legend(self.spec)


def figure(
    name: str,
    title: str,
    spec: Spec | None,
    *,
    note: str = "",
    drawn: Spec | None = None,
    at_once: bool = True,
) -> Figure | None:
    """Draw a chart; None where there is nothing to draw.

    `drawn` is a smaller one for the drawing, where a browser can show more.  One that is not
    to be seen `at_once` has no drawing: a browser makes it when its fold is opened.
    """
    if spec is None:
        return None
    spec = {**spec, "description": f"{spec['description']}{summary(spec)}"}
    drawing = Markup("")
    if at_once:
        drawing = svg({**still(drawn or spec), "description": spec["description"]})
    return Figure(name, title, drawing, spec, note)


def summary(spec: Spec) -> str:
    """What a chart shows in words, for who does not see it: how many values, and their ends."""
    words = []
    for panel in spec.get("vconcat", [spec]):
        for shown in panel.get("layer", ()):
            encoding = shown["encoding"]
            axis = next(
                (
                    encoding[way]
                    for way in ("y", "x")
                    if encoding.get(way, {}).get("type") == "quantitative"
                    and encoding[way].get("title")
                ),
                None,
            )
            data = shown.get("data", panel.get("data"))
            if axis and data and "tooltip" in encoding:
                known = _numbers(data, axis["field"])
                ends = f"{min(known):.6g} to {max(known):.6g}" if known else "none"
                words.append(f"{axis['title']}, {len(known)} values: {ends}")
                break
    return "".join(f". {each}" for each in words)


def _numbers(data: Spec, field: str) -> list[float]:
    """The numbers of a field, of data as text or as values."""
    values = data["values"]
    if isinstance(values, str):
        values = csv.DictReader(values.splitlines())
    return [float(value[field]) for value in values if value.get(field) not in (None, "")]


def svg(spec: Spec) -> Markup:
    """Draw a chart, ready to stand in a page.

    Its look is in presentation attributes, not in styles, which a strict content
    policy would drop.  What holds it makes it smaller, and never larger.
    """
    drawn = vl_convert.vegalite_to_svg(_roomy(spec))
    drawn = _FONT.sub(
        lambda match: f'font-size="{float(match[1]) / _ROOM:g}px"', drawn
    ).replace(f'href="{_BASE}', 'href="')
    # with links in it, it is not one image but a group of things to reach
    role = "group" if "<a " in drawn else "img"
    drawn = _NAMED.sub(lambda part: _ROLE.sub('role="img"', part[0]), drawn)
    name = f'<svg role="{role}" aria-label="{escape(spec["description"])}"'
    drawn = _SIZE.sub(lambda match: name + match[1], drawn, count=1)
    drawn = _EMPTY.sub("", drawn)
    drawn = _IDLE.sub("", drawn)
    # a tenth of a pixel is enough, and half the bytes
    drawn = _NUMBERS.sub(lambda match: _PRECISE.sub(r"\1", match[0]), drawn)
    return Markup(drawn)  # noqa: S704  # Vega escapes what stands in a text; tested


def _roomy(spec: Spec) -> Spec:
    """The same chart with larger words, and without its legend.

    Widths of words are taken from a narrow font.  With the room of larger ones, words of a
    wider font, which the reader may have, do not run into their neighbours.
    """
    config = {
        part: {
            name: value * _ROOM if name.lower().endswith("fontsize") else value
            for name, value in looks.items()
        }
        if isinstance(looks, dict)
        else looks
        for part, looks in spec.get("config", {}).items()
    }
    return {**spec, "config": {**config, "legend": {"disable": True}}}


@cache
def script() -> str:
    """Return Vega with what it needs, for a browser: `vegaEmbed` is its one entry."""
    return str(vl_convert.javascript_bundle(_SERVED))


def script_version() -> str:
    """Which Vega `script` returns."""
    return f"{vl_convert.get_vega_version()}, {vl_convert.get_vega_embed_version()}"
