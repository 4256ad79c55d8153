"""A named.conf of the user's own: the lab's form of it, its zones, and queries for them."""

import re
import tarfile
from pathlib import Path

import pytest
from tests.own import DATA, catalogue_in, measurable, refusals_of

from leaselab.catalog.catalogue import find_scenario
from leaselab.inputs.own import read_own, write_own
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.load import Asked, with_queries
from leaselab.model.errors import LeaselabError

ZONE = 'zone "example.net" { type primary; file "db.net"; MORE };'
RECORDS = "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n"


def of(tmp_path, top="", more="", without=()):
    """What is made of a small configuration: one zone, with more in it and before it."""
    return read(tmp_path, f"{top}\n{ZONE.replace('MORE', more)}\n", without)


def read(tmp_path, text, without=(), view=""):
    """What is made of a configuration."""
    (tmp_path / "db.net").write_text(RECORDS, encoding="utf-8")
    file = tmp_path / "small.conf"
    file.write_text(text, encoding="utf-8")
    return read_own(file, without, view=view)


def views(tmp_path, *lists, top="", view=""):
    """What is made of views a, b, c with these statements; all have the zone."""
    held = "".join(
        f'view "{name}" {{ {each} {ZONE.replace("MORE", "")} }};\n'
        for name, each in zip("abc", lists, strict=False)
    )
    return read(tmp_path, f"{top}\n{held}", view=view)


def measured(own):
    """The view of clients of the lab."""
    [name] = re.findall(r'view "(.)" {(?!\s+match-clients)', own.server["text"])
    return name


refusal, refusal_of_views = refusals_of(of), refusals_of(views)


@pytest.fixture
def catalogue(tmp_path):
    return catalogue_in(tmp_path)


def test_a_folder_is_read_as_debian_has_it():
    own = read_own(DATA / "names")
    text = own.server["text"]
    folder = DATA / "names/etc/bind/zones"
    assert own.zones == {
        "example.org.": str(folder / "db.example.org"),
        "2.0.192.in-addr.arpa.": str(folder / "db.192.0.2"),
    }
    for kept in ("minimal-responses yes;", "!192.0.2.0/24;", "allow-update {", "recursion no;"):
        assert kept in text
    assert 'file "@zones@/1.zone";' in text.partition('"Example.org"')[2].partition("zone ")[0]
    for gone in ("allow-query", "listen-on", "logging", "controls", "hint", "also-notify"):
        assert gone not in text
        assert any(gone in change for change in own.changes)


def test_secrets_stay_where_they_are():
    own = read_own(DATA / "names")
    assert "c2VjcmV0" not in own.server["text"]
    assert "key.secret: another, which protects nothing" in own.changes


def test_no_secret_of_any_statement_stays(tmp_path):
    top = """options { cookie-secret "4d61726b"; tkey-gssapi-keytab "/etc/4d61726b"; };
    key k { algorithm hmac-sha256; secret "4d61726b"; };
    view v { key w { algorithm hmac-sha256; secret "4d61726b"; }; ZONE };"""
    own = read(tmp_path, top.replace("ZONE", ZONE.replace("MORE", "")))
    assert "4d61726b" not in str(own)
    assert "options.cookie-secret: one that named makes, as this one is secret" in own.changes


@pytest.mark.parametrize(
    "line",
    [
        *("dnssec-enable no;", "dnssec-enable yes;", "dnssec-lookaside auto;"),
        *("glue-cache yes;", "use-v4-udp-ports { range 1 9; };", "dialup yes;"),
    ],
)
def test_what_newer_releases_refuse_is_left_out(tmp_path, line):
    own, name = of(tmp_path, f"options {{ {line} }};"), line.partition(" ")[0]
    assert name not in own.server["text"]
    assert f"options.{name}: none, as newer releases of BIND refuse it" in own.changes


