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
def asked(checkout, monkeypatch):
    """Commands are of this checkout, and its inventory is read without Ansible."""
    monkeypatch.setenv("LEASELAB_ROOT", str(checkout))
    monkeypatch.setattr(benches, "read_inventory", lambda path: parsed(path, LISTING))


@pytest.fixture
def refused(asked, checkout, capsys):  # noqa: ARG001  # its effect
    """The one line that a command of this checkout says, which ends with 2."""

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


COMMANDS = ("run", "step deploy", "list --scenarios")
OF_RESULTS = ("list", "list --table", "review", "export --csv -")
OF_RESULTS += ("capacity --clients 1 --lease-s 9",)


@pytest.mark.parametrize("words", [*COMMANDS, *OF_RESULTS])
def test_an_unknown_scenario_names_the_nearest_three_but_a_pattern_none(
    refused, tmp_path, words
):
    folder = tmp_path / "archive"
    archive_result(folder)
    results = ("--results", str(folder)) if words in OF_RESULTS else ()
    none = "scenarios: no scenario matches 'x4-memfile*'; `leaselab list --scenarios` has all"
    assert refused(*words.split(), "x4-memfile*", *results) == none
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
        ("v6", "as a pattern, it is 'v6-*' (41 scenarios)"),
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


def test_a_lease_that_would_expire_in_the_sweep_is_refused(refused, checkout):
    path = checkout / "scenarios" / "memfile.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("lease_lifetime_s: 86400", "lease_lifetime_s: 600", 1))
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


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    "words", ["bisect v4-memfile --good HEAD~1 --bad HEAD", "run v4-memfile --commit HEAD"]
)
def test_a_repository_of_another_server_is_refused_before_anything_is_built(
    tmp_path, capsys, words
):
    place = make_repository(tmp_path / "dnsmasq")
    for number in range(2):
        files = {"Makefile": "all:", "src/dnsmasq.c": f"/* {number} */"}
        commit(place, f"Change {number}", files, minute=number)
    assert main([*words.split(), "--repo", str(place)]) == 2
    assert capsys.readouterr().err == (
        f"leaselab: {place}: this repository is of dnsmasq, and v4-memfile measures kea; "
        "`leaselab list --scenarios --server dnsmasq` has its scenarios\n"
    )


def test_a_release_that_the_lab_has_not_is_refused_before_the_bench_is_asked(
    refused, monkeypatch
):
    made_here = replace(parsed(Path("inventory"), LISTING), made_by="docker_lab")
    monkeypatch.setattr(benches, "read_inventory", lambda _: made_here)
    assert refused("run", "--distribution", "buster") == (
        "--distribution: unknown release 'buster' (wanted one of bookworm, trixie)"
    )


BISECT = "bisect v4-memfile --good main~12 --bad main REPO"
LIVE = "compare main~2 main --live --no-cost --scenario v4-memfile REPO"
PACKAGES = "compare --live @v4-memfile @v4-memfile"
HARDWARE = "@v4-hardware-smt-{}-governor-performance".format
RUN = "run v4-memfile REPO"
GENERATORS, TRUTH = "dev bench generators", "dev bench truth"
EVENT = "run v4-memfile-hs --procedure event --set"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bisect v4-memfile --good main --bad main~12 REPO", "no commit lies in this range"),
        (f"{BISECT} --budget 0.7", "too little time for a duel"),
        (f"{BISECT} --find 0", "--find"),
        (f"{BISECT} --set rounds=2", "rounds"),
        (f"{BISECT} --cost --every 0", "--every"),
        (f"{BISECT} --cost --generator perfdhcp", "perfdhcp cannot offer exchanges in that wa"),
        (f"{LIVE} --metric loss_ratio", "no duel is about this figure"),
        (f"{LIVE} --metric start_s --layouts 2", "layouts change how fast code is"),
        (f"{LIVE} --metric stall_s", "there is nothing to do to the servers"),
        (
            f"{LIVE} --metric stall_s --set operations=reload --generator perfdhcp",
            "cannot offer exchanges in that way (found procedure duel about operations",
        ),
        ("compare --live main v1.0", "no scenario was named"),
        ("compare --live package@v4-memfile main@v4-memfile --repo nowhere", "nowhere"),
        ("compare --live release@v4-memfile package@v4-memfile", "--repo is required"),
        (f"{PACKAGES} --budget 0.7", "too little time for a duel"),
        (f"{PACKAGES} --layouts 2", "only commits can be built in several layouts"),
        (f"compare --live {HARDWARE('on')} {HARDWARE('off')}", "servers on the same hosts"),
        (f"{RUN} --commit main --anchor main", "are the same build"),
        (f"{RUN} --commit main --anchor main~3 --sequential", "must be measured in turn"),
        (f"{RUN} --commit main --anchor v9", "v9"),
        (f"{RUN} --commit main --worktree", "--worktree: not allowed with argument --commit"),
        (f"{RUN} --commit nowhere", "no commit 'nowhere'"),
        ("run v4-memfile v4-dnsmasq REPO --commit main", "those of dnsmasq and kea"),
        ("run v4-memfile --commit main", "no repository is named"),
        ("run v4-memfile --procedure event", "an event needs a pair"),
        (f"{EVENT} rate=0", "rate is not valid (found 0, wanted a whole number from 1 to"),
        (f"{EVENT} share=0", "share is not valid (found 0, wanted a number above"),
        (f"{EVENT} rounds=-1", "rounds is not valid (found -1"),
        (f"{EVENT} before_s=0", "before_s is not valid (found 0"),
        (f"{EVENT} event=partition --set who=partner", "a partition kills nobody"),
        (
            f"{EVENT} after_s=10",
            "wanted more than the scenario's pair_max_response_delay_s, 10",
        ),
        (f"{GENERATORS} --generator leaseload,leaseload", "not two generators"),
        (f"{GENERATORS} --generator leaseload,nosuch", "unknown generator"),
        (f"{GENERATORS} --generator leaseload,dnsperf", "dnsperf"),
        (f"{GENERATORS} nosuch", "unknown scenario"),
        (f"{TRUTH} v4-memfile", "no true value is known for that (found v4-memfile,"),
        (f"{TRUTH} responder-v4-uncapped", "no true value is known for that"),
        (f"{TRUTH} responder-dns-capped --generator perfdhcp", "no true value is known"),
        (
            f"{TRUTH} --generator perfdcp",
            "unknown generator 'perfdcp'; did you mean 'perfdhcp'?",
        ),
    ],
)
@pytest.mark.usefixtures("hashes")
def test_what_cannot_be_measured_is_refused_before_a_bench_is_touched(
    lab, place, capsys, words, said
):
    assert main(words.replace("REPO", f"--repo {place}").split()) == 2
    assert said in capsys.readouterr().err
    assert (lab.prepared, lab.built, lab.deployed) == ([], [], [])
