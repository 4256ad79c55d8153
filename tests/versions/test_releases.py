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
    "isc": ("ubuntu-24.04", {**ISC, "server_family": 6}),
    "isc-mysql": ("debian-12", {**ISC, "kea_backend": "mysql"}),
    "isc-postgresql": ("debian-12", {**ISC, "kea_backend": "postgresql", "kea_version": ""}),
    "isc-2.6": ("debian-12", {**ISC, "kea_backend": "mysql", "kea_version": "2.6.4"}),
}


def _of_kea(names, version, perfdhcp, **others):
    """What is asked of Kea in a case, and of perfdhcp."""
    return {"kea_package_names": names, "kea_version": version, **perfdhcp, **others}


def _perfdhcp(version, *names, pin=""):
    return {
        "perfdhcp_version": version,
        "perfdhcp_package_names": [*names],
        "perfdhcp_package_pin": pin,
    }


DEBIANS = ["kea-dhcp4-server", "kea-common"]
ISCS = ["isc-kea-dhcp4", "isc-kea-common", "isc-kea-hooks"]
OF_DEBIAN = {
    "kea_service": DEBIANS[0],
    "kea_agent_service": "kea-ctrl-agent",
    "kea_package_pin": "",
}
OF_ISC = _perfdhcp("3.0", "isc-kea-perfdhcp", "isc-kea-common", pin="=3.0*")
WANTED = {
    "debian-12": _of_kea(DEBIANS, "2.2", _perfdhcp("2.2", "kea-admin"), **OF_DEBIAN),
    "debian-13": _of_kea(DEBIANS, "2.6", _perfdhcp("2.6", "kea-admin"), **OF_DEBIAN),
    "ubuntu-24.04": _of_kea(DEBIANS, "2.4", _perfdhcp("2.4", "kea-admin"), **OF_DEBIAN),
    "debian-14": {"kea_version": "unknown", "perfdhcp_version": "unknown"},
    "database": {"kea_package_names": [*DEBIANS, "kea-admin"]},
    "isc": _of_kea(
        ["isc-kea-dhcp6", *ISCS[1:]],
        "3.0",
        OF_ISC,
        kea_package_pin="=3.0*",
        kea_service="isc-kea-dhcp6-server",
        kea_agent_service="isc-kea-ctrl-agent",
        kea_isc_suite="noble",
    ),
    "isc-mysql": {
        "kea_package_names": [*ISCS, "isc-kea-admin", "isc-kea-mysql"],
        "kea_package_pin": "=3.0*",
    },
    "isc-postgresql": {
        "kea_package_names": [*ISCS, "isc-kea-admin", "isc-kea-pgsql"],
        "kea_package_pin": "",
    },
    "isc-2.6": {"kea_package_names": [*ISCS, "isc-kea-admin"], "kea_package_pin": "=2.6.4*"},
}
"""By case; ISC's databases are packages of their own since 2.7."""


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
    names = {name for wanted in WANTED.values() for name in wanted}
    values = {name: f"{{{{ {name} }}}}" for name in sorted(names)}
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


@pytest.mark.parametrize("case", CASES)
def test_the_packages_of_a_release_are_asked_for_by_name_and_version(asked, case):
    assert asked(case).items() >= WANTED[case].items()


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
        *(("bind9", suite) for suite in ("bullseye", "bookworm", "trixie")),
        *(("dnsmasq", suite) for suite in ("bookworm", "trixie")),
        *(("isc_dhcpd", suite) for suite in ("bullseye", "trixie")),
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
