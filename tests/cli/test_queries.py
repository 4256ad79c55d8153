"""``--queries FILE`` of the commands that measure, with zones of one's own."""

import json
import tarfile
from pathlib import Path

import pytest

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.kept_scenarios import OWN
from leaselab.cli.main import main
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.load import Asked, with_queries

ZONE = """\
$TTL 3600
@ SOA ns hostmaster (
    1 3600 600 86400 300 ) ; a comment (
  NS ns
ns A 192.0.2.1
soa IN 300 A 192.0.2.2
* TXT "a;b(" c\\;d
www RRSIG SOA 8 2 ( x
  y )
"""
ASKED = """\
; what came one morning
www.tld.test A
WWW.d0000001.TLD.test. aaaa

# and another
d0000002.tld.test TYPE257
www.tld.test A
"""
SCENARIO = "bind9-delegations-size-10000-threads-1"


@pytest.fixture
def file(tmp_path):
    """A file of some text; the names of files in a command are of its folder."""

    def written(name, text):
        (tmp_path / name).write_text(text, encoding="latin-1")
        return str(tmp_path / name)

    return written


def measured(lab, *words):
    """The scenario of the newest result of a command that ends well."""
    before = {row["id"] for row in lab.store.index.every("*")}
    assert main(["run", *words, "--set", "rounds=3"]) == 0
    (new,) = {row["id"] for row in lab.store.index.every("*")} - before
    return lab.store.load(new).scenario


def test_a_result_names_the_queries_by_their_hash_and_is_of_another_scenario(lab, file, capsys):
    asked = file("q.txt", ASKED)
    first = measured(lab, SCENARIO, "--queries", asked)
    assert first.name.startswith(f"{SCENARIO}-queries-")
    assert first.load["queries_file"].keys() == {"sha256", "queries", "distinct", "escaped"}
    load = first.load
    assert {"queries": 4, "distinct": 3}.items() <= load["queries_file"].items()
    assert (load["names"], load["queries"], load["data"]) == ("listed", 4, "delegations")
    assert "misses" not in load
    assert "zones of the lab: delegations" in capsys.readouterr().err
    kept = lab.checkout / OWN / f"{first.load['query_file']}.lines"
    lines = ("www.tld.test. A", "WWW.d0000001.TLD.test. AAAA", "d0000002.tld.test. TYPE257")
    assert kept.read_text(encoding="ascii").splitlines() == [*lines, lines[0]]
    assert "tld" not in json.dumps(first.load)
    others = (
        (file("p.txt", ASKED.replace("0001", "0003")),),
        (asked, "--names", "zipf"),
        (asked, "--edns", "1232"),
        (asked, "--edns", "1232", "--dnssec-ok"),
    )
    names = {measured(lab, SCENARIO, "--queries", *words).name for words in others}
    assert len({*names, first.name}) == 5


def timed(times):
    """A file of queries that came at some times."""
    return "".join(f"www.tld.test A @{at}\n" for at in times)


def test_queries_come_as_they_were_recorded_or_faster(lab, file, capsys):
    asked = file("q.txt", timed(number / 50 + (number > 99) for number in range(400)))
    first = measured(lab, SCENARIO, "--queries", asked, "--scale", "1")
    assert first.load["arrivals"] == "recorded"
    assert "as recorded, 0.99 times as fast: 44/s for 9 s" in capsys.readouterr().err
    kept = lab.checkout / OWN / f"{first.load['query_file']}.lines"
    lines = ["www.tld.test. A @1.980000", "www.tld.test. A @3.000000"]
    assert kept.read_text("ascii").splitlines()[99:101] == lines
    (row,) = lab.store.index.every("*")
    procedure = lab.store.load(row["id"]).procedure
    assert (procedure.rate, procedure.duration_s, procedure.trial_s) == (44, 9, 9)
    second = measured(lab, SCENARIO, "--queries", asked, "--scale", "2")
    assert "2 times as fast: 89/s for 4 s" in capsys.readouterr().err
    assert second.load == first.load
    even = measured(lab, SCENARIO, "--queries", asked)
    assert "arrivals" not in even.load
    assert "@" not in (lab.checkout / OWN / f"{even.load['query_file']}.lines").read_text()


