"""Which variants playbooks deploy: one at each place that was asked for and can be."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.plays import ansible

from leaselab.catalog.catalogue import Catalogue

ROOT = Path(__file__).parents[2]
SCENARIOS = Catalogue(ROOT).scenarios
ADDRESSES = {"leaselab_test_address": "198.18.0.10", "leaselab_test_address6": "2001:2:0:1::10"}
SECOND = {
    "leaselab_test_address_2": "198.18.0.11",
    "leaselab_test_address6_2": "2001:2:0:1::11",
}
ONE = {
    "place": 1,
    "name": "v4-memfile",
    "build": "",
    "interface": "eth1",
    "address": "198.18.0.10",
    "address6": "2001:2:0:1::10",
}
OTHER = {
    "place": 2,
    "name": "v4-memfile-at2",
    "build": "",
    "interface": "leaselab2",
    "address": "198.18.0.11",
    "address6": "2001:2:0:1::11",
}
KEYS = ["0a1b2c3d4e5f", "1a2b3c4d5e6f"]
BUILD = {"leaselab_built": {"key": KEYS[0]}}
BUILDS = [
    {**at, "name": name, "build": key}
    for at, end in ((ONE, ""), (OTHER, "-at2"))
    for key in KEYS
    for name in [f"v4-memfile.{key[:10]}{end}"]
]
CASES = {
    "nothing asked for": ("v4-memfile", SECOND, [ONE]),
    "both": ("v4-memfile", {**SECOND, "leaselab_places": [1, 2]}, [ONE, OTHER]),
    "the second": ("v4-memfile", {**SECOND, "leaselab_places": [2]}, [OTHER]),
    "a build": (
        "v4-memfile",
        {**SECOND, **BUILD, "leaselab_places": [2]},
        BUILDS[2:3],
    ),
    "two builds": (
        "v4-memfile",
        {**SECOND, "leaselab_builds": KEYS, "leaselab_places": [1, 2]},
        BUILDS,
    ),
    "no second addresses": ("v4-memfile", {"leaselab_places": [1, 2]}, [ONE]),
    "a pair": (
        "v4-memfile-hs",
        {**SECOND, "leaselab_places": [1, 2]},
        [{**ONE, "name": "v4-memfile-hs"}],
    ),
}
REFUSED = {
    "a text": {**SECOND, "leaselab_places": "2"},
    "a third": {**SECOND, "leaselab_places": [1, 2, 3]},
    "none": {**SECOND, "leaselab_places": []},
    "no second address": {"leaselab_places": [2]},
    "one of two addresses": {**ADDRESSES, "leaselab_test_address_2": "198.18.0.11"}
    | {"leaselab_places": [1, 2]},
}
COMPANY = {
    "both-at-once": {"capabilities": ["crash", "two-addresses"]},
    "in-turn": {"capabilities": ["crash"]},
    "not-deployed": None,
}
EMPTY_HOST = ("unshare", "--map-root-user", "--mount", "sh", "-c")
MOUNTED = 'mount -t tmpfs none /opt && exec "$@"'


def noted(name, what):
    """A task that keeps a value of the play by a name."""
    entry = f"{{{{ noted | default({{}}) | combine({{ {name!r}: {what} }}) }}}}"
    return {"ansible.builtin.set_fact": {"noted": entry}}


def written(path, content):
    """A task that writes a file."""
    return {"ansible.builtin.copy": {"content": content, "dest": str(path), "mode": "0644"}}


def played(name, **variables):
    """Tasks of ansible/, included with variables of their own."""
    return {
        "ansible.builtin.include_tasks": str(ROOT / f"ansible/tasks/{name}.yml"),
        "vars": variables,
    }


def named(scenario, given):
    return played("places", leaselab_scenario=msgspec.to_builtins(SCENARIOS[scenario]), **given)


@pytest.fixture(scope="module")
def variants_of(tmp_path_factory):
    """What each case came to, by its name; all of them in one play."""
    folder = tmp_path_factory.mktemp("places")
    tasks = []
    for case, (scenario, given, _) in CASES.items():
        tasks += [named(scenario, given), noted(case, "leaselab_variants")]
    kept = {**SECOND, "leaselab_places": [1, 2], "leaselab_keep": ["v4-other"]}
    tasks += [
        {"ansible.builtin.set_fact": {"contract_variants": ["v4-of-inventory"]}},
        named("v4-memfile", kept),
        noted("kept", "contract_variants"),
    ]
    for case, given in REFUSED.items():
        tasks.append(
            {
                "block": [named("v4-memfile", given), noted(case, "'taken'")],
                "rescue": [noted(case, "ansible_failed_result.msg")],
            }
        )
    for name, deployed in COMPANY.items():
        place = f"/opt/leaselab/variants/{name}"
        variants = [{"name": name, "place": 1}, {"name": f"{name}-at2", "place": 2}]
        if deployed is not None:
            tasks += [
                {"ansible.builtin.file": {"path": place, "state": "directory", "mode": "0755"}},
                written(f"{place}/deployed.json", json.dumps(deployed)),
            ]
        tasks += [
            {"ansible.builtin.set_fact": {"leaselab_variants": variants}},
            played("company"),
            noted(name, "leaselab_variants | map(attribute='name')"),
        ]
    tasks.append(written(folder / "noted.json", "{{ noted | to_json }}"))
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {
            **ADDRESSES,
            "lab_host_test_interface": "eth1",
            "lab_host_test_interface_2": "leaselab2",
        },
        "tasks": tasks,
    }
    book = folder / "play.yml"
    book.write_text(yaml.safe_dump([play]), encoding="utf-8")
    ansible("ansible-playbook", "-i", "localhost,", book, under=(*EMPTY_HOST, MOUNTED, "sh"))
    return json.loads((folder / "noted.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_there_is_one_variant_at_each_place_that_was_asked_for_and_can_be(variants_of, case):
    assert variants_of[case] == CASES[case][2]


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_place_is_refused_by_what_would_be_one(variants_of, case):
    assert "There is no such place for scenario v4-memfile on localhost" in variants_of[case]
    assert (
        f"leaselab_places {json.dumps(REFUSED[case]['leaselab_places'])}" in variants_of[case]
    )


def test_what_was_asked_for_stays_whatever_makes_room(variants_of):
    assert set(variants_of["kept"]) == {
        *("v4-of-inventory", "v4-other"),
        *("v4-memfile", "v4-memfile-at2"),
    }


@pytest.mark.parametrize(
    ("name", "both"), [("both-at-once", True), ("in-turn", False), ("not-deployed", False)]
)
def test_a_server_that_cannot_be_up_at_both_is_left_at_the_first(variants_of, name, both):
    assert variants_of[name] == [name, f"{name}-at2"][: 2 if both else 1]


def test_the_two_servers_of_a_pair_are_deployed_together(tmp_path):
    """Each waits for its partner, so no task may run on a single host first."""
    plays = yaml.safe_load((ROOT / "ansible/deploy.yml").read_text(encoding="utf-8"))
    [deploying] = [
        task
        for play in plays
        for task in play["tasks"]
        if task["name"] == "Deploy at the first place"
    ]
    seen = "ansible_play_hosts | map('extract', hostvars, 'seen')"
    reached = [
        {"ansible.builtin.set_fact": {"seen": "{{ leaselab_variant.address }}"}},
        written(tmp_path / "seen", f"{{{{ {seen} | join(' ') }}}}") | {"run_once": True},
    ]
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/deploy_variant.yml").write_text(yaml.safe_dump(reached))
    here = {"leaselab_variants": [{**ONE, "address": "{{ inventory_hostname }}"}]}
    tasks = [{"ansible.builtin.set_fact": here}, deploying]
    play = {"hosts": "all", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    ansible("ansible-playbook", "-i", "server1,server2,", tmp_path / "play.yml")
    assert (tmp_path / "seen").read_text() == "server1 server2"
