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
    """A host whose kernel has AppArmor and whose parser loads kea-dhcp4."""
    profiles = tmp_path / "apparmor.d"
    profiles.mkdir()
    (tmp_path / "enabled").write_text("Y\n")
    (tmp_path / "profiles").write_text("chronyd (enforce)\n")
    parser = tmp_path / "bin" / "apparmor_parser"
    parser.parent.mkdir()
    parser.write_text(PARSER.format(log=tmp_path / "log", folder=tmp_path))
    parser.chmod(0o755)
    monkeypatch.setattr(MODULE, "PROFILES", profiles)
    monkeypatch.setattr(MODULE, "SWITCH", tmp_path / "enabled")
    monkeypatch.setattr(MODULE, "LOADED", tmp_path / "profiles")
    monkeypatch.setattr(MODULE, "PARSER_PATH", str(parser.parent))

    def play(programs=None, **how):
        return ended(MODULE, programs=programs or {PROGRAM: RULES}, **how)

    return SimpleNamespace(
        folder=tmp_path,
        profile=profiles / "usr.sbin.kea-dhcp4",
        local=profiles / "local" / "usr.sbin.kea-dhcp4",
        loads=lambda: (tmp_path / "log").read_text().splitlines(),
        play=play,
    )


def test_rules_are_added_loaded_and_added_once(host):
    host.profile.write_text(OF_DEBIAN_13)
    first = host.play()
    assert host.local.read_text() == BLOCK
    assert host.profile.read_text() == OF_DEBIAN_13
    assert first["changed"]
    assert first["profiles"] == [
        {
            "program": PROGRAM,
            "name": "kea-dhcp4",
            "file": str(host.profile),
            "label": "kea-dhcp4 (enforce)",
        }
    ]
    again = host.play()
    assert not again["changed"]
    assert again["written"] == []
    assert host.loads() == [f"--replace --write-cache {host.profile}"] * 2


def test_a_profile_that_includes_no_additions_gets_them_included(host):
    host.profile.write_text(OF_DEBIAN_12)
    assert host.play()["written"] == [str(host.local), str(host.profile)]
    lines = host.profile.read_text().splitlines()
    at = lines.index("profile kea-dhcp4 /usr/sbin/kea-dhcp4 {")
    assert lines[at + 1] == "  include if exists <local/usr.sbin.kea-dhcp4>"
    assert not host.play()["changed"]


def test_what_a_site_added_stays_and_old_rules_of_ours_go(host):
    host.profile.write_text(OF_DEBIAN_13)
    host.local.parent.mkdir()
    host.local.write_text("/srv/site/** r,\n" + BLOCK.replace("rwk", "r") + "/srv/more r,")
    host.play()
    assert host.local.read_text() == f"/srv/site/** r,\n{BLOCK}/srv/more r,"
    assert not host.play()["changed"]


def test_additions_go_where_the_profile_includes_them_from(host):
    host.profile.write_text(STOCK + "  include if exists <local/kea>\n}\n")
    host.play()
    assert (host.local.parent / "kea").read_text() == BLOCK
    assert not host.local.exists()


def test_two_profiles_may_include_the_same_additions(host):
    host.profile.write_text(STOCK + "  include if exists <local/kea>\n}\n")
    other = host.profile.with_name("usr.sbin.kea-lfc")
    other.write_text(host.profile.read_text().replace("kea-dhcp4", "kea-lfc"))
    programs = {PROGRAM: RULES, "/usr/sbin/kea-lfc": RULES}
    host.play(programs)
    assert (host.local.parent / "kea").read_text() == BLOCK + BLOCK.replace(
        "kea-dhcp4", "kea-lfc"
    )
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
    if text is not None:
        host.profile.write_text(text)
    said = host.play()
    assert said == {"changed": False, "profiles": [], "written": []}
    assert not host.local.exists()


def test_a_container_writes_what_would_hold_and_loads_nothing(host):
    """It sees that its machine's kernel has AppArmor, and neither parser nor profiles."""
    host.profile.write_text(OF_DEBIAN_13)
    (host.folder / "profiles").unlink()
    (host.folder / "bin" / "apparmor_parser").unlink()
    said = host.play()
    assert host.local.read_text() == BLOCK
    assert said["profiles"][0]["label"] == ""


@pytest.mark.parametrize("off", ["kernel", "profile"])
def test_what_is_off_stays_so(host, off):
    host.profile.write_text(OF_DEBIAN_13)
    if off == "kernel":
        (host.folder / "enabled").write_text("N\n")
    else:
        (host.profile.parent / "disable").mkdir()
        (host.profile.parent / "disable" / host.profile.name).symlink_to(host.profile)
    host.play()
    assert not (host.folder / "log").exists()


@pytest.mark.parametrize(
    ("in_force", "failed"), [("kea-dhcp4 (enforce)\n", True), ("chronyd (enforce)\n", False)]
)
def test_a_missing_parser_is_reported_where_a_profile_is_in_force(host, in_force, failed):
    host.profile.write_text(OF_DEBIAN_13)
    (host.folder / "profiles").write_text(in_force)
    (host.folder / "bin" / "apparmor_parser").unlink()
    said = host.play()
    assert said.get("failed", False) is failed
    assert not failed or "wanted that of package apparmor" in said["msg"]


def test_a_profile_that_does_not_load_is_reported_in_the_parsers_words(host):
    host.profile.write_text(OF_DEBIAN_13)
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
