"""``leaselab run`` of scenarios, with the hosts left out."""

import json
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


@pytest.fixture
def asked(lab):
    """Results of two scenarios, the later one invalid; no host to deploy anything to."""
    lab.rates["v4-memfile"] = MEASURED
    assert main(["run", "v4-memfile", "v6-memfile", "--set", "rounds=1"]) == 0
    lab.forget()
    archive_result(
        lab.results, invalid_result(token="0bad", started=START + timedelta(hours=1))
    )
    for name in ("v4-memfile", "v4-memfile-mt"):
        lab.deploy_faults[name] = lab_broken("no hosts here")
    return lab


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        (["v4-memfile"], round(1.15 * MEASURED)),
        (["v4-memfile", "--set", "start_rate=900"], 900),
        (["v4-memfile-mt"], 2000),
    ],
    ids=["a little above the last good result", "as asked", "never measured"],
)
def test_the_first_offered_load(asked, arguments, rate):
    assert main(["run", *arguments]) == 4
    assert [procedure.start_rate for procedure in asked.procedures] == [rate]


def test_several_are_provisioned_once_and_end_in_one_table(lab, capsys):
    assert main(["run", "v4-memfile", "v?-memfile-mt", "v4-memfile"]) == 0
    assert lab.prepared == [""]
    assert lab.measured == ["v4-memfile", "v4-memfile-mt", "v6-memfile-mt"]
    out, err = capsys.readouterr()
    assert "3 to measure: v4-memfile, v4-memfile-mt, v6-memfile-mt" in err
    assert "v4-memfile-mt: run 1/9: max rate 6000/s" in err
    assert out.startswith("protocol")
    assert out.count("6000 ± 0") == 3


@pytest.mark.parametrize("options", [[], ["--sequential"]])
def test_one_that_cannot_be_measured_does_not_keep_the_others_from_it(lab, capsys, options):
    lab.faults["v4-memfile", 2] = invalid_measurement("the generator is too slow")
    assert main(["run", "v4-memfile", "v4-memfile-mt", *options]) == 3
    assert lab.rounds[-1] == ("v4-memfile-mt", 9)
    out, err = capsys.readouterr()
    assert "leaselab: v4-memfile: the generator is too slow" in err
    assert "invalid" in out


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (lab_broken("the host is gone"), 4, "the host is gone"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=["a broken lab", "an interrupt"],
)
def test_what_ends_it_says_how_to_go_on_and_names_the_rest(lab, capsys, fault, code, said):
    lab.faults["v6-memfile", 2] = fault
    scenarios = ["v4-memfile", "v6-memfile", "v6-memfile-mt"]
    assert main(["run", *scenarios, "--sequential"]) == code
    assert lab.rounds[-1] == ("v6-memfile", 2)
    (left,) = lab.store.running()
    out, err = capsys.readouterr()
    assert "DHCPv4" in out
    reported = err.splitlines()[-1]
    assert reported.startswith(f"leaselab: {said}; go on with: ./leaselab resume {left.id}; ")
    assert reported.endswith(
        "measure the rest, with the same options: leaselab run v6-memfile-mt"
    )


def test_points_that_take_turns_are_all_resumed_and_none_is_named(lab, capsys):
    lab.faults["v6-memfile", 2] = KeyboardInterrupt()
    assert main(["run", "v4-memfile", "v6-memfile"]) == 130
    left = [sweep.id for sweep in lab.store.running()]
    assert len(left) == 2
    printed = capsys.readouterr().err.splitlines()[-1]
    assert printed.removeprefix("leaselab: interrupted; go on with: ./leaselab resume ") in left


def test_a_run_brings_the_report_up_to_date(lab, tmp_path, capsys):
    lab.draws = True
    for scenarios in (["v4-memfile"], ["v4-memfile-mt", "v6-memfile"]):
        assert main(["run", *scenarios, "--set", "rounds=1"]) == 0
        first = tmp_path / "results" / "report" / "index.html"
        assert f"report: {first}" in capsys.readouterr().err
        assert all(name in first.read_text() for name in scenarios)


