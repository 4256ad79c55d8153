"""The kinds of data: which zones each has, and which names are asked for there.

A zone file is an iterator of (text, records), so that a million of zones or delegations never
lie in memory at once.  The same arguments give the same bytes on every host: nothing depends
on a clock, on a hash seed or on the order of a folder.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from leaselab_dns_data.errors import DataError

Pieces = Iterator[tuple[str, int]]
"""Text of a zone file, and the records in it."""
SIZE_MAX = 9_999_999
"""Names have seven digits."""
TLD = "tld.test."
SIGNED_EVERY = 10
"""Each tenth delegation is a signed one: it has a DS record."""
WWW = "192.0.2.80"
_SOA = "@ SOA ns hostmaster 1 10800 3600 604800 3600\n"


@dataclass(frozen=True)
class Kind:
    """One kind of data."""

    name: str
    zones: Callable[[int], Iterable[tuple[str, str]]]
    """(zone, file) of every zone, for a size; several zones may share a file."""
    files: Callable[[int, str], Iterable[tuple[str, Pieces]]]
    """(file, its text), each once, for a size and the address of the server."""
    asked: str
    """The name that is asked for, with the number of zone or delegation."""
    missing: str
    """One that does not exist."""
    updated: str = ""
    """An update, as leaseload reads it, of a name that no zone file has; empty for none."""
    at_address: bool = False
    """Whether the address of the server is in the zones."""


def number(one: int) -> str:
    """Write the number of a zone or delegation, from 1."""
    return f"{one:07d}"


def glue(one: int, host: int) -> str:
    """Return the address of the host of a delegation, in 10.0.0.0/8: two hosts for each."""
    both = 2 * one + host
    return f"10.{both >> 16 & 255}.{both >> 8 & 255}.{both & 255}"


def _delegations(size: int) -> Pieces:
    yield (f"$ORIGIN {TLD}\n$TTL 86400\n{_SOA}@ NS ns\nns A 192.0.2.53\n", 3)
    for one in range(1, size + 1):
        name = f"d{one:07d}"
        text = (
            f"{name} NS ns1.{name}\n{name} NS ns2.{name}\n"
            f"ns1.{name} A {glue(one, 0)}\nns2.{name} A {glue(one, 1)}\n"
        )
        if one % SIGNED_EVERY:
            yield text, 4
        else:
            digest = hashlib.sha256(name.encode()).hexdigest()
            yield f"{text}{name} DS {one % 65536} 13 2 {digest}\n", 5


def _one_zone() -> Pieces:
    """Write the file that all zones share: it names no zone."""
    yield f"$TTL 3600\n{_SOA}@ NS ns\nns A 192.0.2.53\nwww A {WWW}\n", 4


def _article_zone() -> Pieces:
    """Write one of the article on PowerDNS: two addresses of www, a server elsewhere."""
    yield (
        "$TTL 3600\n@ SOA a.invalid. hostmaster 0 10800 3600 604800 3600\n"
        "@ NS ns1.test1.test.\nwww A 192.0.2.1\nwww A 192.0.2.42\n",
        4,
    )


def _root(address: str) -> Pieces:
    yield (
        "$ORIGIN .\n$TTL 86400\n@ SOA a.root. hostmaster.root. 1 10800 3600 604800 3600\n"
        f"@ NS a.root.\na.root. A {address}\ntest. NS ns.test.\nns.test. A {address}\n",
        5,
    )


def _top(size: int, address: str) -> Pieces:
    yield f"$ORIGIN test.\n$TTL 86400\n{_SOA}@ NS ns\nns A {address}\n", 3
    for one in range(1, size + 1):
        yield f"z{one:07d} NS ns.z{one:07d}\nns.z{one:07d} A {address}\n", 2


def _leaf(address: str) -> Pieces:
    """Write the file that all leaves share; what is cached of one lasts longer than a sweep."""
    yield f"$TTL 86400\n{_SOA}@ NS ns\nns A {address}\nwww A {WWW}\n", 4


def _of_one_file(size: int) -> Iterator[tuple[str, str]]:
    return ((f"z{one:07d}.test.", "zone.zone") for one in range(1, size + 1))


def _of_the_hierarchy(size: int) -> Iterator[tuple[str, str]]:
    yield ".", "root.zone"
    yield "test.", "test.zone"
    yield from ((f"z{one:07d}.test.", "leaf.zone") for one in range(1, size + 1))


def _article_files(size: int, _: str) -> Iterator[tuple[str, Pieces]]:
    return ((f"test{one:07d}.zone", _article_zone()) for one in range(1, size + 1))


def _hierarchy_files(size: int, address: str) -> Iterator[tuple[str, Pieces]]:
    yield "root.zone", _root(address)
    yield "test.zone", _top(size, address)
    yield "leaf.zone", _leaf(address)


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="delegations",
            zones=lambda _: [(TLD, "tld.zone")],
            files=lambda size, _: [("tld.zone", _delegations(size))],
            asked=f"www.d{{}}.{TLD}",
            missing=f"www.m{{}}.{TLD}",
            updated=f"h{{}}.{TLD} UPDATE {TLD}",
        ),
        Kind(
            name="zones",
            zones=_of_one_file,
            files=lambda _size, _address: [("zone.zone", _one_zone())],
            asked="www.z{}.test.",
            missing="nope.z{}.test.",
        ),
        Kind(
            name="articles",
            zones=lambda size: (
                (f"test{one:07d}.test.", f"test{one:07d}.zone") for one in range(1, size + 1)
            ),
            files=_article_files,
            asked="www.test{}.test.",
            missing="nope.test{}.test.",
        ),
        Kind(
            name="hierarchy",
            zones=_of_the_hierarchy,
            files=_hierarchy_files,
            asked="www.z{}.test.",
            missing="nope.z{}.test.",
            at_address=True,
        ),
    )
}


def kind_of(name: str, size: int) -> Kind:
    """Return a kind; raises DataError for a size that it cannot have."""
    if not 1 <= size <= SIZE_MAX:
        raise DataError(f"--size {size} (wanted 1 to {SIZE_MAX}: names have seven digits)")
    return KINDS[name]
