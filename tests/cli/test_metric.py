"""``--metric`` of compare, bisect and review: the figure that decides; hosts left out."""

import json
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.cli.main import main
from leaselab.model.procedure import SERVER_KINDS
from leaselab.model.procedures.operate import Operate

CULPRIT = 5
OPERATED = ("--metric", "stall_s", "--set", "operations=reload", "--no-profile")


@pytest.fixture
def lab(lab, hashes):
    """A lab whose servers take longer to start from the culprit on, and serve as fast."""
    lab.costs = {f"start of {name}": 1.4 for name in hashes[CULPRIT:]}
    lab.costs |= {f"stall of {name}": 4.0 for name in hashes[CULPRIT:]}
    return lab


def live(place, a, b, *arguments):
    words = ["compare", a, b, "--live", "--no-cost", "--repo", str(place)]
    return main([*words, "--scenario", "v4-memfile", *arguments])


def bisect(place, hashes, *arguments):
    ends = ["--good", hashes[0], "--bad", hashes[7]]
    return main(["bisect", "v4-memfile", "--repo", str(place), *ends, *arguments])


@pytest.mark.usefixtures("lab")
def test_a_start_that_takes_longer_is_a_regression_in_all_words(place, hashes, capsys):
    assert live(place, hashes[0], hashes[-1], "--metric", "start_s") == 1
    out, err = capsys.readouterr()
    assert "Worse: the start time of kea" in out
    assert re.search(r"ratio B to A of the start time: 1\.[34]", out)
    assert "error budget" not in out
    assert "slower" not in out + err
    assert "no profile: a start has no load to profile under" in err


@pytest.mark.usefixtures("lab")
def test_a_shorter_start_is_better_and_none_is_no_change(place, hashes, capsys):
    assert live(place, hashes[-1], hashes[0], "--metric", "start_s") == 0
    assert "Better: the start time of kea" in capsys.readouterr().out
    assert live(place, hashes[0], hashes[1], "--metric", "start_s", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["metric"], document["word"]) == ("start_s", "equal")


def test_starts_are_at_one_address_where_two_could_be_up_at_once(lab, place, hashes):
    lab.places = 2
    assert live(place, hashes[0], hashes[1], "--metric", "start_s") == 0
    assert lab.asked == [(1,), (1,)]


def test_what_servers_cannot_do_is_no_figure_of_a_duel(lab, place, refused):
    words = ["compare", "main~2", "main", "--live", "--scenario", "v4-memfile"]
    said = refused(*words, "--no-cost", "--repo", place, "--metric", "reload_s")
    assert "kea does not reload its data" in said
    assert lab.rounds == []


