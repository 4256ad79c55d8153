"""What playbooks hand the roles of a scenario: each option that its server's role declares."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.plays import play_here

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.roles import options_of

ROOT = Path(__file__).parents[2]
SCENARIOS = Catalogue(ROOT).scenarios
PEERS = [
    {"name": "server1", "address": "198.18.0.10"},
    {"name": "server2", "address": "198.18.0.20"},
    {"name": "server3", "address": "198.18.0.40"},
]
PLACES = {
    1: {"test_address": "198.18.0.10", "test_address6": "2001:2:0:1::10"},
    2: {"test_address": "198.18.0.11", "test_address6": "2001:2:0:1::11"},
}
BUILT = {"v4-dnsmasq-file": {"key": "0a1b2c3d4e5f"}}
AT_TWO = "v6-memfile"
VARIANTS = {"v6-memfile": "v6-memfile-at2", "v4-dnsmasq-file": "v4-dnsmasq-file.0a1b2c3d4e"}
PLAYED = (
    *("v4-memfile-mt-hs", "v6-memfile", "v4-mysql-shared", "v4-mysql-shared-3"),
    "v4-mysql-durable",
    *("v4-dnsmasq-file", "v4-mysql-apart", "v4-mysql-cluster", "unbound-fresh-https"),
    "v6-mysql-shared",
)
SUPPORTING = ("v4-mysql-cluster", "unbound-fresh-https")
"""The scenarios of which this is the partner's host, with a supporting service."""
BORROWING = "v6-mysql-shared"
"""The same of a pair."""
LENDING = (*SUPPORTING, "v4-mysql-shared", "v4-mysql-shared-3")

OF_THE_WAY = ("mysql_support_address",)
"""What only the host of the server that asks has: here it is of the scenario before."""


def support_of(name):
    """The service on the other host that a scenario's server on this host uses."""
    support = SCENARIOS[name].support
    if name == BORROWING:
        return {"kind": "mysql", "options": {}}
    if support is None or name in SUPPORTING:
        return {}
    return {"kind": support.kind, "options": support.options}


def peers(name):
    """The servers of its pair."""
    scenario = SCENARIOS[name]
    return PEERS[: scenario.partners + 1] if scenario.partner else []


def others(name):
    """The other hosts that serve."""
    if name in (*SUPPORTING, BORROWING):
        return ["server"]
    return ["partner", "partner2"][: SCENARIOS[name].partners]


def serving(name):
    """What a scenario has on this host."""
    scenario = SCENARIOS[name]
    return scenario.support if name in SUPPORTING else scenario.server


