"""Roles and playbooks: what they declare is what they have."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from leaselab.lab.catalog import find_procedure, load_scenarios
from leaselab.lab.roles import roles_of
from leaselab.measure.generators import check_fits

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


def ansible_playbook(*arguments):
    """Run it over the local lab's inventory; how it ended."""
    return subprocess.run(
        [str(TOOLS / "ansible-playbook"), "-i", "inventory/docker", *arguments],
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


def test_every_playbook_is_one():
    """One process reads them all: starting Ansible takes longer than reading one."""
    done = ansible_playbook("--syntax-check", *(f"ansible/{name}" for name in PLAYBOOKS))
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^playbook: ansible/(.+)$", done.stdout, re.M) == PLAYBOOKS
    assert "[WARNING]" not in done.stderr


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_a_playbook_begins_by_saying_what_it_does(playbook):
    first, second = (ROOT / "ansible" / playbook).read_text(encoding="utf-8").splitlines()[:2]
    assert first == "---"
    assert second.startswith("# ")


TAGS = yaml.safe_load((ROOT / "ansible/vars/tags.yml").read_text("utf-8"))["leaselab_tags"]
VERBS = {"install", "configure", "verify"}
ENTERED = {
    *("provision", "generator", "build", "deploy", "tune", "untune", "retune", "take"),
    *("power", "prune"),
}
"""Playbooks that change hosts of a bench."""


def loaded(playbook):
    return yaml.safe_load((ROOT / "ansible" / playbook).read_text(encoding="utf-8"))


def tags_of(tasks):
    """Every tag of tasks, and of what is in their blocks or applied to what they include."""
    found = set()
    for task in tasks or []:
        found |= set(task.get("tags", []))
        for part in ("block", "rescue", "always"):
            found |= tags_of(task.get(part))
        for name, value in task.items():
            if name.rpartition(".")[2] in ("include_role", "include_tasks"):
                apply = value.get("apply", {}) if isinstance(value, dict) else {}
                found |= set(apply.get("tags", []))
    return found


def listed(playbook):
    """The tags of plays and tasks, as `--list-tags` shows them."""
    done = ansible_playbook("--list-tags", f"ansible/{playbook}")
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"TAGS: \[(.*?)\]", done.stdout)
    return {tag for tags in shown for tag in tags.split(", ") if tag}


@pytest.mark.parametrize("playbook", sorted(set(PLAYBOOKS) - {"site.yml"}))
def test_a_play_has_its_playbooks_name_as_a_tag_or_is_always_played(playbook):
    name = playbook.removesuffix(".yml")
    for play in loaded(playbook):
        assert play["tags"] in ([name], ["always"]), play["name"]
        assert tags_of(play.get("tasks", [])) <= VERBS | {"always"}


@pytest.mark.parametrize("name", sorted(ENTERED))
def test_facts_are_gathered_whatever_the_tags_are(name):
    """A play gathers by its own tags alone, and not for a verb of it."""
    assert [play["name"] for play in loaded(f"{name}.yml") if play["gather_facts"]] == []


def test_site_shows_the_tags_of_all_that_it_is_made_of():
    parts = {
        play["ansible.builtin.import_playbook"].removesuffix(".yml")
        for play in loaded("site.yml")
    }
    assert listed("site.yml") == parts | VERBS | {"always"}
    assert parts | VERBS | {path.removesuffix(".yml") for path in PLAYBOOKS} == {*TAGS, "site"}


@pytest.mark.parametrize("role", ROLES)
def test_the_tasks_of_a_role_have_tags_that_are_known(role):
    for path in (ROOT / "roles" / role / "tasks").glob("*.yml"):
        assert tags_of(yaml.safe_load(path.read_text(encoding="utf-8"))) <= VERBS, path


@pytest.mark.parametrize("name", sorted(ENTERED))
def test_a_playbook_asks_for_all_hosts_that_it_changes_before_it_does(name):
    """Whatever a limit leaves of them, the bench lock is asked."""
    plays = [play for play in loaded(f"{name}.yml") if play["hosts"] != "localhost"]
    first = plays[0]["tasks"][0]
    assert first["ansible.builtin.import_tasks"] == "tasks/enter_bench.yml"
    assert "always" in {*plays[0]["tags"], *first.get("tags", [])}
    asked = set(plays[0]["hosts"].split(":"))
    for play in plays:
        assert set(play["hosts"].split(":")) <= asked


