"""Conversion of role dns_data's zone files into the forms that PowerDNS reads.

PowerDNS's own programs read the zone files: pdnsutil for LMDB, zone2json for PostgreSQL.
"""

import json
import subprocess
from pathlib import Path

from leaselab_contract import program
from leaselab_contract.errors import LabError

LOAD_S = 120.0
COLUMNS = "domain_id, name, type, content, ttl, prio"
_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def write_list(config, path):
    """Write the list of zones, as BIND's configuration has it, for PowerDNS's programs."""
    folder = Path(config["data"]["folder"])
    with (folder / "zones.tsv").open(encoding="ascii") as table:
        pairs = [row.rstrip("\n").split("\t") for row in table]
    path.write_text(
        "".join(
            f'zone "{zone.rstrip(".")}" {{ type master; file "{folder / file}"; }};\n'
            for zone, file in pairs
        ),
        encoding="ascii",
    )


def run(argv, into=subprocess.PIPE):
    """Run one of PowerDNS's programs; return what it prints, its reason in an error."""
    return program.run(argv, Path(argv[0]).name, LOAD_S, error=LabError, into=into)


def allowing(config):
    """Yield pdnsutil's commands that allow updates of the zone, by a key if there is one.

    Each update raises the serial number by one.
    """
    zone, key = config["known_name"].rstrip("."), config["store"]["update_key"]
    yield "set-meta", zone, "SOA-EDIT-DNSUPDATE", "INCREASE"
    if key:
        name, secret = key.split(":")
        yield "import-tsig-key", name, "hmac-sha256", secret
        yield "set-meta", zone, "TSIG-ALLOW-DNSUPDATE", name


def rows(document):
    """Yield the zones and records of zone2json's output as COPY takes them, two lists of lines.

    Names are as PowerDNS's tables have them: without the last dot.
    """
    zones, records = [], []
    for number, zone in enumerate(json.loads(document), 1):
        zones.append(f"{number}\t{_text(zone['name'].rstrip('.'))}\tNATIVE\n")
        for one in zone["records"]:
            fields = (one["name"].rstrip("."), one["type"], one["content"])
            record = "\t".join(_text(field) for field in fields)
            records.append(f"{number}\t{record}\t{one['ttl']}\t{one['prio']}\n")
    return zones, records


def _text(value):
    """Return a value as COPY's text format has it."""
    return value.translate(_ESCAPED)


def copy_sql(zones, records):
    """Return the SQL that fills PowerDNS's tables and updates the planner's statistics."""
    return "".join(
        [
            "BEGIN;\nCOPY domains (id, name, type) FROM stdin;\n",
            *zones,
            f"\\.\nCOPY records ({COLUMNS}) FROM stdin;\n",
            *records,
            "\\.\nCOMMIT;\nVACUUM (FREEZE, ANALYZE) domains, records;\n",
        ]
    )
