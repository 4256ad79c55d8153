"""Where the zones are: in PostgreSQL beside the server, or in LMDB files of its own.

Each store records which zones it holds, written last; a store with other zones is made again.
"""

import json
import os
import shutil
from pathlib import Path

from leaselab_contract.database import ask, check_disk, start
from leaselab_contract.errors import LabError

from powerdns_contract import zones

LIST = "zones.conf"
JSON = "zones.json"
MADE = "made.json"


def prepare(config):
    """Put the zones where the server reads them; return its companion services by name."""
    wanted = {**config["data"]["made"], **config["store"]}
    Path(config["state_folder"]).mkdir(mode=0o755, parents=True, exist_ok=True)
    if not config["database"]:
        if _made(config) != wanted:
            make_lmdb(config, wanted)
        return {}
    try:
        found = start(config)
        if recorded(config) != wanted:
            make_tables(config, wanted)
    except LabError:
        check_disk(config)  # its last log line need not name that
        raise
    ask(config, "login")
    write_password(config)
    return {"database": found}


def _made(config):
    try:
        return json.loads((Path(config["state_folder"]) / MADE).read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def make_lmdb(config, wanted):
    """Write the LMDB files again, and flush them to the disk."""
    folder = Path(config["state_folder"])
    shutil.rmtree(folder)
    folder.mkdir(mode=0o755)
    zones.write_list(config, folder / LIST)
    of_load, of_server = (
        [config["util_program"], f"--config-dir={config[name]}"]
        for name in ("load_folder", "config_folder")
    )
    with (folder / "migrated").open("w") as output:
        zones.run([*of_load, "b2b-migrate", "bind", "lmdb"], output)
    check(config, "zones", len(zones.run([*of_server, "list-all-zones"]).split()))
    if config.get("made_folder"):
        for command in zones.allowing(config):
            zones.run([*of_server, *command])
    files = sorted(folder.glob("*.lmdb*"))
    for path in files:
        with path.open("rb+") as file:
            os.fsync(file)
    if config.get("made_folder"):
        made = Path(config["made_folder"])
        made.mkdir(mode=0o755)
        for path in files:
            path.rename(made / path.name)
    (folder / MADE).write_text(json.dumps(wanted), encoding="ascii")


def restore(config):
    """Bring back the LMDB files as they were made, while no program has them open."""
    folder = Path(config["state_folder"])
    for path in folder.glob("*.lmdb*"):
        path.unlink()
    for path in Path(config["made_folder"]).iterdir():
        shutil.copyfile(path, folder / path.name)


def recorded(config):
    """Return the database's record of the zones that it holds; None without one."""
    try:
        return json.loads(ask(config, "sql", config["database"]["note_sql"]))
    except ValueError:
        return None


def make_tables(config, wanted):
    """Make the schema and its rows again."""
    folder = Path(config["state_folder"])
    zones.write_list(config, folder / LIST)
    with (folder / JSON).open("w") as output:
        zones.run([config["json_program"], f"--named-conf={folder / LIST}"], output)
    found, records = zones.rows((folder / JSON).read_text(encoding="utf-8"))
    (folder / JSON).unlink()
    ask(config, "reset")
    here = f"\\connect {config['kind']}\n"
    schema = Path(config["database"]["schema_file"]).read_text(encoding="utf-8")
    ask(config, "sql", here + schema)
    ask(config, "sql", here + zones.copy_sql(found, records))
    counted = ask(config, "sql", here + config["database"]["count_sql"]).split()
    check(config, "zones", int(counted[0]))
    check(config, "records", int(counted[1]))
    ask(config, "sql", config["database"]["set_note_sql"].replace("{note}", json.dumps(wanted)))


def check(config, what, found):
    """Raise where not all zones or records were loaded."""
    wanted = config["data"][what]
    if found != wanted:
        raise LabError(
            f"not all {what} were loaded (found {found}, wanted {wanted}); look at the zone "
            f"files in {config['data']['folder']}"
        )


def write_password(config):
    """Write the password of the server's user as PostgreSQL's library reads it."""
    known = json.loads(Path(config["database"]["password_file"]).read_text(encoding="ascii"))
    path = Path(config["database"]["client_password_file"])
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"*:*:*:*:{known}\n")
