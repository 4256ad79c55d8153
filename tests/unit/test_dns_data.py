"""The data of DNS experiments, made by the program as it is installed."""

import hashlib
import itertools
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from tests.contracts import ROLES, contract_fixture
from tests.plays import ended

choice = contract_fixture("dns_data", "leaselab_dns_data.choice")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, installed in a folder of its own."""
    folder = tmp_path_factory.mktemp("leaselab")
    for part in ("dns_data/files/leaselab_dns_data", "contract/files/leaselab_contract"):
        shutil.copytree(ROLES / part, folder / Path(part).name)
    return shutil.copy(ROLES / "dns_data/files/leaselab-dns-data", folder)


def run(program, *words, code=0, **options):
    return ended([program, *words, *(f"--{name}={it}" for name, it in options.items())], code)


def made(program, *words, **options):
    return json.loads(run(program, *words, **options).stdout)


def refused(program, *words, code=1, **options):
    return run(program, *words, code=code, **options).stderr


@pytest.fixture
def queries(program, tmp_path):
    """Make queries; return what is said of them, and their lines."""

    def make(**asked):
        file = tmp_path / "queries/file"
        output = made(program, "queries", **asked, file=file)
        return output, file.read_text("ascii").splitlines()

    return make


def asked_names(lines):
    return [line.split()[0] for line in lines]


# A change of these changes what every result before it was measured with: it moves figures.
HASHES = {
    "delegations": (1, "5fb5cbb6441a"),
    "zones": (20, "7f6d754c1ea1"),
    "articles": (20, "81f510e719b3"),
    "hierarchy": (22, "a1a9ad035c9e"),
}


@pytest.mark.parametrize("kind", HASHES)
def test_zones_are_the_same_bytes_everywhere(program, tmp_path, kind):
    place = {"address": "198.18.0.3"} if kind == "hierarchy" else {}
    output = made(program, "zones", data=kind, size=20, folder=tmp_path / "data", **place)
    assert (output["zones"], output["sha256"][:12]) == HASHES[kind]


@pytest.mark.parametrize(
    ("names", "begin"), [("uniform", "1d2c9da4d718"), ("zipf", "f20035bcb502")]
)
def test_queries_are_the_same_bytes_everywhere(queries, names, begin):
    output, _ = queries(data="zones", size=500, misses=0.1, count=900, names=names)
    assert output["sha256"][:12] == begin


def test_a_delegation_has_two_servers_with_glue_and_each_tenth_is_signed(program, tmp_path):
    made(program, "zones", data="delegations", size=20, folder=tmp_path / "data")
    lines = (tmp_path / "data/tld.zone").read_text("ascii").splitlines()
    servers = ["d0000011 NS ns1.d0000011", "d0000011 NS ns2.d0000011"]
    glue = ["ns1.d0000011 A 10.0.0.22", "ns2.d0000011 A 10.0.0.23"]
    assert [line for line in lines if "d0000011" in line] == [*servers, *glue]
    signed = [line.split()[0] for line in lines if " DS " in line]
    assert signed == ["d0000010", "d0000020"]
    assert len(set(lines)) == len(lines)


def test_zones_share_a_file_that_names_none_of_them_and_articles_have_their_own(
    program, tmp_path
):
    made(program, "zones", data="zones", size=3, folder=tmp_path / "data")
    assert (tmp_path / "data/zones.tsv").read_text("ascii") == (
        "z0000001.test.\tzone.zone\nz0000002.test.\tzone.zone\nz0000003.test.\tzone.zone\n"
    )
    assert "z00" not in (tmp_path / "data/zone.zone").read_text("ascii")
    own = tmp_path / "own"
    for size in (30, 10):
        output = made(program, "zones", data="articles", size=size, folder=own)
        listed = (own / "zones.tsv").read_text("ascii").splitlines()
        files = {own / line.split("\t")[1] for line in listed}
        assert set(own.glob("*.zone")) == files, "nothing of another size"
        assert (output["records"], len(files)) == (size * 4, size)


def test_the_hierarchy_is_at_one_address_and_leads_nowhere_else(program, tmp_path):
    asked = {"data": "hierarchy", "size": 50, "address": "198.18.0.3"}
    made(program, "zones", **asked, folder=tmp_path / "data")
    text = "".join(path.read_text("ascii") for path in (tmp_path / "data").glob("*.zone"))
    addresses = {line.split()[-1] for line in text.splitlines() if " A " in line}
    assert addresses == {"198.18.0.3", "192.0.2.80"}  # of servers; of what is asked for
    assert "test. NS ns.test." in text
    assert "z0000050 NS ns.z0000050" in text


@pytest.mark.parametrize("name", ["", "zone.zone", "zones.tsv", "data.json"])
def test_what_lies_there_is_made_again_only_where_it_was_changed(program, tmp_path, name):
    asked = {"data": "zones", "size": 20, "folder": tmp_path / "data"}
    first, file = made(program, "zones", **asked), tmp_path / "data/zone.zone"
    stamp = file.stat().st_mtime_ns
    if name:
        (tmp_path / "data" / name).write_text("www A 192.0.2.99\n")
    again = made(program, "zones", **asked)
    assert again == {**first, "changed": bool(name)}
    assert name or file.stat().st_mtime_ns == stamp


def test_a_folder_that_is_another_users_is_refused_as_it_is(program, tmp_path):
    (tmp_path / "mine").write_text("not zones")
    said = refused(program, "zones", data="zones", size=2, folder=tmp_path)
    assert "found other files in it" in said
    assert (tmp_path / "mine").read_text() == "not zones"


DELEGATIONS = {"data": "delegations", "updates": 0.1}


@pytest.mark.parametrize(
    ("what", "changed", "said"),
    [
        ("zones", {"size": 0}, "wanted 1 to 9999999"),
        ("zones", {"size": 10_000_000}, "seven digits"),
        ("zones", {"address": "198.18.0.3"}, "its zones hold no address"),
        ("zones", {"data": "hierarchy"}, "wanted the server's own"),
        ("queries", {"count": 0}, "one at least"),
        ("queries", {"misses": 1.5}, "a share, 0 to 1"),
        ("queries", {"updates": 0.1}, "of delegations"),
        ("queries", DELEGATIONS | {"updates": 1.5}, "a share, 0 to 1"),
        ("queries", DELEGATIONS | {"misses": 0.1}, "without --misses"),
        ("queries", {"lines": "lines"}, "--lines"),
        ("queries", {"data": None}, "--lines"),
        ("queries", {"size": None}, "--lines"),
    ],
)
def test_what_cannot_be_is_refused(program, tmp_path, what, changed, said):
    usual = {
        "zones": {"folder": tmp_path / "made"},
        "queries": {"count": 5, "file": tmp_path / "made"},
    }
    asked = {"data": "zones", "size": 2} | usual[what] | changed
    asked = {name: value for name, value in asked.items() if value is not None}
    assert said in refused(program, what, code=1 + (said == "--lines"), **asked)
    assert not (tmp_path / "made").exists()


def test_uniform_asks_for_no_name_twice_before_each_was_asked_for(queries):
    output, lines = queries(data="delegations", size=1000, count=2500)
    names = asked_names(lines)
    rounds = [names[:1000], names[1000:2000], names[2000:]]
    assert [len(set(each)) for each in rounds] == [1000, 1000, 500]
    assert rounds[0] not in (sorted(rounds[0]), rounds[1])
    assert output["distinct"] == 1000
    assert names[0].startswith("www.d")


def test_zipf_asks_for_the_kth_most_popular_as_often_as_1_over_k(queries):
    size, count = 1000, 100_000
    output, lines = queries(data="zones", size=size, count=count, names="zipf")
    often = [times for _, times in Counter(asked_names(lines)).most_common()]
    weight = sum(1 / rank for rank in range(1, size + 1))
    for rank in (1, 2, 5, 10):
        wanted = count / rank / weight
        assert abs(often[rank - 1] - wanted) < 5 * wanted**0.5, rank
    assert output["distinct"] == len(often)


@pytest.mark.parametrize("length", [1000, 20_000, 490_000])
def test_mixed_names_are_as_often_in_a_cache_whatever_is_asked(choice, length):
    """Zipf's are in 38 % of 1000 queries, and in 87 % of 490 000."""
    asked = list(itertools.islice(choice.mixed(100_000, 490_000), length))
    assert 0.789 <= 1 - len(set(asked)) / length <= 0.80
    assert list(choice.mixed(5, 3))


