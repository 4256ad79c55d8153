"""Users' own configurations as scenarios, and files that are odd."""

import contextlib
import json
import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.own import DATA, add_scenario, catalogue_in, measurable, read_served
from tests.refusals import refusals_of

from leaselab.catalog.catalogue import Catalogue
from leaselab.inputs.queries.file import read_queries
from leaselab.inputs.queries.load import Asked, with_queries
from leaselab.measure.generators import check_fits
from leaselab.model.errors import LeaselabError

ZONE = 'zone "example.net" { type primary; file "db.net"; };'
RECORDS = "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n"
SUBNET = "subnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.209; MORE }"
refusal = refusals_of(read_served)


@pytest.fixture
def catalogue(tmp_path):
    return catalogue_in(tmp_path)


def test_a_file_is_a_scenario_that_the_lab_can_measure(catalogue):
    own = {"isc_dhcpd": ("dhcpd.conf", "dhcpd6.conf"), "dnsmasq": ("school", "dnsmasq6.conf")}
    for kind, names in own.items():
        for name in names:
            assert measurable(DATA / name, catalogue).server.kind == kind


def test_a_scenario_is_made_of_a_file_and_another_of_a_changed_one(catalogue):
    made, file = read_served(DATA / "house.conf"), Path("My House.conf")
    scenario = add_scenario(made, file, catalogue)
    name = scenario.name
    assert name.startswith("own-my-house-")
    assert scenario.server.options["changed"] == made.changes
    assert scenario.factors == {"protocol": "DHCPv4", "configuration": name[len("own-") :]}
    kept = catalogue.checkout / f".leaselab/own/{scenario.server.options['configuration']}.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == made.server
    procedure = catalogue.procedure_of(scenario, {})
    check_fits(scenario, procedure)
    # Each client is served once, and keeps its lease.
    assert (procedure.keeps, procedure.warm_up_s) == (True, 1)
    assert procedure.warm_up_rate == made.clients == 75
    assert not catalogue.procedure_of(scenario, {"name": "duel"}).keeps
    assert Catalogue(catalogue.checkout).match([name])[0] == scenario
    assert add_scenario(read_served(DATA / "isp6.conf"), file, catalogue) != scenario
    with pytest.raises(LeaselabError, match="perfdhcp"):
        check_fits(catalogue.find(name, "perfdhcp"), procedure)


def test_a_folder_of_zones_is_asked_for_what_these_have(catalogue):
    scenario = measurable(DATA / "names", catalogue)
    assert scenario.load["size"] == 14
    kept = catalogue.checkout / f".leaselab/own/{scenario.load['query_file']}.lines"
    names = {
        "2.0.192.in-addr.arpa.": "@ NS, @ SOA, 53 PTR, 80 PTR",
        "example.org.": "@ MX, @ NS, @ SOA, host.lab TXT, leaselab.home A, mail A, ns A, "
        "ns AAAA, web A, www CNAME",
    }
    asked = {
        f"{own}.{zone} {word}".removeprefix("@.")
        for zone, queries in names.items()
        for own, word in (query.split() for query in queries.split(", "))
    }
    assert set(kept.read_text("utf-8").splitlines()) == asked


def test_zones_of_all_views_are_kept_and_those_of_one_asked_for(catalogue):
    scenario = measurable(DATA / "split", catalogue)
    kept, folder = catalogue.checkout / ".leaselab/own", DATA / "split/etc/bind/zones"
    with tarfile.open(kept / f"{scenario.load['zone_files']}.tar") as archive:
        files = [archive.extractfile(f"{number}.zone").read() for number in range(5)]
    names = ("db.example.org", "db.shared", "db.example.org.inside", "db.office", "db.shared")
    assert files == [(folder / name).read_bytes() for name in names]
    asked = (kept / f"{scenario.load['query_file']}.lines").read_text("utf-8")
    assert "office" not in asked
    assert scenario.load["size"] == 5 * 4
    views = {
        add_scenario(read_served(DATA / "split", view=view), Path("named.conf"), catalogue).name
        for view in ("", "inside", "outside")
    }
    assert len(views) == 2


def test_a_files_zones_take_other_queries_for_their_names(catalogue, tmp_path):
    own = add_scenario(read_served(DATA / "names"), Path("named.conf"), catalogue)
    asked = tmp_path / "asked.txt"
    asked.write_text("web.example.org A\nnone.example.org AAAA\n", encoding="utf-8")
    made = with_queries(catalogue, own, read_queries(asked), Asked())
    loads = [own.load, made.scenario.load]
    assert loads[0]["zone_files"] == loads[1]["zone_files"]
    assert loads[1]["queries"] == 2
    asked.write_text("www.example.com A\n", encoding="utf-8")
    with pytest.raises(LeaselabError, match="no zone for names"):
        with_queries(catalogue, own, read_queries(asked), Asked())


