"""Two commits of dnsmasq, one with a busy loop: the profile names the function that has it."""

import json

import pytest
from tests.lab.commands import leaselab
from tests.sources import SourceLists, change, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
NAME = "weigh_vendor_options"
REPLY = "size_t dhcp_reply(struct dhcp_context *context, char *iface_name, int int_index,\n"
BUSY = (
    f"__attribute__((noinline)) void {NAME}(void)\n"
    "{\n"
    "  volatile int round;\n"
    "  for (round = 0; round < 15000; round++);\n"
    "}\n\n"
)
CALLED = "  if (mess->op != BOOTREQUEST || mess->hlen > DHCP_CHADDR_MAX)\n    return 0;\n   \n"
LOAD = ["--set=rate=800", "--set=duration_s=4", "--set=wait_s=0.5", "--set=late_s=0.25"]


@pytest.fixture(scope="module")
def commits(tmp_path_factory):
    """A repository, a commit of it, and one that is a few per cent slower."""
    folder = tmp_path_factory.mktemp("source")
    lists = SourceLists(folder / "lists", ["trixie"])
    path = folder / "dnsmasq"
    (base,) = repository_of("dnsmasq", ["trixie"], path, lists).values()
    file = "src/rfc2131.c"
    change(path, file, REPLY, BUSY + REPLY, "Weigh the options of vendors", minute=20)
    slower = change(path, file, CALLED, f"{CALLED}  {NAME}();\n", "Do so for each", minute=21)
    return path, base, slower


def test_the_function_that_grew_is_named_first(commits, tmp_path):
    path, base, slower = commits
    words = ["run", SCENARIO, "--repo", path, "--commits", f"{base},{slower}"]
    done = leaselab(*words, "--procedure=profile", *LOAD, "--results", tmp_path, timeout_s=900)
    assert done.returncode == 0, done.stderr
    names = ["compare", base, slower, "--repo", path, "--scenario", SCENARIO]
    reported = leaselab(*names, "--threshold=50", "--results", tmp_path, "--json")
    profile = json.loads(reported.stdout)["profile"]
    first = profile["functions"][0]
    assert profile["paired"] is True
    assert first["name"] == NAME
    assert first["own"]["seen"] is True
    assert first["own"]["a_us"] == 0
    (page,) = (tmp_path / "report" / "experiment").glob("*.html")
    assert f"Grew most: {NAME} +" in page.read_text(encoding="utf-8")
