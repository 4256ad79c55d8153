"""Bad input to the commands that measure: one line, exit code 2, nothing touched."""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench_document import DOCUMENT
from tests.examples import archive_result
from tests.inventories import parsed
from tests.made_up import LISTING
from tests.repositories import commit, make_repository

from leaselab.cli.main import main
from leaselab.lab.bench import benches

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A checkout with its scenarios, and no playbook that could touch anything."""
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    shutil.copytree(ROOT / "inventory" / "docker", tmp_path / "inventory" / "docker")
    return tmp_path


@pytest.fixture
def refused(checkout, monkeypatch, capsys):
    """The one line that a command of this checkout says, which ends with 2."""
    monkeypatch.setenv("LEASELAB_ROOT", str(checkout))
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, LISTING))

    def call(*arguments):
        assert main([*map(str, arguments)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert not (checkout / ".leaselab").exists()
        assert not (checkout / "results").exists()
        return line.removeprefix("leaselab: ")

    return call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sequential", "--commit", "HEAD"], "--sequential works only with several"),
        (["--sequential", "--anchor", "v1", "--commits", "a..b"], "--anchor and --sequential"),
        (["v4-dnsmasq", "v4-memfile", "--commit", "HEAD"], "scenarios of one server"),
        (["--every", "2", "--commit", "HEAD"], "--every works only with --commits A..B"),
        (["--commit", "HEAD", "--set", "rounds=1", "--set", "trim=1"], "trim"),
        ([], "--repo needs --commit"),
    ],
)
def test_what_the_words_decide_is_refused_before_a_repository_or_ansible_is_asked(
    refused, monkeypatch, words, said
):
    def never(path):
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(benches, "read_inventory", never)
    assert said in refused("run", *words, "--repo", "nowhere")


def family(checkout, old, new):
    path = checkout / "scenarios" / "memfile.yml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


COMMANDS = ("run", "step deploy", "list --scenarios")
OF_RESULTS = (
    "list",
    "list --table",
    "review",
    "export --csv -",
    "capacity --clients 1 --lease-s 9",
)


@pytest.mark.parametrize("words", [*COMMANDS, *OF_RESULTS])
def test_an_unknown_scenario_names_the_nearest_three_but_a_pattern_none(
    refused, tmp_path, words
):
    folder = tmp_path / "archive"
    archive_result(folder)
    results = ("--results", str(folder)) if words in OF_RESULTS else ()
    line = refused(*words.split(), "x4-memfile*", *results)
    assert (
        line
        == "scenarios: no scenario matches 'x4-memfile*'; `leaselab list --scenarios` has all"
    )
    line = refused(*words.split(), "v4-memfil", *results)
    assert line.startswith("scenarios: unknown scenario 'v4-memfil'; did you mean ")
    assert all(name in line for name in ("'v4-memfile'", "'v6-memfile'"))
    assert line.count("'") == 8


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("nosuch", "`leaselab list --scenarios` has all"),
        ("v4-memfile,v6-memfile", "separate names by spaces"),
        ("kea", "kea has v4-chatty, v4-memfile, v4-mysql and others: `leaselab list "
         "--scenarios --server kea`"),
        ("bind", "--server bind9`"),
        ("dhcpd", "--server isc_dhcpd`"),
        ("v6", "as a pattern, it is 'v6-*' (39 scenarios)"),
    ],
)  # fmt: skip
def test_a_name_of_no_scenario_is_answered_with_what_was_meant(refused, typed, advice):
    line = refused("step", "deploy", typed)
    assert line.startswith(f"scenarios: unknown scenario '{typed}'; ")
    assert line.endswith(advice)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ('{"trials_s": 3}', "unknown parameter of max-rate 'trials_s'; did you mean 'trial_s'"),
        ('{"rounds": 2, "trim": 1}', "nothing would be left after trimming (found rounds 2"),
        *((text, "not ") for text in ("{", "[]", '"rounds"')),
    ],
)
def test_parameters_of_the_sweep_are_refused_by_their_own_names(refused, given, line):
    said = refused("show", "--scenario", "v4-memfile", "--json", "--parameters", given)
    assert said.startswith(f"--parameters: {line}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ["duration_s=5"],
            "duration_s is no parameter of max-rate (wanted procedure fixed-load",
        ),
        (["rounds=2", "trim=1"], "nothing would be left after trimming (found rounds 2"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(refused, settings, said):
    words = [word for setting in settings for word in ("--set", setting)]
    assert refused("run", *words).startswith(f"parameters of the measurement: {said}")


def test_a_lease_that_would_expire_in_the_sweep_is_refused(refused, checkout):
    family(checkout, "lease_lifetime_s: 86400", "lease_lifetime_s: 600")
    line = refused("run", "--set", "rounds=9")
    assert line.startswith("scenario v4-memfile: leases could expire while the sweep runs")
    assert "(found lease_lifetime_s 600, wanted more than 9" in line


def test_a_bench_file_that_is_missing_or_another_s_is_refused(refused, checkout):
    path = checkout / "bench.json"
    assert refused("step", "sweep", path) == (
        f"{path}: no such file; deploy and tune first: leaselab run, or ansible/site.yml"
    )
    path.write_text("{", encoding="utf-8")
    assert refused("step", "sweep", path).startswith(f"{path}: not JSON: ")
    path.write_text(json.dumps({**DOCUMENT, "schema_version": 1}), encoding="utf-8")
    assert refused("step", "sweep", path) == (
        f"{path}: schema version is not this leaselab's (found 1, wanted 2); deploy again"
    )
    nothing_left = {**DOCUMENT, "procedure": {"rounds": 2, "trim": 1}}
    path.write_text(json.dumps(nothing_left), encoding="utf-8")
    assert "nothing would be left after trimming" in refused("step", "sweep", path)
    short = copy.deepcopy(DOCUMENT)
    short["scenario"]["server"]["options"]["lease_lifetime_s"] = 60
    path.write_text(json.dumps(short), encoding="utf-8")
    assert "leases could expire while the sweep runs" in refused("step", "sweep", path)


def test_resuming_what_was_never_begun_is_refused(refused):
    assert refused("resume", "20260101").startswith("no such unfinished sweep: '20260101'; no")


def test_a_scenario_in_place_of_a_result_is_named_as_one(refused, tmp_path):
    archive_result(tmp_path / "archive")
    assert refused("show", "v6-mysql", "--results", str(tmp_path / "archive")) == (
        "no result of v6-mysql yet; `leaselab run v6-mysql` makes one; `leaselab show "
        "--scenario v6-mysql` has its settings"
    )
    assert refused("show", "last", "--scenario", "v6-mysql").endswith(
        "(found last as well); its newest result: `leaselab show v6-mysql`"
    )


@pytest.mark.parametrize("words", ["bisect --good HEAD~1 --bad HEAD", "run --commit HEAD"])
def test_a_repository_of_another_server_is_refused_before_anything_is_built(
    checkout, tmp_path, monkeypatch, capsys, words
):
    monkeypatch.setenv("LEASELAB_ROOT", str(checkout))
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, LISTING))
    place = make_repository(tmp_path / "dnsmasq")
    for number in range(2):
        files = {"Makefile": "all:", "src/dnsmasq.c": f"/* {number} */"}
        commit(place, f"Change {number}", files, minute=number)
    command, *options = words.split()
    assert main([command, "v4-memfile", *options, "--repo", str(place)]) == 2
    assert capsys.readouterr().err == (
        f"leaselab: {place}: this repository is of dnsmasq, and v4-memfile measures kea; "
        "`leaselab list --scenarios --server dnsmasq` has its scenarios\n"
    )


def test_a_release_that_the_lab_has_not_is_refused_before_the_bench_is_asked(
    refused, monkeypatch
):
    monkeypatch.setattr(
        benches,
        "read_inventory",
        lambda path: replace(parsed(path, LISTING), made_by="docker_lab"),
    )
    assert refused("run", "--distribution", "buster") == (
        "--distribution: unknown release 'buster' (wanted one of bookworm, trixie)"
    )