def test_another_zone_makes_another_scenario_and_all_that_are_wrong_are_said(
    catalogue, tmp_path
):
    file = tmp_path / "named.conf"
    file.write_text(ZONE, encoding="utf-8")
    names = []
    for more in ("", "www 60 A 192.0.2.2\n"):
        (tmp_path / "db.net").write_text(RECORDS + more, encoding="utf-8")
        names.append(add_scenario(read_served(file), file, catalogue).name)
    assert names[0] != names[1]
    (tmp_path / "db.net").write_text(f"{RECORDS}$INCLUDE gone\n")
    file.write_text(f"{ZONE}\n{ZONE.replace('example', 'other')}", encoding="utf-8")
    reported = refusals_of(add_scenario)(read_served(file), file, catalogue)
    assert reported.count("db.net:4: ") == 2


def encoded(folder, name, content):
    (folder / "db.net").write_text(RECORDS, encoding="utf-8")
    file = folder / name
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("comment", [b"M\xfcller", b"\x93\xfa\x96\x7b \x81\x40 \x8d\x90"])
@pytest.mark.parametrize(
    ("name", "mark", "text"),
    [("dhcpd.conf", b"# ", SUBNET.replace("MORE", "")), ("named.conf", b"// ", ZONE)],
)
def test_comments_have_any_bytes_and_a_byte_order_mark_is_said(
    tmp_path, name, mark, text, comment
):
    made = read_served(encoded(tmp_path, name, mark + comment + b"\n" + text.encode()))
    assert made.kinds or made.zones
    assert made.changes[-1].startswith("a file: ")
    for marked in (b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        reported = refusal(encoded(tmp_path, name, marked))
        assert f"{name}:1: begins with a byte-order" in reported


@pytest.mark.parametrize("content", ["acl a { any; };".encode("utf-16"), b"acl a {\0 any; };"])
def test_an_included_file_that_is_no_text_is_refused(tmp_path, content):
    (tmp_path / "acls").write_bytes(content)
    file = encoded(tmp_path, "named.conf", f'include "acls";{ZONE}'.encode())
    assert "named.conf:1: included file not" in refusal(file)


@pytest.mark.parametrize("named", ["", "etc", "etc/kea", "etc/kea/kea-dhcp4.conf"])
def test_files_that_kea_includes_are_looked_for_below_the_folder(tmp_path, named):
    folder = tmp_path / "etc/kea"
    (folder / "conf.d").mkdir(parents=True)
    subnet = '"subnet": "10.0.0.0/24", "pools": [{"pool": "10.0.0.100 - 10.0.0.199"}]'
    (folder / "conf.d/net.json").write_text(f'[{{"id": 1, {subnet}}}]', encoding="utf-8")
    text = '{"Dhcp4": {"subnet4": <?include "/etc/kea/conf.d/net.json"?>}}'
    (folder / "kea-dhcp4.conf").write_text(text, encoding="utf-8")
    assert read_served(tmp_path / named).clients == 50
    (folder / "conf.d/net.json").rename(folder / "conf.d/gone")
    assert "conf:1:23: " in refusal(tmp_path / named)
    assert "no configuration in this folder" in refusal(folder / "conf.d")
    (folder / "kea-dhcp6.conf").touch()
    assert re.search(r"--config \S+4\.conf or \S+6\.conf$", refusal(tmp_path))


WORDS = """
not and or ( ) , = != ~= ~~ exists option hardware substring( suffix( lcase( concat(
binary-to-ascii(16,8,":", pick-first-value( "ab" "0:1b" "^a.*[b" "\\000x" 1:2:3 0:15:65 1 0 16
user-class agent.circuit-id dhcp-client-identifier foo.bar host-name known
"""


@given(
    st.lists(st.sampled_from(re.findall(r"\S+", WORDS)), min_size=1, max_size=9).map(" ".join),
    st.sampled_from(
        ["match if {};", "match {}; deny booting;", "spawn with {}; lease limit 3;"]
    ),
)
def test_any_test_of_a_class_of_dhcpd_is_read(tmp_path_factory, test, body):
    top = f'class "a" {{ {body.format(test)} }} subclass "a" 0:15:65; subclass "a" "ab";'
    file = tmp_path_factory.mktemp("read") / "small.conf"
    pool = 'pool { deny members of "a"; range 10.0.0.220 10.0.0.229; }'
    file.write_text(f"{top}\n{SUBNET.replace('MORE', pool)}", encoding="utf-8")
    with contextlib.suppress(LeaselabError):
        assert 0 < read_served(file).clients <= 105
