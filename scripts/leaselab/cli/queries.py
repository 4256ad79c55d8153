"""``leaselab queries``: the DNS queries of a capture, as a load can ask them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from leaselab.cli.options import STDOUT, expecting, write_output
from leaselab.lab.queries.capture import Names, Read
from leaselab.lab.queries.names import labels_of
from leaselab.model.errors import Outcome, usage_error

_MOST_TYPES = 6


@expecting("a name, such as example.com")
def _suffix(text: str) -> tuple[bytes, ...]:
    return tuple(label.lower() for label in labels_of(text))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``queries``."""
    parser.add_argument(
        "captures",
        metavar="CAPTURE",
        nargs="+",
        type=Path,
        help="pcap or pcapng, IPv4 and IPv6. Several files are read as one",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|-",
        type=Path,
        default=STDOUT,
        help="the file of queries (default: stdout)",
    )
    parser.add_argument(
        "--keep",
        metavar="NAME",
        type=_suffix,
        action="append",
        default=[],
        help="write this name and those below it as they are; '.' means all; may be repeated",
    )
    parser.add_argument(
        "--times",
        action="store_true",
        help="write when each query came after the first, for run --queries FILE --scale N",
    )


def run(args: argparse.Namespace) -> Outcome:
    """Read every file, write the queries, and say on stderr what there was."""
    read = Read(Names(args.keep), args.times)
    for path in args.captures:
        read.add(path)
    if not read.queries:
        raise usage_error(
            "no query in it",
            where=", ".join(map(str, args.captures)),
            found=_counted(read.skipped.most_common()) or "no packet",
            wanted="a capture of a client's or a server's side, UDP port 53",
        )
    write_output(args.output, bytes(read.text))
    print("\n".join(_summary(read)), file=sys.stderr)
    return Outcome.OK


def _summary(read: Read) -> Iterator[str]:
    types = read.types.most_common(_MOST_TYPES)
    yield f"{read.queries} queries: {_counted(types)}"
    yield (
        f"  with EDNS {read.edns / read.queries:.1%} (--edns), with DO "
        f"{read.dnssec_ok / read.queries:.1%} (--dnssec-ok)"
    )
    if read.left_out:
        yield f"  {read.left_out} later ones are left out: the file is full"
    if read.skipped:
        yield f"skipped packets: {_counted(read.skipped.most_common())}"
    yield from (f"{count} captures {what}" for what, count in read.notes.items())


def _counted(pairs: list[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {what}" for what, count in pairs)
