"""What roles kea and perfdhcp ask of each supported release, and of ISC's own packages."""

import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml
from msgspec import to_builtins
from msgspec.structs import replace
from tests.plays import play_here
from tests.tools import AS_ROOT, run, unpacked_root

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.releases import numbers, reaches, releases_of

ROOT = Path(__file__).parents[2]
RELEASES = {
    "debian-12": ("Debian", "12", "12.12", "bookworm"),
    "debian-13": ("Debian", "13", "13.4", "trixie"),
    "debian-14": ("Debian", "14", "14.0", "forky"),
    "ubuntu-24.04": ("Ubuntu", "24", "24.04", "noble"),
}
ISC = {"kea_packages": "isc", "perfdhcp_packages": "isc"}
CASES = {
    **{name: (name, {}) for name in RELEASES},
    "database": ("debian-13", {"kea_backend": "mysql", "kea_version": ""}),
    "isc": ("ubuntu-24.04", {**ISC, "kea_family": 6}),
    "isc-mysql": ("debian-12", {**ISC, "kea_backend": "mysql"}),
    "isc-postgresql": ("debian-12", {**ISC, "kea_backend": "postgresql", "kea_version": ""}),
    "isc-2.6": ("debian-12", {**ISC, "kea_backend": "mysql", "kea_version": "2.6.4"}),
}
NAMES = (
    "kea_version",
    "kea_package_names",
    "kea_package_pin",
    "kea_service",
    "kea_agent_service",
    "kea_isc_suite",
    "perfdhcp_version",
    "perfdhcp_package_names",
    "perfdhcp_package_pin",
)


def _facts(release):
    distribution, major, version, code_name = RELEASES[release]
    return {
        "architecture": "x86_64",
        "distribution": distribution,
        "distribution_major_version": major,
        "distribution_release": code_name,
        "distribution_version": version,
    }


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The roles' variables by case, as Ansible works them out; all in one playbook."""
    folder = tmp_path_factory.mktemp("releases")
    roles = ("kea", "perfdhcp", "server")
    values = {name: f"{{{{ {name} }}}}" for name in NAMES}
    play_here(
        folder,
        vars={"playbook_dir": str(ROOT / "ansible")},
        vars_files=[
            str(ROOT / f"roles/{role}/{part}/main.yml")
            for role in roles
            for part in ("defaults", "vars")
        ],
        tasks=[
            {
                "name": f"Write what is asked in case {case}",
                "keep": {
                    "content": "{{ asked | to_json }}",
                    "dest": str(folder / f"{case}.json"),
                },
                "vars": {"asked": values, "ansible_facts": _facts(release), **variables},
            }
            for case, (release, variables) in CASES.items()
        ],
    )
    return cache(lambda case: json.loads((folder / f"{case}.json").read_text("utf-8")))


@pytest.mark.parametrize(
    ("release", "version"),
    [("debian-12", "2.2"), ("debian-13", "2.6"), ("ubuntu-24.04", "2.4")],
)
def test_the_version_wanted_is_the_releases_own(asked, release, version):
    answers = asked(release)
    assert (answers["kea_version"], answers["perfdhcp_version"]) == (version, version)
    assert answers["kea_package_names"] == ["kea-dhcp4-server", "kea-common"]
    assert (answers["kea_service"], answers["kea_agent_service"]) == (
        "kea-dhcp4-server",
        "kea-ctrl-agent",
    )
    assert (answers["perfdhcp_package_names"], answers["kea_package_pin"]) == (
        ["kea-admin"],
        "",
    )


def test_of_another_release_none_is_known(asked):
    answers = asked("debian-14")
    assert (answers["kea_version"], answers["perfdhcp_version"]) == ("unknown", "unknown")


def test_a_version_may_be_left_open_and_a_database_has_its_tool(asked):
    assert asked("database")["kea_package_names"] == [
        "kea-dhcp4-server",
        "kea-common",
        "kea-admin",
    ]


def test_iscs_packages_have_other_names_and_are_pinned(asked):
    answers = asked("isc")
    assert answers["kea_package_names"] == ["isc-kea-dhcp6", "isc-kea-common", "isc-kea-hooks"]
    assert (answers["kea_version"], answers["kea_package_pin"]) == ("3.0", "=3.0*")
    assert (answers["kea_service"], answers["kea_agent_service"]) == (
        "isc-kea-dhcp6-server",
        "isc-kea-ctrl-agent",
    )
    assert answers["perfdhcp_package_names"] == ["isc-kea-perfdhcp", "isc-kea-common"]
    assert answers["perfdhcp_package_pin"] == "=3.0*"
    assert answers["kea_isc_suite"] == "noble"


