"""Knot behind the server contract: that of Debian 13, with what role knot writes for it."""

import json
import os
from pathlib import Path

import pytest
import yaml
from tests.deployments import APART, ROLES
from tests.load_programs import load_programs
from tests.plays import ansible
from tests.tools import AS_ROOT, run, unpacked_root

ROLE = ROLES / "knot"
ZONE = "@ 3600 SOA ns h 1 2 3 4 5\n@ 3600 NS ns\nns 3600 A 192.0.2.1\nwww 3600 A 192.0.2.2\n"


@pytest.fixture(scope="module")
def network():
    """A network namespace whose loopback has the server's address."""
    name = f"leaselab-knot-{os.getpid()}"
    assert run(*AS_ROOT, "ip", "netns", "add", name)[0] == 0
    run(*AS_ROOT, "ip", "-n", name, "link", "set", "lo", "up")
    run(*AS_ROOT, "ip", "-n", name, "address", "add", "198.18.0.10/32", "dev", "lo")
    yield [*AS_ROOT, "ip", "netns", "exec", name]
    run(*AS_ROOT, "ip", "netns", "delete", name)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the role writes for a variant: its configuration and the contract's settings."""
    folder = tmp_path_factory.mktemp("knot")
    look = f"{{{{ lookup('ansible.builtin.template', '{ROLE}/templates/knot.conf.j2') }}}}"
    contents = {"settings": "{{ knot_contract_settings | to_json }}", "knot.conf": look}
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(ROLE / f"{part}/main.yml") for part in ("defaults", "vars")],
        "vars": {
            "knot_variant": "knot-three",
            "knot_data": "zones",
            "knot_size": 3,
            "knot_test_interface": "lo",
            "knot_test_address": "198.18.0.10",
            "dns_data_zones": {"folder": "/zones", "zones": 3, "sha256": "abc"},
        },
        "tasks": [
            {"keep": {"content": content, "dest": str(folder / name)}}
            for name, content in contents.items()
        ],
    }
    # variables of a play come after those of its files, a command's before all
    given = play.pop("vars")
    book = folder / "play.yml"
    book.write_text(yaml.safe_dump([play]), encoding="utf-8")
    ansible("ansible-playbook", "-i", "localhost,", book, "-e", json.dumps(given))
    return folder


@pytest.fixture
def host(written):
    """The root with Knot, the contract, three zones, and the role's list of them."""
    place = unpacked_root("trixie", "knot")
    settings = json.loads((written / "settings").read_text("utf-8"))
    folder = place / "opt/leaselab"
    variant = folder / "variants/knot-three"
    config, listed = settings["config_files"]
    own = [place / path[1:] for path in ("/zones", "/run/leaselab", str(Path(listed).parent))]
    run(*AS_ROOT, "rm", "-rf", *own, folder)
    run(*AS_ROOT, "mkdir", "-p", *own, variant)
    for role in ("contract", "knot"):
        assert run(*AS_ROOT, "cp", "-r", f"{ROLES}/{role}/files/.", folder)[0] == 0
    run(*AS_ROOT, "cp", written / "settings", variant / "server.json")
    run(*AS_ROOT, "cp", written / "knot.conf", place / config[1:])
    names = [f"z{number:07d}.test." for number in (1, 2, 3)]
    for name in names:
        run(*AS_ROOT, "tee", place / f"zones/{name}zone", input=f"$ORIGIN {name}\n{ZONE}")
    rows = "".join(f"{name}\t{name}zone\n" for name in names)
    run(*AS_ROOT, "tee", place / "zones/zones.tsv", input=rows)
    (task,) = [
        row
        for row in yaml.safe_load((ROLE / "tasks/configure.yml").read_text("utf-8"))
        if row["name"] == "Write the list of zones"
    ]
    script = task["ansible.builtin.command"]["argv"][2]
    status, output = run(
        *AS_ROOT, "sh", "-c", script, "sh", place / "zones", place / listed[1:]
    )
    assert (status, output.strip()) == (0, "changed")
    return place


def inside(network, host, *words):
    """Run words in the root and the network; return status and output."""
    return run(*network, "unshare", "--mount", "sh", "-c", APART, "sh", host, *words)


def verb(network, host, *words):
    """Do a verb of the contract; return status and output."""
    return inside(network, host, "python3", "/opt/leaselab/server", *words)


def test_knot_serves_the_zones_of_the_role(network, host, tmp_path):
    (check,) = [
        row["ansible.builtin.template"]["validate"]
        for row in yaml.safe_load((ROLE / "tasks/configure.yml").read_text("utf-8"))
        if "ansible.builtin.template" in row
    ]
    config = "/etc/leaselab-knot-knot-three_knot.conf"
    assert inside(network, host, *(check % config).split())[0] == 0
    status, output = verb(network, host, "start", "knot-three")
    try:
        assert status == 0, output
        started = json.loads(output)
        assert started["version"].startswith("3.")
        assert started["program"].endswith("/usr/sbin/knotd")
        queries = tmp_path / "queries"
        queries.write_text("www.z0000002.test. A\n", encoding="utf-8")
        words = ["--server", "198.18.0.10", "--queries", queries, "--rate", "50"]
        status, output = run(
            *(*network, load_programs() / "leaseload", "dns", *words, "--seconds", "1")
        )
        assert status == 0, output
        assert json.loads(output)["counts"]["completed"] == 50
        assert json.loads(verb(network, host, "reset", "knot-three")[1]) == {
            "held": None,
            "was": None,
        }
    finally:
        ended = verb(network, host, "stop", "knot-three")
    assert json.loads(ended[1]) == {"was_running": True}


def test_a_zone_that_it_cannot_load_is_a_failed_start(network, host):
    run(*AS_ROOT, "tee", host / "zones/z0000002.test.zone", input="broken\n")
    status, output = verb(network, host, "start", "knot-three")
    verb(network, host, "stop", "knot-three")
    assert status == 1
    assert "z0000002.test." in output
