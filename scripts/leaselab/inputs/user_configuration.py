"""A user's own configuration as a scenario: the lab's form of the file, and the load that fits.

What a server's language means is its reader's to say.  What is made of a file is kept by its
content beside the checkout's builds, so that a result names the very file that was measured.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.family import LOADS
from leaselab.catalog.kept_scenarios import keep, keep_bytes
from leaselab.inputs import dhcpd, dnsmasq, kea, named
from leaselab.inputs.commented_json import Document, read_commented_json
from leaselab.inputs.configuration import servers
from leaselab.inputs.known_costs import kinds_of_objects, known_costs
from leaselab.inputs.lab_form import with_others
from leaselab.inputs.leases import Leases
from leaselab.inputs.queries.file import about
from leaselab.inputs.queries.load import OF_DATA
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zones import Zone, keep_zones, zone_of
from leaselab.inputs.reader import Asked, Reader, Served, Text, TextReader, Tree
from leaselab.inputs.user_files import UnreadError, UserFiles
from leaselab.model.errors import LeaselabError, usage_error
from leaselab.model.procedure import AT_START
from leaselab.model.scenario import Scenario

TREE_READERS: Mapping[str, Reader[Tree]] = {"kea": kea}
TEXT_READERS: Mapping[str, TextReader] = {
    "bind9": named,
    "dnsmasq": dnsmasq,
    "isc_dhcpd": dhcpd,
}
READERS: Mapping[str, Reader[Tree] | TextReader] = {**TREE_READERS, **TEXT_READERS}
"""What reads a server's configurations, by its kind: of trees, of texts, and all."""
_OTHER_ROLES = (
    "name the primary's file; for a resolver see leaselab list --scenarios '*-recursive*'"
)
_OF_DNS = {"loss_ratio": 0.005, "late_s": 1.0, "wait_s": 2.0}
"""Parameters of the procedure, as those of other scenarios of DNS servers."""
_LIKE = ("generator", "transaction", "family", "informs")
"""What clients' load has of the one that it is like."""
_INFORMING = {
    "name": "DHCPv6 exchange for options",
    "plural": "exchanges",
    "stages": ["INFORMATION-REQUEST-REPLY"],
}
_SERVED_RATE, _LONGEST_S = 500, 20
"""Rate at which each client of DHCP is served once, after each start (exchanges/s), and the
longest time for that (s)."""
_OTHERS = re.compile("[^a-z0-9]+")
"""What the name of a file may have and that of a scenario not."""
_JSON = re.compile(r'(?:\s|(?:#|//)[^\n]*|/\*.*?\*/)*+[{\[<]|.*"Dhcp[46]"', re.DOTALL)
"""How the text of a configuration in commented JSON begins, or what it has."""
_MARKS = ("\ufeff", "\xff\xfe", "\xfe\xff")
"""How a text begins that has a byte-order mark, or UTF-16's."""


def read_served(
    file: Path,
    without: Sequence[str] = (),
    *,
    leases: Leases | None = None,
    view: str = "",
    root: Path | None = None,
    also: Sequence[Path] = (),
) -> Served:
    """Read a user's configuration; `without` are the words for what to leave out of it.

    `file` may also be a folder that has it and the files that it names.  `leases` are those
    that it has at its start, `view` is the name of the one to measure where it has several.
    `root` is where absolute names of included files are looked for; `also` are files and
    folders that it may name although they are outside of its own.
    Raises a usage error for a file that is no configuration, that the lab cannot run, or that
    answers no client.
    """
    files = UserFiles(file, _names(), also, root)
    asked = Asked(without=without, leases=leases, view=view)
    own = _of_text(files, asked)
    if own is None:
        own = served_of(read_commented_json(files.file, files.place), asked)
    if leases is not None:
        _check_filled(own, files.file)
    if not own.kinds and not own.zones:
        raise _without_clients(own, files.file)
    return own


