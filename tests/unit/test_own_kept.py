"""What is kept of a user's own files: nobody else reads it, and it can be read back."""

import os
import stat

import pytest
from tests.own import DATA, add_scenario, catalogue_in, read_served
from tests.refusals import refusals_of

from leaselab.catalog.kept_scenarios import OWN

RECORDS = "@ SOA a. b. 1 1 1 1 1\n@ NS ns\nns A 192.0.2.1\n"
ZONE = 'zone "example.net" { type primary; file "db"; };\n'
RANGE = "dhcp-range=10.0.0.10,10.0.0.99\n"
SUBNET = (
    '{"Dhcp4": {"subnet4": [{"id": 1, "subnet": "10.0.0.0/24", "pools": '
    '[{"pool": "10.0.0.8/29"}]}], "option-data": [<?include "@"?>]}}'
)
NAMING = {
    "kea-dhcp4.conf": SUBNET,
    "dhcpd.conf": 'include "@";\nsubnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.8; }\n',
    "dnsmasq.conf": f"addn-hosts=@\n{RANGE}",
    "named.conf": f'include "@";\n{ZONE}',
}


def kept_in(folder):
    """Modes of all that is kept beside a catalogue, without the file's type."""
    own = folder / OWN
    return {path: stat.S_IMODE(path.stat().st_mode) for path in (own, *own.rglob("*"))}


@pytest.mark.parametrize("umask", [0, 0o022])
def test_only_the_owner_reads_what_is_kept(tmp_path, umask):
    catalogue = catalogue_in(tmp_path)
    (tmp_path / "db").write_text(RECORDS)
    (tmp_path / "named.conf").write_text(ZONE)
    before = os.umask(umask)
    try:
        (tmp_path / OWN).mkdir(parents=True)
        for file in (tmp_path / "named.conf", DATA / "house.conf"):
            add_scenario(read_served(file), file, catalogue)
    finally:
        os.umask(before)
    modes = kept_in(tmp_path)
    assert {path.suffix for path in modes} >= {".yml", ".json", ".tar", ".lines"}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize("name", NAMING)
@pytest.mark.parametrize("by", ["its name", "a relative name", "a link"])
def test_what_lies_outside_its_folder_is_read_only_when_that_is_asked_for(tmp_path, name, by):
    folder, outside = tmp_path / "here", tmp_path / "secret"
    folder.mkdir()
    outside.write_text("")
    (folder / "db").write_text(RECORDS)
    (folder / "link").symlink_to(outside)
    named = {"its name": outside, "a relative name": "../secret", "a link": "link"}[by]
    file = folder / name
    file.write_text(NAMING[name].replace("@", str(named)))
    reported = refusals_of(read_served)(file)
    shown = folder / "link" if by == "a link" else folder / named
    assert "outside the folder" in reported
    assert f"--also {shown}" in reported
    for also in (outside, tmp_path):
        assert read_served(file, also=[also])
    assert read_served(file, ["unread-files"])


@pytest.mark.parametrize("named", ["../keys", "link"])
def test_what_a_zone_includes_from_outside_is_asked_for(tmp_path, named):
    folder = tmp_path / "here"
    folder.mkdir()
    (tmp_path / "keys").write_text("key TXT x\n")
    (folder / "link").symlink_to(tmp_path / "keys")
    (folder / "db").write_text(f"{RECORDS}$INCLUDE {named}\n")
    file = folder / "named.conf"
    file.write_text(ZONE)
    catalogue = catalogue_in(tmp_path)
    refused = refusals_of(add_scenario)(read_served(file), file, catalogue)
    assert "db:4: $INCLUDE is not read: outside the folder" in refused
    add_scenario(read_served(file, also=[tmp_path / "keys"]), file, catalogue)


@pytest.mark.parametrize(
    "bad", [b"x: [", b"\xff", b"server: {kind: kea}", b'description: "\\ud800"', None]
)
def test_one_bad_file_takes_no_other_scenario(tmp_path, capsys, bad):
    catalogue, house = catalogue_in(tmp_path), DATA / "house.conf"
    name = add_scenario(read_served(house), house, catalogue).name
    path = tmp_path / OWN / "own-it-s.yml"
    path.symlink_to("gone") if bad is None else path.write_bytes(bad)
    for pattern in ("v4-memfile", name):
        assert [match.name for match in catalogue.match([pattern])] == [pattern]
    said = capsys.readouterr().err
    assert said.count("left out: ") == 1
    assert f"`rm -r {path}` removes it" in said


@pytest.mark.parametrize(
    ("family", "load"),
    [
        ({"server": {"kind": "kea", "options": {"lease_lifetime_s": 10**16}}}, {}),
        ({"description": "\ud800"}, {}),
        ({"description": "x" * 20_000}, {}),
        ({}, {"clients": 10**400}),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, family, load):
    catalogue = catalogue_in(tmp_path)
    folder = catalogue.kept
    usual = {"description": "x", "server": {"kind": "kea"}, "load": "own-x"} | family
    exchange = {"name": "x", "plural": "x", "stages": []}
    load = {"generator": "leaseload", "transaction": exchange} | load
    refusals_of(catalogue.add)("own-x", usual, load)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert catalogue.find("v4-memfile")
