"""A zone file in full: with the files that it includes and the records that it generates."""

import os

import pytest
from tests.read_cases import HEAD

from leaselab.inputs.queries import of_zones
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zone_lines import text_in_full
from leaselab.inputs.queries.zones import keep_zones, kept_zones, zone_of
from leaselab.model.errors import LeaselabError


def zone(folder, text):
    file = folder / "etc/bind/db"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{HEAD}{text}", encoding="latin-1")
    return zone_of("example.net", file, "--zone", (folder,))


def test_of_more_queries_than_are_asked_the_same_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(of_zones, "MOST_QUERIES", 20)
    made = zone(tmp_path, "$GENERATE 1-500 h$ A 192.0.2.1\n")
    drawn = queries_of([made])
    assert len(set(drawn)) == 20
    assert queries_of([made]) == drawn


def test_files_in_each_other_are_read_to_a_depth(tmp_path):
    for depth in range(11):
        (tmp_path / f"d{depth}").write_text(f"$INCLUDE d{depth + 1}\n", encoding="ascii")
    with pytest.raises(LeaselabError, match="more than 10 files in each other"):
        zone(tmp_path, "$INCLUDE d0\n")


def test_a_file_without_directives_stays_as_it_is(tmp_path):
    made = zone(tmp_path, "a TXT \xe9 ; $INCLUDE")
    assert text_in_full(made.path, made.name) == made.path.read_bytes()
    with pytest.raises(LeaselabError, match="not a zone: other than letters"):
        zone_of("a/b", made.path, "--zone")
    assert zone_of("0/25.2.0.192.in-addr.arpa", made.path, "x").records == 3


def test_two_commands_keep_their_zones_at_once(tmp_path):
    """The second is done while the first has written half of its archive."""
    made, kept = zone(tmp_path, "a A 192.0.2.1\n"), tmp_path / "kept"
    kept.mkdir()

    def beside():
        if not (pid := os.fork()):
            keep_zones(kept, [made._replace(name="example.org")])
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0  # other tests may have left children
        return 3

    class Slow(type(made)):
        records = property(lambda _: beside())

    name = keep_zones(kept, [Slow(*made)])
    assert kept_zones(kept, name) == {"example.net."}
    assert len(list(kept.iterdir())) == 2
    with pytest.raises(FileNotFoundError):
        keep_zones(kept, [made._replace(path=tmp_path / "gone")])
    assert len(list(kept.iterdir())) == 2
