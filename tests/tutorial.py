"""Plays the tutorial as its page has it, and puts its samples into it: ``scripts/ci/samples``.

A sample is a block of text below a comment ``<!-- N: FROM ... TO -->``: of the output of the
Nth command of the page, the lines from the first that begins with FROM to the next that begins
with TO (or to the end), whole where a terminal has folded it; of many lines both ends.
"""

from __future__ import annotations

import os
import pty
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from tests.documents import ROOT, shell_lines
from tests.sources import SourceLists, repository_of

PAGE = "docs/tutorial.md"
SAID = ROOT / "tests" / "data" / "tutorial"
"""What is shown of what each command said, whole, a file each, by its number on the page."""
SAMPLE = re.compile(r"(<!-- (\d+): (.+?) \.\.\. (.*?) ?-->\n+```text\n)(.*?)(```\n)", re.S)
_IS_FOLDED = re.compile(r" +\S")
"""A line that continues the line before it."""
_LONGEST, _ENDS = 12, 5
"""Lines of a sample at most, and those of each end that a longer one keeps."""
_PLACE = "../dnsmasq"
"""Where the page puts the source of the server."""
_ELSEWHERE = ("git clone", "./leaselab lab down")
"""No git hosting can be reached from everywhere, and others need the lab."""
_TERMINAL = {"COLUMNS": "80", "LINES": "50", "TERM": "dumb"}
_IDENTITY = {
    f"GIT_{part}_{what}": value
    for part in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A Reader"), ("EMAIL", "reader@example.org"))
}


def play(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Type the page's commands on a terminal of 80 columns.

    Yields each line, its exit code, and what the terminal got.  Results and the source of
    dnsmasq are in `folder`.
    """
    place = folder / "dnsmasq"
    repository_of("dnsmasq", ["trixie"], place, SourceLists(folder / "lists", ["trixie"]))
    environment = {
        **os.environ,
        **_TERMINAL,
        **_IDENTITY,
        "LEASELAB_ROOT": str(ROOT),
        "LEASELAB_RESULTS": str(folder / "results"),
    }
    for line in shell_lines(PAGE):
        if not line.startswith(_ELSEWHERE):
            command = f"{sys.executable} -m leaselab"
            typed = line.replace(_PLACE, str(place)).replace("./leaselab", command)
            yield line, *_typed(typed, environment)


def _typed(line: str, environment: dict[str, str]) -> tuple[int, str]:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        os.execvpe("bash", ["bash", "-c", line], environment)  # noqa: S606
    said = bytearray()
    while chunk := _chunk(terminal):
        said += chunk
    _, status = os.waitpid(process, 0)
    text = said.decode(errors="replace").replace("\r\n", "\n")
    return os.waitstatus_to_exitcode(status), text


def _chunk(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how a terminal says that it was closed
        return b""


def with_samples(page: str, said: dict[int, str]) -> str:
    """The page with what the commands said, by their numbers, as its samples.

    A sample of another command is left as it is.  Raises where a command did not say FROM.
    """

    def renewed(block: re.Match[str]) -> str:
        if int(block[2]) not in said:
            return block[0]
        shown = _part(said[int(block[2])], block)
        if len(shown) > _LONGEST:
            shown = [*shown[:_ENDS], "…", *shown[-_ENDS:]]
        text = "\n".join(line.rstrip() for line in shown).rstrip()
        return f"{block[1]}{text}\n{block[6]}"

    return SAMPLE.sub(renewed, page)


def _part(said: str, block: re.Match[str]) -> list[str]:
    """The lines of an output from FROM to TO, as a sample has them; raises without FROM."""
    lines = said.splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith(block[3])]
    if not starts:
        raise ValueError(f"{SAID / block[2]}.txt: no line begins with {block[3]}")
    left = lines[starts[0] :]
    ends = [place for place, line in enumerate(left) if line.startswith(block[4])]
    end = ends[0] + 1 if block[4] and ends else len(left)
    if not block[4].startswith(" "):
        end += len([*takewhile(_IS_FOLDED.match, left[end:])])
    return left[:end]


def kept() -> dict[int, str]:
    """What the commands said, as far as it is shown, when the samples were made."""
    return {int(path.stem): path.read_text(encoding="utf-8") for path in SAID.glob("*.txt")}


def renew() -> None:
    """Play the page, keep what its commands said, and write its samples."""
    SAID.mkdir(exist_ok=True)
    page = ROOT / PAGE
    samples = [*SAMPLE.finditer(page.read_text(encoding="utf-8"))]
    with tempfile.TemporaryDirectory() as scratch:
        for number, (line, code, said) in enumerate(play(Path(scratch)), start=1):
            sys.stderr.write(f"{number}: {line}: exit code {code}\n")
            text = said.replace(scratch, "..").replace(str(ROOT), "leaselab")
            parts = [_part(text, block) for block in samples if int(block[2]) == number]
            if parts:
                lines = [f"{line}\n" for part in parts for line in part]
                (SAID / f"{number}.txt").write_text("".join(lines), encoding="utf-8")
    page.write_text(with_samples(page.read_text(encoding="utf-8"), kept()), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--renew"]:
        page = (ROOT / PAGE).read_text(encoding="utf-8")
        sys.exit(page != with_samples(page, kept()))
    renew()
