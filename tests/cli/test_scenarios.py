"""`leaselab scenarios`: the project's own scenarios, whole outputs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leaselab.cli.main import BROKEN_PIPE, main
from leaselab.lab.catalog import match_scenarios

ROOT = Path(__file__).parents[2]

NAMES = ("v4-memfile", "v4-memfile-mt", "v6-memfile", "v6-memfile-mt")
WHAT = "Leases in memory and in a file on the server; no database"
DURABLE = "mysql_innodb_flush_log_at_trx_commit=1"
ONE = f"""\
scenario:
  name: v4-memfile-mt
  description: {WHAT}
  family: 4
  server: kea
  backend: memfile
  pool:
    subnet: 10.0.0.0/8
    range: 10.0.0.1 - 10.255.255.254
  multi_threading:
    enabled: True
    threads: 4
    queue_size: 64
  lease_lifetime_s: 86400
  memfile_persist: True
  high_availability:
    mode: none
plan:
  runs: 3
  trim: 0
  wait_s: 4.0
  goal:
    loss_ratio: 0.025
    late_s: 2.0
    relative_width: 0.01
  limits:
    min_rate: 10
    max_rate: 200000
    start_rate: 2000
    trial_s: 5
    scout_s: 1
    max_trials: 40
    warm_up_s: 1
    confirm_s: 30
"""


def test_a_pipe_gets_a_scenario_a_line(capsys):
    assert main(["scenarios"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in lines] == sorted(
        line.partition("\t")[0] for line in lines
    )
    for name in NAMES:
        clients = f"DHCPv{name[1]}"
        threading = "4 threads" if name.endswith("-mt") else "single-threaded"
        assert f"{name}\t{clients}\tmemfile\t{threading}\tone\t-" in lines
    assert "v4-mysql-durable\tDHCPv4\tmysql\tsingle-threaded\tone\t" + DURABLE in lines


def leaselab(*arguments, **options):
    """The command as a process of its own, as a pipe has it."""
    return subprocess.run(
        [sys.executable, "-m", "leaselab", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **options,
    )


def test_a_pipe_gets_every_scenario_whole_however_narrow_the_terminal():
    narrow = {**os.environ, "COLUMNS": "20", "TERM": "xterm"}
    done = leaselab("scenarios", stdout=subprocess.PIPE, env=narrow)
    names = [scenario.name for scenario in match_scenarios(ROOT / "scenarios", ["*"])]
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert sorted(line[0] for line in lines) == sorted(names)
    assert {len(line) for line in lines} == {6}
    assert ["v4-mysql-durable", "DHCPv4", "mysql", "single-threaded", "one", DURABLE] in lines


def test_a_reader_that_left_gets_no_traceback():
    """As `leaselab scenarios | head -0`."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = leaselab("scenarios", stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, "")


def test_a_pattern_lists_what_it_means(capsys):
    assert main(["scenarios", "v6-memfile-mt*"]) == 0
    names = [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["v6-memfile-mt", "v6-memfile-mt-hs", "v6-memfile-mt-lb"]


def test_one_shows_only_what_means_something_for_it(capsys):
    assert main(["scenarios", "v4-mysql-durable"]) == 0
    shown = capsys.readouterr().out
    assert "memfile_persist" not in shown
    assert f"tuning:\n    {DURABLE.replace('=', ': ')}" in shown
    assert main(["scenarios", "v4-mysql-hs"]) == 0
    assert "heartbeat_s: 1.0" in capsys.readouterr().out


def test_all_of_them_as_json(capsys):
    assert main(["scenarios", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(NAMES) <= set(found)
    assert found["v6-memfile"]["family"] == 6
    assert found["v4-memfile"]["multi_threading"]["enabled"] is False


def test_one_as_it_would_be_run(capsys):
    assert main(["scenarios", "v4-memfile-mt", "--plan", '{"runs": 3}']) == 0
    assert capsys.readouterr().out == ONE


def test_one_as_json_is_what_a_deployment_reads(capsys):
    assert main(["scenarios", "v4-memfile", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.keys() == {"scenario", "plan"}
    assert document["plan"]["runs"] == 9


@pytest.mark.parametrize("arguments", [("--json",), ()])
@pytest.mark.parametrize(
    ("name", "plan", "message"),
    [
        (
            "v4-memfle",
            "{}",
            "scenarios: unknown scenario 'v4-memfle'; did you mean 'v4-memfile'?",
        ),
        (
            "v4-memfile",
            '{"rnus": 3}',
            "sweep parameters: unknown key 'rnus'; did you mean 'runs'?",
        ),
        (
            "v4-memfile",
            '{"runs": 2, "trim": 1}',
            "sweep parameters: nothing would be left after trimming (found runs 2, trim 1,"
            " wanted runs > 2 x trim); raise --runs or lower --trim",
        ),
        (
            "v4-memfile",
            '{"limits": {"trial_s": 600}}',
            "scenario v4-memfile: leases could expire while the sweep runs"
            " (found lease_lifetime_s 86400, wanted more than 225102 s, the longest this sweep"
            " can take); raise lease_lifetime_s, or lower --runs or --trial-s",
        ),
    ],
)
def test_bad_input_is_one_line_on_stderr(capsys, arguments, name, plan, message):
    assert main(["scenarios", name, "--plan", plan, *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"leaselab: {message}\n")


def test_a_plan_that_is_no_json_is_refused(capsys):
    assert main(["scenarios", "v4-memfile", "--plan", "runs=3"]) == 2
    assert capsys.readouterr().err.startswith("leaselab: --plan: not JSON: ")
