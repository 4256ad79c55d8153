"""``leaselab rerun``: what would not be a repetition is refused."""

import copy
import json

import pytest
from tests.bench_document import DOCUMENT
from tests.examples import example_result

from leaselab.archive.store import Store
from leaselab.cli import rerun
from leaselab.cli.main import main

TUNED = {"name": "mysql", "version": "11.8.6", "variables": {"flush": "2"}}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A result of a tuned database; what is deployed for its repetition."""
    then = copy.deepcopy(DOCUMENT)
    then["server"]["tuning"] = {"database": TUNED}
    then["distribution"] = "bookworm"
    result = example_result()
    with Store(tmp_path).create(result["id"]) as running:
        running.write_text("bench.json", json.dumps(then))
        running.write_text(result["server"]["config_file"], "{}")
        Store(tmp_path).seal(running, {**result, "runs": []})
    now = copy.deepcopy(then)
    asked = []

    def deploy(*_, distribution):
        asked.append(distribution)
        return now

    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(rerun, "_same", lambda *_: None)
    monkeypatch.setattr(rerun, "prepare", lambda _, release: asked.append(release))
    monkeypatch.setattr(rerun, "deploy", deploy)
    monkeypatch.setattr(rerun, "finish", lambda *_: pytest.fail("it was measured"))
    yield result["id"], now["server"]
    assert asked == ["bookworm", "bookworm"]  # of the release that was measured


@pytest.mark.parametrize("flush", ["1", None])
def test_another_setting_of_the_database_is_refused(measured, flush, capsys):
    ident, server = measured
    server["tuning"]["database"]["variables"] = {} if flush is None else {"flush": flush}
    assert main(["rerun", ident, "-i", "inventory/docker"]) == 2
    assert f"tuned in another way now: flush (found {flush}, wanted 2)" in (
        capsys.readouterr().err
    )


def test_another_durability_is_refused(measured, capsys):
    ident, server = measured
    server["durability"] = "synced"
    assert main(["rerun", ident, "-i", "inventory/docker"]) == 2
    assert "durability (found synced, wanted written)" in capsys.readouterr().err


def test_another_version_is_measured(measured):
    ident, server = measured
    server["tuning"]["database"]["version"] = "12.0.1"
    with pytest.raises(pytest.fail.Exception, match="it was measured"):
        main(["rerun", ident, "-i", "inventory/docker"])
