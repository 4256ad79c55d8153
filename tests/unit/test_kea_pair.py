"""The state of a pair, by what Kea says of it and by whether the partner can be reached."""

import socket

import pytest
from tests.contracts import contract_module

STATE = "hot-standby"


@pytest.fixture
def pair(monkeypatch):
    """The module; Kea answers that both servers are in the state."""
    remote = {"last-state": STATE, "communication-interrupted": False}
    servers = {"local": {"state": STATE}, "remote": remote}
    status = {"high-availability": [{"ha-servers": servers}]}
    with contract_module("kea", "kea_contract.pair") as pair:
        monkeypatch.setattr(pair, "control", lambda *_: status)
        yield pair


@pytest.fixture
def partner():
    """What listens as the partner does."""
    with socket.create_server(("127.0.0.1", 0)) as partner:
        yield partner


@pytest.fixture
def config(partner):
    address, port = partner.getsockname()
    of_pair = {"pair_partner": address, "pair_port": port, "pair_settle_s": 0.2}
    return {"pair_state": STATE, **of_pair}


def test_a_partner_that_takes_connections_is_no_trouble(pair, config):
    assert pair.trouble(config) == ""
    pair.settle(config)


def test_a_partner_out_of_reach_is_trouble_before_kea_notices(pair, config, partner):
    partner.close()
    assert pair.trouble(config).startswith(
        f"hot-standby, the partner at 127.0.0.1 port {config['pair_port']} out of reach: "
    )
    with pytest.raises(pair.ContractError, match=r"^the pair is not in its state after 0 s"):
        pair.settle(config)