def test_no_other_playbook_changes_hosts_of_a_bench():
    for path in set(PLAYBOOKS) - {f"{name}.yml" for name in ENTERED} - {"site.yml"}:
        hosts = {play["hosts"] for play in loaded(path)}
        assert hosts <= {
            "localhost",
            "bench",
            "dhcp_server:dhcp_partner:dhcp_generator:builder",
        }
        assert path in ("check.yml", "lab_up.yml") or hosts == {"localhost"}, path


@pytest.mark.parametrize("role", ROLES)
def test_a_read_is_done_in_check_mode_as_well(role):
    """Or whatever uses it fails there; what starts something is left out of a check whole."""
    for path in (ROOT / "roles" / role / "tasks").glob("*.yml"):
        if path.stem in LEFT_OUT_OF_CHECKS.get(role, ()):
            continue
        for task in reads(yaml.safe_load(path.read_text(encoding="utf-8"))):
            assert task.get("check_mode") is False, f"{path}: {task['name']}"


LEFT_OUT_OF_CHECKS = {
    "bind9": ("verify",),
    "build": ("make", "fetch"),
    "database": ("main", "support", "tune"),
    "delayed_link": ("tune",),
    "dnsmasq": ("verify",),
    "dnsperf": ("probe",),
    "flame": ("verify",),
    "docker_lab": ("install_engine", "image_from_packages", "image_from_registry", "verify"),
    "isolation": ("begin", "refuse"),
    "kea": ("verify",),
    "kxdpgun": ("verify",),
    "leaseload": ("probe", "verify"),
    "nsd": ("verify",),
    "perfdhcp": ("probe",),
    "unbound": ("verify",),
    "powerdns": ("verify",),
    "responder": ("verify",),
}
"""Task files that start, build or ask over what is started; their callers say when."""


def reads(tasks):
    """Commands that change nothing, and so read."""
    for task in tasks or []:
        for part in ("block", "rescue", "always"):
            yield from reads(task.get(part))
        kinds = {name.rpartition(".")[2] for name in task}
        if kinds & {"command", "shell"} and task.get("changed_when") is False:
            yield task


SCENARIOS = load_scenarios(ROOT / "scenarios")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_fits_the_procedure_that_its_file_names(name):
    procedure = find_procedure(ROOT / "scenarios", name, {})
    check_fits(SCENARIOS[name], procedure)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_what_it_is(name):
    assert SCENARIOS[name].description


WITH_BACKENDS = [one for one in roles_of("server") if f"{one}_backend" in options(one)]


@pytest.mark.parametrize("server", WITH_BACKENDS)
def test_the_backends_of_the_scenarios_are_those_that_the_server_takes(server):
    taken = options(server)[f"{server}_backend"][0]["choices"]
    scenarios = [one.server for one in SCENARIOS.values() if one.server.kind == server]
    assert {one.options["backend"] for one in scenarios} == set(taken)


SERVERS_AND_BESIDE = re.compile("|".join(roles_of("server") + roles_of("beside")), re.I)


def test_no_play_names_a_server_or_what_serves_beside_one():
    """A new one needs no task in a playbook; comments may give examples."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "ansible").rglob("*.yml"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not line.lstrip().startswith("#") and SERVERS_AND_BESIDE.search(line)
    ]
    assert [one for one in found if "such as kea_commit" not in one] == []


ASKED_BY_PROGRAM = re.compile(r"\bdf\b|\bdpkg-query\b|os-release|\bnproc\b|\bfree -")


def test_tasks_read_hosts_by_modules():
    """Disks, packages, release and processors are facts; what programs print has to be read."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("roles", "ansible")
        for path in sorted((ROOT / folder).rglob("*.yml"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not line.lstrip().startswith("#") and ASKED_BY_PROGRAM.search(line.split(" #")[0])
    ]
    assert [one for one in found if "docker system df" not in one] == []


@pytest.mark.parametrize("role", ROLES)
def test_a_folder_is_made_before_its_time_is_set(role):
    """Ansible's `file` with a time fails where a parent of the folder is missing, too."""
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        made = set()
        for task in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            arguments = task.get("ansible.builtin.file", {})
            if {"modification_time", "access_time"} & set(arguments):
                assert arguments["path"] in made, f"{path}: {task['name']}"
            elif arguments.get("state") == "directory":
                made.add(arguments["path"])
