"""Roles and playbooks: what they declare is what they have."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from leaselab.lab.catalog import load_scenarios
from leaselab.model.plan import Plan

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
PLAYBOOKS = sorted(path.name for path in (ROOT / "ansible").glob("*.yml"))
TOOLS = Path(sys.executable).parent


def defaults_text(role):
    path = ROOT / "roles" / role / "defaults" / "main.yml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def defaults(role):
    return yaml.safe_load(defaults_text(role)) or {}


def entry_points(role):
    path = ROOT / "roles" / role / "meta" / "argument_specs.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]


def options(role):
    """Every option of every entry point, by name, and what is said of it each time."""
    found = {}
    for entry in entry_points(role).values():
        for name, option in entry.get("options", {}).items():
            found.setdefault(name, []).append(option)
    return found


@pytest.mark.parametrize("role", ROLES)
def test_every_default_is_declared_and_every_other_option_is_required(role):
    declared = options(role)
    optional = {name for name, said in declared.items() if not said[0].get("required")}
    assert optional == set(defaults(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_declared_default_is_the_real_one(role):
    """Ansible takes `default:` of a specification for words: it sets nothing."""
    real = defaults(role)
    for name, said in options(role).items():
        for option in said:
            assert option.get("default") == real.get(name), name


@pytest.mark.parametrize("role", ROLES)
def test_an_option_of_two_entry_points_is_the_same_one(role):
    for name, said in options(role).items():
        assert all(option == said[0] for option in said), name


@pytest.mark.parametrize("role", ROLES)
def test_every_option_has_a_type_a_description_and_the_roles_name(role):
    for name, said in options(role).items():
        assert name.startswith(f"{role}_")
        assert said[0]["type"]
        assert said[0]["description"]


@pytest.mark.parametrize("role", ROLES)
def test_every_default_is_explained_above_it_or_above_its_block(role):
    """A block is lines without an empty one between them; its first ones are a comment."""
    for block in re.split(r"\n\s*\n", defaults_text(role)):
        lines = [line for line in block.splitlines() if line != "---"]
        if any(re.match(r"\w+:", line) for line in lines):
            assert lines[0].startswith("#"), block


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_point_has_its_tasks(role):
    for entry in entry_points(role):
        assert (ROOT / "roles" / role / "tasks" / f"{entry}.yml").is_file()


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_playbook_is_one(playbook):
    done = subprocess.run(
        [
            str(TOOLS / "ansible-playbook"),
            "--syntax-check",
            *("-i", "inventory/docker"),
            f"ansible/{playbook}",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{TOOLS}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert "[WARNING]" not in done.stderr


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_playbook_begins_by_saying_what_it_does(playbook):
    first, second = (ROOT / "ansible" / playbook).read_text(encoding="utf-8").splitlines()[:2]
    assert first == "---"
    assert second.startswith("# ")


SCENARIOS = load_scenarios(ROOT / "scenarios")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_fits_the_default_sweep(name):
    Plan().check_fits(SCENARIOS[name])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_a_role_for_its_server(name):
    assert SCENARIOS[name].server in ROLES
    assert SCENARIOS[name].description


TUNED = [name for name, scenario in SCENARIOS.items() if scenario.tuning]


@pytest.mark.parametrize("name", TUNED)
def test_a_scenario_tunes_what_the_role_of_its_backend_has(name):
    scenario = SCENARIOS[name]
    known = entry_points(scenario.backend)["tune"]["options"]
    assert set(scenario.tuning) <= set(known)


@pytest.mark.parametrize("server", ["kea", "dnsmasq"])
def test_the_backends_of_the_scenarios_are_those_that_the_server_takes(server):
    taken = options(server)[f"{server}_backend"][0]["choices"]
    scenarios = [one for one in SCENARIOS.values() if one.server == server]
    assert {scenario.backend for scenario in scenarios} == set(taken)
