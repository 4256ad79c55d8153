"""The lease store as it is on the disk, whether the server runs or not."""

import csv
from pathlib import Path

from kea_contract import database, filled

CLIENT = {4: "hwaddr", 6: "duid"}


def leases(config):
    """Return (address, client) of every lease, sorted; clients by MAC (v4) or DUID (v6)."""
    if database.has_leases(config):
        rows = database.ask(config, "sql", config["database"]["leases_sql"]).splitlines()
        return sorted(tuple(row.lower().split(" ")) for row in rows if row)
    return sorted(from_files(config).items())


def from_files(config):
    """Replay what memfile appended, oldest file first; a lifetime of 0 ends a lease.

    While a cleanup (LFC) renames the files, they are read again.
    """
    while True:
        try:
            files = _files(config)
            held = _replayed(files, CLIENT[config["family"]])
            if _files(config) == files:
                return held
        except FileNotFoundError:
            continue


def _files(config):
    """Its files, oldest first, and their inodes; a completed cleanup stands for older ones."""
    newest = Path(config["lease_file"])
    cleaned = Path(f"{newest}.completed")
    older = sorted(newest.parent.glob(f"{newest.name}.[0-9]"), reverse=True)
    files = [*([cleaned] if cleaned.exists() else older), newest]
    return {path: path.stat().st_ino for path in files if path.exists()}


def _replayed(files, column):
    held = {}
    for path in files:
        with path.open(newline="", encoding="ascii", errors="replace") as file:
            for row in csv.DictReader(file):
                if row.get("valid_lifetime") is None:
                    continue  # a line that a crash cut short
                client = row[column].replace(":", "").lower()
                if row["valid_lifetime"] == "0":
                    held.pop(row["address"], None)
                else:
                    held[row["address"]] = client
    return held


def remove_files(config):
    """Remove the file that memfile appends to, and those that its cleaning (LFC) has made."""
    newest = Path(config["lease_file"])
    for path in newest.parent.glob(f"{newest.name}*"):
        path.unlink(missing_ok=True)


def begin_again(config):
    """Write a file of the leases with which Kea begins, in place of its own files."""
    with Path(config["lease_file"]).open(encoding="ascii", errors="replace") as file:
        columns = file.readline().strip()
    remove_files(config)
    Path(config["lease_file"]).write_text(filled.memfile(config, columns), encoding="ascii")
