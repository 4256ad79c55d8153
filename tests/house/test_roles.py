"""Roles and playbooks: what they declare is what they have."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.roles import roles_of
from leaselab.cli.commands import find
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


@cache
def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def entry_points(role):
    return read(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]


def task_files():
    """Each file of tasks of each role, with its tasks."""
    for path in sorted((ROOT / "roles").glob("*/tasks/*.yml")):
        yield path, read(path) or []


def options(role):
    """Every option of every entry point, by name, and what is said of it each time."""
    result = {}
    for entry in entry_points(role).values():
        for name, option in entry.get("options", {}).items():
            result.setdefault(name, []).append(option)
    return result


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
def test_options_are_declared_as_they_are(role):
    """A default is in defaults/main.yml alone: in a specification it would set nothing."""
    declared = options(role)
    optional = {name for name, said in declared.items() if not said[0].get("required")}
    assert optional == set(defaults(role))
    for name, said in declared.items():
        assert "default" not in said[0], name
        assert all(option == said[0] for option in said), f"{name} of two entry points differs"
        assert name.startswith(f"{role}_")
        assert said[0]["type"], name
        assert said[0]["description"], name
    for entry in entry_points(role):
        assert (ROOT / "roles" / role / "tasks" / f"{entry}.yml").is_file(), entry


def test_every_default_is_explained_above_it_or_above_its_block():
    """A block is lines without an empty one between them; its first ones are a comment."""
    for role in ROLES:
        for block in re.split(r"\n\s*\n", defaults_text(role)):
            lines = [line for line in block.splitlines() if line != "---"]
            if any(re.match(r"\w+:", line) for line in lines):
                assert lines[0].startswith("#"), (role, block)


def test_every_playbook_is_one():
    """One process reads them all: starting Ansible takes longer than reading one."""
    for playbook in PLAYBOOKS:
        text = (ROOT / "ansible" / playbook).read_text(encoding="utf-8")
        assert text.startswith("---\n# "), f"{playbook} does not say what it does"
    done = ansible_playbook("--syntax-check", *(f"ansible/{name}" for name in PLAYBOOKS))
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^playbook: ansible/(.+)$", done.stdout, re.M) == PLAYBOOKS
    assert "[WARNING]" not in done.stderr


def test_every_role_is_one(tmp_path):
    """ansible-lint would start Ansible for each."""
    assert [role for role in ROLES if not re.fullmatch("[a-z][a-z0-9_]*", role)] == []
    tasks = [{"ansible.builtin.import_role": {"name": role}} for role in ROLES]
    book = tmp_path / "roles.yml"
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "tasks": tasks}]), "utf-8")
    done = ansible_playbook("--syntax-check", book)
    assert done.returncode == 0, done.stderr


TAGS = yaml.safe_load((ROOT / "ansible/vars/tags.yml").read_text("utf-8"))["leaselab_tags"]
VERBS = {"install", "configure", "verify"}
ENTERED = {
    *("provision", "generator", "build", "deploy", "tune", "untune", "retune", "take"),
    *("power", "prune"),
}
"""Playbooks that change hosts of a bench."""


def loaded(playbook):
    return read(ROOT / "ansible" / playbook)


def tags_of(tasks):
    """Every tag of tasks, and of what is in their blocks or applied to what they include."""
    result = set()
    for task in tasks or []:
        result |= set(task.get("tags", []))
        for part in ("block", "rescue", "always"):
            result |= tags_of(task.get(part))
        for name, value in task.items():
            if name.rpartition(".")[2] in ("include_role", "include_tasks"):
                apply = value.get("apply", {}) if isinstance(value, dict) else {}
                result |= set(apply.get("tags", []))
    return result


def listed(playbook):
    """The tags of plays and tasks, as `--list-tags` shows them."""
    done = ansible_playbook("--list-tags", f"ansible/{playbook}")
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"TAGS: \[(.*?)\]", done.stdout)
    return {tag for tags in shown for tag in tags.split(", ") if tag}


def test_a_play_has_its_playbooks_name_as_a_tag_or_is_always_played():
    for playbook in set(PLAYBOOKS) - {"site.yml"}:
        for play in loaded(playbook):
            assert play["tags"] in ([playbook.removesuffix(".yml")], ["always"]), play["name"]
            assert tags_of(play.get("tasks", [])) <= VERBS | {"always"}, play["name"]
    for path, tasks in task_files():
        assert tags_of(tasks) <= VERBS, path
    # A play gathers facts by its own tags alone, and not for a verb of it.
    plays = [play for name in ENTERED for play in loaded(f"{name}.yml")]
    assert [play["name"] for play in plays if play["gather_facts"]] == []


def test_site_shows_the_tags_of_all_that_it_is_made_of():
    parts = {
        play["ansible.builtin.import_playbook"].removesuffix(".yml")
        for play in loaded("site.yml")
    }
    assert listed("site.yml") == parts | VERBS | {"always"}
    assert parts | VERBS | {path.removesuffix(".yml") for path in PLAYBOOKS} == {*TAGS, "site"}


def test_a_playbook_asks_for_all_hosts_that_it_changes_before_it_does():
    """Whatever a limit leaves of them, the bench lock is asked."""
    for name in ENTERED:
        plays = [play for play in loaded(f"{name}.yml") if play["hosts"] != "localhost"]
        first = plays[0]["tasks"][0]
        assert first["ansible.builtin.import_tasks"] == "tasks/enter_bench.yml", name
        assert "always" in {*plays[0]["tags"], *first.get("tags", [])}, name
        asked = set(plays[0]["hosts"].split(":"))
        assert all(set(play["hosts"].split(":")) <= asked for play in plays), name


def test_no_other_playbook_changes_hosts_of_a_bench():
    for path in set(PLAYBOOKS) - {f"{name}.yml" for name in ENTERED} - {"site.yml"}:
        hosts = {play["hosts"] for play in loaded(path)}
        assert hosts <= {
            "localhost",
            "bench",
            "dhcp_server:dhcp_partner:dhcp_generator:builder",
        }
        assert path in ("check.yml", "lab_up.yml") or hosts == {"localhost"}, path


def test_the_outcome_of_a_failed_task_is_a_number_as_no_template_of_it_is_read():
    pattern = re.compile(r"leaselab_outcome: *(.*?) *(?:[,}#]|$)", re.MULTILINE)
    files = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("ansible/*.yml")]
    outcomes = {
        path.relative_to(ROOT).as_posix(): set(pattern.findall(path.read_text("utf-8")))
        for path in files
    }
    assert {"2", "4", "5"} <= set().union(*outcomes.values())
    assert [name for name, given in outcomes.items() if not all(map(str.isdigit, given))] == []


def test_a_read_is_done_in_check_mode_as_well():
    """Or whatever uses it fails there; what starts something is left out of a check whole."""
    for path, tasks in task_files():
        if path.stem not in LEFT_OUT_OF_CHECKS.get(path.parents[1].name, ()):
            for task in reads(tasks):
                assert task.get("check_mode") is False, f"{path}: {task['name']}"


LEFT_OUT_OF_CHECKS = {
    "build": ("make", "fetch"),
    "database": ("main", "support", "tune"),
    "delayed_link": ("tune",),
    "dnsperf": ("probe",),
    "flame": ("verify",),
    "docker_lab": ("install_engine", "image_from_packages", "image_from_registry", "verify"),
    "isolation": ("begin", "refuse"),
    "leaseload": ("probe", "verify"),
    "perfdhcp": ("probe",),
    "server": ("verify",),
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


CATALOGUE = Catalogue(ROOT)


def test_a_scenario_says_what_it_is_and_fits_the_procedure_that_its_file_names():
    for name, scenario in CATALOGUE.scenarios.items():
        assert scenario.description, name
        check_fits(scenario, CATALOGUE.procedure_of(scenario, {}))


WITH_BACKENDS = [role for role in roles_of("server") if f"{role}_backend" in options(role)]


@pytest.mark.parametrize("server", WITH_BACKENDS)
def test_the_backends_of_the_scenarios_are_those_that_the_server_takes(server):
    taken = options(server)[f"{server}_backend"][0]["choices"]
    scenarios = [
        scenario.server
        for scenario in CATALOGUE.scenarios.values()
        if scenario.server.kind == server
    ]
    assert {scenario.options["backend"] for scenario in scenarios} == set(taken)


def lines(pattern, *folders):
    """Lines of YAML in these folders, comments aside, that a pattern is in."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.yml"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not line.lstrip().startswith("#") and re.search(pattern, line.split(" #")[0], re.I)
    ]


