"""``leaselab run`` of scenarios, with the hosts left out."""

import shutil
from datetime import timedelta

import pytest
from tests.examples import START, archive_result, invalid_result
from tests.made_up import RATE
from tests.repositories import commit, make_repository

from leaselab.catalog.catalogue import Catalogue
from leaselab.cli.commands import find
from leaselab.cli.main import main
from leaselab.cli.procedure_options import QUICK, procedure_overrides
from leaselab.model.errors import (
    LeaselabError,
    Outcome,
    invalid_measurement,
    lab_broken,
    usage_error,
)
from leaselab.model.procedures.max_rate import MaxRate

MEASURED = 6006.0
FOUR, SIX, SEVERAL = "v4-memfile", "v6-memfile", "v4-memfile-mt"
HARDWARE = [f"v4-hardware-smt-off-governor-{name}" for name in ("performance", "powersave")]
FIXED = ["--procedure", "fixed-load", "--set", "share=0.5", "--set", "rounds=1"]


def records(lab):
    return [lab.store.load(row["id"]) for row in lab.store.index.rows()]


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        ([FOUR], round(1.15 * MEASURED)),  # a little above the last good result
        ([FOUR, "--set", "start_rate=900"], 900),
        ([SEVERAL], 2000),  # never measured
    ],
)
def test_the_first_offered_load(lab, arguments, rate):
    lab.rates[FOUR] = MEASURED
    assert main(["run", FOUR, SIX, "--set", "rounds=1"]) == 0
    lab.forget()
    later = invalid_result(token="0bad", started=START + timedelta(hours=1))
    archive_result(lab.results, later)
    lab.deploy_faults |= dict.fromkeys((FOUR, SEVERAL), lab_broken("no hosts here"))
    assert main(["run", *arguments]) == 4
    assert [procedure.start_rate for procedure in lab.procedures] == [rate]


def test_several_are_provisioned_once_and_end_in_one_table(lab, capsys):
    assert main(["run", FOUR, "v?-memfile-mt", FOUR]) == 0
    assert lab.prepared == [""]
    assert lab.measured == [FOUR, SEVERAL, "v6-memfile-mt"]
    out, err = capsys.readouterr()
    assert f"{SEVERAL}: run 1/9: max rate 6000/s" in err
    assert out.startswith("protocol")
    assert out.count("6000 ± 0") == 3


@pytest.mark.parametrize("options", [[], ["--sequential"]])
def test_one_that_cannot_be_measured_does_not_keep_the_others_from_it(lab, capsys, options):
    lab.faults[FOUR, 2] = invalid_measurement("the generator is too slow")
    assert main(["run", FOUR, SEVERAL, *options]) == 3
    assert lab.rounds[-1] == (SEVERAL, 9)
    out, err = capsys.readouterr()
    assert f"leaselab: {FOUR}: the generator is too slow" in err
    assert "invalid" in out


@pytest.mark.parametrize(
    ("fault", "code"), [(lab_broken("gone"), 4), (KeyboardInterrupt(), 130)], ids=str
)
def test_what_ends_it_says_how_to_go_on_and_names_the_rest(lab, capsys, fault, code):
    lab.faults[SIX, 2] = fault
    assert main(["run", FOUR, SIX, "v6-memfile-mt", "--sequential"]) == code
    assert lab.rounds[-1] == (SIX, 2)
    (left,) = lab.store.running()
    out, err = capsys.readouterr()
    assert "DHCPv4" in out
    reported = err.splitlines()[-1]
    assert f"; go on with: ./leaselab resume {left.id}; " in reported
    assert reported.endswith("same options: leaselab run v6-memfile-mt")


