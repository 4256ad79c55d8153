"""A zone file in full: with the files that it includes and the records that it generates."""

import os

import pytest

from leaselab.inputs.queries import of_zones
from leaselab.inputs.queries.of_zones import queries_of
from leaselab.inputs.queries.zone_lines import text_in_full
from leaselab.inputs.queries.zones import keep_zones, kept_zones, read_zone, zone_of
from leaselab.model.errors import LeaselabError

HEAD = "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n"


def zone(folder, text):
    file = folder / "etc/bind/db"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{HEAD}{text}", encoding="latin-1")
    return zone_of("example.net", file, "--zone", (folder,))


@pytest.mark.parametrize(
    ("directive", "records"),
    [
        ("1-3 h$ A 192.0.2.$", ["h1 A 192.0.2.1", "h2 A 192.0.2.2", "h3 A 192.0.2.3"]),
        ("8-12/2 h${-8,3,d} 60 IN A 192.0.2.$", ["h000 60 IN A 192.0.2.8", "h002", "h004"]),
        ("250-251 ${0,2,x}.a PTR ${1,0,X}.", ["fa.a PTR FB.", "fb.a PTR FC."]),
        ("0-1 ${0,3,n} PTR $$\\$.", ["0.0 PTR $\\$.", "1.0 PTR $\\$."]),
        ("16-16 ${0,4,N}a.${0,1,n} TXT x", ["0.1.a.0.1 TXT x"]),
        ('7-7 a$ MX "10 m$"', ["a7 MX 10 m7"]),
        ("8-8 o${0,4,o} TXT x", ["o0010 TXT x"]),
        ("8-8 ${-9}.${-9,5} TXT x", ["-1.-0001 TXT x"]),
        ("8-8 ${-10,0,n}.${-9,2,X} TXT x", ["e.f.f.f.f.f.f.f.FFFFFFFF TXT x"]),
        ('8-8 a$ TXT "x;y"', ["a8 TXT x;y"]),
    ],
)
def test_records_are_generated_as_bind_does(tmp_path, directive, records):
    made = zone(tmp_path, f"$GENERATE {directive} ; so\n")
    lines = text_in_full(made.path, made.name).decode().removeprefix(HEAD).splitlines()
    assert [line[: len(record)] for line, record in zip(lines, records, strict=True)] == records
    assert made.records == 2 + len(records)


def test_of_more_queries_than_are_asked_the_same_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(of_zones, "MOST_QUERIES", 20)
    made = zone(tmp_path, "$GENERATE 1-500 h$ A 192.0.2.1\n")
    drawn = queries_of([made])
    assert len(set(drawn)) == 20
    assert queries_of([made]) == drawn
    assert len(of_zones._drawn(of_zones._of(made))) <= 40


def test_only_a_leftmost_label_is_a_wildcard(tmp_path):
    made = zone(tmp_path, "*.a A 192.0.2.1\na.*.b A 192.0.2.1\n*.*.c A 192.0.2.1\n")
    names = [f"{name}.example.net. A" for name in ("leaselab.a", "a.*.b", "leaselab.*.c")]
    assert set(names) < set(queries_of([made]))


def test_included_files_are_in_their_place_with_their_origin(tmp_path):
    (tmp_path / "etc/zones").mkdir(parents=True)
    (tmp_path / "etc/zones/more").write_text("www A 192.0.2.1\n", encoding="ascii")
    made = zone(
        tmp_path, '$INCLUDE "/etc/zones/more" sub\n$include ../zones/more\nlast A 192.0.2.1\n'
    )
    names = ["example.net. SOA", "example.net. NS"]
    names += [f"{name}.example.net. A" for name in ("last", "www", "www.sub")]
    assert sorted(queries_of([made])) == sorted(names)
    text = text_in_full(made.path, made.name, made.within).decode()
    assert "INCLUDE" not in text.upper()
    assert "$ORIGIN sub.example.net.\nwww A 192.0.2.1\n\n$ORIGIN example.net.\n" in text


@pytest.mark.parametrize(
    ("directive", "owner"),
    [
        ("$INCLUDE more", "shop.example.net."),
        ("$INCLUDE more else", "shop.example.net."),
        ("$GENERATE 1-2 h$ A 192.0.2.$", "shop.example.net."),
        ("$ORIGIN deep\n$INCLUDE more\n$TTL 9\n ; so", "shop.example.net."),
        ('$ORIGIN deep\n@ TXT (\nx ")" \\)\n)\n$INCLUDE more', "deep.example.net."),
    ],
)
def test_a_record_behind_a_directive_has_the_owner_before_it(tmp_path, directive, owner):
    (tmp_path / "etc/bind").mkdir(parents=True)
    (tmp_path / "etc/bind/more").write_text("www A 192.0.2.1\n", encoding="ascii")
    made = zone(
        tmp_path, f"shop A 192.0.2.1\n{directive}\n\n MX 10 a.\n LOC x\nlast A 192.0.2.2\n"
    )
    asked = queries_of([made])
    assert {query for query in asked if query.endswith((" MX", " TYPE29"))} == {
        f"{owner} MX",
        f"{owner} TYPE29",
    }
    assert f"\n{owner} MX 10 a.\n LOC x\n" in text_in_full(made.path, made.name).decode()


