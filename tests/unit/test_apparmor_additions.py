"""The module that has the lab's files in AppArmor profiles, on a host in a folder."""

from types import SimpleNamespace

import pytest
from tests.role_modules import ended, load

MODULE = load("apparmor", "apparmor_additions")
PROGRAM = "/usr/sbin/kea-dhcp4"
RULES = ["owner /run/kea/leaselab-* rwk", "/etc/kea/** r"]
STOCK = """abi <abi/3.0>,
include <tunables/global>

profile kea-dhcp4 /usr/sbin/kea-dhcp4 {
  include <abstractions/base>
  /etc/kea/ r,
"""
OF_DEBIAN_12 = STOCK + "}\n"
OF_DEBIAN_13 = STOCK + "  #include <local/usr.sbin.kea-dhcp4>\n}\n"
BLOCK = """# BEGIN leaselab: kea-dhcp4
owner /run/kea/leaselab-* rwk,
/etc/kea/** r,
# END leaselab: kea-dhcp4
"""
PARSER = """#!/bin/sh
echo "$@" >> {log}
[ ! -e {folder}/refuse ] || {{ echo "syntax error in line 3" >&2; exit 1; }}
echo "kea-dhcp4 (enforce)" > {folder}/profiles
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host of Debian 13 whose kernel has AppArmor and whose parser loads kea-dhcp4."""
    profiles, program = tmp_path / "apparmor.d", tmp_path / "bin" / "apparmor_parser"
    for folder in (profiles, program.parent):
        folder.mkdir()
    (tmp_path / "enabled").write_text("Y\n")
    (tmp_path / "profiles").write_text("chronyd (enforce)\n")
    program.write_text(PARSER.format(log=tmp_path / "log", folder=tmp_path))
    program.chmod(0o755)
    places = {"PROFILES": profiles, "SWITCH": tmp_path / "enabled"}
    places |= {"LOADED": tmp_path / "profiles", "PARSER_PATH": str(program.parent)}
    for name, place in places.items():
        monkeypatch.setattr(MODULE, name, place)
    profile = profiles / "usr.sbin.kea-dhcp4"
    profile.write_text(OF_DEBIAN_13)

    def play(programs=None, **how):
        return ended(MODULE, programs=programs or {PROGRAM: RULES}, **how)

    local = profiles / "local" / profile.name
    return SimpleNamespace(folder=tmp_path, profile=profile, local=local, play=play)


def test_rules_are_added_loaded_and_added_once(host):
    first = host.play()
    assert host.local.read_text() == BLOCK
    assert host.profile.read_text() == OF_DEBIAN_13
    known = {"program": PROGRAM, "name": "kea-dhcp4", "file": str(host.profile)}
    assert first["profiles"] == [{**known, "label": "kea-dhcp4 (enforce)"}]
    again = host.play()
    assert (first["changed"], again["changed"], again["written"]) == (True, False, [])
    loads = (host.folder / "log").read_text().splitlines()
    assert loads == [f"--replace --write-cache {host.profile}"] * 2


def test_a_profile_that_includes_no_additions_gets_them_included(host):
    host.profile.write_text(OF_DEBIAN_12)
    assert host.play()["written"] == [str(host.local), str(host.profile)]
    lines = host.profile.read_text().splitlines()
    at = lines.index("profile kea-dhcp4 /usr/sbin/kea-dhcp4 {")
    assert lines[at + 1] == "  include if exists <local/usr.sbin.kea-dhcp4>"
    assert not host.play()["changed"]


def test_what_a_site_added_stays_and_old_rules_of_ours_go(host):
    host.local.parent.mkdir()
    host.local.write_text("/srv/site/** r,\n" + BLOCK.replace("rwk", "r") + "/srv/more r,")
    host.play()
    assert host.local.read_text() == f"/srv/site/** r,\n{BLOCK}/srv/more r,"
    assert not host.play()["changed"]


def test_two_profiles_may_include_the_same_additions(host):
    """They are where a profile includes them from."""
    host.profile.write_text(STOCK + "  include if exists <local/kea>\n}\n")
    host.play()
    additions = host.local.with_name("kea")
    assert additions.read_text() == BLOCK
    assert not host.local.exists()
    other = host.profile.with_name("usr.sbin.kea-lfc")
    other.write_text(host.profile.read_text().replace("kea-dhcp4", "kea-lfc"))
    programs = {PROGRAM: RULES, "/usr/sbin/kea-lfc": RULES}
    host.play(programs)
    assert additions.read_text() == BLOCK + BLOCK.replace("kea-dhcp4", "kea-lfc")
    assert host.play(programs)["written"] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("/usr/sbin/mysqld {\n}\n", "/usr/sbin/mysqld"),
        ("profile mysqld /usr/{bin,sbin}/mysqld flags=(complain) {\n}\n", "mysqld"),
        ('# /usr/sbin/mysqld {\nprofile "mysqld" /usr/sbin/mysqld {\n}\n', "mysqld"),
    ],
)
def test_a_profile_is_known_by_either_form_of_its_first_line(host, text, name):
    (host.profile.parent / "mysqld").write_text(text)
    (profile,) = host.play({"/usr/sbin/mysqld": RULES})["profiles"]
    assert profile["name"] == name


@pytest.mark.parametrize("text", [None, "# This file is intentionally empty.\n"])
def test_a_program_without_a_profile_is_left_alone(host, text):
    host.profile.unlink() if text is None else host.profile.write_text(text)
    assert host.play() == {"changed": False, "profiles": [], "written": []}
    assert not host.local.exists()


@pytest.mark.parametrize("off", ["kernel", "profile"])
def test_what_is_off_stays_so(host, off):
    disabled = host.profile.parent / "disable" / host.profile.name
    disabled.parent.mkdir()
    if off == "kernel":
        (host.folder / "enabled").write_text("N\n")
    else:
        disabled.symlink_to(host.profile)
    host.play()
    assert not (host.folder / "log").exists()


@pytest.mark.parametrize(
    ("in_force", "failed"),
    [("kea-dhcp4 (enforce)\n", True), ("chronyd (enforce)\n", False), (None, False)],
)
def test_a_missing_parser_is_reported_where_a_profile_is_in_force(host, in_force, failed):
    """A container sees that its machine's kernel has AppArmor, and no profiles."""
    (host.folder / "bin" / "apparmor_parser").unlink()
    (host.folder / "profiles").unlink()
    if in_force:
        (host.folder / "profiles").write_text(in_force)
    said = host.play()
    assert said.get("failed", False) is failed
    assert host.local.read_text() == BLOCK
    if failed:
        assert "wanted that of package apparmor" in said["msg"]
    else:
        assert said["profiles"][0]["label"] == ""


def test_a_profile_that_does_not_load_is_reported_in_the_parsers_words(host):
    (host.folder / "refuse").touch()
    said = host.play()
    assert said["failed"]
    assert "syntax error in line 3" in said["msg"]


def test_in_check_mode_nothing_is_touched(host):
    host.profile.write_text(OF_DEBIAN_12)
    assert host.play(check_mode=True)["changed"]
    assert host.profile.read_text() == OF_DEBIAN_12
    assert not host.local.exists()
    assert not (host.folder / "log").exists()
