"""``leaselab compare A B --live`` and ``calibrate``; builder and bench left out."""

import json

import pytest
from tests.made_up import BROKEN, RATE
from tests.repositories import commit, git, make_repository

from leaselab.cli.main import main
from leaselab.model.errors import invalid_measurement, lab_broken
from leaselab.model.procedures.duel import Duel


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A repository with a release, a commit after it, and a branch of one commit."""
    path = make_repository(tmp_path_factory.mktemp("source") / "server")
    commit(path, "Release", {"a": "1"}, minute=1)
    git(path, "tag", "v1.0")
    commit(path, "Work", {"a": "2"}, minute=2)
    git(path, "checkout", "-q", "-b", "topic")
    commit(path, "Topic", {"a": "3"}, minute=3)
    return path


def of(place, ref):
    return git(place, "rev-parse", ref)


def live(place, a, b, *arguments):
    words = ["compare", a, b, "--live", "--no-cost", "--repo", str(place)]
    return main([*words, "--scenario", "v4-memfile", *arguments])


def profiles(lab):
    return [row for row in lab.store.index.rows() if row["procedure"] == "profile"]


def results(lab):
    return [lab.store.load(row["id"]) for row in lab.store.index.every()]


def test_equal_servers_end_with_no_change_and_are_profiled_only_when_asked(lab, place, capsys):
    assert live(place, "v1.0", "main", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["word"], document["outcome"]) == ("equal", "ok")
    assert document["duel"]["error_budget"] is None
    assert document["a"]["runs"] == document["duel"]["rounds"] < 74, "it ended early"
    assert 0.5 < document["duel"]["power"] <= 1
    commits = [of(place, "v1.0"), of(place, "main")]
    assert [document[side]["commit"] for side in "ab"] == lab.built == commits
    assert not profiles(lab)
    assert live(place, "v1.0", "main", "--profile") == 0
    assert profiles(lab)


@pytest.mark.parametrize(("slow", "cause"), [([1, 2, 3], "code"), ([2], "place"), ([], "none")])
def test_a_drop_in_every_layout_is_the_codes_and_in_one_its_place(
    lab, place, capsys, slow, cause
):
    lab.rates = {f"{of(place, 'main')} laid out {seed}": 0.95 * RATE for seed in slow}
    assert live(place, "v1.0", "main", "--layouts", "3", "--json") == (cause == "code")
    out, err = capsys.readouterr()
    over = json.loads(out)["over"]
    assert over["cause"] == cause
    assert [layout["seed"] for layout in over["layouts"]] == [1, 2, 3]
    assert [layout["word"] == "slower" for layout in over["layouts"]] == [
        seed in slow for seed in (1, 2, 3)
    ]
    assert "3 layouts: 6 builds, and 3 duels of at most" in err
    assert sorted(record.layout for record in results(lab)) == [1, 1, 2, 2, 3, 3]
    assert not lab.deployed[6:], "nothing is profiled"


def test_an_interrupted_duel_of_a_layout_goes_on_in_that_layout(lab, place, capsys):
    lab.interrupted_at = 5
    assert live(place, "v1.0", "main", "--layouts", "2") != 0
    (begun, _) = lab.store.running()
    lab.interrupted_at = None
    assert live(place, "v1.0", "main", "--no-profile") == 0
    assert begun.id in [record.id for record in lab.store.running()], (
        "another layout is another build"
    )
    capsys.readouterr()
    assert live(place, "v1.0", "main", "--layouts", "2", "--markdown", "-") == 0
    assert lab.store.running() == []
    out, _ = capsys.readouterr()
    assert out.startswith("#"), "the document is all of it"
    assert "layouts" not in out


@pytest.mark.parametrize(
    ("places", "asked"), [(2, [(1, 2), (1, 2)]), (1, [(1, 2), (1,)])], ids=["two", "one"]
)
def test_each_is_deployed_once_for_both_places_where_they_can_be_up_at_once(
    lab, place, places, asked
):
    lab.places = places
    assert live(place, "v1.0", "main", "--no-profile") == 0
    assert lab.deployed == [of(place, "v1.0"), of(place, "main")]
    assert lab.asked == asked
    records = results(lab)
    assert [record.experiment.both_up for record in records] == [places == 2] * 2
    # A record says the order of its rounds, and a resumed duel goes on with it.
    assert {record.procedure.seed for record in records} == {records[0].experiment.id}


@pytest.mark.parametrize("options", [(), ("--no-profile",)])
def test_a_slower_one_is_a_regression_and_is_profiled_unless_that_is_not_wanted(
    lab, place, capsys, tmp_path, options
):
    lab.rates[of(place, "main")] = 0.95 * RATE
    comment, ids = tmp_path / "comment.md", tmp_path / "ids"
    files = ["--markdown", str(comment), "--id-file", str(ids)]
    assert live(place, "v1.0", "main", *files, *options) == 1
    out, err = capsys.readouterr()
    assert "leaselab: v4-memfile: Slower" in err
    assert "error budget" in comment.read_text()
    assert len(profiles(lab)) == (0 if options else 2)
    if not options:
        assert {row["commit"] for row in profiles(lab)} == {*lab.built}
        (rate,) = {made.rate for made in lab.procedures if made.name == "profile"}
        assert rate == pytest.approx(0.8 * 0.95 * RATE, rel=0.01)
    assert main(["compare", *ids.read_text().split()]) == 1, "judged again from the archive"
    judged = capsys.readouterr().out.splitlines()[-1]
    assert judged == out.splitlines()[-1]
    assert judged.startswith("Slower: kea")


@pytest.mark.parametrize(
    ("a", "b", "commits"),
    [
        ("release", "topic", ("v1.0", "topic")),
        ("branch-point", "topic", ("main", "topic")),
        ("branch-point", "main", ("v1.0", "main")),
        ("package", "main", (None, "main")),
    ],
)
def test_what_a_is_follows_from_b(lab, place, a, b, commits):
    assert live(place, a, b) == 0
    results = [row["commit"] for row in lab.store.index.every()]
    assert sorted(results, key=str) == sorted(
        (ref and of(place, ref) for ref in commits), key=str
    )


def test_two_configurations_of_a_server_are_compared(lab, capsys):
    lab.rates["v4-memfile-mt"] = 1.3 * RATE
    assert main(["compare", "@v4-memfile", "@v4-memfile-mt", "--live"]) == 0
    out = capsys.readouterr().out
    assert "as packaged in v4-memfile-mt completes" in out
    assert "what else differs: scenario server.options" in out


@pytest.mark.parametrize(("broken", "code"), [("main", 5), ("v1.0", 3)])
def test_what_does_not_build_is_the_verdict_and_of_a_no_fault_of_b(
    lab, place, capsys, broken, code
):
    lab.broken.add(of(place, broken))
    assert live(place, "v1.0", "main") == code
    err = capsys.readouterr().err
    assert ("A does not build or does not start" in err) == (broken == "v1.0")
    assert BROKEN in err
    assert lab.rounds == []


def test_a_kept_build_is_measured_without_its_repository(lab, place):
    assert live(place, "v1.0", "main") == 0
    builds = lab.checkout / ".leaselab" / "builds"
    records = {path: path.read_text() for path in builds.glob("*/build.json")}
    key = next(path.parent.name for path, text in records.items() if of(place, "main") in text)
    lab.forget()
    command = ["compare", f"build:{key}", "package", "--live", "--scenario", "v4-memfile"]
    assert main([*command, "--no-cost"]) == 0
    assert lab.built == []
    assert lab.deployed == [of(place, "main"), "v4-memfile"]


@pytest.mark.parametrize(("rate", "code"), [(1, 0), (0.95, 1)])
def test_a_duel_that_was_interrupted_is_resumed_to_the_same_end(lab, place, capsys, rate, code):
    """Its verdict, exit code and next commands are those that it has uninterrupted."""
    lab.rates[of(place, "main")] = rate * RATE
    lab.interrupted_at = 5
    assert live(place, "v1.0", "main", "--no-profile") == 130
    assert "go on with: ./leaselab resume" in capsys.readouterr().err
    lab.interrupted_at = None
    assert main(["resume"]) == code
    resumed = capsys.readouterr()
    assert ("Equal: ", "Slower: ")[code] in resumed.out
    assert ("./leaselab bisect v4-memfile" in resumed.err) == (code == 1)
    points = lab.store.load("last").experiment.points
    assert f"./leaselab show --all {points[-1]}" in resumed.err
    assert main(["compare", *points]) == code
    assert capsys.readouterr().out == resumed.out
    assert main(["rerun", "last"]) == code


@pytest.mark.parametrize("places", [1, 2])
def test_the_same_command_goes_on_with_a_duel_that_was_interrupted(lab, place, capsys, places):
    lab.places = places
    lab.interrupted_at = 5
    assert live(place, "v1.0", "main") == 130
    lab.interrupted_at = None
    lab.forget()
    assert live(place, "v1.0", "main", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert min(index for _, index in lab.rounds) > 1
    assert document["duel"]["rounds"] > 2
    assert lab.store.running() == []
    assert len(list(lab.store.index.every())) == 2


def test_a_duel_looks_for_its_load_from_what_the_last_one_completed(lab, place):
    """Of any commit; a duel about another figure was below its limit, and shows none."""
    assert live(place, "v1.0", "main", "--metric", "cpu_us", "--no-profile") == 0
    assert live(place, "v1.0", "topic", "--no-profile") == 0
    *_, first, second = (record for record in results(lab) if record.figure.unit != "us")
    assert {first.procedure.rate, second.procedure.rate} == {Duel().rate}
    assert live(place, "main", "topic", "--no-profile") == 0
    last = results(lab)[-1]
    assert last.procedure.rate == round(Duel().over * second.figure.value)
    assert live(place, "topic", "v1.0", "--no-profile", "--set", "rate=700") == 0
    assert results(lab)[-1].procedure.rate == 700


def test_a_duel_is_between_two(lab):
    assert main(["run", "v4-memfile", "--procedure", "duel"]) == 2
    assert lab.rounds == []


def test_a_bench_is_calibrated_once_and_verdicts_quote_it(lab, capsys):
    words = ["calibrate", "--error-budget", "v4-memfile", "--pairs", "2", "--slowdown", "4"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["equal"]["duels"], document["equal"]["slower"]) == (2, 0)
    assert (document["slowed"]["duels"], document["slowed"]["slower"]) == (2, 2)
    assert document["slowed"]["ratio"] == pytest.approx(0.96, abs=0.005)
    assert 0 < document["smallest"] < 0.04
    lab.forget()
    assert main(words) == 0
    assert lab.rounds == []  # the archive has them
    assert "2 of 2 duels with B slowed down by 4 % found" in capsys.readouterr().out
    assert main(["compare", "@v4-memfile", "@v4-memfile", "--live"]) == 0
    assert "error budget of this bench" in capsys.readouterr().out


def test_a_canary_fails_on_a_bench_whose_duels_are_wrong(lab, capsys, tmp_path):
    """On one, the second server of each round is always slower; on another, faster."""
    words = ["calibrate", "--error-budget", "v4-memfile", "--pairs", "1", "--slowdown", "10"]
    for name, off, code in (("well", 0, 0), ("false alarm", -0.1, 4), ("blind", 0.1, 4)):
        lab.forget()
        lab.off = 60 * (off,)
        assert main([*words, "--strict", "--results", str(tmp_path / name)]) == code
        said = capsys.readouterr().err
        assert ("duels of this bench are wrong (found " in said) == (code == 4), said


def test_errors_are_as_large_as_the_calibrating_duels_scatter(lab, capsys):
    """Servers that wander for longer than a duel takes: one duel alone cannot show that."""
    lab.off = 3 * (0.01, 0.01, -0.01, -0.01)
    words = ["calibrate", "--error-budget", "v4-memfile", "--pairs", "5", "--slowdown", "3"]
    assert main([*words, "--json"]) == 0
    wider = json.loads(capsys.readouterr().out)["wider"]
    assert 1.5 < wider < 6
    assert {record.procedure.wider for record in results(lab)} == {1.0}
    lab.off = ()
    assert main(["compare", "@v4-memfile", "@v4-memfile", "--live"]) == 0
    assert f"errors {wider:g} times as large" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "nth", "more"),
    [(lab_broken("the switch is off"), 2, 8), (invalid_measurement("too slow"), 1, 8)],
    ids=["cut short", "no verdict"],
)
def test_a_calibration_goes_on_after_what_ended_it(lab, capsys, fault, nth, more):
    """A duel that came to no verdict does not count as one."""
    words = ["calibrate", "--error-budget", "v4-memfile", "--pairs", "2"]
    lab.faults["v4-memfile", nth] = fault
    assert main(words) == fault.code
    made = len(results(lab))
    lab.faults.clear()
    assert main(words) == 0
    assert lab.store.running() == []
    assert len(results(lab)) == made + more
    assert "0 of 2 duels of equal servers" in capsys.readouterr().out


@pytest.mark.parametrize(("generator", "rounds"), [("leaseload", 25), ("perfdhcp", 18)])
def test_a_budget_is_fewer_rounds_with_a_generator_that_waits(lab, place, generator, rounds):
    """It waits after each trial that loses some: for 2 s, in two trials of a round."""
    arguments = ["--budget", "5", "--generator", generator, "--set", "wait_s=2"]
    assert live(place, "v1.0", "main", "--no-profile", *arguments) == 0
    assert {procedure.rounds for procedure in lab.procedures} == {rounds}
