"""The first service to start restores what a boot empties: every folder below /run."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.plays import play_here

ROOT = Path(__file__).parents[2]
ROLES = ("database", "mysql", "postgresql", "server", "kea", "dnsmasq", "isc_dhcpd", "powerdns")
FACTS = {
    "architecture": "x86_64",
    "distribution": "Debian",
    "distribution_major_version": "13",
    "distribution_release": "trixie",
    "distribution_version": "13.4",
}
GIVEN = {
    "ansible_facts": FACTS,
    "playbook_dir": str(ROOT / "ansible"),
    "kea_known_words": [],
    "server_variant": "v4-memfile",
    "dns_data_zones": {"folder": "/zones", "zones": 1, "records": 4, "sha256": "abc"},
    "database_variant": "v4-mysql",
    "mysql_variant": "v4-mysql",
    "postgresql_variant": "v4-postgresql",
    "mysql_program": {"stdout": "/usr/sbin/mariadbd"},
    "postgresql_programs": {"files": [{"path": "/usr/lib/postgresql/17/bin/postgres"}]},
}


def contract_variables(role):
    """What the role of a database passes to role database for its contract."""
    tasks = yaml.safe_load((ROOT / f"roles/{role}/tasks/main.yml").read_text("utf-8"))
    (included,) = [
        task
        for task in tasks
        if task.get("ansible.builtin.include_role", {}).get("name") == "database"
    ]
    return included["vars"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """The settings of the contracts, as Ansible works them out."""
    kept = tmp_path_factory.mktemp("settings")
    cases = {
        "mysql": ("{{ database_settings }}", contract_variables("mysql")),
        "postgresql": ("{{ database_settings }}", contract_variables("postgresql")),
        **{
            f"kea-{backend}": (
                "{{ kea_contract_settings }}",
                {"kea_backend": backend, "kea_database_hook": {"stat": {"exists": True}}},
            )
            for backend in ("memfile", "mysql", "postgresql")
        },
        "dnsmasq": ("{{ dnsmasq_contract_settings }}", {}),
        "isc_dhcpd": ("{{ isc_dhcpd_contract_settings }}", {}),
        **{
            f"powerdns-{backend}": (
                "{{ powerdns_contract_settings }}",
                {"server_kind": "powerdns", "powerdns_backend": backend},
            )
            for backend in ("lmdb", "postgresql")
        },
    }
    play_here(
        kept,
        vars=GIVEN,
        vars_files=[
            str(ROOT / f"roles/{role}/{part}/main.yml")
            for role in ROLES
            for part in ("defaults", "vars")
        ],
        tasks=[
            {
                "keep": {
                    "content": "{{ asked | to_json }}",
                    "dest": str(kept / f"{case}.json"),
                },
                "vars": {"asked": asked, **variables},
            }
            for case, (asked, variables) in cases.items()
        ],
    )
    return {case: json.loads((kept / f"{case}.json").read_text("utf-8")) for case in cases}


def below_run(setting):
    return set(re.findall(r"/run/[\w-]+", json.dumps(setting)))


def had(*processes):
    """What processes have made before they start."""
    return {
        path: folder.get("user")
        for process in processes
        for path, folder in process["folders"].items()
    }


@pytest.mark.parametrize(
    ("database", "sockets", "user"),
    [("mysql", "/run/mysqld", "mysql"), ("postgresql", "/run/leaselab-postgresql", "postgres")],
)
def test_a_database_has_its_own_and_what_kea_keeps_beside_it(settings, database, sockets, user):
    """Kea's SQL for emptying tables is written at each start, once the database runs."""
    folders = had(settings[database]["process"])
    assert folders == {"/run/leaselab": None, sockets: user}
    assert below_run(settings[database]) <= set(folders)
    kea = settings[f"kea-{database}"]
    assert str(Path(kea["database"]["empty_file"]).parent) in folders
    assert below_run(kea["database"]) <= set(folders)


def test_powerdns_has_its_own_and_that_of_the_database_beside_it(settings):
    first, database = settings["powerdns-postgresql"], settings["postgresql"]
    assert below_run(first) <= set(had(first["process"], database["process"]))


def test_a_server_has_its_own(settings):
    for case in ("kea-memfile", "dnsmasq", "isc_dhcpd", "powerdns-lmdb"):
        item = settings[case]
        processes = [item["process"], *([item["bus"]["process"]] if "bus" in item else [])]
        assert below_run(item), case
        assert below_run(item) <= set(had(*processes)), case
