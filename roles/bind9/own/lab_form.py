"""The lab's form of a named.conf: as it is, but for files, addresses and other hosts."""

from __future__ import annotations

from leaselab.lab.own_form import OwnForm
from leaselab.model.errors import usage_error

from .statements import Statement, parsed, plain, text_of

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
        *("allow-query", "allow-query-on", "blackhole", "match-clients", "match-destinations"),
        *("match-recursive-only", "sortlist"),
    ),
    "none, as no other host is contacted": (
        *("notify", "also-notify", "dnssec-validation", "trust-anchors", "managed-keys"),
        *("trusted-keys", "forward", "tcp-listen-queue", "parental-agents", "checkds"),
    ),
    "none, as no such query comes": ("tls", "http", "querylog", "dnstap", "dnstap-output"),
    "none, as the lab's zones are not written": ("ixfr-from-differences", "masterfile-style"),
}
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
_TYPES = {"slave": "secondary"}
_LABS_ZONES = {"hint": "none, as no root is asked", "in-view": "none, as one view is left"}
_NOBODYS = '"bGVhc2VsYWItaGFzLWl0cy1vd24ta2V5LWZvci10aGlz"'


class LabForm(OwnForm):
    """What the lab makes of a configuration, each change of it listed."""

    def __init__(self, text, where, without, files):
        """Raise an error for what the lab cannot run, unless it is among `without`."""
        super().__init__(without)
        self._files, self.zones = files, {}
        read = list(self._included(parsed(text, where), 0))
        options = [one for held in read if held.name == "options" for one in held.inner or ()]
        named = [one.value for one in options if one.name == "directory"]
        self._folder = named[0] if named else ""
        kept = self._kept(self._of_one_view(read), "")
        self._number = {name: at for at, name in enumerate(sorted(self.zones))}
        kept = [one for one in kept if one.name != "options"]
        lab = Statement((OPTIONS,), where)
        self.statements = [
            Statement(("options", (lab, *self._kept(options, "options."))), where),
            *self._with_files(kept),
        ]
        self.check_used()

    @property
    def text(self):
        """The statements as a file."""
        return text_of(self.statements).replace(f"{OPTIONS};", OPTIONS)

    def _included(self, statements, depth):
        """The statements, with those of included files in their place."""
        for one in statements:
            if one.name == "include" and one.value:
                text, path = self._files.included(one.value, one.spot, depth)
                yield from self._included(parsed(text, path), depth + 1)
            elif one.inner is not None:
                yield one.having(self._included(one.inner, depth))
            else:
                yield one

    def _of_one_view(self, statements):
        """The statements without all views but the first."""
        views = [one for one in statements if one.name == "view"]
        for view in views[1:]:
            self.leave_out("views", "all clients are of one of them", f"{view.spot}: view")
        return [one for one in statements if one.name != "view" or one is views[0]]

    def _kept(self, statements, path):
        """What stays of statements; `path` is what they are in, with a dot."""
        return [held for one in statements for held in self._of(one, path)]

    def _of(self, one, path):
        """Yield what stays of a statement."""
        name = one.name
        signs = name == "dnssec-policy" and path and one.value not in ("none", "insecure")
        word, why = _SIGNING if signs else _SPOKEN.get(name, ("", ""))
        is_empty = name == "forwarders" and not one.inner
        if word and not is_empty and one.value not in _WITHOUT_EFFECT.get(name, ()):
            self.leave_out(word, why, f"{one.spot}: {name}")
        elif name in _HOLDS:
            self.change(f"{path}{name}: {_HOLDS[name]}")
        elif name == "zone" and path in ("", "view."):
            yield from self._zone(one)
        elif name == "view" and one.inner is not None:
            yield one.having(self._kept(one.inner, "view."))
        elif name == "key" and one.inner is not None and not path.startswith("zone"):
            yield one.having(self._secret(held) for held in one.inner)
        elif not word:
            yield one

    def _secret(self, one):
        """A line of a key, with a secret that is nobody's."""
        if one.name != "secret":
            return one
        self.change("key.secret: another, which protects nothing")
        return one._replace(words=("secret", _NOBODYS))

    def _zone(self, one):
        """Yield a zone, if it is one of those with a file."""
        inner = {held.name: held for held in one.inner or ()}
        kind = inner["type"].value.lower() if "type" in inner else ""
        kind = "in-view" if "in-view" in inner else kind
        if kind in _LABS_ZONES:
            self.change(f"zone of type {kind}: {_LABS_ZONES[kind]}")
            return
        spot = f"{one.spot}: zone {one.value[:80]}"
        classes = [word.lower() for word in one.words[2:] if isinstance(word, str)]
        if classes not in ([], ["in"]):
            self.leave_out("class", "only queries of class IN come", spot)
            return
        if kind not in _PRIMARY:
            word = _TYPES.get(kind, kind) or "type"
            self.leave_out(word, "its data come from another host", spot)
            return
        raw = inner.get("masterfile-format")
        if "file" not in inner or (raw is not None and raw.value != "text"):
            raise usage_error(
                "a zone without a text file",
                where=spot,
                found="no file" if raw is None else f"masterfile-format {raw.value[:20]}",
                wanted='file "NAME"; in the usual form of zones',
                todo="write it as text with named-compilezone -F text",
            )
        name = one.value.lower().rstrip(".") + "."
        if name in self.zones:
            raise usage_error(f"zone {name[:80]} comes twice", where=spot, wanted="one of it")
        file = inner["file"]
        self.zones[name] = str(self._files.path(file.value, file.spot, self._folder))
        self.change("zone.file: a copy in a folder of the lab")
        yield one.having(self._kept(one.inner, "zone."))

    def _with_files(self, statements):
        """Statements whose zones have the lab's files."""
        for one in statements:
            if one.name == "view":
                yield one.having(self._with_files(one.inner))
            elif one.name == "zone" and one.inner is not None:
                number = self._number[plain(one.words[1]).lower().rstrip(".") + "."]
                file = Statement(("file", f'"{ZONES}/{number}.zone"'), one.spot)
                yield one.having(file if held.name == "file" else held for held in one.inner)
            else:
                yield one
