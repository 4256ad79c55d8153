"""Users' own files in languages of text, with something wrong in them."""

import shutil
from pathlib import Path

import pytest
from tests.mutations import tries, with_other_bytes

from leaselab.lab.own import read_own
from leaselab.lab.queries.of_zones import queries_of
from leaselab.lab.queries.zones import zone_of
from leaselab.model.errors import LeaselabError, Outcome

DATA = Path(__file__).parents[1] / "data/own"
MUTATED = tries(150)
FILES = {
    "dhcpd.conf": "",
    "dhcpd6.conf": "",
    "dnsmasq6.conf": "",
    "school": "etc/dnsmasq.conf",
    "school ": "etc/dnsmasq.d/classes.conf",
    "names": "etc/bind/named.conf.options",
    "names ": "etc/bind/named.conf.local",
    " names": "etc/bind/zones/db.example.org",
    "split": "etc/bind/named.conf",
    "split ": "etc/bind/acls.conf",
}
"""Files that are mutated, by the file or folder that is read."""


@pytest.mark.parametrize("name", FILES)
def test_a_mutated_file_is_read_or_refused(tmp_path, name):
    """Nothing but a usage error, whatever is in a file."""
    original, place = DATA / name.strip(), tmp_path / name.strip()
    if original.is_dir():
        shutil.copytree(original, place)
    file = place / FILES[name] if FILES[name] else place
    text = (original / FILES[name] if FILES[name] else original).read_bytes()
    outcomes = set()
    for seed in range(MUTATED):
        file.write_bytes(with_other_bytes(text, seed))
        try:
            own = read_own(place)
            files = [*own.zones_beside, *own.zones.items()]
            zones = [zone_of(zone, Path(held), held) for zone, held in files]
            outcomes.add(bool(queries_of(zones) if zones else own.kinds))
        except LeaselabError as refused:
            outcomes.add(refused.outcome)
    assert outcomes == {True, Outcome.USAGE}
