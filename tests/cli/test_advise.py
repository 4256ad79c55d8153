"""``leaselab advise``."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, START, archive_result, example_result
from tests.mutations import with_other_bytes, with_other_values

from leaselab.cli.main import main
from leaselab.lab.commented_json import read_commented_json
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
        item = Experiment(id=experiment, points=(), interleaved=True)
        record = replace(record, experiment=item)
    return archive_result(folder, record)


def only_cost(capsys):
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


def test_what_was_measured_is_reported_with_its_interval_and_results(
    results, debugging, capsys
):
    costly = archived(results, COSTLY, 0.4)
    plain = archived(results, PLAIN)
    assert main(["advise", debugging]) == 0
    out = capsys.readouterr().out
    assert "measured here: max rate 60 % lower across sessions (ratio 0.400, 95" in out
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
    measured = only_cost(capsys)["measured"]
    assert (measured["result"], measured["base"]) == tuple(record.id for record in pair)
    assert measured["alternated"] is True
    assert measured["ratio"] == pytest.approx(0.5)
    assert measured["ci95"][0] <= 0.5 <= measured["ci95"][1]


def test_among_others_the_newest_count(results, debugging, capsys):
    for number in (1, 2):
        archived(results, COSTLY, 0.1 * number, number=number, hours=number)
    archived(results, PLAIN)
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"]["ratio"] == pytest.approx(0.2)


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
    assert only_cost(capsys)["measured"] is None


def test_another_bench_measures_nothing(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    archive_result(results, replace(plain, bench=replace(plain.bench, name="rack")))
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"] is None


def test_another_generator_measures_nothing(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    archive_result(results, replace(plain, generator=replace(plain.generator, version="3.0")))
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"] is None


def test_another_durability_is_what_some_costs_are_about(results, debugging, capsys):
    archived(results, COSTLY, 0.4)
    plain = example_result(scenario=PLAIN)
    server = replace(plain.server, durability="memory")
    archive_result(results, replace(plain, servers={"server": server}))
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"]["ratio"] == pytest.approx(0.4)


def test_a_damaged_result_is_said_and_passed_over(results, debugging, capsys, caplog):
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
    assert newest.id in captured.err + caplog.text


def test_equal_points_are_reported_as_no_difference(results, debugging, capsys):
    archived(results, COSTLY)
    archived(results, PLAIN, 1.001)
    assert main(["advise", debugging]) == 0
    assert "no difference seen" in capsys.readouterr().out


def test_one_run_has_a_ratio_without_interval(results, debugging, capsys):
    for name in (COSTLY, PLAIN):
        record = example_result(MAX_RATES[:1], scenario=name, procedure=MaxRate(rounds=1))
        archive_result(results, record)
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
def test_no_secret_of_a_configuration_is_reported(name, form, capsys):
    path = DATA / f"{name}.conf"
    assert HIDDEN in path.read_text(encoding="utf-8")
    options = ["--clients", "100000", "--processors", "1", "--server-version", "2.4"]
    assert main(["advise", str(path), *options, *form]) == 0
    captured = capsys.readouterr()
    assert captured.out
    for text in (HIDDEN, "00:15:5d", "00155d", "1a:1b:1c", "admin", "db1.example"):
        assert text not in captured.out + captured.err


@pytest.mark.usefixtures("results")
def test_files_that_could_not_be_included_are_reported(capsys):
    assert main(["advise", str(DATA / "kea-2.6-dhcp4.conf")]) == 0
    out = capsys.readouterr().out
    assert "not judged: included file not read: /nowhere/kea/secret.json (No such file" in out
    assert f"\n  at {DATA / 'kea-2.6-dhcp4.conf'}:18\n" in out
    assert "; 1 thing not judged (judged as kea 3.0)\n" in out


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    "text",
    [
        '{"Dhcp4": {"loggers": <?include "gone"?>}}',
        '{"Dhcp4": {%s, "config-control": {"config-databases": [{"type": "mysql"}]}}}',
        '{"Dhcp4": {%s, "hooks-libraries": [{"library": "own.so"}]}}',
        '{"Dhcp4": {%s, "reservation-mode": "all"}}',
    ],
)
def test_strict_ends_with_1_where_something_is_not_judged(tmp_path, capsys, text):
    path = tmp_path / "kea.conf"
    logger = '"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}]'
    path.write_text(text.replace("%s", logger), encoding="utf-8")
    assert main(["advise", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert [set(finding) for finding in document["not_judged"]] == [{"what", "why", "places"}]
    assert main(["advise", str(path), "--strict"]) == 1
    assert "no known costs; 1 thing not judged" in capsys.readouterr().err


@pytest.mark.usefixtures("results")
def test_several_files_are_judged_one_by_one(debugging, tmp_path, capsys):
    plain, bad = str(DATA / "kea-3.0-dhcp6.conf"), tmp_path / "bad.conf"
    bad.write_text("[", encoding="utf-8")
    assert main(["advise", str(bad), debugging, plain, "--strict"]) == 2
    captured = capsys.readouterr()
    assert f"{debugging}: 1 known cost" in captured.out
    assert f"{plain}: no known costs" in captured.out
    reported = captured.err.splitlines()
    assert [line.split(":")[1].strip() for line in reported] == [debugging, str(bad)]
    assert main(["advise", debugging, plain, "--json"]) == 0
    documents = json.loads(capsys.readouterr().out)
    assert [document["file"] for document in documents] == [debugging, plain]


@pytest.mark.usefixtures("results")
def test_standard_input_and_a_folder_for_absolute_names(tmp_path):
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/loggers").write_text('[\n{"severity": "DEBUG"}]', encoding="utf-8")
    text = '{"arguments": {"Dhcp4": {"loggers": <?include "/srv/loggers"?>}}}'
    program = [sys.executable, "-m", "leaselab", "advise", "-", "--root", str(tmp_path)]
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "at arguments.Dhcp4.loggers[0] (/srv/loggers:2)" in done.stdout
    assert "\nstandard input: 1 known cost" in done.stdout


@pytest.mark.usefixtures("results")
def test_of_many_places_three_are_reported_and_all_are_in_the_document(tmp_path, capsys):
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
        ("[3]", [":1:1", "found a list", "an answer to config-get"]),
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
        [str(DATA / "kea-3.0-dhcp6.conf"), "--clients", "9" * 5000],
        [str(DATA / "kea-3.0-dhcp6.conf"), "--root", "nowhere"],
        ["/dev/zero"],
        [],
    ],
)
def test_bad_arguments_are_bad_input(words, capsys):
    assert main(["advise", *words]) == 2
    assert capsys.readouterr().err.startswith("leaselab: ")


@pytest.fixture
def within():
    """A time in which each input has to be judged or refused."""
    number = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("hung"))
    yield lambda: signal.alarm(20)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, number)


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("name", ["kea-2.2-dhcp4", "kea-2.6-dhcp4", "kea-3.0-dhcp6"])
@pytest.mark.parametrize("change", [with_other_bytes, with_other_values])
def test_no_change_of_a_configuration_is_a_fault_of_the_command(
    tmp_path, capsys, within, name, change
):
    whole = json.loads(json.dumps(read_commented_json(DATA / f"{name}.conf").top))
    path, codes = tmp_path / "kea.conf", Counter()
    for seed in range(150):
        if change is with_other_bytes:
            path.write_bytes(change((DATA / f"{name}.conf").read_bytes(), seed))
        else:
            path.write_text(json.dumps(change(whole, seed)), encoding="utf-8")
        within()
        code = main(["advise", str(path), "--json", "--clients", "65000"])
        captured = capsys.readouterr()
        assert code in (0, 2), f"seed {seed}: {captured.err}"
        assert (captured.out == "") == (code == 2)
        assert code == 2 or json.loads(captured.out)["file"] == str(path)
        assert code == 0 or re.match(r"leaselab: [^\n]*:\d+", captured.err)
        assert HIDDEN not in captured.err
        codes[code] += 1
    assert set(codes) == {0, 2}
