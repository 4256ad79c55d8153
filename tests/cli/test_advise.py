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
def configuration(tmp_path):
    """A file of Kea's; by default one whose only cost is its log."""

    def write(loggers='{"severity": "DEBUG", "debuglevel": 99}', more=""):
        file = tmp_path / "kea-dhcp4.conf"
        own = f'"valid-lifetime": 86400, "loggers": [\n  {loggers}]{more}'
        file.write_text(f'{{"Dhcp4": {{\n {own}}}}}')
        return str(file)

    return write


@pytest.fixture
def debugging(configuration):
    return configuration()


def archived(folder, scenario, share=1.0, *, number=1, hours=0, experiment=None):
    record = example_result(
        [share * rate for rate in MAX_RATES],
        scenario=scenario,
        token=f"{number:04}",
        started=START + timedelta(hours=hours),
    )
    if experiment:
        item = Experiment(id=experiment, points=(), interleaved=True)
        record = replace(record, experiment=item)
    return archive_result(folder, record)


@pytest.fixture
def measured_cost(document, debugging):
    """What was measured of the only cost of that file."""

    def advised():
        [finding] = document("advise", debugging)["findings"]
        [cost] = finding["costs"]
        return cost["measured"]

    return advised


def test_what_was_measured_comes_with_its_interval_and_results(root, debugging, said):
    out = said("advise", debugging).out
    assert f"at Dhcp4.loggers[0] ({debugging}:3)" in out
    assert f"`leaselab run {COSTLY} {PLAIN}` measures it" in out
    assert out.endswith("1 known cost, none of them measured here (judged as kea 3.0)\n")
    costly = archived(root, COSTLY, 0.4)
    plain = archived(root, PLAIN)
    out = said("advise", debugging).out
    assert "measured here: max rate 60 % lower across sessions (ratio 0.400, 95" in out
    assert f"{COSTLY} against {PLAIN}: results {costly.id}, {plain.id}" in out
    assert "1 known cost, 1 of them measured here" in out


def test_points_that_alternated_come_before_newer_ones_and_these_before_others(
    root, measured_cost
):
    for number in (1, 2):
        archived(root, COSTLY, 0.1 * number, number=number, hours=number)
    plain = example_result(scenario=PLAIN)
    # Another durability is what some costs are about.
    server = replace(plain.server, durability="memory")
    archive_result(root, replace(plain, servers={"server": server}))
    assert measured_cost()["ratio"] == pytest.approx(0.2)
    pair = [
        archived(root, name, share, experiment="exp", number=3).id
        for name, share in ((COSTLY, 0.5), (PLAIN, 1.0))
    ]
    measured = measured_cost()
    assert [measured["result"], measured["base"]] == pair
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
def test_results_that_are_not_alike_measure_nothing(root, measured_cost, other):
    archive_result(root, other)
    archived(root, PLAIN)
    assert measured_cost() is None


def test_a_damaged_result_is_said_and_passed_over(root, said, measured_cost, caplog):
    archived(root, COSTLY, 0.4)
    archived(root, PLAIN)
    newest = archived(root, COSTLY, 0.3, number=2, hours=1)
    said("list")  # the index has read it
    place = root / "2026" / "11" / newest.id / "result.json"
    place.chmod(0o644)
    place.write_text(place.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert measured_cost()["ratio"] == pytest.approx(0.4)
    assert newest.id in caplog.text


@pytest.mark.usefixtures("root")
def test_strict_ends_with_1_where_a_cost_is_found_or_something_is_not_judged(
    configuration, said, document
):
    debugging = said("advise", configuration(), "--strict", code=1)
    assert "debug-logging" in debugging.out
    assert "kea-dhcp4.conf: 1 known cost" in debugging.err
    assert "no known costs" in said("advise", SOUND, "--strict").out
    quiet = '{"name": "kea-dhcp4", "severity": "WARN"}'
    hooked = configuration(quiet, ', "hooks-libraries": [{"library": "own.so"}]')
    judged = document("advise", hooked)
    assert judged["findings"] == []
    assert [set(finding) for finding in judged["not_judged"]] == [{"what", "why", "places"}]
    strict = said("advise", hooked, "--strict", code=1).err
    assert "no known costs; 1 thing not judged" in strict


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("name", ["kea-2.2-dhcp4", "kea-2.6-dhcp4", "kea-3.0-dhcp6"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_secret_of_a_configuration_is_reported(name, form, said):
    path = DATA / f"{name}.conf"
    assert HIDDEN in path.read_text(encoding="utf-8")
    options = ["--clients", "100000", "--processors", "1", "--server-version", "2.4"]
    captured = said("advise", path, *options, *form)
    assert captured.out
    if name == "kea-2.6-dhcp4":
        assert "/nowhere/kea/secret.json" in captured.out, "a file that could not be included"
    for text in (HIDDEN, "00:15:5d", "00155d", "1a:1b:1c", "admin", "db1.example"):
        assert text not in captured.out + captured.err


@pytest.mark.usefixtures("root")
def test_several_files_are_judged_each_by_itself(debugging, tmp_path, said, document):
    bad = tmp_path / "bad.conf"
    bad.write_text("[", encoding="utf-8")
    captured = said("advise", bad, debugging, SOUND, "--strict", code=2)
    assert f"{debugging}: 1 known cost" in captured.out
    assert f"{SOUND}: no known costs" in captured.out
    reported = [line.split(":")[1].strip() for line in captured.err.splitlines()]
    assert reported == [debugging, str(bad)]
    documents = document("advise", debugging, SOUND)
    assert [each["file"] for each in documents] == [debugging, SOUND]


@pytest.mark.usefixtures("root")
def test_standard_input_and_a_folder_for_absolute_names(tmp_path):
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/loggers").write_text('[\n{"severity": "DEBUG"}]', encoding="utf-8")
    text = '{"arguments": {"Dhcp4": {"loggers": <?include "/srv/loggers"?>}}}'
    program = [sys.executable, "-m", "leaselab", "advise", "-", "--root", str(tmp_path)]
    done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "at arguments.Dhcp4.loggers[0] (/srv/loggers:2)" in done.stdout
    assert "\nstandard input: 1 known cost" in done.stdout


@pytest.mark.usefixtures("root")
def test_of_many_places_three_are_reported_and_all_are_in_the_document(
    configuration, said, document
):
    file = configuration(", ".join(['{"severity": "DEBUG"}'] * 5))
    assert said("advise", file).out.count("  at Dhcp4.loggers") == 3
    [finding] = document("advise", file)["findings"]
    assert len(finding["places"]) == 5


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    "words",
    [
        *("nowhere.conf", str(DATA), "/dev/zero", __file__, ""),
        *(f"{SOUND} --{name} nowhere" for name in ("server-version", "results", "root")),
        *(f"{SOUND} --clients {number}" for number in ("0", "9" * 5000)),
        f"{SOUND} --processors -1",
    ],
)
def test_bad_arguments_are_bad_input(words, said):
    captured = said("advise", *words.split(), code=2)
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
        known = Catalogue(self.lab.checkout)
        return add_scenario(read_served(self.file), self.file, known).name

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
def test_what_is_not_measured_at_all_is_bad_input(tmp_path, monkeypatch, refused, words, shown):
    monkeypatch.chdir(tmp_path)
    for name in ("one.conf", "two.conf"):
        Path(name).write_text(OWN % "", encoding="utf-8")
    assert shown in refused("advise", *words)