def test_what_went_wrong_with_one_is_said_last(lab, capsys):
    lab.draws = True
    lab.faults["v4-memfile", 2] = invalid_measurement("the generator is too slow")
    assert main(["run", "v4-memfile"]) == 3
    err = capsys.readouterr().err
    assert "\nreport: " in err
    assert err.splitlines()[-1] == "leaselab: the generator is too slow"


def test_a_report_that_cannot_be_written_is_said_and_changes_no_outcome(lab, tmp_path, capsys):
    lab.draws = True
    (tmp_path / "results" / "report").mkdir(parents=True)
    (tmp_path / "results" / "report" / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["run", "v4-memfile"]) == 0
    assert "the report was not written: " in capsys.readouterr().err


def test_of_a_report_without_a_result_nothing_is_said(lab, capsys):
    lab.draws = True
    lab.faults["v4-memfile", 1] = KeyboardInterrupt()
    assert main(["run", "v4-memfile", "v6-memfile"]) == 130
    assert "report" not in capsys.readouterr().err


def test_an_unknown_one_is_refused_before_anything_is_touched(lab, capsys):
    assert main(["run", "v4-memfile", "v5-*"]) == 2
    assert (lab.prepared, lab.deployed) == ([], [])
    assert "no scenario matches 'v5-*'" in capsys.readouterr().err


