"""Pages of exit codes and of words of reasons."""

from __future__ import annotations

from pathlib import Path

from ci.docpages.table import table
from leaselab.cli.commands import INTERRUPTED
from leaselab.model.errors import IN_USE, Outcome
from leaselab.report.site.validity import DOUBTS, NO_FIGURE, NOT_COUNTED

_TODO = {
    Outcome.OK: "nothing",
    Outcome.REGRESSION: "read the verdict: it names the commit. `advise --strict` uses this "
    "code for a known cost, or for something that is not judged; `leases` for a broken promise",
    Outcome.USAGE: "correct the command, the inventory or the scenario",
    Outcome.INVALID: "read the reason; measure again, with other parameters or on a quieter "
    "machine",
    Outcome.LAB: "repair what the message names, then `leaselab resume`",
    Outcome.BUILD: "look at the first error of the compiler or the server; the log is in the "
    "result",
    Outcome.FAULT: "report it, with the output",
}
_ENDED = "interrupted by Ctrl-C, SIGTERM or SIGHUP"


def exit_codes(_root: Path) -> str:
    """Every exit code, what it means and what to do."""
    rows = [
        (str(outcome.value), outcome.label, outcome.meaning, _TODO[outcome])
        for outcome in Outcome
    ]
    waits = "wait, or name another bench: the message says who has it"
    rows.append((str(IN_USE), "-", "another command or user has the bench", waits))
    rows.append((str(INTERRUPTED), "-", _ENDED, "`leaselab resume`"))
    return (
        "# Exit codes\n\n"
        "A broken lab is never taken for a regression, nor an invalid measurement for a pass."
        "\n\n"
        f"{table(('code', 'word in results', 'means', 'what to do'), rows)}"
        "\nMost messages have this form: `WHERE: WHAT (found X, wanted Y); do Z`.\n"
    )


def reasons(_root: Path) -> str:
    """The words of reasons and flags, by their meaning for a result."""
    parts = {
        "Why a trial does not count": NOT_COUNTED,
        "Why a result has no figure": NO_FIGURE,
        "What makes a figure doubtful, or is to be known": DOUBTS,
    }
    sections = [
        f"## {title}\n\n{table(('word', 'means'), [(f'`{k}`', v) for k, v in words.items()])}"
        for title, words in parts.items()
    ]
    return "\n".join(["# Words of reasons\n", *sections])