def test_so_is_what_they_refuse_of_another_server_and_a_policy_of_keys(tmp_path):
    top = "server 192.0.2.1 { support-ixfr no; bogus yes; }; dnssec-policy a { };"
    own = of(tmp_path, top)
    assert "bogus" in own.server["text"]
    assert {"server.support-ixfr", "dnssec-policy"} <= {
        change.partition(":")[0] for change in own.changes
    }


def test_the_file_is_a_scenario_that_asks_for_what_its_zones_have(catalogue):
    scenario = measurable(DATA / "names", catalogue)
    assert scenario.load["size"] == 14
    kept = catalogue.parent / f".leaselab/own/{scenario.load['query_file']}.lines"
    assert sorted(kept.read_text("utf-8").splitlines()) == [
        "2.0.192.in-addr.arpa. NS",
        "2.0.192.in-addr.arpa. SOA",
        "53.2.0.192.in-addr.arpa. PTR",
        "80.2.0.192.in-addr.arpa. PTR",
        "example.org. MX",
        "example.org. NS",
        "example.org. SOA",
        "host.lab.example.org. TXT",
        "leaselab.home.example.org. A",
        "mail.example.org. A",
        "ns.example.org. A",
        "ns.example.org. AAAA",
        "web.example.org. A",
        "www.example.org. CNAME",
    ]


def test_a_files_zones_take_other_queries_for_their_names(catalogue, tmp_path):
    name = write_own(read_own(DATA / "names"), Path("named.conf"), catalogue)
    asked = tmp_path / "asked.txt"
    asked.write_text("web.example.org A\nnone.example.org AAAA\n", encoding="utf-8")
    made = with_queries(catalogue, name, read_queries(asked), Asked())
    loads = [find_scenario(catalogue, each).load for each in (name, made.name)]
    assert loads[0]["zone_files"] == loads[1]["zone_files"]
    assert loads[1]["queries"] == 2
    asked.write_text("www.example.com A\n", encoding="utf-8")
    with pytest.raises(LeaselabError, match="no zone for names of the queries"):
        with_queries(catalogue, name, read_queries(asked), Asked())


def test_another_zone_makes_another_scenario(catalogue, tmp_path):
    names = []
    for more in ("", "www 60 A 192.0.2.2\n"):
        own = of(tmp_path)
        (tmp_path / "db.net").write_text(RECORDS + more, encoding="utf-8")
        names.append(write_own(own, Path("x.conf"), catalogue))
    assert names[0] != names[1]


@pytest.mark.parametrize(
    ("word", "top", "more"),
    [
        ("secondary", 'zone "a" { type slave; masters { 192.0.2.1; }; };', ""),
        ("forward", 'zone "a" { type forward; forwarders { 192.0.2.1; }; };', ""),
        ("mirror", 'zone "." { type mirror; };', ""),
        ("redirect", 'zone "." { type redirect; file "x"; };', ""),
        ("stub", 'zone "a" { type stub; masters { 192.0.2.1; }; };', ""),
        ("forwarders", "options { forwarders { 192.0.2.1; }; };", ""),
        ("catalog-zones", "options { catalog-zones { zone a; }; };", ""),
        ("rate-limit", "options { rate-limit { responses-per-second 5; }; };", ""),
        ("class", 'zone "bind" CH { type primary; file "x"; };', ""),
        ("dlz", 'dlz "x" { database "y"; };', ""),
        ("dlz", 'zone "a" { type primary; dlz "x"; };', ""),
        ("database", 'zone "a" { type primary; database "x"; };', ""),
        ("dnssec-policy", "", "dnssec-policy default;"),
        ("dnssec-policy", "", "inline-signing yes;"),
        ("zone-name", 'zone "a+b" { type primary; file "db.net"; };', ""),
        ("class", 'view "c" CH { zone "bind" { type primary; file "x"; }; };', ""),
    ],
)
def test_what_the_lab_cannot_have_is_refused_with_its_line_or_left_out(
    tmp_path, word, top, more
):
    reported = refusal(tmp_path, f"\n{top}", more)
    assert f"small.conf:{2 if top else 3}: " in reported
    assert f"--without {word}" in reported
    own = of(tmp_path, top, more, without=[word])
    assert top == "" or top[8:20] not in own.server["text"]
    assert own.left_out == [word]
    assert list(own.zones) == ["example.net."]


