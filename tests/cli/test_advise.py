"""``leaselab advise``."""

import json
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, START, archive_result, example_result
from tests.made_up import RATE

from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.main import main
from leaselab.inputs.user_configuration import add_scenario, read_served
from leaselab.model.errors import lab_broken, server_broken
from leaselab.model.record import Experiment

DATA = Path(__file__).parents[1] / "data/advice"
SOUND = str(DATA / "kea-3.0-dhcp6.conf")
DHCPD = str(DATA.parent / "own/dhcpd.conf")
COSTLY, PLAIN = "v4-log-debug-99", "v4-log-info"
HIDDEN = "kept-out-of-all-output"
ALIKE = example_result(scenario=COSTLY)


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


def test_what_was_measured_comes_with_its_interval_and_results(results, debugging, capsys):
    assert main(["advise", debugging]) == 0
    out = capsys.readouterr().out
    assert f"at Dhcp4.loggers[0] ({debugging}:3)" in out
    assert f"`leaselab run {COSTLY} {PLAIN}` measures it" in out
    assert out.endswith("1 known cost, none of them measured here (judged as kea 3.0)\n")
    costly = archived(results, COSTLY, 0.4)
    plain = archived(results, PLAIN)
    assert main(["advise", debugging]) == 0
    out = capsys.readouterr().out
    assert "measured here: max rate 60 % lower across sessions (ratio 0.400, 95" in out
    assert f"{COSTLY} against {PLAIN}: results {costly.id}, {plain.id}" in out
    assert "1 known cost, 1 of them measured here" in out


def test_points_that_alternated_come_before_newer_ones_and_these_before_others(
    results, debugging, capsys
):
    for number in (1, 2):
        archived(results, COSTLY, 0.1 * number, number=number, hours=number)
    plain = example_result(scenario=PLAIN)
    # Another durability is what some costs are about.
    server = replace(plain.server, durability="memory")
    archive_result(results, replace(plain, servers={"server": server}))
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"]["ratio"] == pytest.approx(0.2)
    pair = [
        archived(results, name, share, experiment="exp", number=3)
        for name, share in ((COSTLY, 0.5), (PLAIN, 1.0))
    ]
    assert main(["advise", debugging, "--json"]) == 0
    measured = only_cost(capsys)["measured"]
    assert (measured["result"], measured["base"]) == tuple(record.id for record in pair)
    assert measured["alternated"] is True
    assert measured["ratio"] == pytest.approx(0.5)
    assert measured["ci95"][0] <= 0.5 <= measured["ci95"][1]


@pytest.mark.parametrize(
    "other",
    [
        example_result(scenario=COSTLY, version="3.0.0"),
        example_result(scenario=COSTLY, commit="c" * 40),
        example_result(scenario=COSTLY, outcome="invalid"),
        replace(ALIKE, bench=replace(ALIKE.bench, name="rack")),
        replace(ALIKE, generator=replace(ALIKE.generator, version="3.0")),
    ],
    ids=["version", "commit", "outcome", "bench", "generator"],
)
def test_results_that_are_not_alike_measure_nothing(results, debugging, capsys, other):
    archive_result(results, other)
    archived(results, PLAIN)
    assert main(["advise", debugging, "--json"]) == 0
    assert only_cost(capsys)["measured"] is None


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