def test_no_play_names_a_server_or_a_companion_service():
    """A new one needs no task in a playbook; comments may give examples."""
    named = lines("|".join(roles_of("server") + roles_of("beside")), "ansible")
    assert [item for item in named if "such as kea_commit" not in item] == []


def test_tasks_read_hosts_by_modules():
    """Disks, packages, release and processors are facts; what programs print has to be read."""
    asked = lines(r"\bdf\b|\bdpkg-query\b|os-release|\bnproc\b|\bfree -", "roles", "ansible")
    assert [item for item in asked if "docker system df" not in item] == []


def test_a_folder_is_made_before_its_time_is_set():
    """Ansible's `file` with a time fails where a parent of the folder is missing, too."""
    for path, tasks in task_files():
        made = set()
        for task in tasks:
            arguments = task.get("ansible.builtin.file", {})
            if {"modification_time", "access_time"} & set(arguments):
                assert arguments["path"] in made, f"{path}: {task['name']}"
            elif arguments.get("state") == "directory":
                made.add(arguments["path"])


CALLED = re.compile(
    r"-m['\"]?,?\s+(?:- )?['\"]?leaselab['\"]?"
    r"(?P<words>(?:,?\s+(?:- )?['\"]?[a-z][a-z-]*['\"]?)+)"
    r"|\./leaselab(?P<typed>(?: [a-z][a-z-]*)+)"
)
"""A call of the engine by a playbook or by a script of a pipeline."""


def calls(text):
    """The words of each call, up to its first option or variable."""
    return [
        re.findall(r"[a-z][a-z-]*", call["words"] or call["typed"])
        for call in CALLED.finditer(text)
    ]


def test_the_engine_is_called_by_commands_that_it_has():
    called = [
        words
        for pattern in ("ansible/**/*.yml", "roles/**/*.yml", "scripts/ci/*", "jobs/*file")
        for path in ROOT.glob(pattern)
        if path.is_file()
        for words in calls(path.read_text(encoding="utf-8"))
    ]
    assert len(called) > 8
    for words in called:
        if words[0] not in ("test", "extra"):  # the launcher's own
            find(words)
