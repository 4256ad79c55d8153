"""One recorded reading of the local lab per test, to be altered by it."""

import copy

import pytest
from tests.inventories import local_lab
from tests.lab_reading import GENERATOR, MANAGEMENT, RECORDED, ROOT, SERVER

from leaselab.catalog.catalogue import load_scenarios, measured_by
from leaselab.lab.checks.contact import Contact
from leaselab.lab.checks.inspection import judge

DNS = {"bind9", "knot", "nsd", "pdns_recursor", "powerdns", "responder", "unbound"}


@pytest.fixture
def inventory():
    return local_lab()


@pytest.fixture(scope="session")
def scenarios():
    """Those of DHCP by perfdhcp: a generator that is a package, as servers are."""
    return {
        name: measured_by(scenario, None if scenario.server.kind in DNS else "perfdhcp")
        for name, scenario in load_scenarios(ROOT / "scenarios").items()
    }


@pytest.fixture
def reading():
    return copy.deepcopy(RECORDED)


@pytest.fixture
def server(reading):
    """The server's recorded facts, to be altered."""
    return reading["hosts"][SERVER]["probe"]


@pytest.fixture
def generator(reading):
    return reading["hosts"][GENERATOR]["probe"]


@pytest.fixture
def contacts():
    return {
        name: Contact(clock_offset_s=0.02, clock_uncertainty_s=0.03, management_address=address)
        for name, address in MANAGEMENT.items()
    }


@pytest.fixture
def inspect(inventory, reading, contacts, scenarios):
    """Judges the reading as the test has left it."""
    return lambda: judge(inventory, reading, contacts, scenarios)
