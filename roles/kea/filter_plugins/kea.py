"""Filters of role kea: pools, subnets, classes and reservations of a configuration."""

from __future__ import annotations

import ipaddress
import itertools
import json
import re

OTHERS = {4: ("100.64.0.0/10", 28), 6: ("2001:2:1::/48", 64)}
"""The network that holds the subnets without clients, and the length of their prefixes."""
FIRST_STRANGER = 0x020000000000
"""A MAC address that is set by hand: no generator's client has one of these."""
IDENTIFIER_TYPES = ("hw-address", "duid", "circuit-id", "client-id", "flex-id")
"""As the tables of Kea's databases number them."""
AT_A_TIME = 1000
"""Rows that one statement inserts."""
NEVER_TRUE = {
    4: "substring(option[61].hex,1,3) == 0xffffff",
    6: "substring(option[1].hex,1,3) == 0xffffff",
}
"""On the identifier that each client sends, so that the expression is worked out."""


def kea_parts(pool, count):
    """Split a pool ("first - last" or a prefix) into `count` of the same size, as "a - b".

    A single part is the pool as it is written.  What the division leaves belongs to the last.
    """
    if count == 1:
        return [pool]
    first, last = _ends(pool)
    size = (int(last) - int(first) + 1) // count
    starts = [first + number * size for number in range(count)]
    ends = [*(start - 1 for start in starts[1:]), last]
    return [f"{start} - {end}" for start, end in zip(starts, ends, strict=True)]


def kea_other_subnets(ids, family, before=0):
    """Return subnets of these ids that have no clients, each with a pool over all of it.

    Those of a shared network and those beside it differ by how many there are `before` them.
    """
    whole, length = OTHERS[int(family)]
    network = ipaddress.ip_network(whole)
    size = 1 << (network.max_prefixlen - length)
    starts = (network[0] + (before + number) * size for number in range(len(ids)))
    prefixes = [f"{start}/{length}" for start in starts]
    return [
        {"id": one, "subnet": prefix, "pools": [{"pool": prefix}]}
        for one, prefix in zip(ids, prefixes, strict=True)
    ]


def kea_classes(kind, count, family):
    """Return the client classes of one kind: see the role's default of `kea_classes`."""
    if kind == "none":
        return []
    if kind == "members":
        return [{"name": "members", "test": _list_of(count, int(family))}]
    test = {"empty": {}, "simple": {"test": "'a'=='a'"}}.get(kind)
    test = {"test": NEVER_TRUE[int(family)]} if test is None else test
    return [{"name": f"class-{number}", **test} for number in range(1, count + 1)]