@pytest.mark.usefixtures("results")
def test_strict_ends_with_1_where_a_cost_is_found(debugging, capsys):
    assert main(["advise", debugging, "--strict"]) == 1
    captured = capsys.readouterr()
    assert "debug-logging" in captured.out
    assert f"leaselab: {debugging}: 1 known cost" in captured.err
    assert main(["advise", SOUND, "--strict"]) == 0
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
    if name == "kea-2.6-dhcp4":
        assert "/nowhere/kea/secret.json" in captured.out, "a file that could not be included"
    for text in (HIDDEN, "00:15:5d", "00155d", "1a:1b:1c", "admin", "db1.example"):
        assert text not in captured.out + captured.err


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
    plain, bad = SOUND, tmp_path / "bad.conf"
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
    assert capsys.readouterr().out.count("  at Dhcp4.loggers") == 3
    assert main(["advise", str(path), "--json"]) == 0
    [finding] = json.loads(capsys.readouterr().out)["findings"]
    assert len(finding["places"]) == 5


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    "words",
    [
        ["nowhere.conf"],
        [str(DATA)],
        [SOUND, "--clients", "0"],
        [SOUND, "--processors", "-1"],
        [SOUND, "--server-version", "newest"],
        [SOUND, "--results", "nowhere"],
        [SOUND, "--clients", "9" * 5000],
        [SOUND, "--root", "nowhere"],
        ["/dev/zero"],
        [str(Path(__file__))],
        [],
    ],
)
def test_bad_arguments_are_bad_input(words, capsys):
    assert main(["advise", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("leaselab: ")
    assert captured.out == ""


OWN = """{"Dhcp4": {"valid-lifetime": 86400,
 "multi-threading": {"enable-multi-threading": false},
 "reservations": [],
 "subnet4": [{"id": 1, "subnet": "192.0.2.0/24", "pools": [{"pool": "192.0.2.8/29"}]}]%s
}}"""
MEASURE = ["--measure", "--json"]


class Measured:
    """A file with two costs that can be measured: the default of its log, and one thread."""

    def __init__(self, lab, folder, capsys, more=""):
        self.lab, self.capsys = lab, capsys
        self.file = folder / "kea.conf"
        self.file.write_text(OWN % more, encoding="utf-8")

    @property
    def scenario(self):
        """The scenario of the file as it is."""
        return add_scenario(
            read_served(self.file), self.file, Catalogue(self.lab.checkout)
        ).name

    def advise(self, *words, code=0):
        assert main(["advise", str(self.file), *words]) == code
        return self.capsys.readouterr()

    def costs(self, *words):
        findings = json.loads(self.advise(*MEASURE, *words).out)["findings"]
        return {finding["name"]: finding["own"] for finding in findings}


@pytest.fixture
def measured(lab, tmp_path, capsys):
    return Measured(lab, tmp_path, capsys)


def test_each_cost_is_measured_in_the_file_itself(lab, measured):
    lab.rates[measured.scenario] = 0.9 * RATE
    costs = measured.costs()
    assert set(costs) == {"info-logging", "one-thread"}
    for name, own in costs.items():
        assert (own["word"], own["why"]) == ("slower", "")
        assert own["ci95"][0] < own["cost"] < own["ci95"][1]
        assert own["cost"] == pytest.approx(0.1, abs=0.01)
        base, other = (lab.store.load(result) for result in own["results"])
        assert [record.procedure.name for record in (base, other)] == ["duel"] * 2
        assert (base.scenario.name, other.scenario.name) == (own["base"], own["scenario"])
        assert other.scenario.name == measured.scenario, "as `run --config` has it"
        assert base.scenario.server.options["left_out"] == [name]
        assert base.scenario.load == other.scenario.load
    shown = measured.advise("--measure")
    assert re.search(r"in this file: costs 1?\d\.\d % \(\d.* %\) of the max rate", shown.out)
    assert "    without it: loggers: changed\n" in shown.out
    assert "2 known costs, 2 of them measured here" in shown.out


def test_the_longest_time_is_said_before_anything_is_measured(measured):
    shown = measured.advise("--measure", "--budget", "5").err
    time = re.search(r"2 duels of at most (\d) min each, without deployments: (\d+) min", shown)
    assert 3 <= int(time[1]) <= 5
    assert int(time[2]) == pytest.approx(2 * int(time[1]), abs=1)
    assert time.start() < shown.index("info-logging: A: own-kea-")


@pytest.mark.parametrize(
    ("rate", "cpu", "shown"),
    [
        (1.0, 1.0, r"in this file: no cost bigger than [0-4]\.\d"),
        (1.1, 1.0, r"in this file: gains \d+\.\d % \(\d+\.\d to \d+\.\d %\) of"),
        (1.0, 1.1, r"no cost .*; (9|10)\.\d % more server CPU per DHCPv4 exchange"),
    ],
)
def test_what_it_costs_is_said_of_the_rate_and_of_the_cpu(lab, measured, rate, cpu, shown):
    lab.rates[measured.scenario] = rate * RATE
    lab.costs[measured.scenario] = cpu
    assert len(re.findall(shown, measured.advise("--measure", "--find", "5").out)) == 2


def test_a_duel_that_the_archive_has_is_not_made_again(lab, measured):
    first = measured.costs()
    made = len(lab.rounds)
    assert made > 0
    assert measured.costs() == first
    assert len(lab.rounds) == made
    assert measured.costs("--find", "1") != first, "it has to find smaller ones"


def test_an_interrupted_measurement_goes_on(lab, measured):
    lab.interrupted_at = 15
    assert main(["advise", str(measured.file), "--measure"]) == 130
    lab.interrupted_at = None
    bases = [own["base"] for own in measured.costs().values()]
    assert {lab.rounds.count((base, 1)) for base in bases} == {1}
    assert lab.store.running() == []


def test_a_server_that_does_not_start_without_it_is_the_reason(lab, measured):
    base = measured.costs()["info-logging"]["base"]
    lab.deploy_faults[base] = server_broken("it refuses the file", where="sut")
    costs = measured.costs("--find", "2")
    assert costs["info-logging"]["word"] == ""
    assert "it refuses the file" in costs["info-logging"]["why"]
    assert costs["one-thread"]["word"] == "equal"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (server_broken("it refuses the file", where="sut"), 5),
        (lab_broken("no host", where="sut"), 4),
    ],
)
def test_a_server_that_starts_in_no_duel_is_an_error(lab, measured, fault, code):
    lab.deploy_faults[measured.scenario] = fault
    assert fault.what in measured.advise("--measure", code=code).err


