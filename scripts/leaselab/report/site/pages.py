"""Writing pages: where they lie, templates that escape, and which pages are current."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from leaselab import __version__
from leaselab.archive.disk import drafted
from leaselab.model import moment
from leaselab.model.errors import LeaselabError, internal_fault, usage_error
from leaselab.model.text import printable_lines
from leaselab.report.listing import moment_words, names, number, sentence, short, span
from leaselab.report.site.figure import Figure, script, script_version
from leaselab.report.site.labels import labelled
from leaselab.report.site.vega import Spec

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_MANIFEST = "pages.json"
_ASSETS = "assets"
_CHARTS = "charts.js"
_SHARED = ("leaselab.css", "leaselab.js", "compare.js", "icon.svg")
_PART = 60
"""Characters from which on a part of a chart is written once."""
_CAN_BE_TEXT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028"}


def sweep_page(ref: str) -> str:
    """The page of one result, by its id."""
    return f"sweep/{ref}"


def history_page(name: str) -> str:
    """The page of one scenario over time, by `history.Line.page`."""
    return f"history/{name}"


def experiment_page(ident: str) -> str:
    """The page of one experiment, by its id."""
    return f"experiment/{ident}"


def live_page(title: str) -> str:
    """The page of a running sweep, to be served beside ``/state.json`` and ``/assets/``.

    Its script asks for what is new once a second.
    """
    return _environment().get_template("live.html").render(title=title, version=__version__)


def single_page(template: str, values: Mapping[str, Any]) -> str:
    """A page that needs no other file: its style is inside, and it has no scripts."""
    style = Markup(page_file("leaselab.css").decode())  # noqa: S704  # ours, and no text of others
    template_ = _environment().get_template(template)
    return labelled(
        template_.render(
            **values,
            **_made(),
            nav=(),
            up="",
            page="",
            charted=False,
            style=style,
        )
    )


def _made() -> dict[str, str]:
    """What wrote a page, and when."""
    return {"version": __version__, "written": moment.now()}


def page_file(name: str) -> bytes:
    """A style sheet or script of ours."""
    return (_HERE / "static" / name).read_bytes()


class Pages:
    """A folder of pages.

    Pages that were written from the same input by the same leaselab are left as
    they are: most results of a site have not changed since the last time.
    """

    def __init__(self, folder: Path, nav: Sequence[tuple[str, str]]) -> None:
        """Name the folder; it is made when the first page is written.

        `nav` has the pages that every page leads to: name and words.
        """
        self._folder = folder
        self._nav = nav
        self._written: dict[str, str] = {}
        self._made: set[str] = set()
        self._stale: set[str] = set()
        self.left_out: dict[str, str] = {}
        """Pages that could not be made, by name, and the error of each."""
        self._known = self._read_manifest()
        self._environment = _environment()

    def write(
        self,
        name: str,
        template: str,
        source: object,
        context: Callable[[], tuple[Mapping[str, Any], Iterable[Figure | None]]],
    ) -> None:
        """Write a page and the data of its charts, unless it is current or just written.

        `name` is its path in the site without ``.html``; `source` is all that it
        shows, as JSON values; `context` makes what the template gets and the charts.
        """
        with self.apart(name):
            if name in self._made:
                return
            if ".." in name.split("/") or name.startswith("/"):
                raise ValueError(f"not a page of this site: {name!r}")
            self._made.add(name)
            sources = json.dumps([source, self._nav, _code()], sort_keys=True)
            self._written[name] = fingerprint = _digest(sources.encode())
            page = self._folder / f"{name}.html"
            if self._known.get(name) == fingerprint and page.exists():
                return
            values, figures = context()
            self._put(name, template, values, [each for each in figures if each is not None])

    @contextmanager
    def apart(self, name: str) -> Iterator[None]:
        """Have a fault of Leaselab in the context cost the site this page alone.

        Its place has a page that says so.  Errors of the input and of the disk are raised.
        """
        try:
            yield
        except (LeaselabError, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # a page that fails ends no other
            self.left_out[name] = repr(error)
            _log.exception("the report is without its page %s", name)
            self._put(name, "left_out.html", {"left_out": self.left_out}, ())
            self._written[name] = ""

    def _put(
        self, name: str, template: str, values: Mapping[str, Any], drawn: Sequence[Figure]
    ) -> None:
        """Write the file of a page, and that of the data of its charts, if it has any."""
        text = self._environment.get_template(template).render(
            **values,
            page=name,
            nav=self._nav,
            up="../" * name.count("/"),
            style="",
            charted=bool(drawn),
            **_made(),
        )
        self._disown(name)
        page = self._folder / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        _replace(page, labelled(text))
        data = page.with_suffix(".js")
        if drawn:
            charts, parts = _sharing(
                {figure.id: {**figure.spec, "config": None} for figure in drawn}
            )
            document = _compact([charts, drawn[0].spec["config"], parts])
            _replace(data, f"leaselabCharts({_inert(document)});\n")
        else:
            data.unlink(missing_ok=True)

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Leave those pages that were written before and that `wanted` says yes to."""
        self._written |= {name: known for name, known in self._known.items() if wanted(name)}

    def drop(self, name: str) -> None:
        """Take a page back that could not be made; one from before is removed."""
        self._written.pop(name, None)

    def has(self, name: str) -> bool:
        """Whether the page is of this site: written now, or kept."""
        return name in self._written

    def finish(self) -> None:
        """Write what all pages share, and remove the pages that are not of this site.

        Raises internal_fault where a page could not be made.
        """
        assets = self._folder / _ASSETS
        assets.mkdir(parents=True, exist_ok=True)
        for name in _SHARED:
            (assets / name).write_bytes((_HERE / "static" / name).read_bytes())
        self._write_script(assets / _CHARTS)
        for name in self._known.keys() - self._written.keys():
            for suffix in (".html", ".js"):
                (self._folder / f"{name}{suffix}").unlink(missing_ok=True)
        self._write_manifest(self._written)
        if self.left_out:
            raise internal_fault(
                "the report is not complete, for a fault of leaselab",
                where=str(self._folder),
                found="; ".join(f"{name}: {error}" for name, error in self.left_out.items()),
                todo="the other pages are written; report this with the output",
            )

    def _disown(self, name: str) -> None:
        """Note that a page is current no more, before it is written: this may be interrupted.

        The first page makes the folder ours.
        """
        self._stale.add(name)
        if name in self._known or not (self._folder / _MANIFEST).exists():
            self._write_manifest(
                {
                    page: "" if page in self._stale else known
                    for page, known in self._known.items()
                }
            )

    def _write_manifest(self, pages: Mapping[str, str]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        manifest = {"leaselab": __version__, "pages": pages}
        _replace(self._folder / _MANIFEST, json.dumps(manifest, indent=1))

    def _write_script(self, path: Path) -> None:
        """Make the script once for each version: it takes seconds."""
        first = f"// Vega {script_version()}\n"
        if path.exists():
            with path.open(encoding="utf-8") as stream:
                if stream.readline() == first:
                    return
        _replace(path, first + script())

    def _read_manifest(self) -> dict[str, str]:
        """The pages that are there; refuses a folder that holds something else."""
        path = self._folder / _MANIFEST
        if not path.exists():
            if self._folder.exists() and any(self._folder.iterdir()):
                raise usage_error(
                    "the folder of the report holds something else",
                    where=str(self._folder),
                    wanted="an empty folder, or a report",
                    todo="name another with -o",
                )
            return {}
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))["pages"])
        except (ValueError, KeyError, TypeError):
            return {}


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "moment": moment_words,
        "minute": _minute,
        "span": span,
        "amount": number,
        "short": short,
        "sentence": sentence,
    }
    made.tests["naming"] = names
    return made


