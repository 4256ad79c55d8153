"""Releases that do not take a user's own file: refused as soon as the release is known."""

import re
import tarfile

import pytest
from tests.examples import built, example_result
from tests.inventories import local_lab
from tests.own import add_scenario, catalogue_in, read_served
from tests.refusals import refusals_of

from leaselab.catalog.releases import bounds, of_apt
from leaselab.run.task import Task
from leaselab.run.workplace import Workplace

KEA = (
    '{"Dhcp4": {%s "subnet4": [{"id": 1, "subnet": "10.0.0.0/24", '
    '"pools": [{"pool": "10.0.0.0/25"}]}]}}'
)
ZONE = 'options { %s };\nzone "example.net" { type primary; file "db.net"; };\n'
DHCPD = "subnet 10.0.0.0 netmask 255.255.255.0 { range 10.0.0.10 10.0.0.20; }\n%s"
FILES = {
    "kea-class": (
        "kea-dhcp4.conf",
        KEA % '"client-classes": [{"name": "a", "only-in-additional-list": true}],',
    ),
    "kea-mode": ("kea-dhcp4.conf", KEA % '"reservation-mode": "off",'),
    "dnsmasq": ("dnsmasq.conf", "no-round-robin\ndhcp-range=10.0.0.10,10.0.0.20\n"),
    "dnsmasq-pxe": (
        "dnsmasq.conf",
        "no-round-robin\ndhcp-option-pxe=3\ndhcp-range=10.0.0.10,10.0.0.20\n",
    ),
    "named": ("named.conf", ZONE % "tcp-receive-buffer 4096;"),
    "named-branches": ("named.conf", ZONE % "tcp-receive-buffer 4096; max-query-count 50;"),
    "dhcpd": ("dhcpd.conf", DHCPD % "option v6-only-preferred 300;"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """By the name of a file: its scenario, and which releases are said to take it."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "db.net").write_text("@ 1 SOA a b 1 1 1 1 1\n@ 1 NS a.org.\n", encoding="utf-8")
    catalogue, read = catalogue_in(folder), {}
    for name, (file, text) in FILES.items():
        (folder / file).write_text(text, encoding="utf-8")
        own = read_served(folder / file)
        read[name] = add_scenario(own, folder / file, catalogue), own.releases
    return read


def commit_of(described):
    return built(example_result(), "c" * 40, described=described).server.build.source


MESON = "project(\n    'kea',\n    'cpp',\n    version: '%s',\n)\n"
OF_BIND = "project(\n 'bind',\n ['c'],\n version: '%s',\n"
AUTOTOOLS = "AC_INIT([kea], [%s], [mail])\n"
MAJOR = "".join(
    f"m4_define([bind_VERSION_{part}], %s)dnl\n"
    for part in ("MAJOR", "MINOR", "PATCH", "EXTRA")
)
TAGS = {
    "kea-class": ("Kea-2.6.3", "Kea-2.7.4 Kea-2.7.3-12-gabc1234 abc1234"),
    "kea-mode": ("Kea-2.6.0 Kea-3.0.0-4-gabc1234", "Kea-2.4.1"),
    "dnsmasq": ("v2.87 v2.87-dirty", "v2.87-12-gabc1234 v2.88"),
    "dnsmasq-pxe": ("v2.90", ""),
    "named": ("v9.16.50", "v9.18.0"),
    "named-branches": ("v9.18.32 v9.20.4 v9.19.24", "v9.18.33 v9.22.0"),
}
SUITES = {
    "kea-class": ("bookworm trixie", ""),
    "kea-mode": ("trixie", "bookworm unheard-of"),
    "dnsmasq-pxe": ("bookworm", "trixie"),
    "named": ("bullseye", ""),
    "named-branches": ("", "bookworm trixie"),
    "dhcpd": ("bullseye", "bookworm"),
}
"""Tags of commits, and suites of packages, that do not take a file, and that do."""


def each(of):
    """A row for each that does not take a file, and that does."""
    return [
        (name, release, is_taken)
        for name, both in of.items()
        for is_taken, every in enumerate(both)
        for release in every.split()
    ]


@pytest.mark.parametrize(("name", "described", "is_taken"), each(TAGS))
def test_a_commit_of_a_release_without_it_is_refused_by_its_tag(
    made, name, described, is_taken
):
    scenario, _ = made[name]
    if is_taken:
        assert Task(scenario, commit_of(described))
    else:
        refusal = refusals_of(Task)(scenario, commit_of(described))
        assert "does not take the configuration" in refusal


def workplace_of(folder, **files):
    """A place of work with the local lab, that has the files of a commit."""
    tar = folder / "files.tar"
    with tarfile.open(tar, "w") as archive:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            archive.add(folder / name, name.replace("_", "."))
    return Workplace(None, local_lab(), None, {}, {commit_of("abc1234").tree: tar})


@pytest.mark.parametrize(
    ("name", "files", "is_taken"),
    [
        ("kea-class", {"meson_build": MESON % "2.7.3"}, False),
        ("kea-class", {"meson_build": MESON % "2.7.4-git"}, True),
        ("kea-class", {"configure_ac": AUTOTOOLS % "2.6.5-git"}, False),
        ("kea-class", {"README": "Kea 2.6.3"}, True),
        ("kea-mode", {"configure_ac": AUTOTOOLS % "2.6.0"}, False),
        ("kea-mode", {"configure_ac": AUTOTOOLS % "2.6.0-git"}, True),
        ("dnsmasq", {"CHANGELOG": "version 2.87\n\tversion 2.99\nversion 2.86\n"}, False),
        ("dnsmasq", {"CHANGELOG": "version 2.88\nversion 2.87\n"}, True),
        ("named-branches", {"configure_ac": MAJOR % (9, 18, 32, "")}, False),
        ("named-branches", {"configure_ac": MAJOR % (9, 18, 33, "-dev")}, True),
        ("named-branches", {"meson_build": OF_BIND % "9.21.3"}, False),
        ("named-branches", {"meson_build": OF_BIND % "9.21.4-dev"}, True),
    ],
)
def test_a_commit_is_refused_by_the_release_that_its_files_name(
    made, tmp_path, name, files, is_taken
):
    scenario, _ = made[name]
    task, place = Task(scenario, commit_of("abc1234")), workplace_of(tmp_path, **files)
    if is_taken:
        place.check_release(task)
        return
    for check in (place.check_release, place.artifact):
        assert "does not take the configuration" in refusals_of(check)(task)


@pytest.mark.parametrize(("name", "suite", "is_taken"), each(SUITES))
def test_the_package_of_a_suite_is_refused_before_its_host_is_made(
    made, tmp_path, name, suite, is_taken
):
    check = workplace_of(tmp_path).check_release
    # That of the local lab, where none is asked for, is trixie.
    for asked in [suite, ""] if suite == "trixie" else [suite]:
        task = Task(made[name][0], distribution=asked)
        if is_taken:
            check(task)
        else:
            assert suite in refusals_of(check)(task)


def test_which_releases_take_a_file_is_said_with_what_needs_them(made):
    said = {name: re.sub(r"\(\S*/", "(", releases[0]) for name, (_, releases) in made.items()}
    assert said == {
        "kea-class": "Kea 2.7.4 or newer: only-in-additional-list (kea-dhcp4.conf:1:72)",
        "kea-mode": "Kea before 2.6: reservation-mode (kea-dhcp4.conf:1:32)",
        "dnsmasq": "dnsmasq 2.88 or newer: no-round-robin (dnsmasq.conf:1)",
        "dnsmasq-pxe": "dnsmasq 2.91 or newer: dhcp-option-pxe (dnsmasq.conf:2)",
        "named": "BIND 9.17.14 or newer: tcp-receive-buffer (named.conf:1)",
        "named-branches": "BIND 9.18.33, 9.20.5, 9.21.4 or newer: "
        "max-query-count (named.conf:1)",
        "dhcpd": "ISC dhcpd 4.4.3 or newer: v6-only-preferred (dhcpd.conf:2)",
    }


def test_what_two_words_need_is_what_both_have():
    needs = [("9.19.21", "", "a"), ("9.18.29 9.20.1", "", "b"), ("9.17.9", "9.21.2", "c")]
    assert bounds("bind9", needs)[1] == {"since": "9.20.1", "until": "9.21.2"}


@pytest.mark.parametrize(
    ("installed", "candidate", "newest"),
    [
        ("1:9.18.49-1~deb12u1", "1:9.20.0-1", (9, 18, 49)),
        ("(none)", "2.91-1+deb13u2", (2, 91)),
        ("(none)", "(none)", None),
    ],
)
def test_a_host_has_what_is_installed_or_else_what_apt_would_install(
    installed, candidate, newest
):
    said = f"bind9:\n  Installed: {installed}\n  Candidate: {candidate}\n  Version table:\n"
    release = of_apt(said)
    assert (release and release.newest) == newest
