"""The command ``prune`` as processes of its own: killed, twice at once, beside a sweep."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, archive_result, example_result
from tests.inventories import parsed_file

from leaselab.archive.checksums import PRUNED
from leaselab.archive.store import Store
from leaselab.cli.main import main
from leaselab.lab.bench import benches

SOURCES = Path(__file__).parents[2] / "scripts"
RESULTS = 12
SHORT = replace(PROCEDURE, rounds=3, trim=0)
LONG_AGO = datetime.now(UTC) - timedelta(days=60)


@pytest.fixture
def root(tmp_path):
    """An archive of old results, by their ids."""
    for number in range(RESULTS):
        archive_result(
            tmp_path / "results",
            example_result(
                MAX_RATES[:3], started=LONG_AGO, token=f"{number:04x}", procedure=SHORT
            ),
        )
    return tmp_path / "results"


@pytest.fixture
def inventory(tmp_path):
    """A bench whose builder does not answer: its port is nobody's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hosts = {
        group: {"hosts": {group: {"ansible_host": f"127.0.0.{number}", "ansible_port": port}}}
        for number, group in enumerate(("dhcp_server", "dhcp_generator", "builder"), start=1)
    }
    (tmp_path / "known_hosts").touch()
    settings = {
        "leaselab_bench": "rack1",
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={tmp_path / 'known_hosts'}",
    }
    path = tmp_path / "rack1.yml"
    path.write_text(yaml.safe_dump({"bench": {"vars": settings, "children": hosts}}))
    return path


@pytest.fixture
def start(root, inventory):
    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "leaselab", "lab", "prune", "-i", inventory, *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(SOURCES),
                "LEASELAB_ROOT": str(root.parent),
                "LEASELAB_RESULTS": str(root),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def prune(root, inventory, monkeypatch):
    """Run the command in this process; return its exit code."""
    monkeypatch.setenv("LEASELAB_ROOT", str(root.parent))
    monkeypatch.setenv("LEASELAB_RESULTS", str(root))
    monkeypatch.setattr(benches, "read_inventory", parsed_file)
    return lambda *words: main(["lab", "prune", "-i", str(inventory), *words])


def pruned(root):
    """Ids of the results that have a list of what was pruned; each result matches its own."""
    store = Store(root)
    ids = {row["id"] for row in store.index.rows()}
    for name in ids:
        store.verify(name)
    assert len(ids) == RESULTS
    return {name for name in ids if (store.place(name) / PRUNED).exists()}


def test_killed_at_any_moment_every_result_is_whole_and_the_next_prune_goes_on(root, start):
    chance = random.Random(31)  # noqa: S311  # moments, no secrets
    for count in sorted(chance.sample(range(RESULTS), 5)):
        process = start()
        while len(list(root.glob(f"*/*/*/{PRUNED}"))) <= count and process.poll() is None:
            pass
        time.sleep(chance.random() / 1000)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert pruned(root)
    assert start().wait() == 0
    assert len(pruned(root)) == RESULTS
    assert list(root.glob("*/*/*/raw")) == []


def test_two_at_once_and_a_sweep_that_is_sealed_meanwhile(root, start):
    both = [start("--json") for _ in range(2)]
    sealed = archive_result(
        root, example_result(started=datetime.now(UTC), token="ffff", scenario="v6-memfile")
    )
    reported = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    freed = [row["freed"].get("raw outputs", {"items": 0})["items"] for row in reported]
    assert sum(freed) == RESULTS
    assert Store(root).verify(sealed.id).pruned is None


def test_it_says_what_goes_what_is_left_and_what_that_frees(root, prune, tmp_path, capsys):
    source = tmp_path / ".leaselab" / "sources" / "a.tar"
    source.parent.mkdir(parents=True)
    source.write_bytes(b"x" * 1_500_000)
    os.utime(source, (LONG_AGO.timestamp(),) * 2)
    assert prune("--dry-run") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "1.5 MB would be freed"
    assert f"raw outputs  {RESULTS:>5}" in out
    assert "left as it is: builder of bench rack1: " in err
    assert source.exists()
    assert not pruned(root)
    assert prune("--unused-days", "61") == 0
    assert source.exists()
    assert len(pruned(root)) == RESULTS
    assert prune("--unused-days=59") == 0
    assert not source.exists()


@pytest.mark.parametrize("option", ["--raw-days", "--unused-days"])
def test_what_is_no_number_of_days_is_refused(option, capsys):
    for text in ("0", "1.5", "", "3651", "1e3", "٣", "9" * 30):
        assert main(["lab", "prune", f"{option}={text}"]) == 2
        assert "not a whole number from 1 to 3650" in capsys.readouterr().err


def test_what_cannot_be_removed_is_said_and_ends_with_4(root, prune, capsys):
    (place, *_) = root.glob("*/*/*")
    place.chmod(0o755)
    (place / "SHA256SUMS").unlink()
    assert prune() == 4
    assert place.name in capsys.readouterr().err
    assert len(list(root.glob(f"*/*/*/{PRUNED}"))) == RESULTS - 1