@pytest.mark.parametrize("names", ["uniform", "zipf"])
def test_any_part_of_the_queries_has_the_share_of_misses(queries, names):
    output, lines = queries(data="zones", size=300, count=1000, misses=0.25, names=names)
    missing = [name.startswith("nope.") for name in asked_names(lines)]
    assert output["misses"] == sum(missing) == 250
    assert {sum(missing[begin : begin + 100]) for begin in range(0, 1000, 100)} == {25}


@pytest.mark.parametrize("share", [0.1, 1])
def test_any_part_of_the_messages_has_the_share_of_updates(queries, share):
    output, lines = queries(data="delegations", size=300, count=600, updates=share)
    updates = [line for line in lines if line.endswith(".tld.test. UPDATE tld.test.")]
    assert len(updates) == 600 * share
    assert all(line.startswith("h0000") for line in updates)
    assert sum("UPDATE" in line for line in lines[:100]) == 100 * share
    names = {name.lstrip("hwd.") for name in asked_names(lines)}
    assert (output["queries"], len(names)) == (600, 300)
    assert output["distinct"] == len(set(lines))


LINES = ["b.test. A", "a.test. MX", "b.test. A", "c.test. TYPE257"]


@pytest.mark.parametrize("names", ["listed", "uniform", "zipf"])
def test_the_lines_of_a_user_are_asked_in_their_order_or_drawn(queries, tmp_path, names):
    lines, asked = tmp_path / "lines", {"names": names, "count": 9, "lines": tmp_path / "lines"}
    lines.write_text("\n".join(LINES), encoding="ascii")
    output, there = queries(**asked)
    assert (output["queries"], output["distinct"]) == (len(there), len(set(there)))
    digest = hashlib.sha256((tmp_path / "queries/file").read_bytes()).hexdigest()
    assert (output["sha256"], output["changed"]) == (digest, True)
    assert set(there) <= set(LINES)
    if names == "listed":
        assert there == [*LINES, *LINES, LINES[0]]
    if names == "uniform":
        assert set(Counter(there).values()) == {3}
    assert not queries(**asked)[0]["changed"]
    lines.write_text("d.test. A\n", encoding="ascii")
    assert queries(**asked)[0]["changed"]


