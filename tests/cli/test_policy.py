"""``leaselab check``, and leaselab.yml of a server's repository; builder and bench left out."""

import json

import pytest
from junitparser import JUnitXml
from tests.made_up import RATE
from tests.repositories import commit, git, make_repository

from leaselab.cli.main import main
from leaselab.model.errors import lab_broken

POLICY = """\
allow:
  instructions: 0.5 %
  system_calls: 1
scenarios:
  - scenario: v4-memfile
  - scenario: v6-memfile
    allow: {instructions: 5 %}
  - scenario: v4-memfile
    procedure: duel
    against: release
    allow: {completed_rate: 3 %, cpu_us: 4 %}
override: ["a.developer@example.org"]
"""
FILE = "leaselab.yml"
LESS = {"reply": 5}
"""0.45 % more instructions."""
MORE = {"reply": 11}
"""0.99 %."""


@pytest.fixture
def place(tmp_path):
    """A repository with a release, its policy, and a branch of one change."""
    path = make_repository(tmp_path / "server")
    commit(path, "Release", {"a": "1"}, minute=1)
    git(path, "tag", "v1.0")
    commit(path, "Rule", {FILE: POLICY}, minute=2)
    git(path, "checkout", "-q", "-b", "topic")
    commit(path, "Work", {"a": "2"}, minute=3)
    return path


def head(place):
    return git(place, "rev-parse", "HEAD")


def cost(place, *words):
    return main(["cost", "--repo", str(place), *words])


def rules(out):
    """The lines of rules on a screen, which are broken at its width."""
    text = " ".join(out.split())
    return [part.strip() for part in text.split("rule: ")[1:]]


