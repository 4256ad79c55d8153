"""A commit counted against the one before it, in the lab that needs no container engine."""

import json
from pathlib import Path

import pytest
from tests.dnsmasq_changes import PACKET
from tests.lab.commands import ROOT, leaselab
from tests.sources import SourceLists, change, repository_of

pytestmark = pytest.mark.lab

INVENTORY = ROOT / "inventory" / "namespaces"
SCENARIO = "v4-dnsmasq"
SMALL = ["--set=rounds=2", "--set=transactions=40", "--set=clients=40", "--set=more_clients=90"]
LICENCE = "/* dnsmasq is Copyright"
MORE = 400
IDLE = f"""static void idle(void)
{{
  __asm__ volatile (".rept {MORE}\\n nop\\n .endr");
}}

{PACKET}
  idle();
"""
"""So many instructions for each packet, whatever a compiler does with loops."""
BUILD_S = 3600


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """What counts a commit; its lab is taken down in the end."""
    folder = tmp_path_factory.mktemp("counted")
    repository = folder / "dnsmasq"
    lists = SourceLists(folder / "lists", ["trixie"])
    repository_of("dnsmasq", ["trixie"], repository, lists)
    commits = {
        "comment": change(repository, "src/dhcp.c", LICENCE, f"\n{LICENCE}", "Say", minute=1),
        "idle": change(repository, "src/dhcp.c", PACKET, IDLE, "Idle", minute=2),
    }

    def count(name):
        """Return the exit code, the answer, and what was said on standard error."""
        words = ("cost", SCENARIO, "--repo", repository, "--commit", commits[name])
        results = ("--results", folder / "results", "--json")
        done = leaselab(*words, *SMALL, *results, timeout_s=BUILD_S)
        return done.returncode, json.loads(done.stdout), done.stderr

    yield count
    done = leaselab("lab", "down", "-i", INVENTORY, "--force")
    assert done.returncode == 0, done.stderr


def test_a_commit_that_changes_no_code_costs_the_same(counted):
    code, said, stderr = counted("comment")
    assert (code, said["word"]) == (0, "equal"), stderr


def test_more_instructions_are_counted_and_named_with_their_function(counted):
    code, said, stderr = counted("idle")
    assert (code, said["word"]) == (1, "more"), stderr
    parts = {part["name"]: part for part in said["cost"]["parts"]}
    grown = parts["instructions"]["b"] - parts["instructions"]["a"]
    # An exchange has two packets.
    assert abs(grown - 2 * MORE) < parts["instructions"]["least"] < MORE
    assert said["profile"]["functions"][0]["name"].startswith(("idle", "dhcp_packet"))
    assert not parts["system_calls"]["changed"]


def test_nothing_of_the_lab_is_left_on_the_machine(counted):
    counted("comment")
    done = leaselab("lab", "down", "-i", INVENTORY, "--json")
    assert done.returncode == 0, done.stderr
    assert not [*Path("/run/netns").glob("leaselab-namespaces*")]
    assert not [*Path("/var/lib/leaselab-namespaces").glob("hosts/*")]