def test_the_view_of_the_labs_clients_is_measured_and_others_stay(catalogue):
    own = read_own(DATA / "split")
    folder = DATA / "split/etc/bind/zones"
    shared = str(folder / "db.shared")
    assert own.zones == {
        "example.org.": str(folder / "db.example.org"),
        "shared.example.": shared,
    }
    assert own.zones_beside == [
        ("example.org.", str(folder / "db.example.org.inside")),
        ("office.example.org.", str(folder / "db.office")),
        ("shared.example.", shared),
    ]
    text = " ".join(own.server["text"].split())
    assert 'view "inside" { match-clients { none; }; recursion yes; zone' in text
    assert 'view "outside" { zone "example.org" { type primary; file "@zones@/0.zone"' in text
    assert text.count("in-view") == text.count("@zones@/4.zone") == 1
    assert "view: another's zones stay, and no client of the lab is of it" in own.changes
    scenario = measurable(DATA / "split", catalogue)
    kept = catalogue.parent / ".leaselab/own"
    with tarfile.open(kept / f"{scenario.load['zone_files']}.tar") as archive:
        files = [archive.extractfile(f"{number}.zone").read() for number in range(5)]
    assert files[0] == (folder / "db.example.org").read_bytes()
    assert files[1] == files[4] == (folder / "db.shared").read_bytes()
    assert files[3] == (folder / "db.office").read_bytes()
    asked = (kept / f"{scenario.load['query_file']}.lines").read_text("utf-8")
    assert "office" not in asked
    assert scenario.load["size"] == 5 * 4


def test_another_view_is_measured_where_it_is_named(catalogue):
    own = read_own(DATA / "split", view="inside")
    assert list(own.zones) == ["example.org.", "office.example.org.", "shared.example."]
    text = " ".join(own.server["text"].split())
    assert 'view "outside" { match-clients { none; };' in text
    assert 'view "inside" { recursion yes;' in text
    names = {
        write_own(read_own(DATA / "split", view=view), Path("named.conf"), catalogue)
        for view in ("", "inside", "outside")
    }
    assert len(names) == 2


@pytest.mark.parametrize(
    ("lists", "view"),
    [
        (["match-clients { 10.0.0.0/8; };", "match-clients { any; };"], "b"),
        (["match-clients { 10/8; 127; };", "", "match-clients { any; };"], "b"),
        (["match-clients { inside; };", ""], "b"),
        (["match-clients { !inside; any; };", ""], "a"),
        (["match-clients { ! 198.18/15; any; };", ""], "b"),
        (["match-clients { !198.18.0.0/14; any; };", ""], "b"),
        (["match-clients { none; any; };", ""], "b"),
        (["match-clients { localhost; ::1; key k; };", ""], "b"),
        (["match-clients { !localhost; localnets; };", ""], "a"),
        (["match-clients { { 10/8; 198.16.0.0/13; }; };", ""], "a"),
        (["match-clients { !key k; any; };", ""], "a"),
        (["match-destinations { 192.0.2.53; };", ""], "b"),
        (["match-destinations { localhost; };", ""], "a"),
        (["match-recursive-only yes;", ""], "a"),
    ],
)
def test_lists_of_addresses_say_of_which_view_the_labs_clients_are(tmp_path, lists, view):
    top = 'acl inside { 10/8; "deeper"; }; acl "deeper" { 192.168/16; };'
    assert measured(views(tmp_path, *lists, top=top)) == view
    assert measured(views(tmp_path, *lists[:1], top=top)) == "a"