class TestShares:
    """Loads that are a share of a max rate."""

    def test_the_max_rate_is_measured_first_where_nobody_knows_it(self, lab, capsys):
        assert main(["run", "v4-memfile", "--procedure", "fixed-load"]) == 0
        first, then = lab.procedures
        assert (first.name, first.rounds, first.confirm_s) == ("max-rate", 3, 0)
        assert (then.name, then.rate, then.share) == ("fixed-load", round(0.8 * RATE), 0.8)
        assert len(lab.rounds) == 3 + 3
        out, err = capsys.readouterr()
        assert "first the max rates that the loads are shares of" in err
        assert "p99" in out
        rows = lab.store.index.rows(scenario="v4-memfile")
        assert sorted(row["procedure"] for row in rows) == ["fixed-load", "max-rate"]

    def test_a_known_one_is_not_measured_again(self, lab):
        lab.rates["v4-memfile"] = 1000.0
        main(["run", "v4-memfile", "--set", "rounds=1"])
        lab.forget()
        arguments = ["--procedure", "fixed-load", "--set", "share=0.5", "--set", "rounds=1"]
        assert main(["run", "v4-memfile", *arguments]) == 0
        assert [(procedure.name, procedure.rate) for procedure in lab.procedures] == [
            ("fixed-load", 500)
        ]

    def test_tuning_for_a_sweep_knows_it(self, lab, tmp_path):
        lab.rates["v4-memfile"] = 1000.0
        main(["run", "v4-memfile", "--set", "rounds=1"])
        options = ["--procedure", "fixed-load", "--set", "share=0.5"]
        assert main(["step", "tune", "v4-memfile", *options, "-o", str(tmp_path / "b")]) == 0
        assert lab.procedures[-1].rate == 500

    @pytest.mark.parametrize("changed", ["environment", "options"])
    def test_one_of_another_environment_or_other_options_is_not_used(self, lab, changed):
        lab.rates["v4-memfile"] = 1000.0
        main(["run", "v4-memfile", "--set", "rounds=1"])
        lab.forget()
        lab.rates["v4-memfile"] = 5000.0
        if changed == "environment":
            lab.environment = "1-another"
        else:
            lab.set_option("v4-memfile", "queue_size", 1)
        share = ["--procedure", "fixed-load", "--set", "share=0.8", "--set", "rounds=1"]
        assert main(["run", "v4-memfile", *share]) == 0
        assert [
            (procedure.name, procedure.rate)
            for procedure in lab.procedures
            if procedure.name == "fixed-load"
        ] == [("fixed-load", 4000)]
        assert [procedure.name for procedure in lab.procedures] == ["max-rate", "fixed-load"]

    def test_of_several_known_ones_that_of_the_same_release_is_taken(self, lab, capsys):
        """Though a newer one is there: releases differ by more than a share."""
        lab.made_by = "docker"
        for release, rate in (("bookworm", 1000.0), ("trixie", 3000.0)):
            lab.rates["v4-memfile"] = rate
            arguments = ["--distribution", release, "--set", "rounds=1"]
            assert main(["run", "v4-memfile", *arguments]) == 0
        lab.forget()
        capsys.readouterr()
        fixed = ["--procedure", "fixed-load", "--set", "share=0.5", "--set", "rounds=1"]
        assert main(["run", "v4-memfile", *fixed, "--distribution", "bookworm"]) == 0
        assert [procedure.rate for procedure in lab.procedures] == [500]
        assert "0.5 of 1000/s, the max rate of " in capsys.readouterr().err

    def test_without_one_of_the_same_release_it_is_measured_first(self, lab):
        lab.made_by = "docker"
        lab.rates["v4-memfile"] = 3000.0
        main(["run", "v4-memfile", "--distribution", "trixie", "--set", "rounds=1"])
        lab.forget()
        lab.rates["v4-memfile"] = 1000.0
        fixed = ["--procedure", "fixed-load", "--set", "share=0.5", "--set", "rounds=1"]
        assert main(["run", "v4-memfile", *fixed, "--distribution", "bookworm"]) == 0
        first, then = lab.procedures
        assert (first.name, then.name, then.rate) == ("max-rate", "fixed-load", 500)

    def test_without_one_of_the_same_build_that_of_another_is_taken_and_named(
        self, lab, tmp_path, capsys
    ):
        repository = make_repository(tmp_path / "kea")
        for number in range(2):
            commit(repository, f"Change {number}", {"n": str(number)}, minute=number)
        place = ["--repo", str(repository)]
        lab.rates["v4-memfile"] = 3000.0
        assert main(["run", "v4-memfile", "--set", "rounds=1"]) == 0
        known = lab.store.index.rows()[0]["id"]
        lab.forget()
        fixed = ["--procedure", "fixed-load", "--set", "share=0.5", "--set", "rounds=1"]
        assert main(["run", "v4-memfile", *fixed, *place, "--commit", "HEAD"]) == 0
        assert [(procedure.name, procedure.rate) for procedure in lab.procedures] == [
            ("fixed-load", 1500)
        ]
        reported = f"0.5 of 3000/s, the max rate of {known}: of another build"
        assert reported in capsys.readouterr().err

    def test_all_points_of_a_profile_get_the_same_load_by_the_lowest_max_rate(
        self, lab, capsys
    ):
        names = ["v4-memfile", "v4-memfile-mt"]
        lab.rates = {"v4-memfile": 1000.0, "v4-memfile-mt": 3000.0}
        main(["run", *names, "--set", "rounds=1"])
        lab.forget()
        capsys.readouterr()
        profile = ["--procedure", "profile", "--set", "share=0.5", "--set", "rounds=2"]
        assert main(["run", *names, *profile]) == 0
        assert [(procedure.name, procedure.rate) for procedure in lab.procedures] == [
            ("profile", 500)
        ] * 2
        assert "the same load for all, by the lowest that is known" in capsys.readouterr().err

    def test_a_rate_needs_none(self, lab):
        assert (
            main(["run", "v4-memfile", "--procedure", "fixed-load", "--set", "rate=700"]) == 0
        )
        assert [(procedure.name, procedure.rate) for procedure in lab.procedures] == [
            ("fixed-load", 700)
        ]

    def test_one_without_a_max_rate_does_not_keep_the_others_from_it(self, lab, capsys):
        lab.faults["v4-memfile", 1] = invalid_measurement("the generator is too slow")
        scenarios = ["v4-memfile", "v6-memfile"]
        assert main(["run", *scenarios, "--procedure", "fixed-load"]) == 3
        assert "v4-memfile: the generator is too slow" in capsys.readouterr().err
        loads = [row for row in lab.store.index.rows() if row["procedure"] == "fixed-load"]
        assert [row["scenario"] for row in loads] == ["v6-memfile"]

    def test_an_interrupt_before_the_load_names_what_is_to_be_measured(self, lab, capsys):
        lab.faults["v6-memfile", 2] = KeyboardInterrupt()
        scenarios = ["v4-memfile", "v6-memfile"]
        assert main(["run", *scenarios, "--procedure", "fixed-load"]) == 130
        printed = capsys.readouterr().err.splitlines()[-1]
        assert "go on with: ./leaselab resume " in printed
        assert printed.endswith("leaselab run v4-memfile v6-memfile")


