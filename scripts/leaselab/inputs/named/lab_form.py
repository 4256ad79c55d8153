"""The lab's form of a named.conf: as it is, but for files, addresses and other hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial

from leaselab.inputs.lab_form import LabForm
from leaselab.inputs.named.keys import keys_of, names_of
from leaselab.inputs.named.statements import Statement, parsed, text_of
from leaselab.inputs.named.views import MATCHES, measured_view, of_class_in
from leaselab.inputs.queries.names import zone_name
from leaselab.inputs.user_files import UnreadError, UserFiles
from leaselab.model.errors import usage_error

OPTIONS, ZONES = "@options@", "@zones@"
"""Stand for the options of the lab, and for the folder of the zones' files."""
_LABS = {
    "the lab's own": (
        *("logging", "controls", "statistics-channels", "directory", "pid-file", "lock-file"),
        *("session-keyfile", "session-keyname", "session-keyalg", "managed-keys-directory"),
        *("dump-file", "statistics-file", "memstatistics-file", "recursing-file", "tls-port"),
        *("secroots-file", "cache-file", "key-directory", "bindkeys-file", "journal", "port"),
        *("geoip-directory", "random-device", "https-port", "http-port"),
    ),
    "the address of the test network": (
        *("listen-on", "listen-on-v6", "query-source", "query-source-v6", "transfer-source"),
        *("transfer-source-v6", "notify-source", "notify-source-v6", "parental-source"),
        *("parental-source-v6",),
    ),
    "any, as all clients have an address of the lab": (
        *("allow-query", "allow-query-on", "blackhole", "sortlist", *MATCHES),
    ),
    "none, as no other host is contacted": (
        *("notify", "also-notify", "dnssec-validation", "trust-anchors", "managed-keys"),
        *("trusted-keys", "forward", "tcp-listen-queue", "parental-agents", "checkds"),
    ),
    "none, as no such query comes": (
        *("tls", "http", "update-policy"),
        *("tkey-gssapi-credential", "tkey-gssapi-keytab", "tkey-domain", "tkey-dhkey"),
    ),
    "off: queries are not logged, unlike yours": ("querylog", "dnstap", "dnstap-output"),
    "one that named makes, as this one is secret": ("cookie-secret",),
    "none, as no zone is signed": ("dnssec-policy", "key-store"),
    "none, as the lab's zones are not written": ("ixfr-from-differences", "masterfile-style"),
    "none, as newer releases of BIND refuse it": (
        *("acache-cleaning-interval", "acache-enable", "additional-from-auth", "coresize"),
        *("additional-from-cache", "allow-v6-synthesis", "alt-transfer-source", "datasize"),
        *("alt-transfer-source-v6", "cleaning-interval", "deallocate-on-exit", "dnssec-enable"),
        *("dnssec-lookaside", "dscp", "fake-iquery", "fetch-glue", "files", "filter-aaaa"),
        *("filter-aaaa-on-v4", "filter-aaaa-on-v6", "geoip-use-ecs", "glue-cache", "ixfr-base"),
        *("has-old-clients", "host-statistics", "host-statistics-max", "ixfr-tmp-file"),
        *("lwres", "maintain-ixfr-base", "max-acache-size", "max-ixfr-log-size", "min-roots"),
        *("multiple-cnames", "named-xfer", "nosit-udp-size", "queryport-pool-ports"),
        *("queryport-pool-updateinterval", "request-sit", "reserved-sockets", "pubkey"),
        *("resolver-nonbackoff-tries", "resolver-retry-interval", "rfc2308-type1"),
        *("root-delegation-only", "serial-queries", "sit-secret", "stacksize", "topology"),
        *("statistics-interval", "suppress-initial-notify", "treat-cr-as-space", "use-ixfr"),
        *("use-alt-transfer-source", "use-id-pool", "use-queryport-pool", "support-ixfr"),
        *("avoid-v4-udp-ports", "avoid-v6-udp-ports", "use-v4-udp-ports", "use-v6-udp-ports"),
        *("delegation-only", "dialup", "dnssec-must-be-secure", "heartbeat-interval"),
    ),
}
_BLOCKS = {"logging", "controls", "statistics-channels"}
_SINGLE = {*_LABS["the lab's own"]} - _BLOCKS
"""Statements of one value: what follows it is another whose ; is missing before it."""
_HOLDS = {name: what for what, names in _LABS.items() for name in names}
"""Statements that the lab leaves out, by what holds instead."""
_SIGNING = ("dnssec-policy", "it signs zones with keys that are not here")
_SPOKEN = {
    "dlz": ("dlz", "its zones are in another program"),
    "dyndb": ("dyndb", "its zones are in another program"),
    "forwarders": ("forwarders", "it asks another host"),
    "catalog-zones": ("catalog-zones", "its zones come from another host"),
    "rate-limit": ("rate-limit", "all queries come from one address"),
    "inline-signing": _SIGNING,
    "auto-dnssec": _SIGNING,
}
_WITHOUT_EFFECT = {"inline-signing": ("no",), "auto-dnssec": ("off",)}
_PRIMARY = ("primary", "master")
_TYPES = {
    **dict.fromkeys(("secondary", "slave", "stub"), "its data come from another host"),
    **dict.fromkeys(("mirror", "forward", "static-stub"), "its data come from another host"),
    "redirect": "it answers what other hosts do not",
    "delegation-only": "it judges answers of other hosts",
}
"""Types of zones that the lab leaves out, and why."""
_LABS_ZONES = {"hint": "none, as no root is asked"}
_OF_ITSELF = {
    *("localhost.", "localdomain.", "localhost.localdomain.", "0.in-addr.arpa."),
    *("127.in-addr.arpa.", "0.0.127.in-addr.arpa.", "1.0.0.127.in-addr.arpa."),
    *("255.in-addr.arpa.", f"1.{'0.' * 31}ip6.arpa.", f"{'0.' * 32}ip6.arpa."),
}
"""Zones that distributions put into each file, for what a host asks itself."""
_ITSELF = {"none", "localhost", "127.0.0.1", "127.0.0.0/8", "::1", "::1/128"}
"""Elements of lists in which no other host is."""
_NONE = Statement(("match-clients", (Statement(("none",), ""),)), "")
_NOBODYS = '"bGVhc2VsYWItaGFzLWl0cy1vd24ta2V5LWZvci10aGlz"'


