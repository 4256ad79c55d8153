"""The page of a sweep that runs; its script asks for what is new once a second."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from leaselab import __version__

_HERE = Path(__file__).parent


def live_page(title: str) -> str:
    """The page, to be served at ``/`` beside ``/state.json`` and ``/assets/``."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("live.html").render(title=title, version=__version__)


def page_file(name: str) -> bytes:
    """A style sheet or script of ours."""
    return (_HERE / "static" / name).read_bytes()
