"""How clients are known: by reservations, and by a flexible identifier in their stead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaselab.inputs.client_kinds import Having, InList, Sent, Value, hex_of
from leaselab.inputs.configuration import Configuration, bytes_of
from leaselab.inputs.kea.expressions import Classes
from leaselab.inputs.kea.subnets import ASKED_FOR, BY_MAC, Place
from leaselab.inputs.kea.texts import Packet, Pieces

_BY_DUID = b"\xff\0\0\0\1"
"""How a client identifier with a DUID begins: its type, and a number of the interface."""
_USUAL = b"leaselab-"
"""Begin of what identifies a client; its number follows."""


Sending = Mapping[Sent, list[Value]]
"""What a client alone sends."""
_KEYS: tuple[Sent, ...] = ("agent", "options")


class FlexibleId:
    """The flexible identifiers of a configuration (hook flex_id)."""

    def __init__(self, configuration: Configuration, classes: Classes) -> None:
        """Note the fields that name a client where one replaces its own identifier."""
        self._classes, self._expressions = classes, list[str]()
        self.usual: dict[str, bytes] = {}
        """What clients without a class have in these fields."""
        for match in configuration.at("hooks-libraries[*].parameters"):
            expression = match.value.get("identifier-expression", "")
            if expression:
                self._expressions.append(expression)
            if expression and match.value.get("replace-client-id", False):
                fields = classes.fields(expression)
                self.usual |= {field: _USUAL for field in fields if field[-1:] == "]"}

    def of(self, host: Mapping[str, Any], place: Place) -> Sending | None:
        """What a client sends that has a host's flexible identifier; None if unknown."""
        for expression in self._expressions if "flex-id" in host else ():
            usual = place.packet()
            packet = self._classes.sent(expression, bytes_of(host["flex-id"]), usual)
            if packet and all(packet[field] == usual[field] for field in usual):
                return {
                    key: list(codes_of(packet, key.removesuffix("s")).items()) for key in _KEYS
                }
        return None

    def differ(self, codes: Mapping[Sent, dict[int, str]], asked: Pieces, own: Having) -> bool:
        """Have clients of a kind differ in one of the fields; return whether they can.

        `codes` are the options of the kind, `asked` what its class wants of fields, `own` what
        its clients have instead.
        """
        for field in self.usual:
            of, _, code = field.removesuffix("]").partition("[")
            key: Sent = "options" if of == "option" else "agent"
            if int(code) in dict(own.get(key, ())):
                return True
            value = bytes.fromhex(codes[key][int(code)].removeprefix("hex:"))
            if not any(
                isinstance(piece, tuple) and piece[2] for piece in asked.get(field, ())
            ) and (value.isascii() and value.decode("latin-1").isprintable()):
                codes[key][int(code)] = f"text:{value.decode()}{{client}}"
                return True
        return not self.usual


def identity_of(host: Mapping[str, Any], family: int) -> InList | Sending | None:
    """A list and its entry for a host, or what it alone sends; None where unknown."""
    if "hw-address" in host and len(mac := bytes_of(host["hw-address"])) == 6:
        return InList("macs", mac.hex(":"))
    if "duid" in host and family == 6:
        return InList("duids", bytes_of(host["duid"]).hex())
    if "duid" in host:  # RFC 4361
        return {"options": [(61, hex_of(_BY_DUID + bytes_of(host["duid"])))]}
    if "client-id" in host and family == 4:
        return {"options": [(61, hex_of(bytes_of(host["client-id"])))]}
    if "circuit-id" in host and family == 4:
        return {"agent": [(1, hex_of(bytes_of(host["circuit-id"])))]}
    return None


def named_by(own: InList | Sending | None, family: int) -> Packet:
    """What a client sends as its name, by field, that is of `identity_of`; else nothing."""
    if not isinstance(own, InList):
        return {}
    word, value = own
    sent = bytes.fromhex(value.replace(":", ""))
    if family == 4:
        return {"mac": sent}
    return {"duid": BY_MAC + sent if word == "macs" else sent}


def codes_of(packet: Packet, of: str) -> dict[int, str]:
    """What a packet has of options or of the relay's, by code."""
    fields = {
        field.removesuffix("]").partition("[")[2]: value
        for field, value in packet.items()
        if field.startswith(f"{of}[") and field not in ASKED_FOR["both"]
    }
    return {int(code): hex_of(value) for code, value in fields.items()}
