"""Running a playbook: what its caller hears, and how its failures read."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.processes import await_end, hear_interrupts
from tests.waiting import HANGS_S, until

from leaselab.lab.deploy.playbook import playbook_error, run_playbook
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.run import preparation

ROOT = Path(__file__).parents[2]
LOG = Path("/log")
HEAD = "- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with the real configuration and callback, and no playbook yet."""
    shutil.copy2(ROOT / "ansible.cfg", tmp_path)
    shutil.copytree(ROOT / "ansible" / "plugins", tmp_path / "ansible" / "plugins")
    (tmp_path / "hosts.yml").write_text("bench: {hosts: {sut: }}\n", encoding="utf-8")
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture
def playbook(checkout):
    """Write the playbook `take`, whose purpose is printed; its name and its inventory."""

    def written(tasks):
        (checkout / "ansible" / "take.yml").write_text(HEAD + tasks, encoding="utf-8")
        return "take", checkout / "hosts.yml"

    return written


def failed(host, msg, outcome=4, task="Check", role="kea"):
    named = {"host": host, "role": role, "task": task}
    return {"event": "failed", **named, "msg": msg, "outcome": outcome}


def test_changes_and_statistics_are_reported(playbook, checkout, capsys):
    name, inventory = playbook("""
    - name: Make a file
      ansible.builtin.copy:
        {content: "{{ word }}", dest: "{{ playbook_dir }}/{{ item }}", mode: "0600"}
      loop: [a, b]
    - ansible.builtin.set_stats: {data: {made: ["{{ word }}"]}}
""")
    bench = SimpleNamespace(path=inventory)
    stats = preparation.play(name, bench, {"word": "seven words"}, None)
    assert stats.changed == 1
    assert stats.custom == {"made": ["seven words"]}
    shown = r"installing the bench lock\n  \d+ s, 2 changes\n"
    assert re.fullmatch(shown, capsys.readouterr().err)
    assert (checkout / "ansible" / "b").read_text(encoding="utf-8") == "seven words"
    assert "PLAY RECAP" in stats.log.read_text(encoding="utf-8")
    assert list(stats.log.parent.glob("*.events")) == []


def test_a_failure_is_the_tasks_own_words_with_its_outcome_and_the_log(playbook):
    name, inventory = playbook("""
    - name: Start it
      ansible.builtin.fail: {msg: "it does not start (found exit 1)"}
      vars: {leaselab_outcome: 5}
""")
    with pytest.raises(LeaselabError) as caught:
        run_playbook(name, inventory)
    assert caught.value.outcome is Outcome.BUILD
    assert caught.value.what == "it does not start (found exit 1)"
    log = Path(caught.value.todo.removeprefix("the whole output is in "))
    assert "it does not start" in log.read_text(encoding="utf-8")


DATA = {
    "number": "10",
    "word": "yes",
    "day": "2026-11-21",
    "nothing": "",
    "codes": "\x00\x1b[31m\u202e\x85\u2028 é 😀\r\n\t ",
    "tag": "!unsafe {{ 1 + 1 }}",
    "deep": [{"{{ 1 + 1 }}": ["{% raw %}", 1.5, None, True, [], {}]}],
}


def test_variables_are_data_of_the_same_types_and_in_no_list_of_processes(playbook, checkout):
    """Also where a fact, a template's file and another fact are made of them."""
    (checkout / "ansible" / "data.j2").write_text("{{ again | to_json }}", encoding="utf-8")
    name, inventory = playbook("""
    - ansible.builtin.set_fact: {kept: "{{ given }}"}
    - ansible.builtin.set_fact: {again: "{{ kept | combine({'tag': kept.tag ~ ''}) }}"}
    - ansible.builtin.template: {src: data.j2, dest: "{{ playbook_dir }}/data", mode: "0600"}
    - ansible.builtin.command: {argv: [ps, -eo, args]}
      register: seen
    - ansible.builtin.find: {paths: "{{ playbook_dir }}/../.leaselab/logs"}
      register: found
    - ansible.builtin.set_stats:
        data: {kept: "{{ again }}", seen: "{{ seen.stdout }}", found: "{{ found.files }}"}
""")
    stats = run_playbook(name, inventory, {"given": DATA}).custom
    assert stats["kept"] == DATA
    assert json.loads((checkout / "ansible" / "data").read_text(encoding="utf-8")) == DATA
    assert "2026-11-21" not in stats["seen"]
    (file,) = [stat for stat in stats["found"] if stat["path"].endswith(".variables")]
    assert file["mode"] == "0600"
    assert not Path(file["path"]).exists()