def _minute(text: str) -> str:
    """A moment in a table: ``2026-11-21 16:01``; each page says that it is UTC."""
    return moment_words(text).rpartition(":")[0]


def _shown(value: object) -> object:
    """A value as a page has it: of a text only letters, none that reorders the others."""
    if isinstance(value, Markup):
        return Markup(printable_lines(value))  # noqa: S704  (it was markup before)
    return printable_lines(value) if isinstance(value, str) else value


def _replace(path: Path, text: str) -> None:
    """Write a file as a whole or not at all: somebody may be looking at it."""
    with drafted(path) as draft:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)


def _sharing(charts: Spec) -> tuple[object, list[object]]:
    """Return charts whose equal parts, such as those of each run, are references; the parts.

    A reference is ``{"$": place among the parts}``.
    """
    counts = Counter(map(_compact, _parts(charts)))
    places: dict[str, int] = {}

    def referring(value: object) -> object:
        if not isinstance(value, dict | list):
            return value
        text = _compact(value)
        if len(text) >= _PART and counts[text] > 1:
            return {"$": places.setdefault(text, len(places))}
        if isinstance(value, list):
            return [referring(inner) for inner in value]
        return {name: referring(inner) for name, inner in value.items()}

    return referring(charts), [json.loads(text) for text in places]


def _parts(value: object) -> Iterator[object]:
    """Yield a value and all that is in it, without texts, numbers and the like."""
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _parts(inner)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _inert(text: str) -> str:
    """JSON that is the same to a script, and holds nothing that HTML would read."""
    for letter, escaped in _CAN_BE_TEXT.items():
        text = text.replace(letter, escaped)
    return text


@cache
def _code() -> str:
    """A hash of everything that makes pages of results: another version, other pages."""
    files = sorted(path for path in _HERE.parents[1].rglob("*") if path.suffix in _PARTS)
    return _digest(b"".join(path.read_bytes() for path in files))


_PARTS = {".py", ".html", ".css", ".js"}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
