"""Makes the pictures of pages in docs/images/ from a fixed archive: ``scripts/ci/pictures``."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from tests.formula import archived_profiles
from tests.lab_archive import lab_archive

from leaselab.archive.store import Store
from leaselab.report.site.site import write_site

ROOT = Path(__file__).parents[1]
MADE_OF = ROOT / "tests" / "data" / "pictures.sha256"
"""The templates that the pictures in the repository were made of."""
_SITE = ROOT / "scripts" / "leaselab" / "report" / "site"
_LAB = {
    "overview": ("index.html", 800, ""),
    "sweep": ("sweep/*-v4-memfile-mt-bbbb.html", 900, ""),
    "seconds": ("sweep/*-v4-memfile-mt-bbbb.html", 860, "summary:has-text('median run')"),
    "history": ("history/v4-memfile-mt.html", 860, ""),
    "duel": ("experiment/*-v4-memfile-mt-cccc.html", 780, ""),
    "experiment": ("experiment/*-v4-threads-1-eeee.html", 900, ""),
    "review": ("review.html", 900, ""),
}
"""Of the lab's archive: page, height (px), and what is unfolded first."""
_PROFILES = {"profile": ("experiment/*.html", 1000, "")}
_SLOWER = {"main;answer;look_up": 7.0, "main;answer": 3.0, "main;receive": 2.0}
"""What the second of two profiles costs by stack (us)."""


def made_of() -> str:
    """A hash of all that gives pages their look, and of the archive."""
    parts = [*sorted(_SITE.glob("templates/*.html")), *sorted(_SITE.glob("static/*"))]
    parts += [Path(__file__), ROOT / "tests" / "lab_archive.py"]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def make(folder: Path) -> None:
    """Write every picture into a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        lab, profiles = Path(scratch) / "lab", Path(scratch) / "profiles"
        lab.mkdir()
        lab_archive(lab)
        archived_profiles(profiles, _SLOWER)
        for root, pictures in ((lab, _LAB), (profiles, _PROFILES)):
            report = write_site(Store(root), root / "report", sweeps=0).parent
            _take(report, pictures, folder)


def _take(report: Path, pictures: dict[str, tuple[str, int, str]], folder: Path) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # what is made of needs none

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        for name, (page, height, unfolded) in pictures.items():
            view = browser.new_page(viewport={"width": 1280, "height": height})
            view.goto(f"file://{max(report.glob(page))}")
            if unfolded:
                view.locator(unfolded).click()
                view.mouse.move(0, 0)  # a chart that is pointed at is replaced
                view.locator(unfolded).evaluate("one => one.scrollIntoView()")
            view.screenshot(path=str(folder / f"report-{name}.png"))
            view.close()
        browser.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        make(ROOT / "docs" / "images")
        MADE_OF.write_text(f"{made_of()}\n", encoding="utf-8")
    elif MADE_OF.read_text(encoding="utf-8").strip() != made_of():
        sys.exit("pictures of pages are stale: scripts/ci/pictures --renew")
