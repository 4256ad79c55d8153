"""``leaselab clients``: the clients of a capture, in the format of a load."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from leaselab.cli.options import STDOUT, whole, write_output
from leaselab.lab.clients.file import Clients
from leaselab.lab.clients.sources import SHARED, Reader, read_source
from leaselab.model.errors import Outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``clients``."""
    parser.add_argument(
        "captures",
        metavar="CAPTURE",
        nargs="+",
        type=Path,
        help="pcap or pcapng of a relay's or a server's side, DHCPv4 and DHCPv6; or Kea's "
        "lease file (CSV), or its forensic log. Several files are read as one",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|-",
        type=Path,
        default=STDOUT,
        help="the file of clients (default: stdout)",
    )
    parser.add_argument(
        "--shared",
        metavar="N",
        type=whole(1, 10**6),
        default=SHARED,
        help="keep the value of an option, such as a vendor class, that N clients sent or "
        f"more; others are replaced (default: {SHARED})",
    )
    parser.add_argument(
        "--oui",
        action="store_true",
        help="also keep the maker's part of hardware addresses that so many clients share",
    )


def run(args: argparse.Namespace) -> Outcome:
    """Read every file, write the counts, and print them on stderr."""
    reader = Reader(vendors=args.oui)
    for path in args.captures:
        read_source(reader, path)
    clients = reader.clients(args.shared)
    write_output(args.output, clients.text().encode())
    print("\n".join(_summary(clients)), file=sys.stderr)
    return Outcome.OK


def _summary(clients: Clients) -> Iterator[str]:
    for family in (4, 6):
        traffic = clients.of(family)
        if traffic is None:
            continue
        shares = ", ".join(f"{word} {share:.1%}" for word, share in traffic.shares.items())
        yield (
            f"DHCPv{family}: {traffic.clients} clients in {len(traffic.kinds)} kinds behind "
            f"{traffic.relays} relays"
        )
        yield f"  {traffic.exchanges} exchanges: {shares}; {traffic.resent:.1%} sent again"
        if traffic.peak:
            yield f"  peak minute: {traffic.peak.per_s:g} exchanges/s"
        yield from (f"  {note}" for note in traffic.notes)
    if clients.skipped:
        skipped = ", ".join(f"{count} {why}" for why, count in clients.skipped.items())
        yield f"skipped packets: {skipped}"
    yield from clients.notes
