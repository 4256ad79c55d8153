"""The playbooks by hand, on hosts that are this machine or none: limits, tags, refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.plays import play_here

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "roles" / "bench_lock" / "files" / "bench-lock"
RESULTS = "ansible_failed_result.results | map(attribute='msg') | join"
NOWHERE = {"ansible_host": "127.0.0.1", "ansible_port": 9}
"""Nothing listens there: SSH to this host fails at once."""
HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture
def bench(tmp_path):
    """A bench whose lock is kept here; its other hosts cannot be reached."""
    inventory = {
        "bench": {
            "children": {
                "dhcp_server": {"hosts": {"sut": NOWHERE}},
                "dhcp_generator": {"hosts": {"gen": HERE}},
                "builder": {"hosts": {"bld": NOWHERE}},
            },
            "vars": {"leaselab_bench": "rack", "bench_lock_folder": str(tmp_path)},
        }
    }
    path = tmp_path / "hosts.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    program = tmp_path / "bench-lock"
    program.write_bytes(PROGRAM.read_bytes())
    program.chmod(0o755)
    return path


def play(bench, name, *arguments):
    """Run a playbook, which fails; return its output in one line."""
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [program, "-i", bench, ROOT / "ansible" / f"{name}.yml", *arguments],
        env=environment(bench),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode != 0
    return " ".join((done.stdout + done.stderr).split())


def environment(bench):
    return {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        "LEASELAB_LOCK_DIR": str(bench.parent / "run"),
        "LEASELAB_LASTING_DIR": str(bench.parent / "lasting"),
        "LEASELAB_ROOT": str(ROOT),
    }


def lock(bench, verb, **request):
    subprocess.run(
        [bench.parent / "bench-lock", verb],
        input=json.dumps(request).encode(),
        env=environment(bench),
        check=True,
        capture_output=True,
    )


def take(bench):
    lock(bench, "acquire", name="ana@laptop", purpose="a test", token="t", lease_s=3600)


def close(bench):
    lock(bench, "close", name="ben@desk", reason="new card")


def change(bench, act):
    inventory = yaml.safe_load(bench.read_text(encoding="utf-8"))
    act(inventory["bench"])
    bench.write_text(yaml.safe_dump(inventory), encoding="utf-8")


def unnamed(bench):
    change(bench, lambda group: group["vars"].pop("leaselab_bench"))


REFUSED = {
    "a bench in maintenance": (
        close,
        "deploy",
        "The bench is in maintenance by ben@desk",
    ),
    # The generator keeps the lock; a play without it would change a bench that measures.
    "a bench in use, under a limit": (
        take,
        "build --limit builder",
        "The bench is in use by ana@laptop (a test) for ",
    ),
    # The generator proves that it serves, and both go into one document.
    "a server without its bench": (
        None,
        "deploy --limit dhcp_server -e scenario=v4-memfile",
        "--limit leaves hosts of the bench out. Found: ",
    ),
    # Ansible itself plays nothing then, and ends well.
    "a tag that is none": (
        None,
        "provision --tags instal",
        "There are no such tags. Found: instal. Wanted: of ",
    ),
    "a bench without a name": (
        unnamed,
        "provision",
        "The inventory does not name its bench. Found: no leaselab_bench of host gen",
    ),
}
"""What is done before, what is played, and what is said."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_not_be_played_is_refused_before_a_host_is_touched(bench, case):
    """tests/house/test_roles.py has that each playbook asks so."""
    prepare, words, reason = REFUSED[case]
    if prepare:
        prepare(bench)
    said = play(bench, *words.split())
    assert reason in said
    assert "UNREACHABLE" not in said


def test_a_hold_that_is_older_than_the_maintenance_goes_on(bench):
    take(bench)
    close(bench)
    hold = bench.parent / "hold.json"
    for token in ("t", "another"):
        request = {"name": "ana@laptop", "purpose": "a test", "token": token, "lease_s": 3600}
        hold.write_text(json.dumps(request), encoding="utf-8")
        mine = f"bench_lock_hold={hold}"
        said = play(bench, "provision", "--limit", "dhcp_server", "-e", mine)
        assert ("[sut]: UNREACHABLE" in said) == (token == "t")
        assert ("The bench is in maintenance by ben@desk" in said) == (token != "t")


def test_no_host_is_switched_while_its_bench_is_held(bench):
    """By hand, too; who asks for the state alone disturbs nobody."""
    take(bench)
    asked = ("power", "-e", "power_host=sut", "-e")
    said = play(bench, *asked, "power_action=cycle")
    assert "The bench is in use by ana@laptop (a test) for " in said
    for more in (["power_action=status"], ["power_action=cycle", "-e", "power_force=true"]):
        said = play(bench, *asked, *more)
        assert "in use" not in said
        assert "sut: this host has no power switch. Found: no leaselab_power." in said


def test_nothing_is_done_where_the_lock_cannot_be_asked(bench):
    """Not on other hosts either: Ansible would go on with plays that have some left."""
    gone = {"gen": NOWHERE}
    change(bench, lambda group: group["children"]["dhcp_generator"].update(hosts=gone))
    said = play(bench, "build", "-e", "dnsmasq_repo=x", "-e", "dnsmasq_commit=y")
    assert "[sut -> gen]: UNREACHABLE" in said
    assert "PLAY [Resolve the commit]" not in said


def test_a_bench_that_is_free_is_gone_on_with_under_a_limit(bench):
    said = play(bench, "provision", "--limit", "dhcp_server")
    assert "in use" not in said
    assert "[sut]: UNREACHABLE" in said


def test_a_base_image_that_others_can_exchange_is_refused_before_anything_is_made(tmp_path):
    """A tag can be moved, and the module would look for one; a digest is the content."""
    digest = "sha256:" + 64 * "a"
    pinned, moving = f"example.org:5000/debian@{digest}", "debian:trixie-slim"
    tasks = []
    for number, image in enumerate((pinned, moving, f"{moving}@{digest}")):
        keep = {"dest": str(tmp_path / str(number))}
        role = {"name": "docker_lab", "tasks_from": "precheck"}
        asked = {"include_role": role, "vars": {"docker_lab_base_image": image}}
        taken = {"keep": {**keep, "content": "taken"}}
        refused = {"keep": {**keep, "content": f"{{{{ {RESULTS} }}}}"}}
        tasks.append({"block": [asked, taken], "rescue": [refused]})
    play_here(tmp_path, tasks)
    taken, *refused = [(tmp_path / str(number)).read_text("utf-8") for number in range(3)]
    assert taken == "taken"
    for text in refused:
        assert "docker_lab_base_image is not pinned (found debian:trixie-slim" in text
