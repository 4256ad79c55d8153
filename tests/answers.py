"""What each command, page and export says of two results: ratio, 95 % interval and word.

`python -m tests.answers FOLDER` reads a folder of results, and names what differs.
"""

import csv
import html
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.report.site.site import write_site

WORDS = r"(slower|faster|equal|worse|better|cannot tell)"
_NUMBER = r"(?:at (?:least|most) )?([\d.]+)"
_RATIO = re.compile(rf"ratio B to A[^:]*: {_NUMBER}, 95 % interval ([\d.]+) to ([\d.]+)")
_SIGNED = r"([-+][\d.]+)"


@dataclass(frozen=True)
class Said:
    """What one place says of B against A; None of what it leaves out."""

    where: str
    pair: tuple[str, str]
    numbers: tuple[float, float, float] | None
    """The ratio and the ends of its interval."""
    word: str | None
    digits: int = 12
    """How many digits behind the point the numbers have."""

    def fits(self, known: "Said") -> bool:
        """Whether it says what another place says, in as many digits."""
        if self.word is not None and self.word != known.word:
            return False
        if self.numbers is None or known.numbers is None:
            return True
        apart = 0.51 * 10**-self.digits
        return all(
            math.isclose(mine, other, rel_tol=1e-5, abs_tol=apart)
            for mine, other in zip(self.numbers, known.numbers, strict=True)
        )


