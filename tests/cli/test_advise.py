"""``leaselab advise``."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, START, archive_result, example_result

from leaselab.cli.main import main
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.record import Experiment

DATA = Path(__file__).parents[1] / "data/advice"
COSTLY, PLAIN = "v4-log-debug-99", "v4-log-info"
HIDDEN = "kept-out-of-all-output"


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty archive."""
    folder = tmp_path / "results"
    monkeypatch.setenv("LEASELAB_RESULTS", str(folder))
    return folder


@pytest.fixture
def debugging(tmp_path):
    """A configuration whose only cost is its log."""
    path = tmp_path / "kea-dhcp4.conf"
    path.write_text(
        '{"Dhcp4": {\n "valid-lifetime": 86400, "loggers": [\n  {"severity": "DEBUG",'
        ' "debuglevel": 99}]}} # all\n',
        encoding="utf-8",
    )
    return str(path)


def archived(folder, scenario, share=1.0, *, number=1, hours=0, experiment=None, **fields):
    record = example_result(
        [share * rate for rate in MAX_RATES],
        scenario=scenario,
        token=f"{number:04}",
        started=START + timedelta(hours=hours),
        **fields,
    )
    if experiment:
        one = Experiment(id=experiment, points=(), interleaved=True)
        record = replace(record, experiment=one)
    return archive_result(folder, record)


def told(capsys):
    """The only cost of the only finding of the JSON document that was printed."""
    [finding] = json.loads(capsys.readouterr().out)["findings"]
    [cost] = finding["costs"]
    return cost


@pytest.mark.usefixtures("results")
def test_what_was_never_measured_says_how_to_measure_it(debugging, capsys):
    assert main(["advise", debugging]) == 0
    out = capsys.readouterr().out
    assert "debug-logging: severity DEBUG, level 99" in out
    assert f"at Dhcp4.loggers[0] ({debugging}:3)" in out
    assert f"not measured here: {COSTLY} against {PLAIN}" in out
    assert f"`leaselab run {COSTLY} {PLAIN}` measures it" in out
    assert "to do: Set severity WARN" in out
    assert out.endswith("1 known cost, none of them measured here (judged as kea 3.0)\n")


def test_what_was_measured_is_told_with_its_interval_and_results(results, debugging, capsys):
    costly = archived(results, COSTLY, 0.4)
    plain = archived(results, PLAIN)
    assert main(["advise", debugging]) == 0
    out = capsys.readouterr().out
    assert "measured here: max rate 60 % lower (ratio 0.400, 95 % interval 0.39" in out
    assert f"{COSTLY} against {PLAIN}: results {costly.id}, {plain.id}" in out
    assert "2026-11-21, bench docker, kea 2.6.3, one after the other: drift" in out
    assert "1 known cost, 1 of them measured here" in out


def test_points_that_alternated_come_before_newer_ones(results, debugging, capsys):
    pair = [
        archived(results, name, share, experiment="exp")
        for name, share in ((COSTLY, 0.5), (PLAIN, 1.0))
    ]
    archived(results, COSTLY, 0.4, number=2, hours=1)
    archived(results, PLAIN, number=2, hours=1)
    assert main(["advise", debugging, "--json"]) == 0
    found = told(capsys)["measured"]
    assert (found["result"], found["base"]) == tuple(record.id for record in pair)
    assert found["alternated"] is True
    assert found["ratio"] == pytest.approx(0.5)
    assert found["ci95"][0] <= 0.5 <= found["ci95"][1]


def test_among_others_the_newest_count(results, debugging, capsys):
    for number in (1, 2):
        archived(results, COSTLY, 0.1 * number, number=number, hours=number)
    archived(results, PLAIN)
    assert main(["advise", debugging, "--json"]) == 0
    assert told(capsys)["measured"]["ratio"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "other",
    [
        {"version": "3.0.0"},
        {"commit": "c" * 40},
        {"outcome": "invalid"},
    ],
    ids=str,
)
def test_results_that_are_not_alike_measure_nothing(results, debugging, capsys, other):
    archived(results, COSTLY, 0.4, **other)
    archived(results, PLAIN)
    assert main(["advise", debugging, "--json"]) == 0
    assert told(capsys)["measured"] is None


