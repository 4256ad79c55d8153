"""A hunt for a slow commit, on the real lab: history, confirmation and bisection."""

import json
import re
import signal

import pytest
from tests.dnsmasq_changes import REPLY, break_build, mend_build, slow_down
from tests.lab.commands import Engine, leaselab
from tests.repositories import git
from tests.sources import SourceLists, change, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

SCENARIO = "v4-dnsmasq"
SLOWER = 300
"""By how many per cent answering a packet takes longer from the slow commit on: a third or more
of the completed rate, so that duels take few rounds on a noisy machine, too."""
HARMLESS = ("dhcp.c", "lease.c", "option.c", "util.c", "log.c")
"""Files that begin with the same comment, and get another one."""
LICENCE = "/* dnsmasq is Copyright"
SHORT = ["--find=25", "--set=trial_s=2", "--set=wait_s=1", "--set=late_s=0.5"]
HUNT_S = 3600


class Source:
    """dnsmasq's repository with ten commits on top of a release, one of them slow."""

    def __init__(self, folder):
        self.path = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        (self.base,) = repository_of("dnsmasq", ["trixie"], self.path, lists).values()
        self.minute = 0
        for name in HARMLESS[:3]:
            self._comment(name)
        self.broken = break_build(self.path, minute=self._next())
        self.mended = mend_build(self.path, minute=self._next())
        self.before = self._comment(HARMLESS[3])
        self.slow = slow_down(self.path, SLOWER, minute=self._next())
        self._comment(HARMLESS[4])
        self._change("rfc2131.c", REPLY, REPLY + "\n", "Add a line")
        self.last = self._change("dhcp.c", LICENCE, f"\n{LICENCE}", "Add another")
        self.order = git(self.path, "rev-list", "--reverse", "HEAD").split()

    def _next(self):
        self.minute += 1
        return self.minute

    def _comment(self, name):
        return self._change(name, LICENCE, f"/* {name} */\n{LICENCE}", f"Name {name}")

    def _change(self, name, old, new, subject):
        return change(self.path, f"src/{name}", old, new, subject, minute=self._next())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return Source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def measured(source, tmp_path_factory):
    """The results folder of duels of the release with each commit; how each ended, by commit.

    That is what jobs make of pushes that are compared with a release.
    """
    results = tmp_path_factory.mktemp("hunt") / "results"
    words = ["compare", "--live", "--no-cost", "--no-profile", "--scenario", SCENARIO, *SHORT]
    words += ["--repo", source.path, "--results", results]
    ended = {
        item: leaselab(*words, source.base, item, timeout_s=HUNT_S)
        for item in source.order
        if item != source.base
    }
    return results, ended


@pytest.fixture(scope="module")
def reviewed(source, measured):
    """What the history says, before and after the change that it suspects is measured again."""
    results, _ = measured
    words = ["review", "--results", results, "--json"]
    before = leaselab(*words)
    assert before.returncode == 0, before.stderr
    after = leaselab(*words, "--confirm", "--repo", source.path, timeout_s=HUNT_S)
    assert after.returncode == 0, after.stderr
    return json.loads(before.stdout), json.loads(after.stdout)


@pytest.fixture(scope="module")
def hunted(source, measured):
    """What the search found, and what was said: it is interrupted once, and given again."""
    results, _ = measured
    words = ["bisect", SCENARIO, "--repo", source.path, "--good", source.base]
    words += ["--bad", source.last, *SHORT, "--results", results]
    stopped = Engine(*words)
    try:
        stopped.saw(r"^A, v4-dnsmasq at \w+: run 2/", HUNT_S)
        stopped.process.send_signal(signal.SIGTERM)
    finally:
        assert stopped.end()[0] == 130
    done = leaselab(*words, "--json", timeout_s=HUNT_S)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout), done.stderr


def test_each_commit_has_a_duel_but_the_one_that_does_not_build(source, measured):
    results, ended = measured
    reported = {item for item, done in ended.items() if done.returncode in (0, 1, 3)}
    assert reported == set(ended) - {source.broken}, [done.stderr for done in ended.values()]
    assert ended[source.broken].returncode == 5
    listed = json.loads(leaselab("list", "--results", results, "--json").stdout)
    failed = {row["commit"] for row in listed if row["outcome"] == "build-failed"}
    assert failed == {source.broken}


def test_the_history_suspects_the_slow_commit_and_a_duel_confirms_it(source, reviewed):
    suspected, confirmed = (
        [change for change in said["changes"] if change["worse"]] for said in reviewed
    )
    for state, (row,) in (("suspected", suspected), ("confirmed", confirmed)):
        assert row["state"] == state
        before, slow, after = (
            source.order.index(commit)
            for commit in (row["before"]["commit"], source.slow, row["after"]["commit"])
        )
        assert before < slow <= after
    assert row["duel"]["word"] == "slower"


def test_the_slow_commit_is_named_and_confirmed_against_its_parent(source, hunted):
    result, _ = hunted
    assert len(result["commits"]) >= 11
    (culprit,) = result["culprits"]
    assert (culprit["hash"], culprit["after"]) == (source.slow, source.before)
    assert culprit["ci95"][1] < 1
    last = result["duels"][-1]
    assert (last["older"], last["newer"], last["word"]) == (
        source.before,
        source.slow,
        "slower",
    )


def test_the_function_that_costs_more_is_named(hunted):
    result, _ = hunted
    (culprit,) = result["culprits"]
    grown = [
        function["name"]
        for function in culprit["profile"]["functions"]
        if function["own"]["seen"]
    ]
    # It spins in that function, and in what asks the clock.
    assert "dhcp_packet" in grown[:3]
    assert "CPU time by function: Grew most: " in result["text"]


def test_the_duel_that_was_interrupted_is_finished(hunted):
    result, reported = hunted
    (first, *_) = re.findall(
        r"^A, v4-dnsmasq at \w+: run (\d+)/\d+: start", reported, re.MULTILINE
    )
    assert int(first) > 1
    pairs = [(duel["older"], duel["newer"]) for duel in result["duels"]]
    assert len(pairs) == len(set(pairs))


def test_a_commit_that_does_not_build_is_left_out_of_the_search(source, hunted):
    result, _ = hunted
    assert {commit["hash"] for commit in result["commits"] if commit["broken"]} == {
        source.broken
    }
    assert source.broken not in {duel["newer"] for duel in result["duels"]}
