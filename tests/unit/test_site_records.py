"""Pages of results of any procedure, of several figures, and of experiments."""

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    PROCEDURE,
    START,
    archive_result,
    edited,
    example_result,
    fixed_load_result,
)
from tests.unit.test_site import Page

from leaselab.analysis.figures.summary import whole_latency
from leaselab.archive.store import Store
from leaselab.model.record import Experiment
from leaselab.model.scenario import Transaction
from leaselab.report.site.experiment import experiment
from leaselab.report.site.site import write_site

FEW = replace(PROCEDURE, rounds=3, trim=0)
"""A procedure of three rounds: pages of nine take three times as long to draw."""
SINGLE = replace(PROCEDURE, rounds=1, trim=0)


def test_each_figure_of_a_scenario_has_a_history_of_its_own(tmp_path):
    def edit(document):
        document["metrics"][0] |= {"name": "p99", "title": "99th percentile", "unit": "ms"}
        for round_ in document["rounds"]:
            round_["metrics"]["p99"] = round_["metrics"].pop("max_rate")

    for hour in range(3):
        started = START + timedelta(hours=hour)
        record = example_result(MAX_RATES[:3], started=started, procedure=FEW)
        archive_result(tmp_path, edited(record, edit) if hour else record)
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    rate, latency = (Page(page) for page in sorted((report / "history").glob("*.html")))
    assert "v4-memfile.p99.html" in rate.links
    assert "v4-memfile.html" in latency.links
    assert not {link for link in rate.links if "sweep" in link} & set(latency.links)
    assert "v4-memfile, 99th percentile" in Page(report / "compare.html").words
    listed = Page(report / "index.html").words
    assert "figure" in listed, "a list of several units says each one's"
    assert "ms" in listed


def point(place, factor, *, interleaved=True, why="", **changes):
    """A point of an experiment of three: its figure is `factor` of the example's."""
    record = example_result(
        [factor * rate for rate in MAX_RATES[:3]],
        started=START + timedelta(minutes=place),
        procedure=FEW,
        token=f"{place:04x}",
        version=changes.pop("version", "2.6.3"),
    )
    ids = tuple(
        example_result(started=START + timedelta(minutes=each), token=f"{each:04x}").id
        for each in range(3)
    )
    scenario = replace(record.scenario, factors={**record.scenario.factors, **changes})
    mark = Experiment(id="20261121-threads", points=ids, interleaved=interleaved, why=why)
    return replace(record, scenario=scenario, experiment=mark)


def points_of(chart):
    """What the points of an experiment's chart are: label, place and standing."""
    layer = next(item for item in chart.spec["layer"] if item.get("name") == "points")
    return layer, [
        (value["label"], value["at"], value["standing"]) for value in layer["data"]["values"]
    ]


def test_an_experiment_along_a_number_is_a_curve_with_its_best_point_marked():
    records = [
        point(place, factor, interleaved=False, threads=2**place)
        for place, factor in enumerate((0.7, 1, 0.999))
    ]
    _, (curve, runs) = experiment(records)
    _, shown = points_of(curve)
    assert curve.title == "Max rate by threads"
    standings = zip((1, 2, 4), ("differs", "best", "equal"), strict=True)
    assert shown == [(f"threads {at}", at, standing) for at, standing in standings]
    intervals = next(item for item in curve.spec["layer"] if "y2" in item["encoding"])
    rows = [(row["low"], row["high"]) for row in intervals["data"]["values"]]
    assert rows == [record.figure.ci95 for record in records]
    (dots,) = runs.spec["layer"]
    assert len(dots["data"]["values"]) == 9
    assert dots["encoding"]["x"]["type"] == "temporal"


def single_runs(*factors, apart_s=0):
    """Points of an experiment along the threads, of one run each."""
    results = []
    for place, factor in enumerate(factors):
        started = START + timedelta(seconds=place * apart_s)
        record = example_result([factor * MAX_RATES[0]], started=started, procedure=SINGLE)
        shown = point(place, factor, threads=2**place)
        results.append(replace(shown, metrics=record.metrics, rounds=record.rounds))
    return results


def test_places_close_to_each_other_have_their_own_words_on_the_axis():
    _, (_, runs) = experiment(single_runs(0.5, 0.7, 1, apart_s=20))
    labels = re.findall(r">(2026-[^<]+)<", runs.drawing)
    assert len(set(labels)) == len(labels) > 1
    assert any(re.fullmatch(r"[-0-9]+ \d\d:\d\d:\d\d", label) for label in labels)
    shares = (0.5, 0.9, 0.999)
    _, (curve, _) = experiment([point(place, 1, fill=at) for place, at in enumerate(shares)])
    labels = re.findall(r">([01][.0-9]*)</text>", curve.drawing)
    assert {"0.5", "0.9", "0.999"} <= set(labels)
    assert "1" not in labels


def test_an_experiment_of_single_runs_has_latencies_and_says_that_runs_cannot_decide():
    records = single_runs(0.5, 1)
    context, (curve, _) = experiment(records)
    assert context["latencies"] == ("median latency", "p99 latency")
    for shown, record in zip(context["points"], records, strict=True):
        whole = whole_latency(record)
        assert shown.latencies_ms == (1000 * whole["p50"], 1000 * whole["p99"])
    assert [point.standing for point in context["points"]] == ["too few runs to tell", "best"]
    assert "one run has no interval" in curve.note
    load = fixed_load_result((0.0113,), token="0002")
    marked = replace(load, experiment=records[0].experiment)
    assert experiment([marked])[0]["latencies"] == (), "the figure is a latency"