def test_a_task_of_another_host_is_reported_with_that_host(playbook):
    """The bench lock is asked on the generator, from whichever hosts a play has."""
    name, inventory = playbook("    - {ansible.builtin.command: id, delegate_to: sut}\n")
    nowhere = "ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 9"
    inventory.write_text(f"bench: {{hosts: {{sut: {{{nowhere}}}}}}}\n", encoding="utf-8")
    with pytest.raises(LeaselabError, match="cannot be reached") as caught:
        run_playbook(name, inventory)
    assert caught.value.where == "sut"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("ansible.builtin.command: sh -c 'echo no such lease >&2; exit 3'", "no such lease"),
        ("nosuchmodule: {}", "nosuchmodule"),
    ],
)
def test_a_failed_command_is_reported_by_the_end_of_its_output(playbook, task, said):
    with pytest.raises(LeaselabError, match=said) as caught:
        run_playbook(*playbook(f"    - {task}\n"))
    assert caught.value.outcome is Outcome.LAB


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_its_caller_stops_the_playbook_and_what_it_started(
    playbook, checkout, number
):
    name, inventory = playbook("""
    - name: Wait
      ansible.builtin.shell: "echo $$ > {{ playbook_dir }}/pid; exec sleep 600"
""")
    program = (
        "import sys; from pathlib import Path;"
        "from leaselab.lab.deploy.playbook import run_playbook;"
        f"run_playbook({name!r}, Path({str(inventory)!r}))"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")},
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,  # noqa: PLW1509
    )
    pid_file = checkout / "ansible" / "pid"
    until(lambda: pid_file.exists() and pid_file.read_text("utf-8").strip(), bool)
    caller.send_signal(number)
    _, errors = caller.communicate(timeout=HANGS_S)
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    await_end(pid_file.read_text(encoding="utf-8").strip())


def test_a_lock_that_is_lost_ends_the_playbook(playbook):
    name, inventory = playbook("    - ansible.builtin.pause: {seconds: 60}\n")

    def lost():
        raise lab_broken("the bench is in use")

    with pytest.raises(LeaselabError, match="the bench is in use"):
        run_playbook(name, inventory, keep=lost)


def unreachable(words):
    return {"event": "unreachable", "host": "gen", "role": "", "task": "Ask", "msg": words}


ALIKE = [failed("c", "other"), failed("a", "no disk"), failed("b", "no disk")]
RESCUED = [failed("a", "exit 1"), failed("a", "Kea does not start", 5, "Say why")]
SILENT = [unreachable("No route\nto host"), failed("a", "x", 5)]
KEY = [unreachable("Failed to connect: Host key verification failed.")]


@pytest.mark.parametrize(
    ("events", "where", "what", "outcome"),
    [
        (ALIKE, "a, b", "no disk", Outcome.LAB),
        (RESCUED, "a", "Kea does not start", Outcome.BUILD),
        ([failed("localhost", "x", role="docker_lab")], "docker_lab", "x", Outcome.LAB),
        *(([failed("a", "x", number)], "a", "x", Outcome.LAB) for number in (0, 77)),
        (SILENT, "gen", "cannot be reached: No route to host", Outcome.LAB),
        (KEY, "gen", "host key is not the pinned one", Outcome.LAB),
    ],
)
def test_what_failed_first_or_for_all_is_the_error(events, where, what, outcome):
    error = playbook_error("deploy", 2, events, [], LOG)
    assert (error.where, error.what, error.outcome) == (where, what, outcome)
    assert str(error).endswith("the whole output is in /log")
