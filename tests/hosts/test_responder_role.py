"""What playbooks hand role responder, and what it makes of it for its contract."""

import json
from pathlib import Path

import msgspec
import pytest
from tests.build_record import ANSWER
from tests.plays import play_here

from leaselab.builds.artifacts import source_hash
from leaselab.catalog.catalogue import Catalogue

ROOT = Path(__file__).parents[2]
SCENARIOS = Catalogue(ROOT).scenarios
KEY = ANSWER["key"]
PLAYED = (
    "responder-v4-stalls",
    "responder-v6-drops",
    "responder-dns-capped",
    "responder-dot-capped",
)
OTHERS = ("v4-memfile", "v4-dnsmasq")
ADDRESSES = {"server_test_address": "198.18.0.10", "server_test_address6": "2001:2:0:1::10"}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """By scenario: the build that its server gets; of responders their contract, too."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "roles").symlink_to(ROOT / "roles")
    (folder / "ansible").mkdir()
    builds = folder / ".leaselab" / "builds"
    (builds / KEY).mkdir(parents=True)
    note = {"source": source_hash(), "key": KEY}
    (builds / "leaseload.json").write_text(json.dumps(note), encoding="utf-8")
    source = {"hash": ANSWER["commit"], "tree": ANSWER["tree"]}
    record = json.dumps({**ANSWER, "name": "leaseload", "source": source})
    (builds / KEY / "build.json").write_text(record, encoding="utf-8")
    (builds / KEY / "artifact.tar.gz").touch()
    tasks = []
    for name in (*PLAYED, *OTHERS):
        scenario = SCENARIOS[name]
        given = {
            "leaselab_scenario": msgspec.to_builtins(scenario),
            "leaselab_build_of": scenario.server.kind,
            "leaselab_build_given": "",
        }
        tasks.append(
            {
                "ansible.builtin.include_tasks": str(ROOT / "ansible/tasks/load_build.yml"),
                "vars": given,
            }
        )
        reported = "{'built': leaselab_built, 'artifact': leaselab_artifact}"
        if name in PLAYED:
            handed = {
                **scenario.server.options,
                **{
                    key: scenario.load[key]
                    for key in ("queries", "transport")
                    if key in scenario.load
                },
            }
            values = {f"responder_{key}": value for key, value in handed.items()} | {
                **ADDRESSES,
                "server_family": scenario.load["family"],
                "server_variant": f"{name}.{KEY[:10]}",
                "server_test_interface": "eth1",
                "server_build": "{{ leaselab_built }}",
                "server_artifact": "{{ leaselab_artifact }}",
                "server_kind": "responder",
                "server_settings": "{{ responder_contract_settings }}",
            }
            reported = (
                "{'built': leaselab_built, 'contract': server_contract_settings,"
                " 'tuning': responder_options,"
                " 'file': (responder_arguments | join('\n')) ~ '\n'}"
            )
            tasks += [
                {
                    "ansible.builtin.include_role": {
                        "name": role,
                        "tasks_from": entry_point,
                        "public": True,
                    },
                    "vars": {**values, "server_title": "The responder"},
                }
                for role, entry_point in (("responder", "scenario"), ("server", "check"))
            ]
        keep = {
            "content": f"{{{{ {reported} | to_json }}}}",
            "dest": str(folder / f"{name}.json"),
        }
        values = tasks[-1]["vars"] if name in PLAYED else {}
        tasks.append({"keep": keep, "vars": values})
    play_here(folder / "ansible", tasks)
    names = (*PLAYED, *OTHERS)
    return {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names}


@pytest.mark.parametrize("name", PLAYED)
def test_a_responder_gets_the_build_that_leaseload_comes_from(played, name):
    assert played[name]["built"]["key"] == KEY
    assert played[name]["contract"]["build"] == KEY
    assert played[name]["contract"]["commit"] is None, "it is of no server's repository"


@pytest.mark.parametrize("name", OTHERS)
def test_another_server_gets_none(played, name):
    assert played[name] == {"built": {}, "artifact": ""}


@pytest.mark.parametrize("name", PLAYED)
def test_options_are_recorded_as_the_scenario_has_them(played, name):
    assert played[name]["tuning"] == SCENARIOS[name].server.options


def test_it_listens_with_tls_where_queries_come_over_it(played):
    listening = [name for name in PLAYED if "--tls-port\n853\n" in played[name]["file"]]
    assert listening == ["responder-dot-capped"]


def test_the_protocol_is_that_of_the_load(played):
    contracts = [played[name]["contract"] for name in PLAYED]
    assert [contract["udp_port"] for contract in contracts] == [67, 547, 53, 53]
    assert [contract["holds"] for contract in contracts] == ["leases", "leases", "", ""]
    assert [contract["address"] for contract in contracts] == [
        *("198.18.0.10", "2001:2:0:1::10", "198.18.0.10", "198.18.0.10")
    ]
    argv = contracts[0]["process"]["argv"]
    assert argv[0] == f"/opt/leaselab/builds/{KEY}/bin/leaserespond"
    assert argv[1:] == [
        *("dhcp4", "--listen", "198.18.0.10", "--interface", "eth1", "--queue", "256"),
        *("--capacity", "2000", "--stall", "20@200", "--counts", contracts[0]["counts_file"]),
    ]


@pytest.mark.parametrize("name", PLAYED)
def test_its_file_has_the_lines_that_its_contract_hashes_of_the_process(played, name):
    words = "\n".join(played[name]["contract"]["process"]["argv"][1:]) + "\n"
    assert played[name]["file"] == words