def test_times_of_lines_stay_and_make_no_other_queries_of_them(queries, tmp_path):
    timed = [f"{line} @{number}.5" for number, line in enumerate(LINES)]
    (tmp_path / "lines").write_text("\n".join([*timed, ""]), encoding="ascii")
    output, there = queries(names="listed", count=4, lines=tmp_path / "lines")
    assert there == timed
    assert (output["queries"], output["distinct"]) == (4, 3)


def test_a_share_of_misses_is_kept_to_the_query(choice):
    for share, count in (("0.1", 12345), ("1/3", 100), ("0", 10), ("1", 10)):
        result = list(choice.shared(count, Fraction(share)))
        assert (sum(result), len(result)) == (int(count * Fraction(share)), count)


def test_a_million_zones_need_no_more_memory_than_a_thousand(program, tmp_path):
    """They are written as they are made."""
    code = (
        "import resource, runpy, sys; sys.argv = sys.argv[1:]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "finally: sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    peaks = []
    for size in (1000, 100_000):
        words = ("zones", "--data=delegations", f"--size={size}", f"--folder={tmp_path / 'd'}")
        peaks.append(int(ended(["python3", "-c", code, program, *words]).stderr))
    assert peaks[1] < peaks[0] + 20_000  # KiB; 10 MB of zone would be more as objects