@pytest.mark.parametrize(
    ("budget", "code"), [("to 0.3", 0), ("to 0.1", 1), ("0.2", 0), ("0.1", 1), ("any", 0)]
)
@pytest.mark.usefixtures("lab")
def test_a_longer_stall_is_worse_unless_its_budget_allows_it(
    place, hashes, capsys, tmp_path, *, budget, code
):
    """It is 0.05 s, and then 0.2 s."""
    assert live(place, hashes[0], hashes[-1], *OPERATED) == 1
    out, _ = capsys.readouterr()
    assert "Worse: the longest stall of kea" in out
    assert re.search(r"\(\+1[45]\d ms, 95 % interval", " ".join(out.split()))
    assert re.search(r"longest stall: (3\.9|4\.[01])", out)
    policy = tmp_path / "leaselab.yml"
    policy.write_text(f"allow: {{stall_s: {budget}}}\n")
    judged = ["--policy", str(policy), "--no-profile"]
    assert live(place, hashes[0], hashes[-1], *OPERATED, *judged) == code
    out, _ = capsys.readouterr()
    assert ("not allowed" in out) == bool(code)
    assert live(place, hashes[0], hashes[1], *OPERATED, *judged) == 0
    capsys.readouterr()
    policy.write_text("allow: {stall_s: to 0.04}\n")
    assert live(place, hashes[0], hashes[1], *OPERATED, *judged) == 1, "though it is no longer"
    assert re.search(r"may grow to 0\.04: 0\.0\d+ s, not allowed", capsys.readouterr().out)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("options", "longer"), [(("--metric", "start_s"), 1.4), (OPERATED[:-1], 4.0)]
)
def test_the_commit_since_which_starts_or_stalls_take_longer_is_named(
    place, hashes, capsys, options, longer
):
    """Though the archive has duels of another figure, which found nothing."""
    assert bisect(place, hashes) == 0
    capsys.readouterr()
    assert bisect(place, hashes, *options, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["metric"] == options[1]
    (culprit,) = document["culprits"]
    assert (culprit["hash"], culprit["after"]) == (hashes[CULPRIT], hashes[CULPRIT - 1])
    assert culprit["ratio"] == pytest.approx(longer, rel=0.05)
    assert bisect(place, hashes, *options) == 1
    assert f"Worse since {hashes[CULPRIT][:10]}" in capsys.readouterr().out


# ---- archived results


def history(lab, hashes, kind, procedure=None):
    """Results of the commits: the rate stays, another figure is higher from the tenth on."""

    def sweep(number, value):
        made = example_result(started=START + timedelta(days=number), token=f"{number:04x}")
        # As the hosts of the lab, which do not say their release.
        made = replace(made, bench=replace(made.bench, hosts={}))
        rounds = tuple(
            replace(each, metrics={**each.metrics, kind.name: value * (1 + 0.01 * (at % 3))})
            for at, each in enumerate(made.rounds)
        )
        spread = [each.metrics[kind.name] for each in rounds]
        shown = {of: getattr(kind, of) for of in ("name", "title", "unit", "better")}
        figure = replace(
            made.figure,
            **shown,
            value=sorted(spread)[len(spread) // 2],
            how="median",
            trim=0,
            dropped=(),
            ci95=(0.99 * value, 1.01 * value),
            standard_error=0.003 * value,
            lowest=min(spread),
            highest=max(spread),
        )
        record = replace(made, rounds=rounds, metrics=(*made.metrics, figure))
        if procedure:
            scenario = replace(made.scenario, generator="leaseload")
            record = replace(record, procedure=procedure, scenario=scenario, metrics=(figure,))
        source = f"2026-01-{number + 1:02d}T12:00:00+00:00"
        record = built(record, hashes[number], subject=f"Change {number}", author_date=source)
        return archive_result(lab.results, record)

    return [sweep(number, 0.2 if number < 9 else 0.3) for number in range(len(hashes))]


@pytest.fixture
def archive(lab, hashes):
    return history(lab, hashes, SERVER_KINDS[0])


def test_archived_results_are_compared_by_any_metric_of_both(archive, capsys):
    first, last = archive[0].id, archive[-1].id
    assert main(["compare", first, last]) == 0
    assert main(["compare", first, last, "--metric", "start_s"]) == 1
    assert "50.0 % higher than that of kea" in capsys.readouterr().out
    assert main(["compare", last, first, "--metric", "start_s"]) == 0
    assert main(["compare", first, last, "--metric", "reload_s"]) == 2
    assert "the result has no such metric" in capsys.readouterr().err


def test_review_looks_through_the_history_of_the_metric(archive, capsys):
    assert main(["review", "--metric", "start_s", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (change,) = document["changes"]
    assert (change["metric"], change["worse"]) == ("start_s", True)
    assert change["ratio"] == pytest.approx(1.5, rel=0.02)
    assert change["after"]["commit"] == archive[9].server.commit
    assert main(["review", "--metric", "stat_s"]) == 2
    assert "no result has such a metric" in capsys.readouterr().err


@pytest.mark.usefixtures("archive")
def test_review_confirms_a_change_of_starts_by_a_duel_of_starts(lab, place, hashes, capsys):
    lab.costs = {f"start of {name}": 1.5 for name in hashes[9:]}
    confirm = ["review", "--metric", "start_s", "--confirm", "--repo", str(place)]
    assert main([*confirm, "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["state"], change["worse"]) == ("confirmed", True)
    assert change["duel"]["ratio"] == pytest.approx(1.5, rel=0.05)
    assert lab.measured == hashes[8:10]
    assert {plan.metric for plan in lab.procedures} == {"start_s"}
    lab.forget()
    assert main([*confirm]) == 1
    assert "1 confirmed" in capsys.readouterr().out
    assert lab.measured == []


def test_review_confirms_a_change_of_stalls_by_a_duel_with_the_same_operations(
    lab, place, hashes, capsys
):
    operate = Operate(operations=("reload",), rate=1000, every_s=7)
    history(lab, hashes, operate.metrics("exchanges")[0], operate)
    lab.costs = {f"stall of {name}": 1.5 for name in hashes[9:]}
    other = ("--metric", "stall_s", "--set", "operations=pause-1s", "--no-profile")
    assert live(place, hashes[8], hashes[9], *other) == 1
    lab.forget()
    capsys.readouterr()
    assert main(["review", "--confirm", "--repo", str(place), "--no-profile", "--json"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["metric"], change["state"]) == ("stall_s", "confirmed")
    assert lab.measured == hashes[8:10], "the duel of another operation settles nothing"
    plans = {(plan.metric, plan.operations, plan.every_s) for plan in lab.procedures}
    assert plans == {("stall_s", ("reload",), 7)}
