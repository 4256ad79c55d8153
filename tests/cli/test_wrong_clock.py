"""A machine whose clock was far ahead: its results, and what is removed by age."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.examples import archive_result, example_result

from leaselab.archive.store import Store
from leaselab.cli import prune as prune_command
from leaselab.cli.main import main

ROOT = Path(__file__).parents[2]
NOW = datetime.now(UTC)
FAR = datetime(2099, 6, 1, tzinfo=UTC)
DAYS = (50, 40, 20, 1)
"""How long ago the results of the right clock were begun."""


@pytest.fixture
def root(root, tmp_path, monkeypatch):
    """Results of the last weeks, and one of 2099 with another rate."""
    monkeypatch.setenv("LEASELAB_ROOT", str(tmp_path))
    for name in ("scenarios", "roles"):
        (tmp_path / name).symlink_to(ROOT / name)
    for days in DAYS:
        archive_result(root, example_result(started=NOW - timedelta(days=days)))
    archive_result(root, example_result([4000.0] * 9, started=FAR))
    return root


def newest(root):
    return Store(root).load("last").started_at[:4]


COMMANDS = ("list", "show last", "list --table", "review", "compare last last~1")
COMMANDS += ("dev archive verify", "report -o site", "export --csv -", "list --limit 2")


def test_a_result_of_2099_breaks_no_command(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        assert main(command.split()) == 0
        assert len(Store(root).index.rows()) == len(DAYS) + 1


def test_it_is_the_newest_of_nothing(root, capsys):
    index = Store(root).index
    assert newest(root) == str((NOW - timedelta(days=1)).year)
    assert [row["value"] for row in index.newest_places("*")] != [4000.0]
    assert [row["value"] == 4000.0 for row in index.rows()] == [False] * len(DAYS) + [True]
    assert "4000" not in {str(row["value"]) for row in index.every(newest=len(DAYS))}
    assert Store(root).load(f"last~{len(DAYS)}").started_at[:4] == "2099"
    assert main(["list", "--table", "--json"]) == 0
    assert "20990601" not in capsys.readouterr().out
    alone = root.parent / "alone"
    archive_result(alone, example_result(started=FAR))
    assert newest(alone) == "2099"
    (row,) = Store(alone).index.newest_places("*")
    assert row["id"].startswith("2099")


@pytest.fixture
def prune(root, monkeypatch, capsys):
    """What `prune` at a moment ends with, what it says, and how many raw outputs are left."""
    monkeypatch.setattr(prune_command, "benches_of", lambda _: ())

    def prune(now, *arguments):
        clock = SimpleNamespace(time=now.timestamp)
        monkeypatch.setattr(prune_command, "time", clock)
        code = main(["lab", "prune", *arguments])
        out, err = capsys.readouterr()
        return code, out + err, len(list(root.glob("20*/*/*/raw")))

    return prune


@pytest.mark.parametrize("made", [0, 1], ids=["none", "a result"])
@pytest.mark.parametrize("arguments", [[], ["--dry-run"]], ids=["for real", "dry"])
def test_prune_removes_nothing_under_a_clock_that_is_far_ahead(prune, root, made, arguments):
    """Whether or not something was measured since."""
    ahead = datetime(2088, 1, 1, tzinfo=UTC)
    for number in range(made):
        started = ahead - timedelta(days=1 + number)
        archive_result(root, example_result(started=started))
    code, reported, left = prune(ahead, *arguments)
    assert (code, left) == (4, len(DAYS) + 1 + made)
    assert "nothing is removed, as the clock of this machine may be ahead (found no" in reported
    assert "wanted at most 180 days without a result); set the clock" in reported


def test_prune_goes_on_after_a_long_pause_once_results_cover_its_days(prune, root):
    assert prune(NOW)[::2] == (0, len(DAYS) + 1 - 2), "it goes on beside that of 2099"
    later = NOW + timedelta(days=400)
    archive_result(root, example_result(started=later - timedelta(days=1)))
    assert prune(later)[0] == 4
    archive_result(root, example_result(started=later - timedelta(days=31)))
    assert prune(later)[::2] == (0, 2)  # that of yesterday, and that of 2099
