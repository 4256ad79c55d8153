"""Debian's Chromium, driven by Playwright."""

import contextlib
import functools
import shutil

import pytest
from playwright.sync_api import sync_playwright

OVERLAPS = """font => {
    for (const fold of document.querySelectorAll('details')) fold.open = true;
    const style = document.createElement('style');
    style.textContent = `svg text { font-family: "${font}" !important }`;
    document.head.append(style);
    const found = [];
    let count = 0;
    for (const drawn of document.querySelectorAll('main svg')) {
        const boxes = [...drawn.querySelectorAll('text:not([opacity="0"])')]
            .map(text => [text.textContent, text.getBoundingClientRect()]);
        count += boxes.length;
        boxes.forEach(([one, a], place) => boxes.slice(place + 1).forEach(([other, b]) => {
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 3) found.push([one, other, wide, high]);
        }));
    }
    return [found, count];
}"""
"""Texts of drawings whose boxes share more than a pixel of a line: line boxes stand closer to
each other than letters do.  And how many texts there are."""


@pytest.fixture(scope="module")
def browser():
    """One Chromium for all; it is installed by `leaselab test`."""
    program = shutil.which("chromium")
    assert program, "no chromium: ./leaselab test installs it"
    with sync_playwright() as playwright:
        result = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield result
        result.close()


@pytest.fixture
def look(browser):
    """Open pages in a context with options; what they complain of and ask for is kept."""
    with contextlib.ExitStack() as stack:

        def open_context(**options):
            context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
            stack.callback(context.close)
            page = context.new_page()
            page.complaints, page.requested = [], []
            page.overlaps = functools.partial(page.evaluate, OVERLAPS)
            page.on(
                "console",
                lambda line: page.complaints.append(line.text) if line.type != "log" else None,
            )
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda request: page.requested.append(request.url))
            return page

        yield open_context