def kea_reservations(count, share, *, clients, first_client, pool, scope, by):
    """Return `count` host reservations, as Kea's configuration has them.

    The given share of `clients` have one each, spread evenly; the others are of strangers.
    Addresses are the last of the pool, or the first above it; scope global has none.
    """
    first, last = _ends(pool)
    if scope == "in-subnet" and count > int(last) - int(first):
        raise ValueError(f"{count} reservations in a pool of fewer addresses: {pool}")
    coming = round(share * clients)
    begin = int(first_client.replace(":", ""), 16) if first_client else 0
    macs = [begin + number * clients // coming for number in range(coming)]
    macs += [FIRST_STRANGER + number for number in range(count - coming)]
    found = []
    for number, mac in enumerate(macs):
        identity = mac.to_bytes(6, "big")
        one = {by: identity.hex(":") if by == "hw-address" else identity.hex()}
        if scope == "global":
            one["hostname"] = f"host-{number}"
        else:
            one["ip-address"] = str(
                last - number if scope == "in-subnet" else last + 1 + number
            )
        found.append(one)
    return found


def kea_host_rows(reservations, database, subnet_id):
    """Return the SQL that writes reservations into the table of a database, some at a time.

    `subnet_id` is 0 for global ones.
    """
    head, hexadecimal = {
        "mysql": ("USE kea;", "0x{}"),
        "postgresql": ("\\connect kea", "'\\x{}'"),
    }[database]
    columns = "dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id, ipv4_address, hostname"
    rows = []
    for reservation in reservations:
        kind = IDENTIFIER_TYPES.index(
            next(name for name in IDENTIFIER_TYPES if name in reservation)
        )
        identifier = hexadecimal.format(reservation[IDENTIFIER_TYPES[kind]].replace(":", ""))
        address = reservation.get("ip-address")
        number = int(ipaddress.ip_address(address)) if address else "NULL"
        name = f"'{reservation['hostname']}'" if "hostname" in reservation else "NULL"
        rows.append(f"({identifier}, {kind}, {subnet_id}, {number}, {name})")
    some = (",\n".join(rows[at : at + AT_A_TIME]) for at in range(0, len(rows), AT_A_TIME))
    texts = [f"INSERT INTO hosts ({columns}) VALUES\n{values};" for values in some]
    return "\n".join([head, *texts, ""])


def kea_lab_form(given, here):
    """Return a user's own configuration with what is this host's, by template kea-own."""
    parameters = {one["library"]: one for one in given["hooks-libraries"]}
    sockets = {"socket-type": "unix", "socket-name": here["control_socket"]}
    database = dict(given.get("lease-database", {"type": "memfile"}))
    if database["type"] == "memfile":
        database["name"] = here["lease_file"]
    else:
        port = {"port": here["database_port"]} if here["database_port"] else {}
        login = {"name": "kea", "user": "kea", "password": "@password@"}
        database |= {"host": here["database_host"], **port, **login}
    interfaces = {"interfaces": here["interfaces"]}
    if here["family"] == 4:
        interfaces["dhcp-socket-type"] = here["socket_type"]
    logged = {here["output_word"]: [{"output": here["log_file"]}]}
    loggers = [{**one, **logged} for one in given.get("loggers", [])]
    return _octets(
        {
            **_at_interface(given, here["interface"]),
            "interfaces-config": {**given["interfaces-config"], **interfaces},
            here["control_word"]: [sockets] if here["control_word"].endswith("s") else sockets,
            "hooks-libraries": [
                {**parameters.get(name, {}), "library": f"{here['hooks_folder']}/{name}"}
                for name in here["hooks"]
            ],
            "lease-database": database,
            **({"loggers": loggers} if loggers else {}),
        }
    )


def _octets(value):
    """The same with a letter for each byte of its texts: Kea takes no escape of others."""
    if isinstance(value, dict):
        return {_octets(key): _octets(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_octets(inner) for inner in value]
    is_text = isinstance(value, str)
    return value.encode("utf-8", "surrogateescape").decode("latin-1") if is_text else value


def kea_release_for(refusal, releases):
    """Return a sentence on the releases that take what Kea refuses; empty where not known.

    `releases` is what the role declares of them.
    """
    if "missing parameter 'id'" in refusal:
        return "Kea before 2.6 numbers subnets itself; give each an id."
    match = re.search(r'unexpected keyword "([^"]+)"', refusal)
    if match is None:
        return ""
    named = {match[1], f"].{match[1]}"}
    for release, words in releases["since"].items():
        if named & set(words):
            return f"Kea {release} and newer have {match[1]}."
    for release, words in releases["until"].items():
        if named & set(words):
            return f"Kea before {release} has {match[1]}."
    return ""


def kea_named_place(refusal, text):
    """Return what Kea says of a configuration, with paths for places in its text."""
    lines = text.splitlines(keepends=True)

    def path(match):
        line, column = int(match[1]), int(match[2])
        return _path_at(text, sum(map(len, lines[: line - 1])) + column)

    return re.sub(r"(?<![^\s:()\[\]])/[^\s:()\[\]]+:(\d+)[.:](\d+)(?:-\d+)?", path, refusal)


def _path_at(text, end):
    """The path of what begins at or before the end of some characters of JSON."""
    path, key, name = [], "", ""
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[][{},:]', text[:end]):
        mark = match.group()
        if mark in "{[":
            path.append([name, -1 if mark == "{" else 0])
            name = ""
        elif mark in "}]":
            name = path.pop()[0] if path else ""
        elif mark == ":":
            name = key
        elif mark == "," and path:
            path[-1][1] += path[-1][1] >= 0
            name = ""
        elif mark.startswith('"'):
            key = json.loads(mark)
    words = ""
    for (_, at), (inner, _) in itertools.pairwise([*path, [name, -1]]):
        words += f"[{at}]" if at >= 0 else f".{inner}" if inner else ""
    return words.removeprefix(".")


def _at_interface(value, interface):
    """The same with the name of the interface where a sign stands for it."""
    if isinstance(value, dict):
        return {key: _at_interface(inner, interface) for key, inner in value.items()}
    if isinstance(value, list):
        return [_at_interface(inner, interface) for inner in value]
    return interface if value == "@interface@" else value


def _list_of(count, family):
    """An expression that is true for `count` clients, none of which ever comes."""
    macs = (f"0x{FIRST_STRANGER + number:012x}" for number in range(count))
    left = "pkt4.mac" if family == 4 else "substring(option[1].hex,8,6)"
    return " or ".join(f"{left} == {mac}" for mac in macs)


def _ends(pool):
    if "/" in pool:
        network = ipaddress.ip_network(pool)
        return network[0], network[-1]
    first, last = (ipaddress.ip_address(end.strip()) for end in pool.split("-"))
    return first, last


class FilterModule:
    """Filters of role kea."""

    def filters(self):
        return {
            "kea_parts": kea_parts,
            "kea_other_subnets": kea_other_subnets,
            "kea_classes": kea_classes,
            "kea_reservations": kea_reservations,
            "kea_host_rows": kea_host_rows,
            "kea_lab_form": kea_lab_form,
            "kea_named_place": kea_named_place,
            "kea_release_for": kea_release_for,
        }
