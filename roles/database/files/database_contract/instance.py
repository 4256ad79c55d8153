"""One instance of a database, or the way to one on another host: what is done with it.

Its settings are those of role database: `process` (null where it runs on another host),
`data_folder`, the clients `admin` and `client`, the files of their passwords, and SQL.
Passwords are in files that only root reads; they are never printed and never an argument.
"""

import json
import os
import secrets
import sys
import tempfile
from pathlib import Path

from leaselab_contract import confinement, process, program
from leaselab_contract.errors import ContractError

START_S = 45.0
STOP_S = 45.0
SQL_S = 50.0
FILES = {"client": "password_file", "admin": "admin_password_file"}
"""Which setting names the file of a client's password; the system's own root has none."""


def query(config, sql, client="admin"):
    """Run a client with SQL on its standard input; return what it prints."""
    known = {}
    if config.get(FILES[client]):
        known[config["password_variable"]] = password(config[FILES[client]])
    return program.run(config[client], config["name"], SQL_S, text=sql, HOME="/", **known)


def password(file):
    """Return the password of a file, made on first use.

    It stands there as JSON, as a server's configuration includes the file.
    """
    path = Path(file)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(json.dumps(secrets.token_hex(24)) + "\n")
        draft.rename(path)
    return json.loads(path.read_text(encoding="ascii"))


def variables(config):
    """Return the variables that the running database reports, by name."""
    return listed(config, config["variables_sql"])


def listed(config, sql):
    """Return what SQL lists as name and value, by name."""
    rows = query(config, sql).splitlines()
    return dict(row.split("\t", 1) for row in rows if "\t" in row)


def launch(config):
    """Start it, unless it runs; return when it answers."""
    if process.running_pid(config["process"]) is None:
        refuse_another(config)
        if config.get("bootstrap_file"):
            allow_bootstrap(Path(config["bootstrap_file"]))
        child = process.launch(config["process"])
        process.wait_until(
            lambda: query(config, "SELECT 1;\n"), child, config["process"], START_S
        )


def allow_bootstrap(path):
    """Let this node begin a cluster again, also after a crash of all nodes.

    Its data are authoritative: the other nodes copy from it what they lack.
    """
    if path.exists():
        text = path.read_text(encoding="ascii")
        path.write_text(
            text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"), encoding="ascii"
        )


def refuse_another(config):
    """Raise ContractError where another database answers on the socket: it is not tuned."""
    try:
        query(config, "SELECT 1;\n")
    except ContractError:
        return
    raise ContractError(
        f"another {config['name']} answers already where the lab's own should; stop it"
    )


# --- verbs ------------------------------------------------------------------


def start(config):
    """Start it, unless it is on another host; return name, version, confinement, settings."""
    pid = None
    if config["process"]:
        launch(config)
        pid = process.running_pid(config["process"])
    found = variables(config)
    return {
        "name": config["name"],
        "version": found[config["version_variable"]],
        "confinement": confinement.label_of(pid) if pid else None,
        "variables": {name: found[name] for name in config["variables"]},
    }


def start_counting(config):
    """Start it as `start`, with what counts queries; one that runs counts none."""
    counting = config["counting"]
    if counting["file"]:
        Path(counting["file"]).write_text(counting["settings"], encoding="ascii")
    try:
        found = start(config)
        query(config, counting["sql"])
    finally:
        if counting["file"]:
            Path(counting["file"]).unlink()
    return found


def counts(config):
    """Return the queries and rows that it has counted of the server's database."""
    counting = config["counting"]
    rows = listed(config, counting["counts_sql"])
    return {
        name: sum(int(rows.get(variable, 0)) for variable in counting[name])
        for name in ("queries", "rows")
    }


def backup(config):
    """Write a backup of the server's database into a file without a name; return its size."""
    with tempfile.TemporaryFile(dir=config["data_folder"]) as file:
        program.run(config["backup"], f"backup of {config['name']}", SQL_S, into=file)
        return {"bytes": os.fstat(file.fileno()).st_size}


def stop(config):
    """End it in good order; a database on another host is left running."""
    ended = process.end(config["process"], STOP_S) if config["process"] else False
    return {"was_running": ended}


def state(config):
    """Return its state: whether it runs, its last error, its free disk space."""
    disk = os.statvfs(config["data_folder"])
    return {
        "running": process.running_pid(config["process"]) is not None,
        "reason": process.last_reason(config["process"]),
        "free_bytes": disk.f_bavail * disk.f_frsize,
    }


def credentials(config):
    """Make the passwords unless there are some, and give them to the users."""
    known = {"{password}": password(config["password_file"])}
    if "{admin_password}" in config["credentials_sql"]:
        known["{admin_password}"] = password(config["made_admin_password_file"])
    text = config["credentials_sql"]
    for place, word in known.items():
        text = text.replace(place, word)
    try:
        query(config, text)
    except ContractError as error:
        text = str(error)  # clients quote the SQL they do not understand
        for word in known.values():
            text = text.replace(word, "(password)")
        raise ContractError(text) from None


def login(config):
    """Prove that the server's user can log in."""
    query(config, "SELECT 1;\n", "client")


def reset(config):
    """Drop the server's database, and create it again."""
    query(config, config["reset_sql"])


def sql(config):
    """Pass standard input to the administrator's client."""
    sys.stdout.write(query(config, sys.stdin.read()))


VERBS = {
    verb.__name__: verb
    for verb in (
        *(start, start_counting, counts, backup, stop, state),
        *(credentials, login, reset, sql),
    )
}
