"""``leaselab rerun``: what would not be a repetition is refused."""

import copy
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.bench_document import DOCUMENT
from tests.examples import archive_result, built, edited, example_result
from tests.inventories import local_lab

from leaselab.archive.published import published_bench
from leaselab.archive.store import Store
from leaselab.cli import bench_options, rerun
from leaselab.cli.main import main
from leaselab.lab.bench_file import parse_bench
from leaselab.model.errors import LeaselabError
from leaselab.model.record import Generator
from leaselab.run.preparation import LeasedBench

ROOT = Path(__file__).parents[2]
FAILED = {"word": "build-failed", "text": "error: expected ';'"}
TUNED = {"name": "mysql", "version": "11.8.6", "variables": {"flush": "2"}}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A result of a tuned database; what is deployed for its repetition."""
    then = copy.deepcopy(DOCUMENT)
    then["servers"]["server"]["beside"] = {"database": TUNED}
    then["distribution"] = "bookworm"
    result = example_result()
    with Store(tmp_path).create(result.id) as running:
        running.write_text("bench.json", json.dumps(then))
        running.write_text(result.server.config_file, "{}")
        Store(tmp_path).seal(running, replace(result, rounds=()))
    now = copy.deepcopy(then)
    asked = []

    def deploy(*_, distribution, **__):
        asked.append(distribution)
        return [parse_bench(now, "tests")]

    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(rerun, "_same", lambda *_: None)
    monkeypatch.setattr(rerun, "prepare", lambda _, release, **__: asked.append(release))
    monkeypatch.setattr(rerun, "deploy", deploy)
    monkeypatch.setattr(rerun, "measure_alone", lambda *_, **__: pytest.fail("it was measured"))
    free = lambda inventory, _: nullcontext(LeasedBench(inventory, None))  # noqa: E731
    monkeypatch.setattr(rerun, "leased", free)
    yield result.id, now["servers"]["server"]
    assert asked == ["bookworm", "bookworm"]  # of the release that was measured


@pytest.mark.parametrize("flush", ["1", None])
def test_another_setting_of_the_database_is_refused(measured, flush, capsys):
    ident, server = measured
    server["beside"]["database"]["variables"] = {} if flush is None else {"flush": flush}
    assert main(["rerun", ident, "-i", "inventory/docker"]) == 2
    assert f"tuned in another way now: database: flush (found {flush}, wanted 2)" in (
        capsys.readouterr().err
    )


def test_another_durability_is_refused(measured, capsys):
    ident, server = measured
    server["durability"] = "synced"
    assert main(["rerun", ident, "-i", "inventory/docker"]) == 2
    assert "durability (found synced, wanted written)" in capsys.readouterr().err


def test_a_result_that_knows_no_way_to_its_hosts_is_measured_with_the_inventory_of_now(
    measured, tmp_path, monkeypatch
):
    """What is archived says where in a checkout its inventory lies, and no more."""
    ident, _ = measured
    path = Store(tmp_path).find(ident) / "bench.json"
    bench = parse_bench(json.loads(path.read_text()), "tests")
    public = published_bench(bench).document()
    assert "access" not in public["hosts"]["server"]
    monkeypatch.setattr(Store, "verify", lambda *_: 1)
    path.chmod(0o644)
    path.write_text(json.dumps(public))
    with pytest.raises(pytest.fail.Exception, match="it was measured"):
        main(["rerun", ident])


def test_an_inventory_that_is_not_of_this_checkout_is_to_be_named():
    with pytest.raises(LeaselabError, match=r"no rack9 in this checkout.*name it with -i"):
        rerun._inventory("rack9", "last")


def test_another_version_is_measured(measured):
    ident, server = measured
    server["beside"]["database"]["version"] = "12.0.1"
    with pytest.raises(pytest.fail.Exception, match="it was measured"):
        main(["rerun", ident, "-i", "inventory/docker"])


def test_it_is_measured_on_its_own_bench_and_not_on_the_first_that_is_free(
    measured, monkeypatch
):
    ident, _ = measured
    name = Store(Path(os.environ["LEASELAB_RESULTS"])).load(ident).bench.name
    asked = []

    def benches_of(args):
        asked.append(args.bench)
        return (local_lab(),)

    monkeypatch.setattr(bench_options, "benches_of", benches_of)
    with pytest.raises(pytest.fail.Exception, match="it was measured"):
        main(["rerun", ident])
    assert asked == [name]


def test_a_commit_that_did_not_build_is_refused_with_the_way_to_build_it(
    tmp_path, monkeypatch, capsys
):
    record = built(example_result((), outcome="build-failed", reasons=[FAILED]), "4f2a" * 10)
    record = replace(record, generator=Generator(name="perfdhcp"))
    record = edited(
        record, lambda document: document["servers"]["server"].update(config_file=None)
    )
    archive_result(tmp_path, record)
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(rerun, "prepare", lambda *_, **__: pytest.fail("a host was touched"))
    assert main(["rerun", record.id]) == 2
    printed = capsys.readouterr().err
    assert f"result {record.id}: it cannot be measured again" in printed
    assert "found build-failed, no bench.json" in printed
    source = record.source
    again = f"leaselab run v4-memfile --repo {source.repository} --commit {source.hash}"
    assert again in printed