@pytest.mark.parametrize(
    ("case", "packages", "pin"),
    [
        ("isc-mysql", ["isc-kea-admin", "isc-kea-mysql"], "=3.0*"),
        ("isc-postgresql", ["isc-kea-admin", "isc-kea-pgsql"], ""),
        ("isc-2.6", ["isc-kea-admin"], "=2.6.4*"),
    ],
)
def test_iscs_databases_are_packages_of_their_own_since_2_7(asked, case, packages, pin):
    answers = asked(case)
    assert answers["kea_package_names"][3:] == packages
    assert answers["kea_package_pin"] == pin


def test_the_check_judges_by_the_tables_of_the_roles(tmp_path):
    """And by what the inventory says instead."""
    play_here(
        tmp_path,
        vars={"ansible_python_interpreter": sys.executable},
        tasks=[
            {
                "ansible.builtin.add_host": {
                    "name": "localhost",
                    "groups": ["dhcp_generator"],
                    "kea_version": "2.9",
                }
            },
            {"ansible.builtin.import_role": {"name": "lab_check"}},
            {
                "keep": {
                    "content": "{{ lab_check_wanted.packages | to_json }}",
                    "dest": str(tmp_path / "wanted.json"),
                }
            },
        ],
    )
    wanted = json.loads((tmp_path / "wanted.json").read_text(encoding="utf-8"))
    assert {name: item["version"] for name, item in wanted.items()} == {
        "dnsperf": None,
        "kea": "2.9",
        "perfdhcp": None,
    }
    for role, row in wanted.items():
        path = ROOT / f"roles/{role}/defaults/main.yml"
        table = yaml.safe_load(path.read_text(encoding="utf-8"))[f"{role}_versions"]
        assert row["versions"] == table


BIND = """options {{ {0} x; }}; server 192.0.2.1 {{ {0} x; }}; {0} x;
zone a {{ type primary; file "a"; {0} x; }};
"""
SERVERS = {
    "bind9": (["bind9", "bind9-utils"], ["named-checkconf"], BIND, "unknown option"),
    "dnsmasq": (["dnsmasq-base"], ["dnsmasq", "--test", "-C"], "{0}\n", "bad option"),
    "isc_dhcpd": (
        ["isc-dhcp-server"],
        ["dhcpd", "-t", "-cf"],
        "option {0} 1;\n",
        "unknown option",
    ),
}
"""By role: packages, the check of a file, what a file with a word is, and the word for none."""


@pytest.mark.parametrize(
    ("role", "suite"),
    [
        ("bind9", "bullseye"),
        ("bind9", "bookworm"),
        ("bind9", "trixie"),
        ("dnsmasq", "bookworm"),
        ("dnsmasq", "trixie"),
        ("isc_dhcpd", "bullseye"),
        ("isc_dhcpd", "trixie"),
    ],
)
def test_a_server_knows_the_words_that_its_role_says_it_has(role, suite):
    packages, check, text, unknown = SERVERS[role]
    root, declared = unpacked_root(suite, *packages), releases_of(role)
    _, said = run(*AS_ROOT, "chroot", root, check[0], {"bind9": "-v"}.get(role, "--version"))
    release = numbers(re.search(r"\d+(\.\d+)+", said)[0])
    assert declared.suites.get(suite, said) in said
    wrong = []
    for since, words in declared.since.items():
        for word in words:
            run(*AS_ROOT, "tee", root / "word", input=text.format(word))
            _, said = run(*AS_ROOT, "chroot", root, *check, "/word")
            if (said.count(unknown) < text.count("{0}")) != reaches(release, since):
                wrong.append((word, since, said))
    assert not wrong


@pytest.mark.parametrize(("since", "is_taken"), [("1.0", True), ("99.0", False)])
def test_what_apt_has_for_a_host_is_refused_before_the_host_is_changed(
    tmp_path, since, is_taken
):
    scenario = Catalogue(ROOT).find("v4-dnsmasq")
    asked = replace(scenario.server, options={**scenario.server.options, "since": since})
    given = to_builtins(replace(scenario, server=asked))
    tasks = [{"ansible.builtin.import_tasks": str(ROOT / "ansible/tasks/check_release.yml")}]
    if is_taken:
        play_here(tmp_path, tasks, vars={"leaselab_scenario": given})
    else:
        with pytest.raises(AssertionError, match=f"wanted {since} or newer"):
            play_here(tmp_path, tasks, vars={"leaselab_scenario": given})