@pytest.mark.parametrize(
    ("names", "values", "labels"),
    [
        ("version", ["2.6.1", "2.6.2", "2.6.3"], ["kea 2.6.1", "kea 2.6.2", "kea 2.6.3"]),
        (
            "zone_cache",
            [True, False, "zone_cache 2"],
            ["zone cache", "no zone cache", "zone_cache 2"],
        ),
        ("queue", ["ring", "heap", "tree"], ["queue ring", "queue heap", "queue tree"]),
        (
            "threads queue",
            [(1, 8), (2, 8), (2, 9)],
            ["threads 1, queue 8", "threads 2, queue 8", "threads 2, queue 9"],
        ),
        (
            "threads version",
            [(1, "2.6.3"), (2, "2.6.1"), (2, "2.6.3")],
            ["threads 1, kea 2.6.3", "threads 2, kea 2.6.1", "threads 2, kea 2.6.3"],
        ),
    ],
)
def test_an_experiment_along_anything_else_is_a_row_for_each_point(names, values, labels):
    records = []
    for place, value in enumerate(values):
        own = value if isinstance(value, tuple) else (value,)
        changes = dict(zip(names.split(), own, strict=True))
        records.append(point(place, 1 - 0.1 * place, **changes))
    context, (dots, _) = experiment(records)
    layer, shown = points_of(dots)
    assert [label for label, *_ in shown] == labels
    assert [standing for *_, standing in shown] == ["best", "differs", "differs"]
    assert layer["encoding"]["y"]["field"] == "label"
    assert [item.label for item in context["points"]] == labels


def test_points_that_differ_in_more_have_a_chart_for_each_curve():
    records = [
        point(place, factor, threads=threads, backend=backend)
        for place, (backend, threads, factor) in enumerate(
            [("mysql", 1, 0.2), ("mysql", 2, 0.3), ("memory", 1, 1.0), ("memory", 2, 0.8)]
        )
    ]
    context, (first, other, _) = experiment(records)
    assert [first.title, other.title] == [
        "Max rate by threads, backend memory",
        "Max rate by threads, backend mysql",
    ]
    assert first.id != other.id
    standings = [shown.standing for shown in context["points"]]
    assert standings == ["differs", "best", "best", "differs"]


def test_the_best_of_points_on_no_curve_is_one_of_those_that_do_the_same_work():
    other = Transaction(name="query", plural="queries", stages=("QUERY-ANSWER",))
    records = [point(place, 1 - 0.1 * place, queue=f"q{place}") for place in range(4)]
    records[2:] = [
        replace(record, scenario=replace(record.scenario, transaction=other))
        for record in records[2:]
    ]
    context, _ = experiment(records)
    standings = [shown.standing for shown in context["points"]]
    assert standings == ["best", "differs", "best", "differs"]


def test_equal_points_are_numbered_and_one_without_a_figure_is_in_the_table_alone():
    context, _ = experiment([point(0, 1), point(1, 1)])
    assert len({item.label for item in context["points"]}) == 2
    broken = point(1, 1, threads=2)
    none = replace(broken.figure, value=None, ci95=None)
    broken = replace(broken, outcome="invalid", metrics=(none, *broken.metrics[1:]))
    context, (curve, _) = experiment([point(0, 1, threads=1), broken])
    _, shown = points_of(curve)
    assert [label for label, *_ in shown] == ["threads 1"]
    assert [item.label for item in context["points"]] == ["threads 1", "threads 2"]


@pytest.mark.parametrize("interleaved", [True, False])
def test_an_experiment_has_a_page_that_overview_and_points_lead_to(tmp_path, interleaved):
    of = {"interleaved": interleaved, "why": "each is a build"}
    for place, factor in enumerate((0.7, 1)):
        archive_result(tmp_path, point(place, factor, **of, threads=place))
    report = write_site(Store(tmp_path), tmp_path / "report", sweeps=1).parent
    page = Page(report / "experiment" / "20261121-threads.html")
    assert "experiment/20261121-threads.html" in Page(report / "index.html").links
    sweeps = sorted((report / "sweep").glob("*.html"))
    assert len(sweeps) == 2, "each point has its page, however few are asked for"
    for sweep_page in sweeps:
        assert "../experiment/20261121-threads.html" in Page(sweep_page).links
        assert f"../sweep/{sweep_page.name}" in page.links
    words = " ".join(" ".join(page.words).split())
    assert "1 more has no result here" in words
    assert ("The points were interleaved" in words) == interleaved
    assert ("one after the other, so that the machine's drift is part" in words) != interleaved
    assert ("each is a build" in words) != interleaved
    archive_result(tmp_path, point(2, 1, interleaved=interleaved, threads=2))
    write_site(Store(tmp_path), report)
    late = (report / "experiment" / "20261121-threads.html").read_text(encoding="utf-8")
    assert "<p>3 points, " in late, "a point that comes later joins the page"


def test_a_report_of_named_results_has_the_experiment_as_far_as_it_is_named(tmp_path):
    records = [archive_result(tmp_path, point(place, 1, threads=place)) for place in range(3)]
    named = [record.id for record in records[:2]]
    report = write_site(Store(tmp_path), tmp_path / "site", named).parent
    links = Page(report / "experiment" / "20261121-threads.html").links
    linked = {link for link in links if "sweep/" in link}
    assert linked == {f"../sweep/{ref}.html" for ref in named}


@pytest.mark.parametrize(
    ("rates", "answer"),
    [
        ((1.0, 1.0), "no difference in max rate seen between threads 1 and threads 2"),
        ((1.0, 2.0), "best max rate: threads 2, 12083 ± 352 exchanges/s"),
    ],
)
def test_the_title_of_an_experiment_is_its_answer(rates, answer):
    records = [point(place, rate, threads=place + 1) for place, rate in enumerate(rates)]
    context, _ = experiment(records)
    assert context["answer"] == answer
