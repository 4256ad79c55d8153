"""The database of Kea's leases, reservations or both: its schema, its rows, its version."""

import re
from pathlib import Path

from leaselab_contract import program
from leaselab_contract.database import (
    ANSWER_S,
    ask,
    check_after_death,
    check_disk,
    is_distant,
    start,
)
from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.filled import read

from kea_contract import filled
from kea_contract.control import control, counters, forget_leases

_TYPES = {"nas": "0, ", "pds": "2, "}
"""Column of the type of a DHCPv6 lease."""


def has_leases(config):
    """Whether the leases are in a database; its reservations may be, and the leases not."""
    return bool(config["database"]) and config["database"]["leases"]


def is_borrowed(config):
    """Whether it is that of the other server of a pair, which makes and empties it."""
    return bool(config["database"]) and config["database"].get("borrowed", False)


def links(config):
    """Processes through which Kea reaches it: none, or one that delays what passes."""
    link = (config["database"] or {}).get("link")
    return [link] if link else []


def prepare(config):
    """Start it, with an empty schema of the version that this Kea wants.

    Returns what the database reports: name, version, variables.  A database on another host
    runs already, and is reported by a contract of its own.
    """
    try:
        found = start(config)
        if not is_borrowed(config):
            make_again(config)
    except LabError:
        check_disk(config)  # its last log line need not name that
        raise
    # Two faults that Kea would only report as a failure of its own.
    ask(config, "login")
    check_version(config)
    return {} if is_distant(config) else {"database": found}


def make_again(config):
    """Make the schema, with the reservations and the leases with which Kea begins."""
    ask(config, "reset")
    make_schema(config)
    if config["database"]["hosts_file"]:
        rows = Path(config["database"]["hosts_file"]).read_text(encoding="ascii")
        ask(config, "sql", rows)
    fill(config)


def write_emptying(config):
    """Write what empties the lease tables, once Kea runs and names what it counts."""
    file = Path(config["database"]["empty_file"])
    file.parent.mkdir(exist_ok=True)  # a reboot empties /run
    file.write_text(empty_sql(config), encoding="ascii")


def empty_sql(config):
    """Return what empties the lease tables that this schema has, and counts before and after.

    Schemas of other versions have others; lookup tables must stay as they are.
    """
    settings = config["database"]
    there = ask(config, "sql", settings["tables_sql"]).split()
    tables = [name for name in settings["lease_tables"] if name in there]
    groups = tables if settings["truncate_separately"] else [", ".join(tables)]
    statements = [f"TRUNCATE {group};" for group in groups]
    for pools, table in enumerate(settings["counting_tables"]):
        if table in there:
            statements += count_from_zero(config, table, bool(pools))
    return settings["empty_sql"].replace("(truncate)", "\n".join(statements))


def count_from_zero(config, table, pools):
    """Return what writes the rows in which triggers count leases of subnets or pools.

    A trigger adds a row that is missing.  Of the first leases, which Kea's threads write at
    the same time, all but one would fail at that, and their clients get a NAK.
    """
    rows = ", ".join(
        f"({subnet}, {f'{pool}, ' if pools else ''}{_TYPES.get(kind, '')}0, 0)"
        for subnet, pool, kind in counters(config)
        if (pool is not None) is pools
    )
    return [f"INSERT INTO {table} VALUES {rows};"] if rows else []  # noqa: S608  # numbers


def make_schema(config):
    """Make the schema in the empty database by kea-admin.

    On another host its SQL script makes it, through the database's own client: kea-admin
    passes the password to MySQL's client as an argument.
    """
    settings = config["database"]
    if is_distant(config):
        script = Path(settings["schema_file"]).read_text(encoding="utf-8")
        ask(config, "sql", f"{settings['use_sql']}\n{script}")
        return
    program.run(
        settings["schema_argv"],
        "kea-admin makes no schema",
        ANSWER_S,
        error=LabError,
        KEA_ADMIN_DB_PASSWORD="",  # the system's root needs no password
    )


def check_version(config):
    """Refuse a schema that kea-admin made for another version of Kea.

    Not where the backend is a hook: only with it loaded does Kea know the version that it
    wants, and then it looks itself.
    """
    settings = config["database"]
    if settings["is_hook"]:
        return
    found = ask(config, "sql", settings["version_sql"]).strip()
    kea = config["process"]["argv"][0]
    output = program.run([kea, "-V"], f"{kea} -V", ANSWER_S)
    wanted = re.search(rf"{settings['title']} backend (\S+?),", output)
    if wanted is None:
        raise ContractError(f"{kea} was built without {settings['title']}")
    if found != wanted[1]:
        raise LabError(
            f"kea-admin and the server are of different versions (found schema {found}, "
            f"wanted {wanted[1]}); deploy again"
        )


def empty(config):
    """Empty the tables; return how many leases there were and are, by count.

    Truncating them needs no log of each row.  Kea, which keeps its own counts, is notified.
    Those with which it begins are none of them: it counts them as it reads its configuration,
    and then writes the queue of free addresses as well.
    """
    check_disk(config)
    sql = Path(config["database"]["empty_file"]).read_text(encoding="ascii")
    try:
        answer = ask(config, "sql", sql)
    except LabError:
        check_after_death(config)  # its client only reports a closed connection
        raise
    before, left = map(int, answer.split())
    begun = len(read(config))
    if begun or config["database"].get("queue"):
        fill(config)
        control(config, "config-reload")
    else:
        forget_leases(config)
    return before - begun, left


def fill(config):
    """Write the leases with which Kea begins into the empty table."""
    if has_leases(config) and read(config):
        ask(config, "sql", filled.sql(config))