@pytest.mark.parametrize(
    ("lists", "reported"),
    [
        (["match-clients { 198.18.0.0/24; };"], "of view a is not clear (found 198.18.0.0/24,"),
        (["match-clients { geoip country DE; };"], "small.conf:2: match-clients: whether"),
        (["match-clients { nosuch; };"], "(found nosuch, wanted a list that"),
        (["match-clients { { !198.18/15; any; }; };"], "(found {…}"),
        (["match-clients { loop; };"], "(found loop"),
        (["match-clients { 10/8; };", "match-destinations { 192.0.2.1; };"], "--view a"),
    ],
)
def test_a_view_has_to_be_named_where_the_lists_do_not_say(tmp_path, lists, reported):
    lists = lists if len(lists) > 1 else [*lists, ""]
    top = "acl loop { loop; };"
    assert reported in refusal_of_views(tmp_path, *lists, top=top)
    assert measured(views(tmp_path, *lists, top=top, view="b")) == "b"
    assert "unknown view 'd'" in refusal_of_views(tmp_path, *lists, top=top, view="d")


def test_a_zone_that_another_view_lost_is_in_no_view(tmp_path):
    text = f"""
        view a {{ match-clients {{ 10/8; }};
                 zone x {{ type secondary; primaries {{ 192.0.2.1; }}; file "x"; }}; }};
        view b {{ zone x {{ in-view a; }}; {ZONE.replace("MORE", "")} }};"""
    own = read(tmp_path, text, ["secondary"])
    assert "in-view" not in own.server["text"]
    assert "zone.in-view: none where the other view has no such zone" in own.changes


@pytest.mark.parametrize("scope", ["options", "view a"])
def test_a_policy_has_no_zone_that_was_left_out(tmp_path, scope):
    policy = (
        'response-policy { zone "RPZ.example" policy given; zone "kept"; } break-dnssec no;'
    )
    lost = 'zone "rpz.example" { type secondary; primaries { 192.0.2.1; }; file "x"; };'
    zones = f'{lost} zone "kept" {{ type primary; file "db.net"; }}; {ZONE.replace("MORE", "")}'
    of_scope = {
        "options": f"options {{ {policy} }}; {zones}",
        "view a": f"view a {{ {policy} {zones} }};",
    }
    for text, kept in (
        (of_scope[scope], 'response-policy { zone "kept"; } break-dnssec no;'),
        (of_scope[scope].replace('zone "kept"; }', "}"), ""),
    ):
        own = read(tmp_path, text, ["secondary"])
        said = "response-policy: none of a zone that is left out"
        assert said in own.changes
        written = " ".join(own.server["text"].split())
        assert kept in written
        assert ("response-policy" in written) == bool(kept)


@pytest.mark.parametrize("keys", ["keys { Gone.; };", "keys gone;"])
def test_a_server_has_no_key_that_is_not_here(tmp_path, keys):
    top = f"""include "/nowhere/gone.key";
    key "here" {{ algorithm hmac-sha256; secret "YQ=="; }};
    server 192.0.2.1 {{ edns no; {keys} }}; server 192.0.2.2 {{ keys {{ "HERE"; }}; }};"""
    own = of(tmp_path, top, without=["unread-files"])
    assert "server.keys: none, as a key is not here" in own.changes
    written = " ".join(own.server["text"].split())
    assert 'server 192.0.2.1 { edns no; }; server 192.0.2.2 { keys { "HERE"; }; };' in written


def test_that_queries_are_not_logged_is_said(tmp_path):
    own = of(tmp_path, "options { querylog yes; dnstap { all; }; };")
    for name in ("querylog", "dnstap"):
        assert f"options.{name}: off: queries are not logged, unlike yours" in own.changes


@pytest.mark.parametrize("clients", ["none;", "localhost; 127.0.0.1;"])
def test_a_zone_that_nobody_may_ask_is_not_asked(tmp_path, clients):
    policy = f'zone "rpz" {{ type primary; file "db.net"; allow-query {{ {clients} }}; }};'
    own = of(tmp_path, policy)
    assert list(own.zones) == ["example.net."]
    assert own.zones_beside == [("rpz.", str(tmp_path / "db.net"))]
    assert "zone.allow-query: no other host asks for its names" in own.changes
    assert '"@zones@/1.zone"' in own.server["text"].partition("example.net")[0]


