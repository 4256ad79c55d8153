"""An authority that takes updates, as contracts start it, sample it and take them back."""

import pytest
from tests.contracts import contract_module


@pytest.fixture(scope="module")
def updated():
    """The module, found where the contract finds it."""
    with contract_module("contract", "leaselab_contract.updated") as updated:
        yield updated


@pytest.fixture
def made(updated, monkeypatch, tmp_path):
    """One whose zone begins with a serial number and has `at` now; it is silent at None."""

    def made(begun, **settings):
        server = updated.Server(
            {
                "address": "192.0.2.1",
                "known_name": "z.test.",
                "made_folder": "/zones",
                "lock_file": str(tmp_path / "server.lock"),
                "process": {},
                **settings,
            }
        )
        server.at, server.restored = begun, 0

        def restore():
            server.at = begun
            server.restored += 1

        def serial(address, zone, *, seconds):
            assert (address, zone) == ("192.0.2.1", "z.test.")
            assert seconds > 0
            if server.at is None:
                raise TimeoutError("timed out")
            return server.at

        monkeypatch.setattr(updated.dns, "serial", serial)
        monkeypatch.setattr(updated.restarted.process, "end", lambda _: True)
        monkeypatch.setattr(updated.restarted.server.Server, "launch", lambda _: None)
        server.restore = restore
        return server

    return made


def test_updates_are_what_the_serial_number_has_gained(made):
    server = made(4294967290)
    server.launch()
    assert server.check_started() == {}
    server.at = 4
    assert server.held() == 10
    assert server.reset() == {"held": 0, "was": 10}
    assert server.restored == 2


def test_updates_that_a_restart_leaves_are_an_error(updated, made):
    server = made(1)
    server.check_started()
    server.at = 5
    server.restore = lambda: None
    with pytest.raises(updated.restarted.ContractError, match="4 updates right after a start"):
        server.reset()


def test_one_too_busy_to_say_its_serial_number_holds_nobody_knows_what(made):
    server = made(1)
    server.check_started()
    server.at = None
    assert server.held() is None


def test_one_that_takes_no_updates_is_neither_asked_nor_restarted(made):
    server = made(None, made_folder=None)
    server.launch()
    assert server.check_started() == {}
    assert server.held() is None
    assert server.reset() == {"held": None, "was": None}
    assert server.restored == 0