def test_capacity_says_whether_servers_carry_the_queries_of_a_file(lab, file, document, said):
    asked = file("q.txt", ASKED)
    scenario = measured(lab, SCENARIO, "--queries", asked)
    (row,) = lab.store.index.every("*")
    low = lab.store.load(row["id"]).figure.ci95[0]
    command = ["capacity", SCENARIO, "--queries", asked, "--per-s"]
    for per_s, carries in ((low / 2, "yes"), (low * 9, "no")):
        planned = document(*command, per_s)
        assert planned["queries_per_s"] == pytest.approx(per_s)
        (judged,) = planned["configurations"]
        assert (judged["scenario"], judged["id"]) == (scenario.name, row["id"])
        assert (judged["carries"], judged["restart"]) == (carries, None)
        assert judged["head_room"] == pytest.approx(low / per_s)
    message = said(*command, "10", "--page").out
    assert "10 queries/s, those of a file" in message
    assert "renew" not in message
    page = Path(message.splitlines()[-1]).read_text(encoding="utf-8")
    assert "1 of 1 configurations carry 10 queries/s" in page
    others = file("p.txt", ASKED.replace("0001", "0003"))
    unknown = ["capacity", SCENARIO, "--queries", others, "--per-s", "10"]
    assert "no results of" in said(*unknown, code=2).err


def test_own_zones_are_kept_as_the_role_makes_its_own(lab, file):
    zones = [f"example.com={file('z.zone', ZONE)}"]
    zones += [file("y.zone", f"$ORIGIN b.example.\n{ZONE}")]
    asked = file("q.txt", "www.example.com A\nb.example NS\n")
    words = [word for zone in zones for word in ("--zone", zone)]
    scenario = measured(lab, SCENARIO, "--queries", asked, *words)
    load = scenario.load
    assert (load["data"], load["size"]) == ("own", 12)
    assert "size" not in scenario.factors
    # Beside the scenario that it is made of, it has a row of its own.
    assert scenario.factors["queries"] == f"queries {scenario.name.rpartition('-')[2]}"
    with tarfile.open(lab.checkout / OWN / f"{load['zone_files']}.tar") as archive:
        names = archive.getnames()
        listed = archive.extractfile("zones.tsv").read().decode()
        known = json.load(archive.extractfile("data.json"))
        assert archive.extractfile("1.zone").read().decode() == ZONE
    assert names[-1] == "data.json"
    assert listed == "b.example.\t0.zone\nexample.com.\t1.zone\n"
    assert (known["made"]["zones"], known["made"]["records"]) == (2, 12)


def test_a_recursor_is_asked_whatever_the_names_are(lab, file):
    catalogue, queries = Catalogue(lab.checkout), read_queries(Path(file("q.txt", OUTSIDE)))
    scenario = catalogue.find("unbound-recursive-mixed")
    scenario = with_queries(catalogue, scenario, queries, Asked()).scenario
    assert (scenario.load["queries"], scenario.support.kind) == (4, "nsd")


OUTSIDE = "www.tld.test A\nwww.example.com A\nmail.example.com MX\nexample.com. A\n"


def test_names_outside_the_zones_are_refused_before_anything_is_deployed(lab, file, refused):
    words = ["run", SCENARIO, "--queries", file("q.txt", f"; two lines\n\n{OUTSIDE}")]
    said = refused(*words)
    assert "q.txt:4:" in said
    assert "www.example.com. A; 3 of 4 queries are outside its zones" in said
    assert "--zone FILE" in said
    zone = f"b.example.com={file('z.zone', ZONE)}"
    assert "4 of 4 queries" in refused(*words, "--zone", zone)
    assert lab.measured == []


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ("bind9-zones-size-10000-threads-1", "a.z0010000.test A\n"),
        ("powerdns-lmdb-uncached", "test0000001.test SOA\n"),
        ("nsd-delegations-size-10000", "tld.test NS\n"),
        ("responder-tcp-capped", OUTSIDE),
    ],
)
def test_every_server_that_can_answer_is_asked(scenario, text, lab, file):
    assert measured(lab, scenario, "--queries", file("q.txt", text)).load["names"] == "listed"


