"""``leaselab dev``: simulations, the launcher's commands, and the archive."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from typing import NoReturn

from leaselab.catalog.checkout import checkout_root
from leaselab.cli.options import add_json, add_result, add_results, open_store, print_answer
from leaselab.model.errors import LeaselabError, Outcome, internal_fault, unknown, usage_error


def add_launched(parser: argparse.ArgumentParser) -> None:
    """Accept all further arguments of ``dev test`` and ``dev lint``."""
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="of `test`: for pytest")


def launched(args: argparse.Namespace) -> NoReturn:  # noqa: ARG001  (there is nothing to do with them)
    """Raise a usage error with the launcher's command, which installs the tools first."""
    raise usage_error(
        "the developers' tools are missing; the launcher installs them",
        found=" ".join(["leaselab", *sys.argv[1:3]]),
        wanted=" ".join(["./leaselab", *sys.argv[1:3]]),
        todo="call it so, in the checkout",
    )


def add_simulation(parser: argparse.ArgumentParser) -> None:
    lines = "\n".join(f"  {name:10}  {about}" for name, about in _simulations().items())
    parser.epilog = f"simulations:\n{lines}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("name", metavar="NAME", nargs="?", help="one of those below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of the simulation")
    parser.set_defaults(help=parser.format_help)


def _simulations() -> dict[str, str]:
    """The simulations by name, and what each is about."""
    paths = sorted((checkout_root() / "benchmarks").glob("[!_]*.py"))
    heads = [_SIMULATION.search(path.read_text(encoding="utf-8")) for path in paths]
    return {head[1]: head[2] for head in heads if head}


def simulation(args: argparse.Namespace) -> Outcome:
    """Run ``benchmarks/NAME.py`` with this Python; without a name, say which there are."""
    root, names = checkout_root(), [*_simulations()]
    if args.name is None:
        print(args.help())
        return Outcome.OK
    if args.name not in names:
        raise unknown("benchmark", args.name, names, "leaselab dev bench")
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{args.name}", *args.rest], cwd=root, check=False
    )
    if done.returncode in {outcome.value for outcome in Outcome}:
        return Outcome(done.returncode)
    raise internal_fault(
        f"the benchmark failed with exit status {done.returncode}",
        where=args.name,
        todo="its own output says why",
    )


_SIMULATION = re.compile(r'^"""`leaselab dev bench (\w+)`: (.*?)\.?(?:""")?$', re.M)


def add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("refs", metavar="ID", nargs="*", help="results (default: all)")
    add_results(parser)
    add_json(parser)


def add_where(parser: argparse.ArgumentParser) -> None:
    add_result(parser)
    add_results(parser)
    add_json(parser)


def verify(args: argparse.Namespace) -> Outcome:
    """Check all results, and report each damaged one."""
    store = open_store(args, existing=True)
    refs = args.refs or [row["id"] for row in store.index.rows()]
    places = [store.find(ref) for ref in refs]  # a mistyped name is an error before any check
    files = 0
    damaged, pruned, days = [], [], []
    for ref, place in zip(refs, places, strict=True):
        try:
            checked = store.verify(ref)
        except LeaselabError as error:
            damaged.append({"id": place.name, "error": str(error)})
            if place.name not in store.index.said:
                print(f"leaselab: {error}", file=sys.stderr)
            continue
        files += checked.files
        if gone := checked.pruned:
            days.append(gone.at[:10])
            pruned.append({"id": place.name, "at": gone.at, "files": len(gone.files)})
    good = len(places) - len(damaged)
    lines = [f"{good} of {len(places)} results match their checksums ({files} files)"]
    if pruned:
        span = f"{min(days)} to {max(days)}"
        lines.append(f"raw outputs of {len(pruned)} of them were pruned ({span})")
    counts = {"results": len(places), "files": files, "pruned": pruned, "damaged": damaged}
    print_answer(args, counts, "\n".join(lines))
    return Outcome.INVALID if damaged else Outcome.OK


def where(args: argparse.Namespace) -> Outcome:
    """Print the folder of a result."""
    place = str(open_store(args, existing=True).find(args.ref).absolute())
    print_answer(args, {"path": place}, place)
    return Outcome.OK