def test_what_cannot_be_measured_says_why(lab, tmp_path, capsys):
    hooks = [{"library": f"libdhcp_{stem}.so"} for stem in ("radius", "stat_cmds")]
    networks = [
        {"name": f"n{at}", "subnet4": [{"id": at, "subnet": f"192.0.2.{at}/32"}]}
        for at in range(100, 200)
    ]
    held = {"hooks-libraries": hooks, "shared-networks": networks}
    more = f", {json.dumps(held)[1:-1]}"
    measured = Measured(lab, tmp_path, capsys, more)
    assert "--without hook:radius" in measured.advise("--measure", code=2).err
    costs = measured.costs("--without", "hook:radius")
    assert costs["radius"]["why"] == "the lab's form of the file does not have it"
    assert "who asks for the statistics" in costs["polling"]["why"]
    assert {own["base"] for own in costs.values() if own["why"]} == {""}
    out = measured.advise("--measure", "--without", "hook:radius").out
    assert "in this file: not measured: who asks for the statistics" in out
    scenario = Catalogue(lab.checkout).find(costs["one-thread"]["base"])
    assert "without hook:radius, one-thread" in scenario.description


def test_nothing_is_measured_where_nothing_can_be(lab, measured):
    text = (OWN % "").replace('threading": false', 'threading": true')
    quiet = '"loggers": [{"name": "kea-dhcp4", "severity": "WARN"}], "subnet4"'
    measured.file.write_text(text.replace('"subnet4"', quiet), encoding="utf-8")
    assert "no known costs" in measured.advise("--measure").out
    assert lab.rounds == lab.deployed == []


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-", "--measure"], "one FILE, which is not standard input"),
        (["one.conf", "two.conf", "--measure"], "one FILE"),
        (["one.conf", "--find", "2"], "works only with --measure"),
        (["one.conf", "--without", "hook:ha"], "works only with --measure"),
        (["one.conf", "--measure", "--budget", "0.1"], "too little time for a duel"),
        ([DHCPD, "--measure"], f"leaselab run --config {DHCPD}"),
    ],
)
def test_what_is_not_measured_at_all_is_bad_input(tmp_path, monkeypatch, capsys, words, shown):
    monkeypatch.chdir(tmp_path)
    for name in ("one.conf", "two.conf"):
        Path(name).write_text(OWN % "", encoding="utf-8")
    assert main(["advise", *words]) == 2
    assert shown in capsys.readouterr().err