ONE = "www.tld.test A\n"
TWO = "t.tld.test A @1\nt.tld.test A @2\n"
ASKED_OF_FILE, WANTED = ["--queries", "FILE"], "PATTERN --queries FILE --per-s N"
TIMED = [SCENARIO, "--queries", "FILE", "--scale", "1"]
CLIENTS, PER_S = ["--clients", "1", "--lease-s", "9"], ["--per-s", "1"]


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["run", SCENARIO, "--names", "zipf"], ONE, "--queries"),
        (["run", "v4-memfile", "--queries", "FILE"], ONE, "not a DNS scenario"),
        (["run", SCENARIO, "--queries", "/nowhere"], ONE, "a file that you may"),
        (["run", SCENARIO, "--queries", "FILE", "--dnssec-ok"], ONE, "--edns"),
        (["run", SCENARIO, "--queries", "FILE", "--clients", "c.yml"], ONE, "one of them"),
        (["compare", "a", "b", "--queries", "FILE"], ONE, "--live"),
        (["compare", "a", "b", "--zone", "z"], ONE, "--zone works only with"),
        (["compare", "a", "b", "--scale", "2"], ONE, "--scale works only with"),
        (["run", "bind9-zones-size-10000-threads-1", "--queries", "FILE"], ONE, "1 of 1"),
        (["run", "unbound-recursive-cold", "--queries", "FILE"], ONE + ONE, "q.txt:2"),
        (["run", "unbound-recursive-mixed", "--queries", "FILE", "--zone", "z"], ONE, "z: "),
        (["run", SCENARIO, "--scale", "2"], ONE, "--clients or --queries"),
        (["run", *TIMED], ONE, "q.txt: the queries have no"),
        (["run", *TIMED, "--names", "zipf"], TWO, "own order"),
        (["run", *TIMED, "--generator", "dnsperf"], TWO, "at even distances"),
        (["run", SCENARIO, "--queries", "FILE"], "\x1f\x8b\x08", "gunzip q.txt"),
        (["run", SCENARIO, "--queries", "FILE"], "a..b A\n", "q.txt:1: not a query"),
        (["capacity", *ASKED_OF_FILE], ONE, WANTED),
        (["capacity", SCENARIO, *ASKED_OF_FILE], ONE, WANTED),
        (["capacity", *ASKED_OF_FILE, *PER_S], ONE, WANTED),
        (["capacity", SCENARIO, *ASKED_OF_FILE, *PER_S, "--at-once"], ONE, "--at-once works"),
        (["capacity", SCENARIO, *CLIENTS, *PER_S], ONE, "--per-s works only with"),
        (["capacity"], ONE, "no demand was given"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_what_cannot_be_asked_is_refused(words, text, said, file, refused):
    asked = file("q.txt", text)
    assert said in refused(*(asked if word == "FILE" else word for word in words))


@pytest.mark.usefixtures("lab")
def test_a_zone_is_not_given_twice_and_not_under_another_name(file, refused):
    zone, asked = file("z.zone", f"$ORIGIN tld.test.\n{ZONE}"), file("q.txt", ONE)
    for words, said in (
        (("--zone", zone, "--zone", zone), "zone tld.test. is named twice"),
        (("--zone", f"b.test={zone}"), "another zone (found tld.test., wanted b.test.)"),
        (("--zone", f"b..test={zone}"), "--zone: not a zone"),
        (("--zone", file("y.zone", "\x1f\x8b\x08")), "y.zone: no SOA record"),
    ):
        assert said in refused("run", SCENARIO, "--queries", asked, *words)