def test_the_zone_is_read_of_a_file_that_includes_before_it_says_which(tmp_path):
    (tmp_path / "more").write_text("www.example.net. A 192.0.2.1\n", encoding="ascii")
    (tmp_path / "db").write_text(
        "a.example.net. A 192.0.2.1\n$INCLUDE more\n MX 10 a.\n"
        "example.net. SOA a. b. 1 2 3 4 5\n",
        encoding="ascii",
    )
    made = read_zone(str(tmp_path / "db"))
    assert "a.example.net. MX" in queries_of([made])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("$GENERATE 1-9999999 a$ A 192.0.2.1", "$GENERATE is not read: not a range"),
        ("$GENERATE 1-2/0 a$ A 192.0.2.1", "$GENERATE is not read: not a range"),
        ("$GENERATE 1-2 a", "$GENERATE is not read: not a range"),
        ("$GENERATE", "$GENERATE is not read"),
        ("$INCLUDE", "$INCLUDE is not read"),
        ("$INCLUDE nowhere", "$INCLUDE is not read: the file is not here"),
    ],
)
def test_what_cannot_be_followed_is_said_with_its_line(tmp_path, line, why):
    with pytest.raises(LeaselabError) as refused:
        zone(tmp_path, f"{line}\n")
    assert f"db:4: {why}" in str(refused.value)
    assert str(refused.value).endswith(f"-o FILE example.net. {tmp_path}/etc/bind/db")


def test_a_file_that_includes_itself_is_refused(tmp_path):
    (tmp_path / "again").write_text("\n$INCLUDE again\n", encoding="ascii")
    with pytest.raises(LeaselabError, match=r"again:2: \$INCLUDE .* the file includes itself"):
        zone(tmp_path, "$INCLUDE again\n")


def test_files_in_each_other_are_read_to_a_depth(tmp_path):
    for depth in range(11):
        (tmp_path / f"d{depth}").write_text(f"$INCLUDE d{depth + 1}\n", encoding="ascii")
    with pytest.raises(LeaselabError, match="more than 10 files in each other"):
        zone(tmp_path, "$INCLUDE d0\n")


def test_a_dump_of_a_zone_is_read_whatever_its_order(tmp_path):
    lines = ["example.net. 60 IN NS ns.example.net.", "ns.example.net. 60 CLASS1 A 192.0.2.1"]
    soa = "example.net. 60 IN SOA a. b. 1 2 3 4 5"
    for text in ([*lines, soa], [soa, *lines, soa]):
        (tmp_path / "db").write_text("\n".join([*text, ""]), encoding="ascii")
        made = read_zone(str(tmp_path / "db"))
        assert (made.name, made.records) == ("example.net.", len(text))
        assert sorted(queries_of([made])) == [
            "example.net. NS",
            "example.net. SOA",
            "ns.example.net. A",
        ]


def test_an_included_file_may_have_a_blank_in_its_name(tmp_path):
    (tmp_path / "etc/bind").mkdir(parents=True)
    (tmp_path / "etc/bind/of ours").write_text("www A 192.0.2.1\n", encoding="ascii")
    made = zone(tmp_path, '$INCLUDE "of ours" sub ; of "ours"\n')
    assert "www.sub.example.net. A" in queries_of([made])


def test_what_is_outside_the_zone_is_not_asked(tmp_path):
    made = zone(
        tmp_path,
        "www.example.org. A 192.0.2.1\nanexample.net. A 192.0.2.1\nnet. NS a.\n"
        "$ORIGIN @\nwww A 192.0.2.1\n$ORIGIN sub\n@ A 192.0.2.1\n$ORIGIN .\nx A 192.0.2.1\n",
    )
    names = ("example.net. NS", "example.net. SOA", "sub.example.net. A", "www.example.net. A")
    assert sorted(queries_of([made])) == list(names)


def test_types_of_all_records_are_asked(tmp_path):
    words = (
        "A6",
        "APL",
        "EUI48",
        "HIP",
        "IPSECKEY",
        "KX",
        "L32",
        "NSAP",
        "PX",
        "RESINFO",
        "X25",
        "UINFO",
        "UNSPEC",
        "HHIT",
        "BRID",
    )
    made = zone(tmp_path, "".join(f"a {word} 1\n" for word in words))
    codes = (38, 42, 108, 55, 45, 36, 105, 22, 26, 261, 19, 100, 103, 67, 68)
    asked = {query for query in queries_of([made]) if query.startswith("a.")}
    assert asked == {f"a.example.net. TYPE{code}" for code in codes}


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
        if not os.fork():
            keep_zones(kept, [made._replace(name="example.org")])
            os._exit(0)
        assert os.wait()[1] == 0
        return 3

    class Slow(type(made)):
        records = property(lambda _: beside())

    name = keep_zones(kept, [Slow(*made)])
    assert kept_zones(kept, name) == {"example.net."}
    assert len(list(kept.iterdir())) == 2
    with pytest.raises(FileNotFoundError):
        keep_zones(kept, [made._replace(path=tmp_path / "gone")])
    assert len(list(kept.iterdir())) == 2
