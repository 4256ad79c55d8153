"""`leaselab dev bench archive`: an archive of ten years, and how long it takes to look at it.

Fills a folder with synthetic results, a sweep each, spread over thirty scenarios and
ten years, then times what users wait for.  The results have nine runs of three trials
each, without the seconds of a trial: those are read one sweep at a time, and only
for the page of that sweep.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks._synthetic import COMMITS_A_YEAR, SCENARIOS, write_result
from leaselab.archive.index_file import INDEX
from leaselab.archive.store import Store
from leaselab.report.review.reading import series_of
from leaselab.report.site.figure import svg
from leaselab.report.site.history import history
from leaselab.report.site.history_panels import lines_of
from leaselab.report.site.pages import Pages
from leaselab.report.site.site import NAV
from leaselab.report.site.vega import Spec

WANTED = {"list": 0.2, "history": 1.0, "report": 60.0}
"""Longest time for each (s); the names of `_timings`."""
WANTED_BYTES = 500e6
YEARS = 10
FIRST = datetime(2016, 11, 22, tzinfo=UTC)
OK, MISSED, USAGE = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 when every time is kept, 1 when one is not."""
    options = _options(argv)
    if options.results < len(SCENARIOS):
        print(
            f"bench archive: too few results (found {options.results}, wanted at least "
            f"{len(SCENARIOS)}: one for each scenario)",
            file=sys.stderr,
        )
        return USAGE
    root = Path(tempfile.mkdtemp(prefix="leaselab-archive-", dir=options.folder))
    try:
        rows: list[dict[str, float]] = []
        made = 0
        for size in [options.results // 10] * options.growth + [options.results]:
            began = time.monotonic()
            size_bytes = _fill(root, made, size, options.results)
            made = size
            print(f"{size} results in {time.monotonic() - began:.0f} s", file=sys.stderr)
            rows.append({"results": size, "bytes_each": size_bytes, **_timings(root)})
        missed = _missed(rows[-1])
        if options.json:
            document = {"rows": rows, "wanted_s": WANTED, "missed": missed}
            json.dump(document, sys.stdout, indent=1)
            print()
        else:
            _print(rows, missed)
    finally:
        if options.keep:
            print(f"kept: {root}", file=sys.stderr)
        else:
            shutil.rmtree(root)
    return MISSED if missed else OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench archive", description=__doc__)
    parser.add_argument("--results", type=int, default=100_000, help="how many (100000)")
    parser.add_argument(
        "--growth", action="store_true", help="time a tenth of them first, to see the growth"
    )
    parser.add_argument("--folder", type=Path, help="where the archive is made (default: /tmp)")
    parser.add_argument("--keep", action="store_true", help="leave the archive there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(argv)


def _fill(root: Path, made: int, size: int, final: int) -> float:
    """Write the results from number `made` to `size`; return the mean size of one (bytes)."""
    step = timedelta(days=365.25 * YEARS) / final
    total = 0
    for number in range(made, size):
        total += write_result(root, number, FIRST + number * step, random.Random(number))  # noqa: S311  # no secrets
    return total / (size - made)


def _timings(root: Path) -> dict[str, float]:
    """Each command in a process of its own, as a user runs it: seconds, and peak memory."""
    scenario = SCENARIOS[0][0]
    row: dict[str, float] = {}
    (root / INDEX).unlink(missing_ok=True)
    for name, arguments in (
        ("index", ["list", "--limit", "1"]),
        ("list", ["list", scenario, "--json", "--limit", "50"]),
        ("report", ["report"]),
        ("again", ["report"]),
    ):
        times = [_run(arguments, root) for _ in range(3 if name == "list" else 1)]
        row[name] = min(seconds for seconds, _ in times)
        row[f"{name}_bytes"] = max(peak for _, peak in times)
    row["history"] = _history(root, scenario)
    row["report_size"] = sum(
        path.stat().st_size for path in (root / "report").rglob("*") if path.is_file()
    )
    row["largest_page"] = max(
        path.stat().st_size + (data.stat().st_size if data.exists() else 0)
        for path in (root / "report").rglob("*.html")
        for data in [path.with_suffix(".js")]
    )
    return row


def _run(arguments: Sequence[str], root: Path) -> tuple[float, float]:
    """Run one command; return its time (s) and its peak resident memory (bytes)."""
    command = [sys.executable, "-m", "leaselab", *arguments, "--results", str(root)]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench archive: {' '.join(command)} failed")
    return took, 1024.0 * usage.ru_maxrss


def _history(root: Path, scenario: str) -> float:
    """Seconds from the index to the history page of one scenario, its charts drawn."""
    nothing: Spec = {"description": "", "data": {"values": []}, "mark": "point"}
    svg(nothing)  # the engine is up
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(Path(folder) / "site", NAV)
        began = time.monotonic()
        store = Store(root)
        rows = store.index.every(scenario)
        page = f"history/{scenario}"
        (line,) = lines_of(scenario, rows)
        pages.write(
            page,
            "history.html",
            rows,
            lambda: history(line, series_of(store, rows), _nowhere),
        )
        return time.monotonic() - began


def _nowhere(row: Any) -> str:  # noqa: ANN401  # a row of the index
    return f"../sweep/{row['id']}.html"


def _missed(row: dict[str, float]) -> list[str]:
    late = [name for name, seconds in WANTED.items() if row[name] > seconds]
    peak = max(value for name, value in row.items() if name.endswith("_bytes"))
    return [*late, "memory"] if peak > WANTED_BYTES else late


def _print(rows: Sequence[dict[str, float]], missed: Sequence[str]) -> None:
    print(f"{YEARS} years, {len(SCENARIOS)} scenarios, about {COMMITS_A_YEAR} commits a year")
    for row in rows:
        print(f"{row['results']} results of {row['bytes_each'] / 1e3:.0f} kB:")
        for name, label in (
            ("index", "the index made again"),
            ("list", "list of one scenario"),
            ("history", "history page of one scenario"),
            ("report", "the whole report"),
            ("again", "the same, nothing changed"),
        ):
            wanted = f", wanted {WANTED[name]:g} s" if name in WANTED else ""
            peak = row.get(f"{name}_bytes")
            memory = f", {peak / 1e6:.0f} MB" if peak else ""
            print(f"  {label:30} {row[name]:8.2f} s{wanted}{memory}")
        print(
            f"  the report has {row['report_size'] / 1e6:.0f} MB, its largest page "
            f"{row['largest_page'] / 1e6:.2f} MB, its data included"
        )
    print("missed: " + ", ".join(missed) if missed else "all kept")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
