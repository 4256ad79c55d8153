"""`leaselab dev bench mutants`: which small slowdowns of a server a count and a duel show.

Each is a commit on top of one of the server's.  All are counted in turn, and each is compared
with that commit.
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
from leaselab.cli.cost import LAB
from leaselab.model.procedures.cost import COST

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


@dataclass(frozen=True, slots=True)
class Row:
    """A mutant, and what was said of it; None where that was not asked for."""

    mutant: str
    cost: Answer
    duel: Answer | None
    duel_s: float


def main(argv: Sequence[str]) -> int:
    """Run the benchmark; returns 0 however many mutants were shown."""
    args = _options(argv)
    chosen = [name for name in MUTANTS if any(part in name for part in args.only or [""])]
    hook = HOOKS.get(Catalogue.here().find(args.scenario).server.kind)
    if hook is None or not chosen:
        wanted = f"a scenario of {' or '.join(HOOKS)}, and a part of a mutant's name"
        print(f"bench mutants: nothing to do (wanted {wanted})", file=sys.stderr)
        return USAGE
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        judging = _judging(args, hook, chosen, Path(folder) / "server")
        counted_s = time.monotonic() - began
        rows = [*judging]
    if args.json:
        said = {"counted_s": counted_s, "mutants": [asdict(row) for row in rows]}
        json.dump({"benchmark": "mutants", **said}, sys.stdout)
        print()
    else:
        show([_table(args, rows, counted_s)], args.markdown)
    return OK


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="leaselab dev bench mutants", description=__doc__)
    parser.add_argument("scenario", help="what is measured: of dnsmasq or of Kea, DHCPv4")
    parser.add_argument("--repo", required=True, type=Path, help="git repository of the server")
    parser.add_argument("--commit", default="HEAD", help="what is slowed down (default: HEAD)")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="those with this in the name"
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter of the counts, such as transactions=100",
    )
    parser.add_argument("--duel", action="store_true", help="measure each by a duel, too")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    add_markdown(parser)
    return parser.parse_args(argv)


def _judging(
    args: argparse.Namespace, hook: Hook, chosen: Sequence[str], clone: Path
) -> Iterator[Row]:
    """Count the mutants and the commit that they slow down; return what compares them."""
    _git(args.repo.absolute(), "clone", "--quiet", "--shared", ".", str(clone))
    base = _git(args.repo, "rev-parse", args.commit)
    made = {name: _mutant(clone, base, hook, name) for name in chosen}
    common = ("--results", str(clone.parent / "results"), "--repo", str(clone))
    counting = ("run", args.scenario, "--procedure", COST, "-i", f"inventory/{LAB}")
    asked = (f"--set={one}" for one in args.set)
    commits = ",".join((base, *made.values()))
    # Those that do not build or start are results, too; their comparisons say so.
    _leaselab(*counting, *asked, "--commits", commits, *common, stderr=None)
    compared = ("--scenario", args.scenario, "--json", *common)
    return (_row(name, base, commit, compared, args.duel) for name, commit in made.items())


def _mutant(clone: Path, base: str, hook: Hook, name: str) -> str:
    """Commit a mutant on top of a commit; return its hash."""
    _git(clone, "checkout", "--quiet", "--detach", "--force", base)
    file = clone / hook.file
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    file.write_text(mutated(text, hook, name), encoding="utf-8", errors="surrogateescape")
    author = ("-c", "user.name=Leaselab", "-c", "user.email=leaselab@localhost")
    _git(clone, *author, "commit", "--quiet", "--all", "--message", f"Mutant: {name}")
    commit = _git(clone, "rev-parse", "HEAD")
    _git(clone, "tag", f"mutant-{commit}")  # a commit without a name may be removed
    return commit


def _row(name: str, base: str, commit: str, compared: Sequence[str], duel: bool) -> Row:
    """What its counts, and a duel if asked for, say of a mutant."""
    cost = _answer(_leaselab("compare", base, commit, *compared))
    if not duel:
        return Row(name, cost, None, 0.0)
    began = time.monotonic()
    words = ("compare", base, commit, "--live", "--no-cost", "--no-profile")
    answer = _answer(_leaselab(*words, *compared))
    return Row(name, cost, answer, time.monotonic() - began)


def _leaselab(
    *words: str, stderr: int | None = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run a command of `leaselab`, whatever comes of it."""
    argv = [str(checkout_root() / "leaselab"), *words]
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    """What a comparison has printed."""
    if done.returncode not in JUDGED or not done.stdout:
        return Answer(done.stderr.strip().rpartition("\n")[2], ())
    said = json.loads(done.stdout)
    return Answer(said["word"], tuple(_grown(said)))


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


def _table(args: argparse.Namespace, rows: Sequence[Row], counted_s: float) -> Table:
    minutes, with_set = counted_s / 60, f", with {' '.join(args.set)}" if args.set else ""
    table = Table(
        f"Slowdowns of {args.scenario}, for each packet",
        f"What grew is for each transaction. Counting all took {minutes:.0f} min, builds "
        f"included{with_set}.",
    )
    for heading in ("mutant", "cost", "what grew"):
        table.add_column(heading)
    if args.duel:
        table.add_column("duel")
    if args.duel:
        table.add_column("duel s", "right")
    for row in rows:
        seen = [row.mutant, row.cost.word, ", ".join(row.cost.grown) or "-"]
        if row.duel is not None:
            seen += [" ".join((row.duel.word, *row.duel.grown)), f"{row.duel_s:.0f}"]
        table.add_row(*seen)
    return table


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