class TestProcedureOfAFamily:
    """What a family's file says of the procedure, under what was asked for."""

    @pytest.fixture(autouse=True)
    def _family(self, lab):
        lab.family("memfile", {"name": "fixed-load", "rate": 300, "duration_s": 7})

    def test_it_is_used(self, lab):
        assert main(["run", "v4-memfile"]) == 0
        (procedure,) = lab.procedures
        assert (procedure.name, procedure.rate, procedure.duration_s) == ("fixed-load", 300, 7)

    def test_options_come_before_it(self, lab):
        assert main(["run", "v4-memfile", "--set", "rate=400", "--set", "rounds=2"]) == 0
        (procedure,) = lab.procedures
        assert (procedure.rate, procedure.duration_s, procedure.rounds) == (400, 7, 2)

    def test_another_procedure_drops_its_parameters(self, lab):
        assert main(["run", "v4-memfile", "--procedure", "max-rate"]) == 0
        (procedure,) = lab.procedures
        assert (procedure.name, procedure.rounds) == ("max-rate", 9)

    def test_it_is_of_its_own_scenarios_alone(self, lab):
        assert main(["run", "v4-dnsmasq", "--set", "rounds=1"]) == 0
        assert lab.procedures[-1].name == "max-rate"


class TestExperiment:
    """Several points that are measured together."""

    def test_its_results_know_each_other_and_took_turns(self, lab):
        assert main(["run", "v4-memfile", "v6-memfile", "--set", "rounds=3"]) == 0
        four, six = "v4-memfile", "v6-memfile"
        turns = [(four, 1), (six, 1), (six, 2), (four, 2), (four, 3), (six, 3)]
        assert lab.rounds == turns
        results = [lab.store.load(row["id"]) for row in lab.store.index.rows()]
        (shared,) = {record.experiment for record in results}
        assert (shared.interleaved, shared.why) == (True, "")
        assert sorted(shared.points) == sorted(record.id for record in results)
        assert shared.id in shared.points

    def test_points_along_a_factor_end_in_their_curve(self, lab, capsys):
        """As `table` shows them; a document for programs is one alone."""
        lab.rates = {"v4-threads-2": 1.5 * RATE}
        scenarios = ["v4-threads-1", "v4-threads-2"]
        assert main(["run", *scenarios, "--set", "rounds=3"]) == 0
        curve = [line.split() for line in capsys.readouterr().out.splitlines() if "█" in line]
        assert [(at, rate) for at, rate, *_ in curve] == [("1", "6000"), ("2", "9000")]
        assert curve[1][-1] == "best"
        assert main(["run", *scenarios, "--set", "rounds=3", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)

    def test_points_may_differ_in_their_procedures_parameters(self, lab):
        """Where these are factors; a resumed one knows each point by its own."""
        few, many = "v4-avalanche-clients-1000", "v4-avalanche-clients-5000"
        command = ["run", few, many, "--set", "rounds=2"]
        lab.faults[many, 2] = lab_broken("no way to the host")
        assert main(command) == 4
        assert [procedure.clients for procedure in lab.procedures] == [1000, 5000]
        lab.faults.clear()
        assert main(["resume", lab.store.running()[0].id]) == 0
        assert lab.rounds == [(few, 1), (many, 1), (many, 2), (many, 2), (few, 2)]
        results = [lab.store.load(row["id"]) for row in lab.store.index.rows()]
        assert {record.procedure.clients for record in results} == {1000, 5000}
        assert len({record.experiment.id for record in results}) == 1

    def test_a_factor_cannot_be_overridden(self, lab, capsys):
        assert main(["run", "avalanche", "--set", "clients=7"]) == 2
        assert "clients is a factor of this scenario" in capsys.readouterr().err
        assert lab.rounds == []

    def test_one_point_alone_is_none(self, lab):
        assert main(["run", "v4-memfile", "--set", "rounds=1"]) == 0
        assert lab.store.load("last").experiment is None

    def test_one_after_the_other_as_asked_has_no_reason(self, lab, capsys):
        scenarios = ["v4-memfile", "v6-memfile"]
        assert main(["run", *scenarios, "--set", "rounds=2", "--sequential"]) == 0
        assert [name for name, _ in lab.rounds] == ["v4-memfile"] * 2 + ["v6-memfile"] * 2
        shared = lab.store.load("last").experiment
        assert (shared.interleaved, shared.why) == (False, "")
        assert "one after the other" not in capsys.readouterr().err

    def test_settings_of_companion_services_do_not_part_them(self, lab):
        """Each variant has settings of its own in the database that all share."""
        scenarios = ["v4-mysql", "v4-mysql-durable"]
        assert main(["run", *scenarios, "--set", "rounds=2"]) == 0
        assert [name for name, _ in lab.rounds] == [*scenarios, *reversed(scenarios)]
        assert lab.store.load("last").experiment.interleaved

    def test_two_releases_part_them(self, lab):
        lab.made_by = "docker"
        arguments = ["--distribution", "bookworm,trixie", "--set", "rounds=2"]
        assert main(["run", "v4-memfile", *arguments]) == 0
        assert lab.prepared == ["bookworm", "trixie"]
        assert lab.rounds == [("v4-memfile", 1), ("v4-memfile", 2)] * 2
        assert "each release needs its own" in lab.store.load("last").experiment.why

    @pytest.mark.parametrize("nth", [0, 1])
    def test_resuming_any_point_goes_on_with_all(self, lab, nth, capsys):
        lab.faults["v6-memfile", 2] = KeyboardInterrupt()
        assert main(["run", "v4-memfile", "v6-memfile", "--set", "rounds=3"]) == 130
        lab.faults.clear()
        lab.forget()
        left = [sweep.id for sweep in lab.store.running()]
        capsys.readouterr()
        assert main(["resume", left[nth]]) == 0
        four, six = "v4-memfile", "v6-memfile"
        assert lab.rounds == [(six, 2), (four, 2), (four, 3), (six, 3)]
        assert lab.store.running() == []
        assert {lab.store.load(item).experiment.interleaved for item in left} == {True}
        out = capsys.readouterr().out
        assert all(item in out for item in left)

    def test_resuming_says_the_first_thing_that_was_not_well(self, lab):
        lab.faults["v4-memfile", 2] = lab_broken("gone")
        assert main(["run", "v4-memfile", "v6-memfile", "--set", "rounds=3"]) == 4
        lab.faults["v4-memfile", 2] = invalid_measurement("too slow")
        assert main(["resume"]) == 3
        assert sorted(row["outcome"] for row in lab.store.index.rows()) == ["invalid", "ok"]


HARDWARE = [f"v4-hardware-smt-off-governor-{name}" for name in ("performance", "powersave")]


def test_points_that_set_hosts_are_measured_one_after_the_other_and_say_why(lab, capsys):
    lab.faults[HARDWARE[1], 1] = invalid_measurement("the generator is too slow")
    assert main(["run", *HARDWARE, "v4-memfile", "--set", "rounds=2"]) == 3
    assert lab.rounds == [
        (HARDWARE[0], 1),
        (HARDWARE[0], 2),
        (HARDWARE[1], 1),
        ("v4-memfile", 1),
        ("v4-memfile", 2),
    ]
    why = "a host has one state of its processors at a time"
    assert f"one after the other: {why}" in capsys.readouterr().err
    records = [lab.store.load(row["id"]) for row in lab.store.index.rows()]
    assert {(record.experiment.interleaved, record.experiment.why) for record in records} == {
        (False, why)
    }
    assert {str(record.scenario.hosts) for record in records} == {
        "{'host_tuning': {'smt': 'off', 'governor': 'performance'}}",
        "{'host_tuning': {'smt': 'off', 'governor': 'powersave'}}",
        "{}",
    }


def test_hosts_are_restored_after_the_last_point_and_not_where_it_can_be_resumed(lab):
    assert main(["run", *HARDWARE, "--set", "rounds=1"]) == 0
    assert lab.deployed == [*HARDWARE, "hosts given back"]
    lab.forget()
    assert main(["run", HARDWARE[0], "--set", "rounds=1"]) == 0
    assert lab.deployed == [HARDWARE[0], "hosts given back"]
    lab.forget()
    lab.faults[HARDWARE[0], 2] = lab_broken("the host is gone")
    assert main(["run", HARDWARE[0], "--set", "rounds=2"]) == 4
    assert lab.deployed == [HARDWARE[0]]
    lab.faults.clear()
    assert main(["resume"]) == 0
    assert lab.deployed == [HARDWARE[0], "hosts given back"]


def test_hosts_of_an_inventory_that_is_gone_keep_their_settings_and_the_result_is_reported(
    lab, capsys
):
    lab.faults[HARDWARE[0], 2] = lab_broken("the host is gone")
    assert main(["run", HARDWARE[0], "--set", "rounds=2"]) == 4
    lab.faults.clear()

    (lab.checkout / "inventory").unlink()
    assert main(["resume"]) == 0
    out, err = capsys.readouterr()
    assert HARDWARE[0] in out
    assert "keep the settings of the scenario" in err
    assert lab.deployed == [HARDWARE[0]]


def test_a_point_that_the_hosts_cannot_be_set_for_does_not_keep_the_others_from_it(lab, capsys):
    lab.deploy_faults[HARDWARE[0]] = usage_error("no processor shows a governor", where="sut")
    assert main(["run", *HARDWARE, "--set", "rounds=1"]) == 2
    assert lab.measured == HARDWARE[1:]
    assert lab.deployed == [*HARDWARE, "hosts given back"]
    out, err = capsys.readouterr()
    assert f"leaselab: {HARDWARE[0]}: sut: no processor shows a governor" in err
    assert "6000" in out
    (row,) = lab.store.index.rows()
    assert row["scenario"] == HARDWARE[1]


def test_hosts_that_were_never_set_are_not_restored(lab, capsys):
    for name in HARDWARE:
        lab.deploy_faults[name] = usage_error("no processor shows a governor", where="sut")
    assert main(["run", *HARDWARE]) == 2
    assert lab.deployed == HARDWARE
    assert capsys.readouterr().err.count("no processor shows a governor") == 2


def test_what_is_wrong_with_an_option_still_ends_a_run(lab):
    lab.deploy_faults["v4-memfile"] = usage_error("no such place", where="sut")
    assert main(["run", "v4-memfile", "v6-memfile"]) == 2
    assert lab.rounds == []


@pytest.mark.parametrize(
    "name", ["", "journal.jsonl", "bench.json", "config", "raw/run-1-trial-02.txt.gz"]
)
def test_a_sweep_whose_files_are_removed_meanwhile_is_not_sealed(
    lab, capsys, monkeypatch, name
):
    """The last one is named by the record alone; an empty name means all of .running/."""
    running, made = lab.results / ".running", lab.round

    def round_(point, index):
        if index == 5:
            sweep = next(path for path in running.iterdir() if path.is_dir())
            place = sweep / name if name else running
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        return made(point, index)

    monkeypatch.setattr(lab, "round", round_)
    assert main(["run", "v4-memfile"]) == 4
    assert "files of this running sweep were removed (found no " in capsys.readouterr().err
    assert list(lab.results.glob("????/??/*")) == []


def test_a_quick_look_is_a_short_sweep_that_other_options_change():
    parser = find(["run"])[0].parser()
    quick = procedure_overrides(parser.parse_args(["--quick", "--set", "rounds=5"]))
    assert quick == {**QUICK, "rounds": 5}
    family = Catalogue.here().family_of("v4-memfile")
    assert isinstance(family.procedure_of("v4-memfile", quick), MaxRate)
    refused = parser.parse_args(["--quick", "--procedure", "fixed-load"])
    with pytest.raises(LeaselabError) as caught:
        procedure_overrides(refused)
    assert caught.value.outcome is Outcome.USAGE