def run(*words: str) -> str:
    """What a command prints; its exit code is no matter here."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        main(list(words))
    return out.getvalue()


def of_compare(results: Path, pair: tuple[str, str], folder: Path) -> Iterator[Said]:
    """Terminal, JSON, Markdown and test report of `compare`; JSON first."""
    words = ("compare", *pair, "--results", str(results))
    document = json.loads(run(*words, "--json"))
    ends = document["ci95"] or document["range"]
    numbers = document["ratio"] and (document["ratio"], *ends)
    yield Said("compare --json", pair, numbers, document["word"])
    comment, report = folder / "comment.md", folder / "report.xml"
    printed = run(*words, "--markdown", str(comment), "--junit", str(report))
    cases = [case.findtext("system-out") or "" for case in _cases(report)]
    text = comment.read_text().replace("\\", "")
    for where, whole, closing in (
        ("compare", printed, printed.splitlines()[-1]),
        ("compare --markdown", text, text.splitlines()[2]),
        ("compare --junit", "", cases[-1]),
    ):
        match = _RATIO.search(whole)
        word = re.search(rf"(?:^|: ){WORDS}\b", closing, re.IGNORECASE)
        yield Said(where, pair, match and _floats(*match.groups()), word and word[1].lower(), 3)


def of_pages(results: Path, folder: Path) -> Iterator[Said]:
    """Compare, overview, histories, review and the pages of duels."""
    store = Store(results)
    write_site(store, folder)
    rows = {row["id"]: row for row in store.index.every()}
    for line in _tables(folder / "compare.html"):
        ids = re.search(r'data-ids="(\S+) (\S+)"', line)
        if ids:
            cells = [_plain(cell) for cell in re.findall(r"(?s)<td.*?</td>", line)]
            ends = cells[4].split(" to ")
            known = len(ends) == 2
            numbers = _floats(cells[3].split()[-1], *ends) if known else None
            yield Said("compare.html", ids.groups(), numbers, cells[2], 3)
    for line in _tables(folder / "index.html"):
        match = re.search(
            rf'(?s)sweep/([^"]+)\.html.*class="look[^>]*title="{WORDS}, 95 % interval '
            rf'{_SIGNED} to {_SIGNED} %">{_SIGNED} %',
            line,
        )
        if match:
            ident, word, low, high, change = match.groups()
            pair = (rows[ident]["anchor"], ident)
            yield Said("index.html", pair, _changes(change, low, high), word, 3)
    for page in folder.glob("history/*.html"):
        for line in _tables(page):
            match = re.search(r">([\d.]+) \(([\d.]+) to ([\d.]+)\)<", line)
            ident = re.search(r"/(\d{8}T\d{6}Z[^/.\"]+)", line)
            if match and ident:
                pair = (rows[ident[1]]["anchor"], ident[1])
                yield Said(page.name, pair, _floats(*match.groups()), None, 3)
    for page in folder.glob("experiment/*.html"):
        match = _RATIO.search(_plain(page.read_text()))
        points = store.load(page.stem).experiment.points
        if match and len(points) == 2:
            word = re.search(rf'class="headline">{WORDS}', page.read_text(), re.IGNORECASE)
            numbers = _floats(*match.groups())
            yield Said("experiment.html", points, numbers, word and word[1].lower(), 3)
    yield from _charts(folder, rows)


def _charts(folder, rows) -> Iterator[Said]:
    """Charts by commit, of histories and of the review: of builds with one result."""
    of_commit: dict[tuple[str, str], list[str]] = {}
    for row in rows.values():
        if row["commit"] and row["anchor"] not in (None, row["id"]):
            place = row["scenario"], row["commit"][:10]
            of_commit.setdefault(place, []).append(row["id"])
    for path in (folder / "review.js", *folder.glob("history/*.js")):
        text = path.read_text() if path.exists() else "([])"
        document = json.loads(text.partition("(")[2].rpartition(")")[0])
        for name, spec in (document[0] if document else {}).items():
            scenario = path.stem if path.stem != "review" else _title(folder, name)
            for point in _points([spec, *document[2]]):
                key = str(point.get("at") or point.get("label"))[:10]
                ids = of_commit.get((scenario, key), ())
                mean = point.get("mean", point.get("value"))
                if len(ids) == 1 and mean and 0.1 < mean < 10:
                    pair = (rows[ids[0]]["anchor"], ids[0])
                    yield Said(path.name, pair, (mean, point["low"], point["high"]), None, 5)


def _title(folder, name) -> str:
    page = (folder / "review.html").read_text()
    match = re.search(rf'<figure id="{name}">\s*<figcaption><strong>([^,<]+)', page)
    return match[1] if match else ""


def _points(value) -> Iterator[dict]:
    if isinstance(value, dict):
        if "low" in value and "high" in value and ("mean" in value or "value" in value):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _points(inner)


def _cases(report: Path) -> Iterator[ET.Element]:
    return ET.parse(report).iter("testcase")  # noqa: S314  # we wrote it


def _exported(results: Path, folder: Path, form: str, *more: str) -> str:
    run("export", f"--{form}", str(folder / form), *more, "--results", str(results))
    return (folder / form).read_text()


def of_exports(results: Path, folder: Path) -> Iterator[Said]:
    """The review, the table of results and the metrics, as other programs get them."""
    words = ("--results", str(results))
    for change in json.loads(run("review", *words, "--json") or "{}").get("changes", ()):
        if duel := change["duel"]:
            numbers = (duel["ratio"], *duel["ci95"])
            yield Said("review --json", tuple(duel["results"]), numbers, duel["word"])
    rows = {row["id"]: row for row in Store(results).index.every()}
    metrics = _exported(results, folder, "openmetrics", "--history")
    samples: dict[str, dict[str, list[float]]] = {}
    for name, labels, value in re.findall(
        r"^leaselab_(to_anchor_ratio\w*)\{(.*?)\} (\S+) ", metrics, re.MULTILINE
    ):
        place = re.sub(r'(subject|procedure)="[^"]*",?', "", labels)
        samples.setdefault(place, {}).setdefault(name, []).append(float(value))
    for place, values in samples.items():
        scenario = re.search(r'scenario="([^"]*)"', place)[1]
        commit = re.search(r'commit="([^"]*)"', place)[1]
        ids = [
            row["id"]
            for row in rows.values()
            if row["scenario"] == scenario
            and commit
            and str(row["commit"]).startswith(commit)
            and row["anchor"] not in (None, row["id"])
        ]
        names = [f"to_anchor_ratio{end}" for end in ("", "_low", "_high")]
        if len(ids) == 1 and all(len(values.get(name, ())) == 1 for name in names):
            numbers = tuple(values[name][0] for name in names)
            yield Said("--openmetrics", (rows[ids[0]]["anchor"], ids[0]), numbers, None)


def of_table(results: Path, folder: Path) -> Iterator[Said]:
    """The table of results exported as CSV."""
    for row in csv.DictReader(StringIO(_exported(results, folder, "csv"))):
        if row.get("to_anchor_ratio"):
            names = ("to_anchor_ratio", "to_anchor_ratio_low", "to_anchor_ratio_high")
            numbers = _floats(*(row[name] for name in names))
            yield Said("--csv", (row["anchor"], row["id"]), numbers, row["to_anchor_word"])


def differing(results: Path, folder: Path, *more: Said) -> tuple[list[str], set[str]]:
    """What does not say the same as `compare --json`, and all the places that say something."""
    os.environ.setdefault("LEASELAB_RESULTS", str(results))
    said = [
        *of_pages(results, folder / "report"),
        *of_exports(results, folder),
        *of_table(results, folder),
    ]
    wrong, places = [], set()
    by_pair: dict[tuple[str, str], list[Said]] = {}
    for each in [*said, *more]:
        by_pair.setdefault(each.pair, []).append(each)
    for pair, others in by_pair.items():
        known, *own = of_compare(results, pair, folder)
        for each in [*own, *others]:
            places.add(each.where)
            if not each.fits(known):
                wrong.append(f"{each} instead of {known}")
    return wrong, places


def _tables(page: Path) -> list[str]:
    return re.findall(r"(?s)<tr.*?</tr>", page.read_text())


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def _floats(*texts: str) -> tuple[float, ...]:
    return tuple(float(text) for text in texts)


def _changes(*texts: str) -> tuple[float, ...]:
    return tuple(1 + float(text) / 100 for text in texts)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "results"
        shutil.copytree(sys.argv[1], copy, ignore=shutil.ignore_patterns("report"))
        differ, read = differing(copy, Path(scratch))
    lines = [*differ, f"{len(differ)} differ in {sorted(read)}"]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(bool(differ))
