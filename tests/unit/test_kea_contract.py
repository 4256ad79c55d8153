"""How Kea's memfile is emptied, and what its contract makes of Kea's own counters."""

from pathlib import Path

import pytest
from tests.contracts import contract_module


@pytest.fixture(scope="module")
def server():
    """The module of the verbs, found where the contract finds it."""
    with contract_module("kea", "kea_contract.server") as server:
        yield server


@pytest.fixture
def config(tmp_path):
    """Settings of a variant that holds two leases, in a file and an older one."""
    for name in ("leases.csv", "leases.csv.2", "leases.csv.completed"):
        (tmp_path / name).write_text("a lease\n", encoding="ascii")
    return {
        "family": 4,
        "database": None,
        "subnet_id": 50,
        "lease_file": str(tmp_path / "leases.csv"),
    }


class Kea:
    """Holds leases, and empties itself as a real one does; `late` come while it does."""

    def __init__(self, folder, late=0):
        self.held, self.late, self.folder, self.asked = 2, late, folder, []
        self.reads = False
        """Whether it counts what is in the file: the leases with which it begins."""

    def leases(self, _config):
        return self.held

    def control(self, _config, command, arguments=None):
        self.asked.append((command, arguments))
        if (
            command == "config-reload"
            and not self.reads
            and list(self.folder.glob("leases.csv*"))
        ):
            return  # it reads the file again
        self.held, self.late = self.late, 0


@pytest.fixture
def kea(server, monkeypatch, tmp_path):
    def with_late(late):
        double = Kea(tmp_path, late)
        monkeypatch.setattr(server, "leases", double.leases)
        monkeypatch.setattr(server, "control", double.control)
        return double

    return with_late


def test_with_the_hook_the_subnet_that_serves_is_wiped(server, config, kea, tmp_path):
    double = kea(late=0)
    assert server.Server({**config, "can_wipe": True}).reset() == {"held": 0, "was": 2}
    assert double.asked == [("lease4-wipe", {"subnet-id": 50})]
    assert len(list(tmp_path.glob("leases.csv*"))) == 3


def test_without_it_the_files_go_and_the_configuration_is_read_again(
    server, config, kea, tmp_path
):
    double = kea(late=1)
    assert server.Server({**config, "can_wipe": False}).reset() == {"held": 0, "was": 3}
    assert double.asked == [("config-reload", None)] * 2
    assert list(tmp_path.glob("leases.csv*")) == []


@pytest.fixture
def filled(config, tmp_path):
    """Settings of a variant that begins with a lease, in a file of columns that Kea wrote."""
    (tmp_path / "filled.csv").write_text("10.0.0.1,32,0,7\n", encoding="ascii")
    Path(config["lease_file"]).write_text("address,subnet_id,new\n", encoding="ascii")
    return {**config, "filled_file": str(tmp_path / "filled.csv"), "can_wipe": True}


def test_one_that_begins_with_leases_goes_back_to_them(server, filled, kea, tmp_path):
    """The hook would wipe those as well."""
    double = kea(late=0)
    double.reads = True
    assert server.Server(filled).reset() == {"held": 0, "was": 2}
    assert double.asked == [("config-reload", None)]
    (file,) = tmp_path.glob("leases.csv*")
    assert file.read_text("ascii") == "address,subnet_id,new\n10.0.0.1,7,\n"


def test_kea_says_its_columns_before_it_begins_with_leases(server, filled, monkeypatch):
    """Each release has others: what it reads has to have been written by itself."""
    file, began = Path(filled["lease_file"]), []
    file.unlink()

    def launch(_self):
        began.append(file.read_text("ascii") if file.exists() else "")
        file.write_text(began[-1] or "address,state\n", encoding="ascii")

    monkeypatch.setattr(server.server.Server, "launch", launch)
    monkeypatch.setattr(server.process, "end", lambda *_: began.append("ended"))
    server.Server({**filled, "process": {}}).launch()
    assert began == ["", "ended", "address,state\n10.0.0.1,0\n"]
    began.clear()
    server.Server({**filled, "filled_file": None}).launch()
    assert len(began) == 1


def test_what_the_lease_cache_saved_was_not_written(server):
    counters = {"pkt4-ack-sent": 1000, "v4-lease-reuses": 998}
    assert server.written(counters, "pkt4-ack-sent", "v4-lease-reuses") == 2


@pytest.mark.parametrize("missing", ["pkt4-ack-sent", "v4-lease-reuses"])
def test_a_counter_that_kea_had_no_time_for_makes_what_was_written_unknown(server, missing):
    counters = {"pkt4-ack-sent": 1000, "v4-lease-reuses": 998}
    del counters[missing]
    assert server.written(counters, "pkt4-ack-sent", "v4-lease-reuses") is None
