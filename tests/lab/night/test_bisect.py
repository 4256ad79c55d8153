"""A hunt for a slow commit, on the real lab: dnsmasq, built commit by commit."""

import json
import re
import signal

import pytest
from tests.lab.commands import Engine, leaselab
from tests.sources import SourceLists, change, repository_of

pytestmark = pytest.mark.lab

SCENARIO = "v4-dnsmasq"
REPLY = "  unsigned char *opt, *clid = NULL;\n  struct dhcp_lease *ltmp, *lease = NULL;\n"
PACKET = "void dhcp_packet(time_t now, int pxe_fd)\n{"
SLOW = """static void answer_packet(time_t now, int pxe_fd);

static long since(const struct timespec *from)
{
  struct timespec to;
  clock_gettime(CLOCK_MONOTONIC, &to);
  return (to.tv_sec - from->tv_sec) * 1000000000L + to.tv_nsec - from->tv_nsec;
}

void dhcp_packet(time_t now, int pxe_fd)
{
  struct timespec from;
  long spent;
  clock_gettime(CLOCK_MONOTONIC, &from);
  answer_packet(now, pxe_fd);
  spent = since(&from);
  while (since(&from) < spent + spent / 5);
}

static void answer_packet(time_t now, int pxe_fd)
{"""
"""Answering a packet takes 20 % longer than it does, on whatever machine.  That is meant to
cost a few per cent of the completed rate: dnsmasq searches a list of its leases, so a trial
that completes fewer has cheaper ones (docs/verdicts.md: what 3 and 6 % were seen to cost)."""
NOT_C = "  this is not C;\n"
HARMLESS = ("dhcp.c", "lease.c", "option.c", "util.c", "log.c", "network.c", "forward.c")
"""Files that begin with the same comment, and get another one."""
LICENCE = "/* dnsmasq is Copyright"
QUICK = ["--trial-s=1", "--wait-s=0.5", "--late-s=0.25"]
HUNT_S = 3600


class Source:
    """dnsmasq's repository with twelve commits on top of a release, one of them slow."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        (self.base,) = repository_of("dnsmasq", ["trixie"], self.path, lists).values()
        self.minute = 0
        for name in HARMLESS[:3]:
            self._comment(name)
        self.broken = self._change("rfc2131.c", REPLY, NOT_C + REPLY, "Break the build")
        self.mended = self._change("rfc2131.c", NOT_C, "", "Mend it")
        self._comment(HARMLESS[3])
        self.before = self._comment(HARMLESS[4])
        self.slow = self._change("dhcp.c", PACKET, SLOW, "Wait for the clock")
        for name in HARMLESS[5:]:
            self._comment(name)
        self._change("rfc2131.c", REPLY, REPLY + "\n", "Add a line")
        self.last = self._change("dhcp.c", LICENCE, f"\n{LICENCE}", "Add another")

    def _comment(self, name):
        return self._change(name, LICENCE, f"/* {name} */\n{LICENCE}", f"Name {name}")

    def _change(self, name, old, new, subject):
        self.minute += 1
        return change(self.path, f"src/{name}", old, new, subject, minute=self.minute)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def hunted(source, bench_of, tmp_path_factory):
    """What the search found, and what was said: it is interrupted once, and given again."""
    bench_of(SCENARIO)
    results = tmp_path_factory.mktemp("hunt") / "results"
    words = ["bisect", SCENARIO, "--repo", source.path, "--good", source.base]
    words += ["--bad", source.last, *QUICK, "--results", results]
    stopped = Engine(*words)
    try:
        stopped.saw(r"^A, v4-dnsmasq at \w+: run 2/", HUNT_S)
        stopped.process.send_signal(signal.SIGTERM)
    finally:
        assert stopped.end()[0] == 130
    done = leaselab(*words, "--json", timeout_s=HUNT_S)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout), done.stderr


def test_the_slow_commit_is_named_and_confirmed_against_its_parent(source, hunted):
    found, _ = hunted
    assert len(found["commits"]) >= 13
    (culprit,) = found["culprits"]
    assert (culprit["hash"], culprit["after"]) == (source.slow, source.before)
    assert culprit["ci95"][1] < 1
    last = found["duels"][-1]
    assert (last["older"], last["newer"], last["answer"]) == (
        source.before,
        source.slow,
        "slower",
    )


def test_the_duel_that_was_interrupted_is_finished(hunted):
    found, told = hunted
    (first, *_) = re.findall(r"^A, v4-dnsmasq at \w+: run (\d+)/", told, re.MULTILINE)
    assert int(first) > 1
    pairs = [(one["older"], one["newer"]) for one in found["duels"]]
    assert len(pairs) == len(set(pairs))


def test_a_commit_that_does_not_build_is_left_out_if_it_is_met(source, hunted):
    found, _ = hunted
    assert {one["hash"] for one in found["commits"] if one["broken"]} <= {source.broken}
    assert source.broken not in {one["newer"] for one in found["duels"]}
