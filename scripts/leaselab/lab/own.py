"""A user's own configuration as a scenario: the lab's form of the file, and the load that fits.

What a server's language means is its role's to say: package ``own`` of the role reads a
configuration that has been parsed.  What is made of it is kept by its content beside the
checkout's builds, so that a result names the very file that was measured.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import yaml
from msgspec import Struct, to_builtins

from leaselab.archive.disk import write_whole
from leaselab.lab.build import build
from leaselab.lab.catalog import LOADS, OWN
from leaselab.lab.commented_json import read_commented_json
from leaselab.lab.configuration import Configuration, refused, servers
from leaselab.lab.known_costs import kinds_of_objects, known_costs
from leaselab.lab.own_files import MOST_BYTES, OwnFiles
from leaselab.lab.plain_file import content_of
from leaselab.lab.roles import ROLES, load_module
from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario

MOST_CLIENTS = 100_000
"""Clients that a population has at the most; fewer where the pools are small."""
_OTHERS = re.compile("[^a-z0-9]+")
"""What the name of a file may have and that of a scenario not."""
_WRONG = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""What is raised where a configuration has a value of another type than its server's."""


class Own(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a role makes of a configuration."""

    kind: str
    """Kind of server: the role."""
    server: dict[str, Any]
    """The server's object in the form in which the lab runs it."""
    options: dict[str, Any]
    """Options of the role that the file decides."""
    beside: dict[str, dict[str, Any]]
    """Roles that serve beside it."""
    changes: list[str]
    """What was changed, each with its path."""
    left_out: list[str]
    """What was left out as that was asked for."""
    load: str
    """The load of the catalogue that it is like."""
    kinds: list[dict[str, Any]]
    """Kinds of clients, as leaseload reads them."""
    addresses: int
    """Addresses that its pools have for them."""
    unserved: list[str]
    """Parts whose clients would get no answer, and why, each with its place in the file."""

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return sum(int(kind["clients"]) for kind in self.kinds)


class Made(NamedTuple):
    """A scenario that was made with another load."""

    name: str
    notes: list[str]
    """Lines of text: what it is, and how it differs from the file."""


def read_own(file: Path, without: Sequence[str] = (), *, root: Path | None = None) -> Own:
    """Read a user's configuration file; `without` are the words for what to leave out of it.

    `root` is where absolute names of included files are looked for.  Raises a usage error for
    a file that is no configuration, that the lab cannot run, or that answers no client.
    """
    files = OwnFiles(file, _names())
    own = _of_text(files, without) or _of_json(files.file, without, root)
    if not own.kinds:
        raise usage_error(
            "the server would answer no client",
            where=str(files.file),
            found="; ".join(own.unserved[:3]) or "no subnet",
            wanted="a subnet with a pool or with reservations",
        )
    return own


def _of_text(files: OwnFiles, without: Sequence[str]) -> Own | None:
    """Read a file in the language of a role that recognises its text; None where none does."""
    file = files.file
    try:
        text = content_of(file, MOST_BYTES, "too large").decode()
    except (OSError, UnicodeDecodeError):
        return None  # the reader of JSON says why
    of_text = {
        kind: package for kind, package in _packages().items() if hasattr(package, "recognises")
    }
    named = [kind for kind, package in of_text.items() if file.name in package.FILES]
    seen = [kind for kind, package in of_text.items() if package.recognises(text)]
    for kind in [*named, *seen][:1]:
        read = of_text[kind].read(text, str(file), without, MOST_CLIENTS, files)
        return build(Own, {"kind": kind, **read}, str(file))
    return None


def _of_json(file: Path, without: Sequence[str], root: Path | None) -> Own:
    """Read a file of commented JSON, as Kea's servers have it."""
    document = read_commented_json(file, root)
    kinds = kinds_of_objects()
    held = list(servers(document.top, kinds))
    if len(held) != 1:
        raise usage_error(
            "not the configuration of one server",
            where=str(document.spot),
            found=f"{len(held)} servers",
            wanted=" or ".join(kinds),
            todo="name the file that the server itself reads",
        )
    for unread in document.unread:
        raise usage_error(
            f"included file not read: {unread.why}",
            where=str(unread.spot),
            todo="bring the file along, in the place where it is included from",
        )
    [configuration] = held
    kind = kinds[configuration.name]
    configuration.check({"": "an object"})
    configuration.check(known_costs()[kind].values)
    return build(
        Own, {"kind": kind, **_read(_package(kind), configuration, without)}, str(document.spot)
    )


def write_own(own: Own, file: Path, scenarios: Path) -> str:
    """Keep what was made of a file as a scenario of its own; return the scenario's name.

    `scenarios` is the folder of the catalogue, beside which it is kept.
    """
    folder = scenarios.parent / OWN
    (folder / LOADS).mkdir(parents=True, exist_ok=True)
    server, population = (keep(folder, one) for one in (own.server, {"kinds": own.kinds}))
    stem = _OTHERS.sub("-", file.stem.lower()).strip("-")[:24] or "file"
    whole = hashlib.sha256(f"{server}{population}".encode()).hexdigest()
    name = f"own-{stem}-{whole[:8]}"
    like = yaml.safe_load((scenarios / LOADS / f"{own.load}.yml").read_text(encoding="utf-8"))
    load = {key: like[key] for key in ("generator", "transaction", "family")} | {
        "clients": own.clients,
        "addresses": own.addresses,
        "population": population,
        **({"relayed": True} if like["family"] == 6 else {}),
    }
    without = f", without {', '.join(own.left_out)}" if own.left_out else ""
    family = {
        "description": f"{file.name}{without}, for clients that fit it",
        "server": {
            "kind": own.kind,
            "options": {
                **own.options,
                "configuration": server,
                "changed": own.changes,
                "left_out": own.left_out,
            },
        },
        "beside": own.beside,
        "load": name,
        "factors": {"protocol": f"DHCPv{like['family']}"},
    }
    write_family(folder, name, family, load)
    return name


def write_family(
    folder: Path, name: str, family: Mapping[str, Any], load: Mapping[str, Any]
) -> None:
    """Write a family of one scenario and its load, each file whole or not at all."""
    for path, content in ((f"{LOADS}/{name}.yml", load), (f"{name}.yml", family)):
        write_whole(folder / path, yaml.safe_dump(content, sort_keys=False).encode())


def write_like(
    folder: Path,
    scenario: Scenario,
    procedure: Mapping[str, Any],
    load: Mapping[str, Any],
    of: str,
) -> str:
    """Write a scenario with another load, a family of its own; return its name.

    `of` says whose load it is (``clients``, ``queries``); the name ends with it and a hash.
    """
    support = to_builtins(scenario.support) if scenario.support else {}
    family = to_builtins(
        {
            "description": f"{scenario.description}, for the {of} of a file",
            "server": {"kind": scenario.server.kind, "options": scenario.server.options},
            "beside": scenario.beside,
            "hosts": scenario.hosts,
            "support": {key: support[key] for key in ("kind", "options") if key in support},
            "factors": scenario.factors,
            "across": list(scenario.across),
            "procedure": dict(procedure),
        }
    )
    whole = json.dumps([family, load], sort_keys=True)
    stem = scenario.name.partition(f"-{of}-")[0]
    name = f"{stem}-{of}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    file = {
        "generator": scenario.generator,
        "transaction": to_builtins(scenario.transaction),
        **load,
    }
    write_family(folder, name, {**family, "load": name}, file)
    return name