@pytest.fixture(scope="module")
def handed(tmp_path_factory):
    """The roles' variables by scenario: one after the other, on one host."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "roles").symlink_to(ROOT / "roles")
    (folder / "ansible").mkdir()
    tasks = [
        {
            "ansible.builtin.add_host": {
                "name": name,
                "groups": [f"dhcp_{name.removesuffix('2')}"],
                "leaselab_test_address": f"198.18.0.{last}",
                "leaselab_test_address6": f"2001:2:0:1::{last}",
            }
        }
        for name, last in (
            ("server", 10),
            ("partner", 20),
            ("partner2", 40),
            ("generator", 30),
        )
    ]
    for name in PLAYED:
        scenario = SCENARIOS[name]
        given = {
            "leaselab_scenario": msgspec.to_builtins(scenario),
            "leaselab_serves": msgspec.to_builtins(serving(name)),
            "leaselab_supporting": name in SUPPORTING,
            "leaselab_beside": {} if name == BORROWING else scenario.beside,
            "leaselab_support": support_of(name),
            "leaselab_lends": name in LENDING,
            "leaselab_others": others(name),
            "leaselab_relays": ["198.18.0.30"],
            "leaselab_peers": peers(name),
            "leaselab_built": BUILT.get(name, {}),
            "leaselab_places": [2] if name == AT_TWO else [1],
            "leaselab_variant": "{{ leaselab_variants[0] }}",
        }
        tasks += [
            *(
                {
                    "ansible.builtin.include_tasks": str(ROOT / f"ansible/tasks/{of}.yml"),
                    "vars": given,
                }
                for of in ("places", "role_variables")
            ),
            # The role's own check of its options, by what it was handed.
            {
                "ansible.builtin.include_role": {
                    "name": serving(name).kind,
                    "tasks_from": "scenario",
                }
            },
            {
                "keep": {
                    "content": "{{ dict(names | zip(values)) | to_json }}",
                    "dest": str(folder / f"{name}.json"),
                },
                "vars": {
                    "names": "{{ query('ansible.builtin.varnames', pattern) }}",
                    "pattern": "^(kea|dnsmasq|mysql|nsd)_",
                    "values": "{{ names | map('extract', hostvars[inventory_hostname]) }}",
                },
            },
        ]
    place = {
        "lab_host_test_interface": "eth1",
        "lab_host_test_interface_2": "leaselab2",
        **{
            f"leaselab_{name}{'_2' if number == 2 else ''}": address
            for number, addresses in PLACES.items()
            for name, address in addresses.items()
        },
    }
    play_here(folder / "ansible", tasks, vars=place)
    return {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in PLAYED}


@pytest.mark.parametrize("name", PLAYED)
def test_a_role_gets_every_option_of_its_server_and_its_load(handed, name):
    """Whatever another scenario set before: nothing of it stays behind."""
    scenario, kind = SCENARIOS[name], serving(name).kind
    declared = options_of(kind, "main")
    address = {BORROWING: "198.18.0.10", "v4-mysql-apart": "198.18.0.20"}.get(name, "")
    wanted = {
        **serving(name).options,
        **scenario.load,
        **({"transport": "udp"} if name in SUPPORTING else {}),
        "scenario": name,
        "test_interface": "leaselab2" if name == AT_TWO else "eth1",
        "variant": VARIANTS.get(name, name),
        **PLACES[2 if name == AT_TWO else 1],
        "relay_addresses": ["198.18.0.30"],
        "relay_address6": "2001:2:0:1::30",
        "build": BUILT.get(name, {}),
        "artifact": "",
        "partner": scenario.partner,
        "peers": peers(name),
        "beside": [] if name == BORROWING else list(scenario.beside),
        "support": support_of(name),
        "support_address": address,
        "client_addresses": ["198.18.0.10"] if name in SUPPORTING else [],
        "server": scenario.server.kind,
        "generator": scenario.generator,
    }
    by_name = {
        variable.removeprefix(f"{kind}_"): value
        for variable, value in handed[name].items()
        if variable.startswith(f"{kind}_") and variable not in OF_THE_WAY
    }
    assert by_name == {option: wanted[option] for option in wanted if option in declared}


@pytest.mark.parametrize(
    ("name", "clients", "more"),
    [
        ("v4-mysql-durable", [], {"mysql_innodb_flush_log_at_trx_commit": 1}),
        ("v4-mysql-shared", ["198.18.0.20"], {}),
        ("v4-mysql-shared-3", ["198.18.0.20", "198.18.0.40"], {}),
    ],
)
def test_companion_services_get_what_the_scenario_sets_and_no_more(handed, name, clients, more):
    """An inventory may set the others."""
    settings = {
        variable: value
        for variable, value in handed[name].items()
        if variable.startswith("mysql_")
    }
    assert settings == {
        "mysql_server": "kea",
        "mysql_variant": name,
        "mysql_test_address": "198.18.0.10",
        "mysql_client_addresses": clients,
        **more,
    }


def test_the_way_to_a_support_leads_from_the_servers_host_to_the_partners(handed):
    way = {
        name: handed["v4-mysql-apart"][name]
        for name in ("mysql_variant", "mysql_server", "mysql_support_address")
    }
    assert way == {
        "mysql_variant": "v4-mysql-apart",
        "mysql_server": "kea",
        "mysql_support_address": "198.18.0.20",
    }