def test_no_other_host_asks_for_what_a_host_asks_itself(tmp_path):
    names = ("localhost", "127.in-addr.arpa", f"1.{'0.' * 31}ip6.arpa", "128.in-addr.arpa")
    zones = [f'zone "{name}" {{ type master; file "db.net"; }};' for name in names]
    own = of(tmp_path, "\n".join(zones))
    assert list(own.zones) == ["128.in-addr.arpa.", "example.net."]
    assert len(own.zones_beside) == 3
    said = "zone localhost and the like: no other host asks for their names"
    assert own.changes.count(said) == 1


def test_a_view_without_statements_is_left_to_named(tmp_path):
    assert 'view "v";' in of(tmp_path, 'view "v";').server["text"]


def test_a_zone_beside_views_is_refused_as_named_does(tmp_path):
    beside = 'zone "b" { type primary; file "db.net"; };'
    assert "small.conf:1: zone b: a zone beside views" in refusal_of_views(
        tmp_path, "", top=beside
    )


def test_a_zone_of_a_view_that_has_it_not_is_refused(tmp_path):
    shared = "view b { zone x { in-view a; }; };"
    with pytest.raises(LeaselabError, match=r"zone x: the zone is in no such view"):
        read(tmp_path, f"view a {{ {ZONE.replace('MORE', '')} }};\n{shared}", view="a")


def test_a_pattern_includes_the_files_that_have_it(tmp_path):
    folder = tmp_path / "zones.d"
    folder.mkdir()
    for name in ("b.conf", "a.conf", "c.conf~"):
        text = ZONE.replace("example.net", name).replace("MORE", "")
        (folder / name).write_text(text, encoding="utf-8")
    own = of(tmp_path, 'include "zones.d/*.conf";')
    assert list(own.zones) == ["a.conf.", "b.conf.", "example.net."]
    assert "small.conf:1: no file has a name of this pattern" in refusal(
        tmp_path, 'include "zones.d/*.zone";'
    )


def test_only_a_server_with_views_has_one_measured():
    with pytest.raises(LeaselabError, match=r"--view a: its server has no views \(found kea"):
        read_own(DATA / "house.conf", view="a")


def test_what_has_no_effect_is_not_refused(tmp_path):
    own = of(tmp_path, "options { forwarders { }; dnssec-policy none; };", "inline-signing no;")
    assert own.left_out == []


