"""A reader of a server's configurations: what it is given, and what it makes of that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from leaselab.inputs.client_kinds import MOST_CLIENTS, ClientKind
from leaselab.inputs.configuration import Configuration
from leaselab.inputs.leases import Filling, Leases
from leaselab.inputs.user_files import UnreadError, UserFiles

Given_contra = TypeVar("Given_contra", contravariant=True)


class Text(NamedTuple):
    """A configuration in a language of its server."""

    text: str
    files: UserFiles
    """Has the file of the text, and reads others that it names."""


class Tree(NamedTuple):
    """A configuration that has been parsed."""

    configuration: Configuration
    unread: Sequence[UnreadError]
    """Errors of files that it includes and that are not here."""


class Asked(Struct, frozen=True, kw_only=True):
    """What the user asks for of a configuration."""

    without: Sequence[str] = ()
    """Words for what is to be left out of it."""
    leases: Leases | None = None
    """Those that it has at its start; None for none."""
    view: str = ""
    """The one to measure, empty for the one of the lab's clients."""
    most_clients: int = MOST_CLIENTS


class Served(Struct, frozen=True, kw_only=True):
    """What a reader makes of a configuration: the lab's form of it, and the load that fits."""

    kind: str
    """Kind of server: the role."""
    holder: str = ""
    """Name of the object that holds the configuration; empty for a language without it."""
    server: dict[str, Any]
    """The server's object in the form in which the lab runs it."""
    options: dict[str, Any] = {}
    """Options of the role that the file decides."""
    beside: dict[str, dict[str, Any]] = {}
    """Roles that serve beside it."""
    changes: list[str]
    """What was changed, each with its path."""
    left_out: list[str]
    """What was left out as that was asked for."""
    load: str
    """The load of the catalogue that it is like."""
    kinds: list[ClientKind] = []
    """Kinds of clients."""
    addresses: int = 0
    """Addresses that its pools have for them."""
    informs: bool = False
    """Whether the clients ask for options alone, as the server has no leases for them."""
    refuses: bool = False
    """Whether the server refuses some clients by chance: each counts as a loss."""
    zones: dict[str, str] = {}
    """Files of the zones that it serves, by their names with a last dot."""
    zones_beside: list[tuple[str, str]] = []
    """Zones that it has and nobody asks for, each with its file."""
    within: list[str] = []
    """Folders that files which its zones include may lie in."""
    unserved: list[str] = []
    """Parts whose clients would get no answer, and why, each with its place in the file."""
    releases: list[str] = []
    """Which releases of its server take it, each with what not all of them have."""
    filling: Filling | None = None
    """The leases with which the server begins; None for none."""

    @property
    def clients(self) -> int:
        """How many clients there are."""
        return sum(kind["clients"] for kind in self.kinds)


class Reader(Protocol[Given_contra]):
    """Reads the configurations of a kind of server.  Pure, but for files that these name."""

    FILES: tuple[str, ...]
    """Names that the files of such configurations have."""
    HAS_VIEWS: bool
    """Whether a configuration may have several views, of which one is measured."""

    def read(self, configuration: Given_contra, asked: Asked) -> Served:
        """Return what a configuration is as a server of the lab.

        Raises a usage error with the place for what is no configuration, or for what the lab
        cannot have.
        """


class TextReader(Reader[Text], Protocol):
    """Reads configurations in a language of its own."""

    RECOGNISED: re.Pattern[str]
    """What such a text has, whatever the name of its file."""
