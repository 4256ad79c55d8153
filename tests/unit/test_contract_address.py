"""The addresses of an interface, as a contract waits for them before it starts a server."""

import pytest
from tests.contracts import contract_module


@pytest.fixture
def address():
    with contract_module("contract", "leaselab_contract.address") as module:
        yield module


def test_an_interface_that_is_gone_is_the_lab_and_not_the_server(address):
    """A boot takes that of a second place with it."""
    with pytest.raises(Exception, match=r"found on lo; wanted on leaselab2") as caught:
        address.check_placed("leaselab2", "127.0.0.1")
    assert caught.value.status == 4


def test_one_that_is_there_and_has_its_addresses_is_not_waited_for(address):
    address.wait_until_usable("lo")