class NamedForm(LabForm):
    """What the lab makes of a configuration, each change of it listed."""

    def __init__(
        self, text: str, files: UserFiles, without: Sequence[str], view: str = ""
    ) -> None:
        """Raise an error for what the lab cannot run, unless it is among `without`.

        `view` is the name of the one to measure; empty for the one of the lab's clients.
        """
        super().__init__(without)
        self._files, self._folder, where = files, "", str(files.file)
        self.zones: dict[str, str] = {}
        self._paths: dict[tuple[str, str], str] = {}
        """Files of zones, by the view and the name of each."""
        self._seen: set[tuple[str, str]] = set()
        self._lost: set[tuple[str, str]] = set()
        read = list(self._included(parsed(text, where), 0))
        options = [one for held in read if held.name == "options" for one in held.inner or ()]
        self._options = options
        self._keys = set(keys_of(read))
        views = [one for one in read if one.name == "view" and one.inner is not None]
        views = [view for view in views if of_class_in(view)]
        acls = {one.value: one.inner or () for one in read if one.name == "acl"}
        self._measured = self._view = measured_view(views, acls, view)
        kept = [one for one in self._kept(read, "") if one.name != "options"]
        measured = self._measured.value if self._measured else ""
        beside = [
            (view, name)
            for view, name in self._paths
            if view != measured or name not in self.zones
        ]
        self.beside = [(name, self._paths[view, name]) for view, name in beside]
        numbered = [*((measured, name) for name in sorted(self.zones)), *beside]
        self._number = {key: at for at, key in enumerate(numbered)}
        lab = Statement((OPTIONS,), where)
        self.statements = [
            Statement(
                ("options", (lab, *self._mended(self._kept(options, "options."), ""))), where
            ),
            *self._mended(kept, ""),
        ]
        self.check_used(serves=bool(self.zones))

    @property
    def text(self) -> str:
        """The statements as a file."""
        return text_of(self.statements).replace(f"{OPTIONS};", OPTIONS)

    def _included(self, statements: Iterable[Statement], depth: int) -> Iterator[Statement]:
        """The statements, with those of included files in their place.

        Relative names are those in the directory that was last named.
        """
        for one in statements:
            if one.name == "directory":
                self._folder = one.value
            if one.name == "include" and one.value:
                included = partial(self._files.included, depth=depth, within=self._folder)
                for name in self._meant(one):
                    if (held := self.unless_unread(included, name, one.spot)) is not None:
                        yield from self._included(parsed(*held), depth + 1)
            elif one.inner is not None:
                yield one.having(self._included(one.inner, depth))
            else:
                yield one

    def _meant(self, one: Statement) -> Sequence[str]:
        """The names of the files that an include means: one, or those of a pattern."""
        folder, _, last = one.value.rpartition("/")
        if not set(last) & set("*?"):
            return [one.value]
        matching = partial(self._matching, last)
        return self.unless_unread(matching, folder or ".", one.spot) or []

    def _matching(self, pattern: str, folder: str, spot: str) -> list[str]:
        """The names of the files of a folder that have a pattern; raises where none has."""
        names = self._files.names(folder, spot, self._folder)
        matching = [name for name in names if fnmatchcase(name.rpartition("/")[2], pattern)]
        if not matching:
            raise UnreadError(
                "no file has a name of this pattern", spot, found=f"{folder}/{pattern}"[:200]
            )
        return matching

    def _kept(self, statements: Iterable[Statement], path: str) -> list[Statement]:
        """What stays of statements; `path` is what they are in, with a dot."""
        return [held for one in statements for held in self._of(one, path)]

    def _of(self, one: Statement, path: str) -> Iterator[Statement]:
        """Yield what stays of a statement."""
        name = one.name
        signs = name == "dnssec-policy" and path and one.value not in ("none", "insecure")
        word, why = _SIGNING if signs else _SPOKEN.get(name, ("", ""))
        is_empty = name == "forwarders" and not one.inner
        if word and not is_empty and one.value not in _WITHOUT_EFFECT.get(name, ()):
            self.leave_out(word, why, f"{one.spot}: {name}")
        elif name in _HOLDS:
            if name in _SINGLE:
                one.check_single()
            self.change(f"{path}{name}: {_HOLDS[name]}")
        elif name == "zone" and path in ("", "view."):
            if not path and self._measured:
                raise usage_error(
                    "a zone beside views",
                    where=f"{one.spot}: zone {_shown(one)}",
                    wanted="all zones in views, as named wants it",
                )
            made = list(self._zone(one))
            if not made:
                self._lost.add((self._view.value if self._view else "", _name(one)))
            yield from made
        elif name == "zone" and one.inner is not None:
            raise usage_error(
                "a zone in another statement",
                where=f"{one.spot}: zone {_shown(one)}",
                found=path.rstrip("."),
                wanted="}; before it",
            )
        elif name == "view" and one.inner is not None:
            yield from self._of_view(one)
        elif name == "key" and one.inner is not None and not path.startswith("zone"):
            yield one.having(self._secret(held) for held in one.inner)
        elif name == "server" and one.inner is not None:
            inner = self._kept(one.inner, "server.")
            yield one.having(held for held in inner if self._is_known(held))
        elif not word:
            yield one

    def _of_view(self, one: Statement) -> Iterator[Statement]:
        """Yield a view: the measured one is everybody's, and nobody is of the others."""
        if not of_class_in(one):
            self.leave_out("class", "only queries of class IN come", f"{one.spot}: view")
            return
        self._view, inner = one, one.inner or ()
        if one is self._measured:
            yield one.having(self._kept(inner, "view."))
            return
        self.change("view: another's zones stay, and no client of the lab is of it")
        others = [held for held in inner if held.name not in MATCHES]
        yield one.having([_NONE, *self._kept(others, "view.")])

    def _is_known(self, one: Statement) -> bool:
        """Whether a line of a server names no key that is missing."""
        missing = set(names_of(one)) - self._keys if one.name == "keys" else ()
        if missing:
            self.change("server.keys: none, as a key is not here")
        return not missing

    def _secret(self, one: Statement) -> Statement:
        """A line of a key, with a secret that is nobody's."""
        if one.name != "secret":
            return one
        self.change("key.secret: another, which protects nothing")
        return one._replace(words=("secret", _NOBODYS))

    def _zone(self, one: Statement) -> Iterator[Statement]:
        """Yield a zone, if it is one of those with a file."""
        inner = {held.name: held for held in one.inner or ()}
        name = _name(one)
        if "in-view" in inner:
            yield from self._shared(one, name, inner["in-view"].value)
            return
        self._seen.add((self._view.value if self._view else "", name))
        for held in ("type", "file"):
            if held in inner:
                inner[held].check_single()
        kind = inner["type"].value.lower() if "type" in inner else ""
        if kind in _LABS_ZONES:
            self.change(f"zone of type {kind}: {_LABS_ZONES[kind]}")
            return
        spot = f"{one.spot}: zone {_shown(one)}"
        classes = [word.lower() for word in one.words[2:] if isinstance(word, str)]
        if classes not in ([], ["in"]):
            self.leave_out("class", "only queries of class IN come", spot)
            return
        if kind not in _PRIMARY:
            if kind not in _TYPES:
                raise usage_error(
                    "a zone of unknown type",
                    where=spot,
                    found=kind or "no type",
                    wanted="type primary, in the zone itself",
                )
            self.leave_out("secondary" if kind == "slave" else kind, _TYPES[kind], spot)
            return
        if self._has_other_name(one, spot) or self._is_no_text(inner, spot):
            return
        if "file" not in inner:
            raise usage_error(
                "a zone without a file", where=spot, found="no file", wanted='file "NAME";'
            )
        file = inner["file"]
        asked = (inner["allow-query"].inner if "allow-query" in inner else None) or ()
        nobody = bool(asked) and {held.name.strip('"') for held in asked} <= _ITSELF
        if nobody:
            self.change("zone.allow-query: no other host asks for its names")
        elif name in _OF_ITSELF:
            nobody = True
            self.change("zone localhost and the like: no other host asks for their names")
        place = partial(self._files.plain, within=self._folder)
        path = self.unless_unread(place, file.value, file.spot)
        if path is None:
            return
        self._place(name, spot, str(path), is_asked=not nobody)
        self.change("zone.file: a copy in a folder of the lab")
        yield one.having(self._kept(one.inner or (), "zone."))

    def _has_other_name(self, zone: Statement, spot: str) -> bool:
        """Whether the lab cannot ask for the name of a zone, which leaves it out."""
        try:
            zone_name(zone.value)
        except ValueError as error:
            self.leave_out("zone-name", f"not a name of a zone: {error}", spot)
            return True
        return False

    def _is_no_text(self, inner: Mapping[str, Statement], spot: str) -> bool:
        """Whether the records of a zone are in no text, which leaves it out."""
        around = (*(self._view.inner or () if self._view else ()), *self._options)
        outer = {held.name: held for held in reversed(around)}
        raw = {**outer, **inner}.get("masterfile-format")
        apart = {"database", "dlz"} & inner.keys() if "file" not in inner else ()
        if apart:
            self.leave_out(min(apart), "its records are in another program", spot)
        elif raw is not None and raw.value != "text":
            self.leave_out(
                "raw", "its file is no text; named-compilezone -F text writes one", spot
            )
        else:
            return False
        return True

    def _shared(self, one: Statement, name: str, view: str) -> Iterator[Statement]:
        """Yield a zone that is another view's, if that still has it."""
        if (view, name) not in self._seen:
            raise usage_error(
                "the zone is in no such view",
                where=f"{one.spot}: zone {_shown(one)}",
                found=f"in-view {view[:80]}",
                wanted="a view before it that has the zone",
            )
        path = self._paths.get((view, name))
        if path is None:
            self.change("zone.in-view: none where the other view has no such zone")
            return
        if self._view is self._measured and name not in _OF_ITSELF:
            self.zones[name] = path
        yield one

    def _place(self, name: str, spot: str, path: str, *, is_asked: bool) -> None:
        """Note the file of a zone of the view that is read."""
        key = (self._view.value if self._view else "", name)
        if key in self._paths:
            raise usage_error(f"zone {name[:80]} comes twice", where=spot, wanted="one of it")
        self._paths[key] = path
        if is_asked and self._view is self._measured:
            self.zones[name] = path

    def _mended(self, statements: Iterable[Statement], view: str) -> Iterator[Statement]:
        """Statements of a view whose zones have the lab's files, without what was left out."""
        for one in statements:
            inner = one.inner or ()
            if one.name == "view" and one.inner is not None:
                yield one.having(self._mended(one.inner, one.value))
            elif one.name == "response-policy" and one.inner is not None:
                yield from self._policy(one, view)
            elif one.name == "zone" and any(held.name == "file" for held in inner):
                number = self._number[view, _name(one)]
                file = Statement(("file", f'"{ZONES}/{number}.zone"'), one.spot)
                yield one.having(file if held.name == "file" else held for held in inner)
            else:
                yield one

    def _policy(self, one: Statement, view: str) -> Iterator[Statement]:
        """Yield a policy of the zones that are left; outside views it is that of all."""
        lost = {name for held, name in self._lost if view in ("", held)}
        inner = one.inner or ()
        kept = [held for held in inner if _name(held) not in lost]
        for held in inner:
            if held not in kept:
                self.change("response-policy: none of a zone that is left out")
        if kept or not inner:
            yield one.having(kept)


def _name(zone: Statement) -> str:
    """The name of a zone, with its last dot."""
    return zone.value.lower().rstrip(".") + "."


def _shown(one: Statement) -> str:
    """The name of a zone or view, in one line."""
    return " ".join(one.value.split())[:80]