def test_each_scenario_of_the_policy_is_counted_and_judged_by_its_own_rule(
    lab, place, tmp_path, capsys
):
    lab.counts[head(place)] = MORE
    files = tmp_path / "comment.md", tmp_path / "junit.xml", tmp_path / "ids"
    words = zip(("--markdown", "--junit", "--id-file"), map(str, files), strict=True)
    assert cost(place, "--json", *(word for pair in words for word in pair)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["outcome"] == "regression"
    four, six = document["comparisons"]
    assert (four["scenario"], four["outcome"]) == ("v4-memfile", "regression")
    assert (six["scenario"], six["outcome"], six["word"]) == ("v6-memfile", "ok", "more")
    broken = "leaselab.yml:2 instructions of v4-memfile may grow by 0.5 %: +0.99 %, not allowed"
    allowed = "leaselab.yml:7 instructions of v6-memfile may grow by 5 %: +0.99 %, allowed"
    broken, allowed = f"rule: {broken}", f"rule: {allowed}"
    assert [each["policy"]["rules"][0]["text"] for each in (four, six)] == [broken, allowed]
    assert four["policy"]["source"] == f"{FILE} of {git(place, 'rev-parse', 'main')[:10]}"
    comment = files[0].read_text()
    assert comment.startswith("## Leaselab: regression")
    assert "more, allowed" in comment
    assert "v6-memfile may grow by 5 %: +0.99 %, allowed" in comment
    cases = {case.name: case for suite in JUnitXml.fromfile(files[1]) for case in suite}
    assert broken in cases["v4-memfile verdict"].result[0].message
    assert cases["v6-memfile verdict"].result == []
    assert allowed in cases["v6-memfile verdict"].system_out
    assert len(files[2].read_text().split()) == 4


@pytest.mark.parametrize(
    ("counts", "code", "rule"),
    [
        ({}, 0, ":2 instructions of v4-memfile may grow by 0.5 %: no change for the"),
        ({"calls": 5}, 1, ":3 system_calls of v4-memfile may grow by 1: +2.00 calls"),
        ({"writes": 900}, 1, " has no rule for written_bytes of v4-memfile: +3.00 by"),
    ],
)
def test_a_change_for_the_worse_is_judged_by_the_rule_of_its_figure(
    lab, place, capsys, *, counts, code, rule
):
    lab.counts[head(place)] = counts
    assert cost(place, "v4-memfile") == code
    out = capsys.readouterr().out
    (said,) = rules(out)
    assert said.startswith(f"{FILE}{rule}")
    assert f"the rules are those of {FILE} of {git(place, 'rev-parse', 'main')[:10]}" in said


def test_a_commit_does_not_loosen_its_own_policy_but_may_add_scenarios(lab, place, capsys):
    added = POLICY.replace("0.5 %", "50 %").replace(
        "override",
        "  - {scenario: v4-memfile-mt, against: v1.0, allow: {instructions: any}}\noverride",
    )
    lab.counts[commit(place, "Loosen", {FILE: added}, minute=4)] = MORE
    assert cost(place) == 1
    out, err = capsys.readouterr()
    first, second, third = rules(out)
    assert first.startswith("leaselab.yml:2 instructions of v4-memfile may grow by 0.5 %")
    assert second.startswith("leaselab.yml:7 instructions of v6-memfile may grow by 5 %")
    assert third.startswith("leaselab.yml:2 instructions of v4-memfile-mt may grow by 0.5 %")
    note = f"{FILE} of {head(place)[:10]} differs: it counts once it is merged"
    assert third.count(note) == 1
    assert "2 of 3 scenarios: v4-memfile, v4-memfile-mt" in err
    assert {*lab.built} == {git(place, "rev-parse", "main"), head(place)}, "not the release"


@pytest.mark.parametrize("worktree", [True, False])
def test_the_first_policy_counts_once_it_is_merged(lab, tmp_path, capsys, worktree):
    path = make_repository(tmp_path / "server")
    commit(path, "Release", {"a": "1"}, minute=1)
    commit(path, "Work", {"a": "2"}, minute=2)
    assert cost(path) == 2
    assert f"a scenario, or {FILE} with scenarios of procedure cost" in capsys.readouterr().err
    assert cost(path, "v4-memfile", "--json") == 0
    assert json.loads(capsys.readouterr().out)["policy"] is None
    git(path, "checkout", "-q", "-b", "topic")
    if worktree:
        commit(path, "More", {"a": "3"}, minute=3)
    (path / FILE).write_text(POLICY.replace("0.5 %", "any"))
    git(path, "add", FILE)
    if not worktree:
        git(path, "commit", "-q", "-m", "Policy")
    lab.counts[head(path)] = LESS
    assert cost(path, "v4-memfile", "--json", *["--worktree"] * worktree) == 1
    policy = json.loads(capsys.readouterr().out)["policy"]
    assert policy["source"].endswith(f", which has no {FILE}")
    assert policy["rules"][0]["place"] is None
    assert policy["notes"] == [
        f"{FILE} of {head(path)[:10]} differs: it counts once it is merged"
    ]


@pytest.mark.parametrize(
    ("trailer", "address", "said"),
    [
        ("cost v4-memfile it checks more", "a.developer@example.org", "accepted by"),
        ("instructions v4-memfile it checks more", "A.Developer@Example.org", "accepted by"),
        ("cost v4-memfile it checks more", "b@example.org", "the policy does not list b@exa"),
        ("cost v6-memfile it checks more", "a.developer@example.org", "not allowed"),
        ("allocations v4-memfile it checks", "a.developer@example.org", "not allowed"),
        ("cost v4-memfile", "a.developer@example.org", "it is not FIGURE SCENARIO REASON"),
        ("speed v4-memfile \x1b[31mno", "a.developer@example.org", "it is not FIGURE SCEN"),
    ],
)
def test_a_listed_committer_accepts_a_change_by_a_trailer(
    lab, place, capsys, *, trailer, address, said
):
    message = f"Check more\n\nWhy.\n\nLeaselab-Accept: {trailer}\n"
    made = git(
        place,
        *("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", message),
        address=address,
    )
    lab.counts[made] = MORE
    accepted = said == "accepted by"
    comment = place / "comment.md"
    assert cost(place, "v4-memfile", "--commit", made, "--markdown", str(comment)) == (
        not accepted
    )
    out = capsys.readouterr().out
    (rule,) = rules(out)
    assert said in rule
    assert "\x1b" not in out
    if accepted:
        assert f"accepted by {address} in commit {made[:10]}: it checks more" in rule
        assert comment.read_text().startswith("## Leaselab: more, accepted")


def test_a_trailer_accepts_no_change_that_its_commit_does_not_have(lab, place, capsys):
    git(place, "commit", "-q", "--allow-empty", "-m", "C\n\nLeaselab-Accept: cost v4-memfile x")
    lab.counts[head(place)] = MORE
    assert cost(place, "v4-memfile") == 0
    (place / "a").write_text("not committed")
    assert cost(place, "v4-memfile", "--worktree") == 1
    assert "+0.99 %, not allowed" in " ".join(capsys.readouterr().out.split())


def compare(place, *words):
    return main(["compare", "--repo", str(place), *words])


def test_a_duel_looks_for_twice_what_is_allowed_and_is_judged_again_alike(
    lab, place, capsys, tmp_path
):
    lab.costs[head(place)] = 1.036
    ids = tmp_path / "ids"
    words = ("--live", "--no-cost", "--no-profile")
    assert compare(place, *words, "--id-file", str(ids)) == 0
    out = capsys.readouterr().out
    (cpu,) = rules(out)
    assert cpu.startswith("leaselab.yml:11 cpu_us of v4-memfile may grow by 4 %: +3.")
    assert "%, allowed" in cpu
    assert {procedure.find for procedure in lab.procedures} == {0.06}
    measured = {row["commit"] for row in lab.store.index.every()}
    assert measured == {git(place, "rev-parse", "v1.0"), head(place)}
    results = ids.read_text().split()
    again = ["compare", *results]
    assert main([*again, "--policy", str(place)]) == 0
    assert rules(capsys.readouterr().out)[-1].startswith(cpu[:60])
    assert main(again) == 1, "no policy was named"
    assert compare(place, "v1.0", "topic", "--scenario", "v4-memfile") == 0
    strict = tmp_path / "strict.yml"
    strict.write_text("allow: {completed_rate: 3 %, cpu_us: 3 %}\n")
    assert main([*again, "--policy", str(strict)]) == 1
    assert f"{strict}:1 cpu_us of v4-memfile may grow by 3 %: +3." in capsys.readouterr().out


def test_a_resumed_duel_is_judged_by_the_policy_that_is_named(lab, place, capsys):
    lab.costs[head(place)] = 1.036
    for words, code in ((), 1), (("--policy", str(place)), 0):
        lab.interrupted_at = 5
        assert compare(place, "--live", "--no-cost", "--no-profile") == 130
        lab.interrupted_at = None
        assert main(["resume", *words]) == code
        out, err = capsys.readouterr()
        said = "cpu_us of v4-memfile may grow by 4 %" in " ".join(out.split())
        assert said is not bool(code)
        assert ("judged without rules" in err) is bool(code)
        lab.forget()


@pytest.mark.usefixtures("lab")
def test_the_policy_says_what_a_cost_is_compared_with_unless_the_user_does(place, capsys):
    text = POLICY.replace("scenarios:", "against: v1.0\nscenarios:", 1)
    git(place, "checkout", "-q", "main")
    commit(place, "Against the release", {FILE: text}, minute=4)
    commit(place, "Work", {"a": "4"}, minute=5)
    release, parent = (git(place, "rev-parse", name) for name in ("v1.0", "main~1"))
    for words, before in (
        (("cost",), release),
        (("compare", "--cost"), release),
        (("cost", "--against", "main~1"), parent),
        (("cost", "--against", "branch-point"), parent),
    ):
        assert main([*words, "--repo", str(place), "--json"]) == 0
        made = json.loads(capsys.readouterr().out)["comparisons"]
        assert [each["a"]["commit"] for each in made] == [before, before]
        source = {each["policy"]["source"] for each in made}
        assert source == {f"{FILE} of {parent[:10]}"}, "a release does not keep its rules"


def test_a_stable_branch_has_the_rules_of_what_it_is_compared_with(lab, place, capsys):
    git(place, "checkout", "-q", "-b", "stable", "v1.0")
    stable = commit(place, "Stable", {FILE: "allow: {instructions: 2 %}\n"}, minute=4)
    lab.counts[commit(place, "Fix", {"a": "5"}, minute=5)] = MORE
    words = ("v4-memfile", "--commit", "stable", "--json")
    assert cost(place, *words, "--against", stable) == 0
    policy = json.loads(capsys.readouterr().out)["policy"]
    assert policy["source"] == f"{FILE} of {stable[:10]}"
    assert policy["rules"][0]["place"] == f"{FILE}:1"


@pytest.mark.parametrize("of", ["main", "topic"])
def test_an_error_in_the_file_of_either_commit_ends_it_before_anything_is_built(
    lab, place, capsys, of
):
    git(place, "checkout", "-q", of)
    made = commit(place, "Break", {FILE: f"{POLICY}allw: 1\n"}, minute=4)
    if of == "main":
        git(place, "checkout", "-q", "-B", "topic")
        commit(place, "Work", {"a": "3"}, minute=5)
    for words in ((), ("v4-memfile",)):
        assert cost(place, *words) == 2
        said = capsys.readouterr().err
        assert f"{FILE}:13 of {made[:10]}: unknown key 'allw'; did you mean 'allow'?" in said
    assert lab.built == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: " + "x" * (64 << 10), "the file is too large (found 65539 bytes, wanted up to 65"),
        ("a: " + "[" * 200, "nested too deeply"),
        ("\x00\x1b[31m", "not YAML"),
    ],
)
def test_a_strangers_file_is_read_within_bounds(lab, place, capsys, content, said):
    commit(place, "Grow", {FILE: content}, minute=4)
    assert cost(place) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "\x1b" not in err
    assert lab.built == []


