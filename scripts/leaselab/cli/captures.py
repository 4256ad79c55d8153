"""``leaselab clients`` and ``leaselab queries``: loads of captures; ``leaselab leases``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from leaselab.cli.options import (
    STDOUT,
    add_json,
    expecting,
    print_answer,
    whole,
    write_output,
)
from leaselab.inputs.clients.dialogue import Dialogue
from leaselab.inputs.clients.file import Clients
from leaselab.inputs.clients.frames import todo_for
from leaselab.inputs.clients.sources import SHARED, Reader, read_source
from leaselab.inputs.queries.capture import Counted, Names, Read
from leaselab.inputs.queries.names import labels_of
from leaselab.leases.check import check
from leaselab.leases.history import SECOND
from leaselab.leases.modes import CONNECTED, MODES
from leaselab.model.errors import Outcome, usage_error
from leaselab.model.lease_safety import Violation, faults_of

_MOST_TYPES = 6


def _add_files(parser: argparse.ArgumentParser, kinds: str, made: str) -> None:
    """Add the captures and the output."""
    parser.add_argument(
        "captures",
        metavar="CAPTURE",
        nargs="+",
        type=Path,
        help=f"{kinds}; - is a capture on stdin. Several files are read as one",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|-",
        type=Path,
        default=STDOUT,
        help=f"the file of {made} (default: stdout)",
    )


def add_clients(parser: argparse.ArgumentParser) -> None:
    kinds = (
        "pcap or pcapng of a relay's or a server's side, DHCPv4 and DHCPv6; or Kea's lease "
        "file (CSV), or its forensic log"
    )
    _add_files(parser, kinds, "clients")
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


def clients(args: argparse.Namespace) -> Outcome:
    """Read every file, write the counts, and print them on stderr."""
    reader = Reader(vendors=args.oui)
    for path in args.captures:
        read_source(reader, path)
    counted = reader.clients(args.shared)
    write_output(args.output, counted.text().encode())
    print("\n".join(_counted_clients(counted)), file=sys.stderr)
    return Outcome.OK


def _counted_clients(clients: Clients) -> Iterator[str]:
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
        yield from _skipped(clients.skipped)
    yield from clients.notes


def add_leases(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "captures",
        metavar="CAPTURE",
        nargs="+",
        type=Path,
        help="pcap or pcapng of a server's or a relay's side, with its answers, DHCPv4 and "
        "DHCPv6; - is a capture on stdin. Several files are read as one, the oldest first",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=CONNECTED.name,
        help="how the servers were then: what that permits by design is shown with the reason, "
        f"and is no fault (default: {CONNECTED.name})",
    )
    add_json(parser)


def leases(args: argparse.Namespace) -> Outcome:
    """Read every file, and print what servers have broken of their promises."""
    dialogue = Dialogue()
    for path in args.captures:
        dialogue.read(path)
    history = dialogue.history()
    grants = int(history.gives_lease.sum())
    if not grants:
        raise usage_error(
            "no lease that a server gave in it",
            where=", ".join(map(str, args.captures)),
            found=_counted(dialogue.skipped.most_common()) or f"{len(history)} messages",
            wanted="a capture with the messages of clients and the answers of servers",
            todo=todo_for(dialogue.skipped)
            or "tcpdump -w FILE port 67 or port 68 or port "
            "546 or port 547, on the server's host",
        )
    violations = check(history, mode=MODES[args.mode])
    counts = {
        "begins": datetime.fromtimestamp(history.sent[0] / SECOND, UTC).isoformat(),
        "clients": int(history.client.max()) + 1,
        "leases": grants,
        "violations": to_builtins(violations),
    }
    lines = [*_checked_leases(dialogue, counts, violations)]
    print_answer(args, counts, "\n".join(lines))
    return Outcome.REGRESSION if faults_of(violations) else Outcome.OK


def _checked_leases(
    dialogue: Dialogue, counts: Mapping[str, Any], violations: Iterable[Violation]
) -> Iterator[str]:
    yield (
        f"{counts['leases']} leases and renewals of {counts['clients']} clients, from "
        f"{counts['begins']}"
    )
    for violation in violations:
        yield violation.words
        yield from (f"  {line}" for line in violation.lines)
    if not violations:
        yield "none was lost or given twice"
    if dialogue.left_out:
        yield f"{dialogue.left_out} later messages are left out: the history is full"
    if dialogue.skipped:
        yield from _skipped(dict(dialogue.skipped.most_common()))
    yield from (f"{count} files {what}" for what, count in dialogue.notes.items())


@expecting("a name, such as example.com")
def _suffix(text: str) -> tuple[bytes, ...]:
    return tuple(label.lower() for label in labels_of(text))


def add_queries(parser: argparse.ArgumentParser) -> None:
    _add_files(parser, "pcap or pcapng, IPv4 and IPv6", "queries")
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


def queries(args: argparse.Namespace) -> Outcome:
    """Read every file, write the queries, and say on stderr what there was."""
    read = Read(Names(args.keep), args.times)
    for path in args.captures:
        read.add(path)
    counted = read.counted()
    if not counted.queries:
        others = counted.of_servers + counted.for_others
        of_servers = [("queries of servers", others)] if others else []
        raise usage_error(
            "no query in it",
            where=", ".join(map(str, args.captures)),
            found=_counted([*of_servers, *read.skipped.most_common()]) or "no packet",
            wanted="a capture of a client's or a server's side, port 53",
            todo=todo_for(read.skipped),
        )
    write_output(args.output, counted.text)
    print("\n".join(_counted_queries(read, counted)), file=sys.stderr)
    return Outcome.OK


def _counted_queries(read: Read, counted: Counted) -> Iterator[str]:
    types = counted.types.most_common(_MOST_TYPES)
    yield f"{counted.queries} queries: {_counted(types)}"
    yield (
        f"  with EDNS {counted.edns / counted.queries:.1%} (--edns), with DO "
        f"{counted.dnssec_ok / counted.queries:.1%} (--dnssec-ok), over TCP "
        f"{counted.tcp / counted.queries:.1%}"
    )
    if counted.of_servers:
        yield f"  {counted.of_servers} are left out: their senders answered others"
    if counted.for_others:
        yield f"  {counted.for_others} are left out: resolvers asked them for clients"
    if counted.iterative:
        yield (
            f"  {counted.iterative} ask for no recursion: they are of a resolver's side if no "
            "authority is measured, and then no load of its clients"
        )
    if read.left_out:
        yield f"  {read.left_out} later ones are left out: the file is full"
    if read.skipped:
        yield from _skipped(dict(read.skipped.most_common()))
    yield from (f"{count} captures {what}" for what, count in read.notes.items())


def _skipped(reasons: Mapping[str, int]) -> Iterator[str]:
    yield f"skipped packets: {_counted(reasons.items())}"
    if todo := todo_for(reasons):
        yield f"  to have them: {todo}"


def _counted(pairs: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {what}" for what, count in pairs)
