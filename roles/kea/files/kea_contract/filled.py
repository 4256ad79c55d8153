"""The leases with which Kea begins, in its own file and in SQL."""

import ipaddress
import time

from leaselab_contract import filled

AT_A_TIME = 1000
"""Rows that one statement writes."""
_PREFIX, _ADDRESS = 2, 0
"""Types of leases of DHCPv6."""
_NOBODY = bytes(3)
"""The DUID of a declined lease."""


def memfile(config, columns):
    """Return the text of a lease file with these columns, which differ between releases."""
    fields = columns.split(",")
    lines = [columns]
    for values in _values(config):
        texts = {name: _text(value) for name, value in values.items()}
        lines.append(",".join(texts.get(name, _others(name)) for name in fields))
    return "\n".join([*lines, ""])


def sql(config):
    """Return the SQL that writes them into the table."""
    settings, table = config["database"], f"lease{config['family']}"
    forms = settings["forms"]
    rows = []
    for values in _values(config):
        given = {name: value for name, value in values.items() if value != b""}
        address = ipaddress.ip_address(given.pop("address"))
        form = forms[f"address{config['family']}"]
        texts = {"address": form.format(number=int(address), address=address)}
        expire = given.pop("expire")
        texts["expire"] = forms["time"].format(seconds=expire)
        for name, value in given.items():
            texts[name] = (
                forms["bytes"].format(value.hex()) if isinstance(value, bytes) else f"{value}"
            )
        texts |= {"fqdn_fwd": "FALSE", "fqdn_rev": "FALSE", "hostname": "''"}
        rows.append((", ".join(texts), f"({', '.join(texts.values())})"))
    statements = [settings["use_sql"], forms["begin"]]
    for columns in dict.fromkeys(columns for columns, _ in rows):
        alike = [row for named, row in rows if named == columns]
        for at in range(0, len(alike), AT_A_TIME):
            some = ",\n".join(alike[at : at + AT_A_TIME])
            statements.append(f"INSERT INTO {table} ({columns}) VALUES\n{some};")
    return "\n".join([*statements, ""])


def _values(config):
    """Yield what each lease has, by the names of columns."""
    expire = int(time.time()) + filled.LIFETIME_S
    for number, lease in enumerate(filled.read(config)):
        common = {
            "address": lease.address,
            "valid_lifetime": filled.LIFETIME_S,
            "expire": expire,
            "subnet_id": lease.subnet,
            "state": int(lease.declined),
        }
        if config["family"] == 4:
            mac = b"" if lease.declined else lease.mac
            yield {**common, "hwaddr": mac, "client_id": mac and b"\1" + mac}
            continue
        yield {
            **common,
            "duid": _NOBODY if lease.declined else lease.duid,
            "pref_lifetime": filled.LIFETIME_S,
            "lease_type": _ADDRESS if lease.length == 128 else _PREFIX,
            "iaid": number,
            "prefix_len": lease.length,
        }


def _text(value):
    return value.hex(":") if isinstance(value, bytes) else f"{value}"


def _others(name):
    """A column that has nothing of a lease: a number, or text."""
    return "0" if name in ("fqdn_fwd", "fqdn_rev", "pool_id") else ""