@pytest.mark.parametrize(
    ("top", "reported"),
    [
        ("};", "small.conf:1: not a named.conf: a } that belongs to no statement"),
        ("options {", "not a named.conf: the file ends within a statement"),
        (
            '\noptions { version "x }; ',
            "small.conf:3: not a named.conf: a text in quotes without",
        ),
        ("\n\n/* options { };", "small.conf:3: not a named.conf: a comment without an end"),
        ("options { }", "small.conf:2: not a named.conf: a ; is missing before zone"),
        (
            "options { version none }\n;",
            "small.conf:1: not a named.conf: a ; is missing before }",
        ),
        (
            'options { directory "."\nrecursion no; };',
            "small.conf:1: not a named.conf: a ; is m",
        ),
        ("options { listen-on { any; } recursion no; };", "a ; is missing before recursion"),
        ('zone "a" { type primary file "db.net"; };', "a ; is missing before file"),
        (
            'zone "a" { type primary; file "db.net" notify no; };',
            "a ; is missing before notify",
        ),
        (
            "acl a { any; } acl b { any; };",
            "small.conf:1: not a named.conf: a ; is missing befo",
        ),
        ('zone { type primary; file "db.net"; };', "not a name of a zone: no name"),
        (
            'zone "m\xfcnchen" { type primary; file "db.net"; };',
            "that is not ASCII: write xn--",
        ),
        (
            'zone "a b" { type primary; file "db.net"; };',
            "small.conf:1: zone a b: the lab cannot run this part of the configuration: not a",
        ),
        ('zone "a" { type native; file "db.net"; };', "of unknown type (found native, wan"),
        (
            'zone "a" { file "db.net"; };',
            "a zone of unknown type (found no type, wanted type prim",
        ),
        (
            'zone "a" { type primary; file "/dev/zero"; };',
            "small.conf:1: a file that it names is outside",
        ),
        ('zone "a" { type primary; file "."; };', "small.conf:1: not a plain file (found"),
        ("/* a\n*/ ;", "small.conf:2: not a named.conf: a ; that belongs to no statement"),
        ('include "none";', "small.conf:1: a file that it names is not here"),
        ('include "small.conf";', "files are included too deeply"),
        ('zone "a" { type master; };', "small.conf:1: zone a: a zone without a file"),
        (
            'zone "a" { type master; file "none"; };',
            "small.conf:1: a file that it names is not",
        ),
        ('zone "EXAMPLE.net." { type master; file "db.net"; };', "zone example.net. comes twi"),
        (f"options {{ x {'{ ' * 60}", "braces are too deep"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, top, reported):
    assert reported in refusal(tmp_path, top)


def test_zones_and_includes_whose_files_are_not_here_are_left_out_when_asked(tmp_path):
    top = (
        'zone "a" { type master; file "none"; };\ninclude "/nowhere/x*"; include "/nowhere/y";'
    )
    reported = refusal(tmp_path, top)
    assert ":2: a file that it names is not here (found /nowhere; " in reported
    assert "small.conf:2: /nowhere/y; " in reported
    assert "small.conf:1: none)" in reported
    own = of(tmp_path, top, without=["unread-files"])
    assert list(own.zones) == ["example.net."]
    assert own.left_out == ["unread-files"]
    assert "a file that it names: not read, and left out" in own.changes


def test_all_zone_files_that_are_wrong_are_said_at_once(tmp_path):
    top = ""
    for name in "ab":
        (tmp_path / name).write_text(f"@ SOA a. b. 1 1 1 1 1\n NS {name}.\n$INCLUDE gone\n")
        top += f'zone "{name}.net" {{ type master; file "{name}"; }};\n'
    own = of(tmp_path, top)
    with pytest.raises(LeaselabError, match=r"a:3: .INCLUDE is not .*; .*b:3: .INCLUDE is"):
        write_own(own, tmp_path / "small.conf", catalogue_in(tmp_path))


def test_a_zone_in_another_form_than_text_is_left_out_when_asked(tmp_path):
    top = 'zone "a" { type master; file "db.a"; masterfile-format raw; };'
    assert "no text; named-compilezone -F text writes one" in refusal(tmp_path, top)
    assert list(of(tmp_path, top, without=["raw"]).zones) == ["example.net."]


def test_a_name_of_several_lines_is_said_in_one(tmp_path):
    assert "small.conf:1: zone a b: " in refusal(tmp_path, 'zone "a\nb" { type slave; };')


def test_more_may_follow_braces_where_named_has_it(tmp_path):
    top = """options {
        response-policy { zone "rpz"; } qname-wait-recurse no;
        catalog-zones { zone "c" default-masters { 192.0.2.1; } in-memory yes; };
    }; controls { inet * port 953 allow { any; } keys { "k"; }; };
    zone "rpz" { type primary; file "db.net"; };"""
    own = of(tmp_path, top, without=["catalog-zones"])
    assert 'response-policy { zone "rpz"; } qname-wait-recurse no;' in " ".join(
        own.server["text"].split()
    )


@pytest.mark.parametrize(
    "begin",
    [
        'zone "a"\n{ // ours\n type primary; file "db.net"; };',
        'zone a IN { file "db.net"; type primary; };',
        "logging { };",
        "acl a { any; };",
    ],
)
def test_it_is_recognised_by_any_of_its_statements(tmp_path, begin):
    text = f'{begin}\nzone "example.net" {{ file "db.net"; type primary; }};'
    assert read(tmp_path, text).kind == "bind9"


@pytest.mark.parametrize("comment", [b"M\xfcller", b"\x93\xfa\x96\x7b \x81\x40 \x8d\x90"])
def test_comments_have_any_bytes(tmp_path, comment):
    (tmp_path / "db.net").write_text(RECORDS, encoding="utf-8")
    file = tmp_path / "named.conf"
    file.write_bytes(b"// " + comment + b"\n" + ZONE.replace("MORE", "").encode())
    own = read_own(file)
    assert list(own.zones) == ["example.net."]
    assert "a file: UTF-8 instead of Windows-1252 or Latin-1" in own.changes


@pytest.mark.parametrize("content", ["acl a { any; };".encode("utf-16"), b"acl a {\0 any; };"])
def test_an_included_file_that_is_no_text_is_refused(tmp_path, content):
    (tmp_path / "acls").write_bytes(content)
    reported = refusal(tmp_path, 'include "acls";')
    assert "small.conf:1: included file not read: not a text: it has a byte 0" in reported


def test_a_file_of_a_copied_machine_has_its_files_above(tmp_path):
    zone = ZONE.replace("MORE", "")
    for name, text in (
        ("etc/dhcpd.conf", ""),
        ("etc/named.conf", f'options {{ directory "/var/named"; }}; {zone}'),
        ("var/named/db.net", RECORDS),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(
        LeaselabError, match=r"more than one configuration .*; name the file itself"
    ):
        read_own(tmp_path)
    own = read_own(tmp_path / "etc/named.conf", also=[tmp_path / "var"])
    assert own.zones == {"example.net.": str(tmp_path / "var/named/db.net")}


def test_another_programs_file_of_the_same_name_is_not_the_main_file(tmp_path):
    top = 'include "/srv/directory/small.conf";'
    assert "(found /srv/directory/small.conf)" in refusal(tmp_path, top)
    own = of(tmp_path, top, without=["unread-files"])
    assert list(own.zones) == ["example.net."]
    (tmp_path / "srv/directory").mkdir(parents=True)
    (tmp_path / "srv/directory/small.conf").write_text("acl beside { any; };", "utf-8")
    assert "acl beside" in of(tmp_path, top).server["text"]


@pytest.mark.parametrize(
    "named", ["zones/local.conf", "zones/*.conf", "/etc/b/zones/local.conf"]
)
def test_a_relative_include_is_in_the_directory_named_before_it(tmp_path, named):
    """`before.conf` is beside the file, as no directory was named then."""
    zone = ZONE.replace("MORE", "").replace("net", "NAME")
    include = f'include "before.conf"; options {{ directory "/etc/b"; }}; include "{named}";'
    for name, text in (
        ("etc/named.conf", include),
        ("etc/before.conf", zone.replace("NAME", "before")),
        ("etc/b/before.conf", "};"),
        ("etc/b/zones/local.conf", zone.replace("NAME", "local")),
        ("etc/b/db.before", RECORDS),
        ("etc/b/db.local", RECORDS),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    own = read_own(tmp_path)
    assert list(own.zones) == ["example.before.", "example.local."]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("options { recursion yes; };", r"\(found no primary zone for other hosts, wanted"),
        (
            'options {\nforwarders { 192.0.2.1; }; };\nzone "b" { type forward; };\n'
            'zone "localhost" { type primary; file "db.net"; };',
            r"\(found .*conf:2: forwarders: it asks another host; .*conf:3: zone b: .*, wanted",
        ),
    ],
)
def test_a_file_without_zones_says_that_nothing_is_asked(tmp_path, text, reported):
    """A resolver has nothing to measure without its forwarders either."""
    with pytest.raises(LeaselabError, match=rf"{reported} a pri.*; for a resolver see"):
        read(tmp_path, text)