def _without_clients(own: Served, file: Path) -> LeaselabError:
    """Return the error for a configuration whose server nobody can ask for anything."""
    dns = own.load == "dns-zones"
    nothing = "no primary zone for other hosts" if dns else "no subnet with a pool"
    left_out = f" (left out: {', '.join(own.left_out)})" if own.left_out else ""
    return usage_error(
        f"the server would {'answer no client' if dns else 'give no client a lease'}",
        where=str(file),
        found=("; ".join(own.unserved[:3]) or nothing) + left_out,
        wanted="a primary zone" if dns else "a subnet with a pool or with reservations",
        todo=_OTHER_ROLES if dns else "",
    )


def _check_filled(own: Served, file: Path) -> None:
    """Refuse leases that are not those of the configuration, or that its server cannot have."""
    if own.filling is None:
        raise usage_error(
            f"the lab fills no {own.kind} with leases",
            where="--leases",
            found=str(file),
            wanted="a configuration of Kea or ISC dhcpd",
            todo="leave out --leases",
        )
    if not own.filling.lines:
        raise usage_error(
            "no lease belongs to this configuration",
            where="--leases",
            found=str(own.filling),
            wanted=f"leases of subnets of {file}",
        )


def _of_text(files: UserFiles, asked: Asked) -> Served | None:
    """Read a file in the language of a server; None where it is JSON."""
    file = files.file
    try:
        text = files.decoded(file)
    except OSError:
        return None  # the reader of JSON says why
    if _JSON.match(text.lstrip("".join(_MARKS))):
        return None
    if text.startswith(_MARKS):
        raise usage_error(
            "begins with a byte-order mark, which its server does not take",
            where=f"{file}:1",
            todo="save it as UTF-8 without one",
        )
    named = [kind for kind, reader in TEXT_READERS.items() if file.name in reader.FILES]
    seen = [kind for kind, reader in TEXT_READERS.items() if reader.RECOGNISED.search(text)]
    for kind in [*named, *seen][:1]:
        _check_views(kind, asked)
        own = TEXT_READERS[kind].read(Text(text, files), asked)
        encoding = "a file: UTF-8 instead of Windows-1252 or Latin-1"
        changes = [*own.changes, *([encoding] if files.recoded else [])]
        return replace(own, changes=changes, within=[str(folder) for folder in files.within])
    raise usage_error(
        "not a configuration of a server that Leaselab knows",
        where=str(file),
        wanted=f"a file as {', '.join(sorted(_names()))}",
        todo="name the main file of the server, or give it that name",
    )


def _check_views(kind: str, asked: Asked) -> None:
    """Refuse the name of a view where a server has none."""
    if asked.view and not READERS[kind].HAS_VIEWS:
        raise usage_error(
            "its server has no views",
            where=f"--view {asked.view}",
            found=kind,
            wanted="a named.conf, or no --view",
        )


def served_of(document: Document, asked: Asked) -> Served:
    """What a reader makes of a parsed configuration; errors as of `read_served`."""
    kinds = kinds_of_objects()
    held = list(servers(document.top, kinds))
    unread = [
        UnreadError(
            f"included file not read: {one.why}",
            str(one.spot),
            found=one.name,
            todo="bring the file along, in the place where it is included from",
        )
        for one in document.unread
    ]
    if unread and not held:
        raise unread[0]
    if len(held) != 1:
        raise usage_error(
            "not the configuration of one server",
            where=str(document.spot),
            found=f"{len(held)} servers",
            wanted=" or ".join(kinds),
            todo="name the file that the server itself reads",
        )
    [configuration] = held
    kind = kinds[configuration.name]
    _check_views(kind, asked)
    configuration.check({"": "an object"})
    configuration.check(known_costs()[kind].values)
    return TREE_READERS[kind].read(Tree(configuration, unread), asked)