def keep(folder: Path, document: object) -> str:
    """Keep a document by its content; return its hash."""
    return keep_bytes(folder, json.dumps(document, indent=1).encode(), "json")


def keep_bytes(folder: Path, content: bytes, ending: str) -> str:
    """Keep a file by its content, whole or not at all; return its hash."""
    name = hashlib.sha256(content).hexdigest()
    write_whole(folder / f"{name}.{ending}", content)
    return name


def _read(
    package: ModuleType, configuration: Configuration, without: Sequence[str]
) -> dict[str, Any]:
    try:
        read: dict[str, Any] = package.read(configuration, without, MOST_CLIENTS)
    except _WRONG as error:
        raise refused(configuration.whole) from error
    return read


def _names() -> list[str]:
    """Names that configurations have, of all servers."""
    return [name for package in _packages().values() for name in package.FILES]


def _packages() -> dict[str, ModuleType]:
    """The packages of roles that read their server's own configurations."""
    kinds = (folder.parent.name for folder in sorted(ROLES.glob("*/own")))
    return {kind: _package(kind) for kind in kinds}


def _package(kind: str) -> ModuleType:
    """The package of a role that reads its server's own configurations."""
    module = load_module(f"leaselab_own_{kind}", ROLES / kind / "own" / "__init__.py")
    if module is None:
        raise usage_error(
            "no configurations of this server are read",
            where=kind,
            wanted=f"a package own of role {kind}",
        )
    return module
