"""The database of Kea's leases, reservations or both, through the database's own contract."""

import json
import re
import subprocess
import time
from pathlib import Path

from leaselab_contract.errors import BeneathError, ContractError, last_line
from leaselab_contract.process import ENVIRONMENT, POLL_S, alive

from kea_contract.control import control

ANSWER_S = 55.0
DYING_S = 2.0


def ask(config, verb, text=""):
    """Call one verb of the database's contract; return what it prints."""
    try:
        done = subprocess.run(
            [config["database"]["contract"], verb, config["variant"]],
            input=text,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BeneathError(f"database: no answer to {verb} within {ANSWER_S:.0f} s") from None
    if done.returncode != 0:
        raise BeneathError(f"database: {last_line(done.stderr)}")
    return done.stdout


def has_leases(config):
    """Whether the leases are in a database; its reservations may be, and the leases not."""
    return bool(config["database"]) and config["database"]["leases"]


def links(config):
    """Processes through which Kea reaches it: none, or one that delays what passes."""
    link = (config["database"] or {}).get("link")
    return [link] if link else []


def prepare(config):
    """Start it, with an empty schema of the version that this Kea wants.

    Returns what it says of itself: name, version, variables.
    """
    try:
        found = json.loads(ask(config, "start"))
        ask(config, "reset")
        make_schema(config["database"]["schema_argv"])
        if config["database"]["hosts_file"]:
            rows = Path(config["database"]["hosts_file"]).read_text(encoding="ascii")
            ask(config, "sql", rows)
    except BeneathError:
        check_disk(config)  # its last words need not name that
        raise
    # Two faults that Kea would only report as a failure of its own.
    ask(config, "login")
    check_version(config)
    Path(config["database"]["empty_file"]).write_text(empty_sql(config), encoding="ascii")
    return found


def empty_sql(config):
    """Return what empties the lease tables that this schema has, and counts before and after.

    Schemas of other versions have others; lookup tables must stay as they are.
    """
    settings = config["database"]
    there = ask(config, "sql", settings["tables_sql"]).split()
    tables = [name for name in settings["lease_tables"] if name in there]
    groups = tables if settings["truncate_separately"] else [", ".join(tables)]
    truncate = "\n".join(f"TRUNCATE {group};" for group in groups)
    return settings["empty_sql"].replace("(truncate)", truncate)


def make_schema(argv):
    """Have kea-admin make it, in the empty database."""
    try:
        made = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_S,
            check=False,
            env={**ENVIRONMENT, "KEA_ADMIN_DB_PASSWORD": ""},  # root of the system needs none
        )
    except subprocess.TimeoutExpired:
        raise BeneathError(f"kea-admin makes no schema within {ANSWER_S:.0f} s") from None
    if made.returncode != 0:
        raise BeneathError(f"kea-admin makes no schema: {last_line(made.stderr, made.stdout)}")


def check_version(config):
    """Refuse a schema that kea-admin made for another version of Kea.

    Not where the backend is a hook: only with it loaded does Kea know the version that it
    wants, and then it looks itself.
    """
    settings = config["database"]
    if settings["is_hook"]:
        return
    found = ask(config, "sql", settings["version_sql"]).strip()
    told = subprocess.run(
        [config["process"]["argv"][0], "-V"],
        capture_output=True,
        text=True,
        timeout=ANSWER_S,
        check=False,
    )
    wanted = re.search(rf"{settings['title']} backend (\S+?),", told.stdout)
    if wanted is None:
        raise ContractError(
            f"{config['process']['argv'][0]} was built without {settings['title']}"
        )
    if found != wanted[1]:
        raise BeneathError(
            f"kea-admin and the server are of different versions (found schema {found}, "
            f"wanted {wanted[1]}); deploy again"
        )


def check_running(config):
    """Return the database's pid; raises its last words when it has gone."""
    try:
        pid = int(Path(config["database"]["pid_file"]).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        pid = 0
    if not pid or not alive(pid):
        raise BeneathError(
            f"the database is gone: {json.loads(ask(config, 'state'))['reason']}"
        )
    return pid


def acquit(config):
    """Raise what is wrong with the database, where the server may have died of it.

    It may take a moment longer to end than the server that lost it.
    """
    deadline = time.monotonic() + DYING_S
    while time.monotonic() < deadline:
        check_running(config)
        time.sleep(POLL_S)
    check_disk(config)


def check_disk(config):
    """Raise when its disk is as good as full."""
    wanted = config["database"]["free_bytes"]
    found = json.loads(ask(config, "state"))
    if found["free_bytes"] < wanted:
        raise BeneathError(
            f"the database's disk is full (found {found['free_bytes'] >> 20} MiB free, wanted "
            f"{wanted >> 20} MiB); its last error: {found['reason']}"
        )


def empty(config):
    """Empty the tables; return how many leases there were and are, by count.

    Truncating them needs no log of each row.  Kea, which counts for itself, is told.
    """
    check_disk(config)
    sql = Path(config["database"]["empty_file"]).read_text(encoding="ascii")
    try:
        answer = ask(config, "sql", sql)
    except BeneathError:
        acquit(config)  # its client only says that it hung up
        raise
    before, left = map(int, answer.split())
    control(config, "statistic-reset", {"name": config["leases_statistic"]})
    return before, left