def add_scenario(own: Served, file: Path, catalogue: Catalogue) -> Scenario:
    """Add what was made of a file to the catalogue, as a scenario of its own."""
    folder = catalogue.kept
    server = keep(folder, own.server)
    stem = _OTHERS.sub("-", file.stem.lower()).strip("-")[:24] or "file"
    filled, changes = "", own.changes
    if own.filling is not None:
        filled = keep_bytes(folder, "\n".join([*own.filling.lines, ""]).encode(), "csv")
        changes = [*changes, f"leases: {own.filling}"]
    like = yaml.safe_load((catalogue.folder / LOADS / f"{own.load}.yml").read_text("utf-8"))
    asked, load = (_of_zones if own.zones else _of_clients)(own, folder, like)
    whole = hashlib.sha256(f"{server}{asked}{filled}".encode()).hexdigest()
    name = f"own-{stem}-{whole[:8]}"
    without = f", without {', '.join(own.left_out)}" if own.left_out else ""
    family = {
        "description": f"{file.name}{without}, for {'names' if own.zones else 'clients'} that "
        "fit it",
        "server": {
            "kind": own.kind,
            "options": {
                **own.options,
                "configuration": server,
                "changed": changes,
                "left_out": own.left_out,
                **({"leases": filled} if filled else {}),
            },
        },
        "beside": own.beside,
        "load": name,
        "procedure": _OF_DNS if own.zones else _served_before(own),
        # Two files have figures of their own, in a list by factors, too.
        "factors": {
            "protocol": "DNS" if own.zones else f"DHCPv{like['family']}",
            "configuration": name.removeprefix("own-"),
        },
    }
    return catalogue.add(name, family, load)


def _served_before(own: Served) -> dict[str, Any]:
    """The parameters by which each client has its lease as the search begins, and keeps it.

    Otherwise the share of new clients depends on the load.  A server that begins with leases
    goes back to them.
    """
    if own.filling is not None or own.informs:
        return {}
    seconds = max(1, min(_LONGEST_S, math.ceil(own.clients / _SERVED_RATE)))
    rate = math.ceil(own.clients / seconds)
    return {"reset": AT_START, "warm_up_s": seconds, "warm_up_rate": rate}


def _of_clients(
    own: Served, folder: Path, like: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Keep the clients of DHCP; return what identifies them, and their load."""
    population = keep(folder, {"kinds": own.kinds})
    if own.informs:
        like = {**like, "transaction": _INFORMING, "informs": 1.0}
    return population, {
        **{key: like[key] for key in _LIKE if key in like},
        "clients": own.clients,
        "addresses": own.addresses,
        "population": population,
        **({"refuses": True} if own.refuses else {}),
        **({"relayed": True} if like["family"] == 6 else {}),
    }


def _of_zones(own: Served, folder: Path, like: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Keep the zones, and queries for their names; return as `_of_clients`."""
    within = tuple(map(Path, own.within))
    zones, beside = _read_zones(within, own.zones.items(), own.zones_beside)
    files, lines = keep_zones(folder, zones, beside), queries_of(zones)
    query_file = keep_bytes(folder, "".join(f"{line}\n" for line in lines).encode(), "lines")
    return f"{files}{query_file}", {
        **{key: value for key, value in like.items() if key not in OF_DATA},
        "data": "own",
        "size": sum(zone.records for zone in [*zones, *beside]),
        "zone_files": files,
        "query_file": query_file,
        "queries_file": about(lines, query_file),
    }


def _read_zones(
    within: tuple[Path, ...], *named: Iterable[tuple[str, str]]
) -> list[list[Zone]]:
    """Read zones by their names and files; raises one usage error for all that are none."""
    read: list[list[Zone]] = [[] for _ in named]
    wrong = []
    for zones, each in zip(read, named, strict=True):
        for name, file in each:
            try:
                zones.append(zone_of(name, Path(file), file, within))
            except LeaselabError as error:
                wrong.append(error)
    if wrong:
        raise with_others(wrong, "what")
    return read


def _names() -> list[str]:
    """Names that configurations have, of all servers."""
    return [name for reader in READERS.values() for name in reader.FILES]