def test_the_scenarios_before_an_error_are_shown_and_it_is_raised(lab, place, tmp_path, capsys):
    lab.deploy_faults[head(place)] = lab_broken("the switch is off")
    assert cost(place, "v4-memfile") == 4
    lab.deploy_faults.clear()
    text = POLICY.replace("v6-memfile", "powerdns-recursive-hot")
    git(place, "checkout", "-q", "-B", "topic", "main")
    git(place, "checkout", "-q", "main")
    commit(place, "Pairs", {FILE: text}, minute=4)
    git(place, "checkout", "-q", "-B", "topic")
    lab.counts[commit(place, "Work", {"a": "6"}, minute=5)] = LESS
    comment = tmp_path / "comment.md"
    capsys.readouterr()
    assert cost(place, "--markdown", str(comment)) == 2, "a Recursor cannot be counted"
    err = capsys.readouterr().err
    assert "without a verdict: powerdns-recursive-hot: " in err
    assert "## Leaselab: more, allowed" in comment.read_text()


def test_a_file_is_checked_before_it_is_committed(tmp_path, said):
    file = tmp_path / FILE
    file.write_text(POLICY)
    out = said("check", file).out
    assert "v4-memfile: duel about completed_rate against release" in out
    assert f"{file}:11 cpu_us of v4-memfile may grow by 4 %" in out
    assert "Leaselab-Accept counts of a.developer@example.org" in out
    file.write_text(f"{POLICY}allw: 1\nb: 2\n")
    out, err = said("check", file, code=2)
    places = [line.partition(": unknown")[0] for line in err.splitlines()]
    assert (places, out) == ([f"leaselab: {file}:{line}" for line in (13, 14)], "")
    said("check", tmp_path / "none.yml", code=2)


def test_rules_have_no_effect_on_what_they_are_not_of_and_that_is_said(lab, tmp_path, capsys):
    file = tmp_path / FILE
    file.write_text("allow: {completed_rate: 50 %}\n")
    for rate in (1, 0.8):
        lab.rates["v4-memfile"] = rate * RATE
        assert main(["run", "v4-memfile", "--set", "rounds=5"]) == 0
    assert main(["compare", "last~1", "last", "--policy", str(file)]) == 1
    assert "--policy has no effect: rules are of counts and duels" in capsys.readouterr().err