def test_another_bench_measures_nothing(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    archive_result(results, replace(plain, bench=replace(plain.bench, name="rack")))
    assert main(["advise", debugging, "--json"]) == 0
    assert told(capsys)["measured"] is None


def test_another_generator_measures_nothing(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    archive_result(results, replace(plain, generator=replace(plain.generator, version="3.0")))
    assert main(["advise", debugging, "--json"]) == 0
    assert told(capsys)["measured"] is None


def test_another_durability_is_what_some_costs_are_about(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    server = replace(plain.server, durability="memory")
    archive_result(results, replace(plain, servers={"server": server}))
    assert main(["advise", debugging, "--json"]) == 0
    assert told(capsys)["measured"]["ratio"] == pytest.approx(0.4)


def test_a_damaged_result_is_said_and_passed_over(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    archived(results, PLAIN)
    newest = archived(results, COSTLY, 0.3, number=2, hours=1)
    assert main(["list", "--json"]) == 0  # the index has read it
    capsys.readouterr()
    place = results / "2026" / "11" / newest.id / "result.json"
    place.chmod(0o644)
    place.write_text(place.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert main(["advise", debugging, "--json"]) == 0
    captured = capsys.readouterr()
    [finding] = json.loads(captured.out)["findings"]
    assert finding["costs"][0]["measured"]["ratio"] == pytest.approx(0.4)
    assert f"passed over: {place.parent}" in captured.err or newest.id in captured.err


def test_equal_points_are_told_to_be_no_difference(results, debugging, capsys):
    archived(results, COSTLY)
    archived(results, PLAIN, 1.001)
    assert main(["advise", debugging]) == 0
    assert "no difference seen" in capsys.readouterr().out


def test_one_run_has_a_ratio_without_interval(results, debugging, capsys):
    for name in (COSTLY, PLAIN):
        one = example_result(MAX_RATES[:1], scenario=name, procedure=MaxRate(rounds=1))
        archive_result(results, one)
    assert main(["advise", debugging]) == 0
    assert "(ratio 1.000, without interval)" in capsys.readouterr().out


@pytest.mark.usefixtures("results")
def test_strict_ends_with_1_where_a_cost_is_found(debugging, capsys):
    assert main(["advise", debugging, "--strict"]) == 1
    captured = capsys.readouterr()
    assert "debug-logging" in captured.out
    assert f"leaselab: {debugging}: 1 known cost" in captured.err
    assert main(["advise", str(DATA / "kea-3.0-dhcp6.conf"), "--strict"]) == 0
    assert "no known costs" in capsys.readouterr().out


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("name", ["kea-2.2-dhcp4", "kea-2.6-dhcp4", "kea-3.0-dhcp6"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_secret_of_a_configuration_is_told(name, form, capsys):
    path = DATA / f"{name}.conf"
    assert HIDDEN in path.read_text(encoding="utf-8")
    options = ["--clients", "100000", "--processors", "1", "--server-version", "2.4"]
    assert main(["advise", str(path), *options, *form]) == 0
    captured = capsys.readouterr()
    assert captured.out
    for text in (HIDDEN, "00:15:5d", "00155d", "1a:1b:1c", "admin", "db1.example"):
        assert text not in captured.out + captured.err


@pytest.mark.usefixtures("results")
def test_files_that_could_not_be_included_are_told(capsys):
    assert main(["advise", str(DATA / "kea-2.6-dhcp4.conf")]) == 0
    assert "not read: /nowhere/kea/secret.json" in capsys.readouterr().out


@pytest.mark.usefixtures("results")
def test_of_many_places_three_are_told_and_all_are_in_the_document(tmp_path, capsys):
    path = tmp_path / "kea.conf"
    content = {"Dhcp4": {"loggers": [{"severity": "DEBUG"}] * 5, "valid-lifetime": 86400}}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert main(["advise", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("  at Dhcp4.loggers") == 3
    assert "and at 2 other places" in out
    assert main(["advise", str(path), "--json"]) == 0
    [finding] = json.loads(capsys.readouterr().out)["findings"]
    assert len(finding["places"]) == 5


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("port=0\ndhcp-range=192.0.2.1,192.0.2.9\n", [":1:1", "not JSON", "found a word"]),
        (
            '{"Control-agent": {}}',
            ["found Control-agent", "wanted an object with Dhcp4 or Dhcp6"],
        ),
        ('{"Dhcp4": {"loggers": 3 4}}', [":1:25", "wanted a comma or }"]),
    ],
)
def test_what_is_no_configuration_is_bad_input(tmp_path, capsys, text, parts):
    path = tmp_path / "some.conf"
    path.write_text(text, encoding="utf-8")
    assert main(["advise", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [part for part in parts if part not in captured.err] == []


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    "words",
    [
        ["nowhere.conf"],
        [str(DATA)],
        [str(DATA / "kea-3.0-dhcp6.conf"), "--clients", "0"],
        [str(DATA / "kea-3.0-dhcp6.conf"), "--processors", "-1"],
        [str(DATA / "kea-3.0-dhcp6.conf"), "--server-version", "newest"],
        [str(DATA / "kea-3.0-dhcp6.conf"), "--results", "nowhere"],
        [],
    ],
)
def test_bad_arguments_are_bad_input(words, capsys):
    assert main(["advise", *words]) == 2
    assert capsys.readouterr().err.startswith("leaselab: ")