def test_a_run_brings_the_report_up_to_date_and_what_went_wrong_is_said_last(lab, capsys):
    lab.draws = True
    first = lab.results / "report" / "index.html"
    for scenarios in ([FOUR], [SEVERAL, SIX]):
        assert main(["run", *scenarios, "--set", "rounds=1"]) == 0
        assert f"report: {first}" in capsys.readouterr().err
        assert all(name in first.read_text() for name in scenarios)
    lab.faults[FOUR, 2] = invalid_measurement("the generator is too slow")
    assert main(["run", FOUR]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == "leaselab: the generator is too slow"


def test_a_report_that_cannot_be_written_is_said_and_changes_no_outcome(lab, capsys):
    lab.draws = True
    lab.faults[FOUR, 1] = KeyboardInterrupt()
    assert main(["run", FOUR]) == 130
    assert "report" not in capsys.readouterr().err, "there is no result"
    lab.faults.clear()
    (lab.results / "report").mkdir(parents=True)
    (lab.results / "report" / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["run", FOUR]) == 0
    assert "the report was not written: " in capsys.readouterr().err


def test_what_is_wrong_ends_a_run_before_any_round(lab):
    assert main(["run", FOUR, "v5-*"]) == 2
    assert main(["run", "avalanche", "--set", "clients=7"]) == 2, "that is a factor"
    assert (lab.prepared, lab.deployed) == ([], [])
    lab.deploy_faults[FOUR] = usage_error("no such place", where="sut")
    assert main(["run", FOUR, SIX]) == 2
    assert lab.rounds == []


class TestShares:
    """Loads that are a share of a max rate."""

    def loads(self, lab):
        return [(made.name, getattr(made, "rate", None)) for made in lab.procedures]

    def known(self, lab, rate, *options):
        """Measure a max rate, which the archive then has."""
        lab.rates[FOUR] = rate
        assert main(["run", FOUR, "--set", "rounds=1", *options]) == 0
        lab.forget()

    def test_the_max_rate_is_measured_first_where_nobody_knows_it(self, lab, capsys):
        assert main(["run", FOUR, "--procedure", "fixed-load"]) == 0
        first, then = lab.procedures
        assert (first.name, first.rounds, first.confirm_s) == ("max-rate", 3, 0)
        assert (then.name, then.rate, then.share) == ("fixed-load", round(0.8 * RATE), 0.8)
        assert len(lab.rounds) == 3 + 3
        assert "p99" in capsys.readouterr().out
        assert len(lab.store.index.rows(scenario=FOUR)) == 2

    def test_a_known_one_is_not_measured_again_nor_for_a_tuning(self, lab, tmp_path):
        self.known(lab, 1000.0)
        assert main(["run", FOUR, *FIXED]) == 0
        assert main(["step", "tune", FOUR, *FIXED, "-o", str(tmp_path / "b")]) == 0
        assert self.loads(lab) == [("fixed-load", 500)] * 2
        lab.forget()
        assert main(["run", FOUR, "--procedure", "fixed-load", "--set", "rate=700"]) == 0
        assert self.loads(lab) == [("fixed-load", 700)]

    @pytest.mark.parametrize("changed", ["environment", "options"])
    def test_one_of_another_environment_or_other_options_is_not_used(self, lab, changed):
        self.known(lab, 1000.0)
        lab.rates[FOUR] = 5000.0
        if changed == "environment":
            lab.environment = "1-another"
        else:
            lab.set_option(FOUR, "queue_size", 1)
        assert main(["run", FOUR, *FIXED]) == 0
        assert self.loads(lab) == [("max-rate", None), ("fixed-load", 2500)]

    def test_of_several_known_ones_that_of_the_same_release_is_taken(self, lab):
        """Though a newer one is there: releases differ by more than a share."""
        lab.made_by = "docker"
        for release, rate in (("bookworm", 1000.0), ("trixie", 3000.0)):
            self.known(lab, rate, "--distribution", release)
        assert main(["run", FOUR, *FIXED, "--distribution", "bookworm"]) == 0
        assert self.loads(lab) == [("fixed-load", 500)]

    def test_without_one_of_the_same_build_that_of_another_is_taken_and_named(
        self, lab, tmp_path, capsys
    ):
        repository = make_repository(tmp_path / "kea")
        commit(repository, "Change", {"n": "1"})
        self.known(lab, 3000.0)
        known = lab.store.index.rows()[0]["id"]
        where = ["--repo", str(repository), "--commit", "HEAD"]
        assert main(["run", FOUR, *FIXED, *where]) == 0
        assert self.loads(lab) == [("fixed-load", 1500)]
        assert f"0.5 of 3000/s, the max rate of {known}: of another" in capsys.readouterr().err

    def test_all_points_of_a_profile_get_the_same_load_by_the_lowest_max_rate(self, lab):
        lab.rates = {FOUR: 1000.0, SEVERAL: 3000.0}
        main(["run", FOUR, SEVERAL, "--set", "rounds=1"])
        lab.forget()
        profile = ["--procedure", "profile", "--set", "share=0.5", "--set", "rounds=2"]
        assert main(["run", FOUR, SEVERAL, *profile]) == 0
        assert self.loads(lab) == [("profile", 500)] * 2

    def test_one_without_a_max_rate_does_not_keep_the_others_from_it(self, lab, capsys):
        lab.faults[FOUR, 1] = invalid_measurement("the generator is too slow")
        assert main(["run", FOUR, SIX, "--procedure", "fixed-load"]) == 3
        assert f"{FOUR}: the generator is too slow" in capsys.readouterr().err
        loads = [row for row in lab.store.index.rows() if row["procedure"] == "fixed-load"]
        assert [row["scenario"] for row in loads] == [SIX]

    def test_an_interrupt_before_the_load_names_what_is_to_be_measured(self, lab, capsys):
        lab.faults[SIX, 2] = KeyboardInterrupt()
        assert main(["run", FOUR, SIX, "--procedure", "fixed-load"]) == 130
        assert capsys.readouterr().err.endswith(f"leaselab run {FOUR} {SIX}\n")


@pytest.mark.parametrize(
    ("words", "name", "rate", "rounds"),
    [
        ([FOUR], "fixed-load", 300, 3),
        ([FOUR, "--set", "rate=400", "--set", "rounds=2"], "fixed-load", 400, 2),
        ([FOUR, "--procedure", "max-rate"], "max-rate", None, 9),
        (["v4-dnsmasq"], "max-rate", None, 9),
    ],
)
def test_the_procedure_of_a_familys_file_is_under_what_is_asked_for(
    lab, words, name, rate, rounds
):
    """Another procedure drops it, and it is that of the family's scenarios alone."""
    lab.family("memfile", {"name": "fixed-load", "rate": 300, "duration_s": 7})
    assert main(["run", *words]) == 0
    (made,) = lab.procedures
    assert (made.name, getattr(made, "rate", None), made.rounds) == (name, rate, rounds)
    assert name == "max-rate" or made.duration_s == 7


class TestExperiment:
    """Several points that are measured together."""

    def test_its_results_know_each_other_and_took_turns(self, lab):
        assert main(["run", FOUR, "--set", "rounds=1"]) == 0
        assert lab.store.load("last").experiment is None, "it was alone"
        lab.forget()
        assert main(["run", FOUR, SIX, "--set", "rounds=3"]) == 0
        turns = [(FOUR, 1), (SIX, 1), (SIX, 2), (FOUR, 2), (FOUR, 3), (SIX, 3)]
        assert lab.rounds == turns
        results = records(lab)[:2]
        (shared,) = {record.experiment for record in results}
        assert (shared.interleaved, shared.why) == (True, "")
        assert sorted(shared.points) == sorted(record.id for record in results)
        assert shared.id in shared.points

    def test_points_may_differ_in_their_procedures_parameters(self, lab):
        """Where these are factors; a resumed one knows each point by its own."""
        few, many = "v4-avalanche-clients-1000", "v4-avalanche-clients-5000"
        lab.faults[many, 2] = lab_broken("no way to the host")
        assert main(["run", few, many, "--set", "rounds=2"]) == 4
        assert [procedure.clients for procedure in lab.procedures] == [1000, 5000]
        lab.faults.clear()
        assert main(["resume", lab.store.running()[0].id]) == 0
        assert lab.rounds == [(few, 1), (many, 1), (many, 2), (many, 2), (few, 2)]
        results = records(lab)
        assert {record.procedure.clients for record in results} == {1000, 5000}
        assert len({record.experiment.id for record in results}) == 1

    def test_one_after_the_other_as_asked_has_no_reason(self, lab):
        assert main(["run", FOUR, SIX, "--set", "rounds=2", "--sequential"]) == 0
        assert [name for name, _ in lab.rounds] == [FOUR] * 2 + [SIX] * 2
        shared = lab.store.load("last").experiment
        assert (shared.interleaved, shared.why) == (False, "")

    def test_settings_of_companion_services_do_not_part_them_and_releases_do(self, lab):
        """Each variant has settings of its own in the database that all share."""
        scenarios = ["v4-mysql", "v4-mysql-durable"]
        assert main(["run", *scenarios, "--set", "rounds=2"]) == 0
        assert [name for name, _ in lab.rounds] == [*scenarios, *reversed(scenarios)]
        assert lab.store.load("last").experiment.interleaved
        lab.forget()
        lab.made_by = "docker"
        releases = ["--distribution", "bookworm,trixie", "--set", "rounds=2"]
        assert main(["run", FOUR, *releases]) == 0
        assert lab.prepared == ["bookworm", "trixie"]
        assert lab.rounds == [(FOUR, 1), (FOUR, 2)] * 2
        assert "each release needs its own" in lab.store.load("last").experiment.why

    @pytest.mark.parametrize("nth", [0, 1])
    def test_resuming_any_point_goes_on_with_all(self, lab, nth, capsys):
        lab.faults[SIX, 2] = KeyboardInterrupt()
        assert main(["run", FOUR, SIX, "--set", "rounds=3"]) == 130
        lab.faults.clear()
        lab.forget()
        left = [sweep.id for sweep in lab.store.running()]
        capsys.readouterr()
        assert main(["resume", left[nth]]) == 0
        assert lab.rounds == [(SIX, 2), (FOUR, 2), (FOUR, 3), (SIX, 3)]
        assert lab.store.running() == []
        assert {lab.store.load(item).experiment.interleaved for item in left} == {True}
        out = capsys.readouterr().out
        assert all(item in out for item in left)

    def test_resuming_says_the_first_thing_that_was_not_well(self, lab):
        lab.faults[FOUR, 2] = lab_broken("gone")
        assert main(["run", FOUR, SIX, "--set", "rounds=3"]) == 4
        lab.faults[FOUR, 2] = invalid_measurement("too slow")
        assert main(["resume"]) == 3
        assert sorted(row["outcome"] for row in lab.store.index.rows()) == ["invalid", "ok"]


def test_points_that_set_hosts_are_measured_one_after_the_other_and_say_why(lab):
    lab.faults[HARDWARE[1], 1] = invalid_measurement("the generator is too slow")
    assert main(["run", *HARDWARE, FOUR, "--set", "rounds=2"]) == 3
    first, second = HARDWARE
    assert lab.rounds == [(first, 1), (first, 2), (second, 1), (FOUR, 1), (FOUR, 2)]
    results = records(lab)
    (shared,) = {record.experiment for record in results}
    assert not shared.interleaved
    assert shared.why == "a host has one state of its processors at a time"
    tuned = [record.scenario.hosts.get("host_tuning", {}) for record in results]
    governors = {(each.get("smt"), each.get("governor")) for each in tuned}
    assert governors == {("off", "performance"), ("off", "powersave"), (None, None)}


def test_hosts_are_restored_after_the_last_point_and_not_where_it_can_be_resumed(lab, capsys):
    assert main(["run", *HARDWARE, "--set", "rounds=1"]) == 0
    assert lab.deployed == [*HARDWARE, "hosts given back"]
    for gone in (False, True):
        lab.forget()
        lab.faults[HARDWARE[0], 2] = lab_broken("the host is gone")
        assert main(["run", HARDWARE[0], "--set", "rounds=2"]) == 4
        assert lab.deployed == [HARDWARE[0]]
        lab.faults.clear()
        if gone:
            (lab.checkout / "inventory").unlink()
        assert main(["resume"]) == 0
        assert lab.deployed == [HARDWARE[0], "hosts given back"][: 1 if gone else 2]
    out, err = capsys.readouterr()
    assert HARDWARE[0] in out
    assert "keep the settings of the scenario" in err


def test_a_point_that_the_hosts_cannot_be_set_for_does_not_keep_the_others_from_it(lab):
    lab.deploy_faults[HARDWARE[0]] = usage_error("no processor shows a governor", where="sut")
    assert main(["run", *HARDWARE, "--set", "rounds=1"]) == 2
    assert lab.measured == HARDWARE[1:]
    assert lab.deployed == [*HARDWARE, "hosts given back"]
    lab.forget()
    lab.deploy_faults[HARDWARE[1]] = lab.deploy_faults[HARDWARE[0]]
    assert main(["run", *HARDWARE]) == 2
    assert lab.deployed == HARDWARE, "none was set"


@pytest.mark.parametrize("name", ["", "journal.jsonl", "raw/run-1-trial-02.txt.gz"])
def test_a_sweep_whose_files_are_removed_meanwhile_is_not_sealed(lab, monkeypatch, name):
    """The last one is named by the record alone; an empty name means all of .running/."""
    running, made = lab.results / ".running", lab.round

    def round_(point, index):
        if index == 5:
            sweep = next(path for path in running.iterdir() if path.is_dir())
            place = sweep / name if name else running
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        return made(point, index)

    monkeypatch.setattr(lab, "round", round_)
    assert main(["run", FOUR]) == 4
    assert list(lab.results.glob("????/??/*")) == []


def test_a_quick_look_is_a_short_sweep_that_other_options_change():
    parser = find(["run"])[0].parser()
    quick = procedure_overrides(parser.parse_args(["--quick", "--set", "rounds=5"]))
    assert quick == {**QUICK, "rounds": 5}
    family = Catalogue.here().family_of(FOUR)
    assert isinstance(family.procedure_of(FOUR, quick), MaxRate)
    refused = parser.parse_args(["--quick", "--procedure", "fixed-load"])
    with pytest.raises(LeaselabError) as caught:
        procedure_overrides(refused)
    assert caught.value.outcome is Outcome.USAGE
