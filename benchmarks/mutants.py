"""`leaselab dev bench mutants`: which small slowdowns of a server a count and a duel show.

Each is a commit on top of one of the server's: it is built, and compared with that commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks._mutants import HOOKS, MUTANTS, Hook, mutated
from benchmarks._shown import Table, add_markdown, show
from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.checkout import checkout_root

OK, USAGE = 0, 2
JUDGED = (0, 1)
"""Exit codes of a comparison that has a verdict."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a comparison said of a mutant."""

    word: str
    """That of the verdict; else the reason why there is none."""
    grown: tuple[str, ...]
    """What was counted more of; of a duel its change."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant, and what was said of it; None where that was not asked for."""

    mutant: str
    cost: Answer
    duel: Answer | None


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 however many mutants were shown."""
    args = _options(argv)
    chosen = [name for name in MUTANTS if args.only in name]
    hook = HOOKS.get(Catalogue.here().find(args.scenario).server.kind)
    if hook is None or not chosen:
        wanted = f"a scenario of {' or '.join(HOOKS)}, and a part of a mutant's name"
        print(f"bench mutants: nothing to do (wanted {wanted})", file=sys.stderr)
        return USAGE
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_rows(args, hook, chosen, Path(folder) / "server")]
    if args.json:
        json.dump(
            {"benchmark": "mutants", "mutants": [asdict(row) for row in rows]}, sys.stdout
        )
        print()
    else:
        show([_table(args, rows)], args.markdown)
    return OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench mutants", description=__doc__)
    parser.add_argument("scenario", help="what is measured: of dnsmasq or of Kea, DHCPv4")
    parser.add_argument("--repo", required=True, type=Path, help="git repository of the server")
    parser.add_argument("--commit", default="HEAD", help="what is slowed down (default: HEAD)")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="those with this in the name"
    )
    parser.add_argument("--duel", action="store_true", help="measure each by a duel, too")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_markdown(parser)
    return parser.parse_args(argv)


def _rows(
    args: argparse.Namespace, hook: Hook, chosen: Sequence[str], clone: Path
) -> Iterator[Row]:
    """Compare each mutant with the commit that it slows down."""
    _git(args.repo.absolute(), "clone", "--quiet", "--shared", ".", str(clone))
    base = _git(args.repo, "rev-parse", args.commit)
    common = ("--json", "--results", str(clone.parent / "results"), "--repo", str(clone))
    for name in chosen:
        print(f"mutants: {name}", file=sys.stderr, flush=True)
        _git(clone, "checkout", "--quiet", "--detach", "--force", base)
        file = clone / hook.file
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        file.write_text(mutated(text, hook, name), encoding="utf-8", errors="surrogateescape")
        author = ("-c", "user.name=Leaselab", "-c", "user.email=leaselab@localhost")
        _git(clone, *author, "commit", "--quiet", "--all", "--message", f"Mutant: {name}")
        commit = _git(clone, "rev-parse", "HEAD")
        cost = _asked("cost", args.scenario, "--commit", commit, "--against", base, *common)
        words = ("compare", base, commit, "--live", "--no-cost", "--no-profile")
        duel = _asked(*words, "--scenario", args.scenario, *common) if args.duel else None
        yield Row(name, cost, duel)


def _asked(*words: str) -> Answer:
    """Run a command of `leaselab`; return what it said."""
    began = time.monotonic()
    done = subprocess.run(
        [checkout_root() / "leaselab", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.monotonic() - began
    if done.returncode not in JUDGED or not done.stdout:
        return Answer(done.stderr.strip().rpartition("\n")[2], (), took)
    said = json.loads(done.stdout)
    return Answer(said["word"], tuple(_grown(said)), took)


def _grown(said: dict[str, Any]) -> Iterator[str]:
    """What a document of a comparison says has grown, in a few words."""
    if "cost" not in said:
        yield f"{100 * (said['ratio'] - 1):+.1f} %"
        return
    for part in said["cost"]["parts"]:
        if part["changed"] and part["b"] > part["a"]:
            size = part["b"] - part["a"]
            by = f"{100 * size / part['a']:+.2f} %" if part["name"] == "instructions" else ""
            yield f"{part['name'].replace('_', ' ')} {by or f'{size:+.6g}'}"


def _table(args: argparse.Namespace, rows: Sequence[Row]) -> Table:
    table = Table(
        f"Slowdowns of {args.scenario}, for each packet",
        "What grew is for each transaction. Seconds are those of the whole command, builds "
        "included.",
    )
    for heading in ("mutant", "cost", "what grew"):
        table.add_column(heading)
    if args.duel:
        table.add_column("duel")
    table.add_column("cost s", "right")
    if args.duel:
        table.add_column("duel s", "right")
    for row in rows:
        seen = [row.mutant, row.cost.word, ", ".join(row.cost.grown) or "-"]
        took = [f"{row.cost.seconds:.0f}"]
        if row.duel is not None:
            seen.append(" ".join((row.duel.word, *row.duel.grown)))
            took.append(f"{row.duel.seconds:.0f}")
        table.add_row(*seen, *took)
    return table


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
