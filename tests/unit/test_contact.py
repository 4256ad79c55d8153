"""The engine's own way to a host: what a connection reports, and what a failed one means."""

import time

import pytest
from tests.fake_host import FakeHost

from leaselab.lab.checks.contact import contact, contact_all
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, InventoryHost
from leaselab.model.bench import HostAccess
from leaselab.model.errors import lab_broken

OWNER = {"name": "ana@laptop", "purpose": "a sweep", "age_s": 1.0, "expires_in_s": 9.0}


def answering(ahead_s=0.0, answer=None, lock=None):
    """Connects to a host whose clock is `ahead_s` ahead, and whose lock says this."""

    def login(_):
        ssh = "192.0.2.2 50000 192.0.2.11 22"
        return f"{time.time() + ahead_s:.9f}\n{ssh}\n" if answer is None else answer

    there = {"status": (127, "not found"), "test": (1, "")}
    if lock is not None:
        there = {"status": lock, "test": ""}
    return lambda access: FakeHost(access.name, id="1000\n", sh=login, **there)


def host(name="sut", part=SERVER_GROUP):
    access = HostAccess(name, "192.0.2.11", "root", "/key", "/known_hosts")
    return InventoryHost(access=access, parts=(part,))


def test_it_reports_clock_login_and_management_address():
    facts = contact(host(), answering(ahead_s=7.0))
    assert facts.error is None
    assert abs(facts.clock_offset_s - 7.0) <= facts.clock_uncertainty_s + 1e-6
    assert 0 < facts.clock_uncertainty_s < 1
    assert (facts.uid, facts.management_address, facts.holder) == (1000, "192.0.2.11", None)


@pytest.mark.parametrize(
    ("ssh", "address"),
    [
        ("fe80::1%eth0 50000 fe80::2%eth0 22", "fe80::2"),
        ("2001:db8::1 50000 2001:db8::2 22", "2001:db8::2"),
        ("", ""),
    ],
)
def test_the_management_address_is_the_hosts_end_of_the_connection(ssh, address):
    facts = contact(host(), answering(answer=f"1.0\n{ssh}\n"))
    assert facts.management_address == address


def test_the_generator_reports_who_holds_the_bench():
    """One that was never provisioned is free."""
    connector = answering(lock={"owner": OWNER, "maintenance": None})
    assert contact(host(part=GENERATOR_GROUP), connector).holder == OWNER
    assert contact(host(part=SERVER_GROUP), connector).holder is None
    facts = contact(host(part=GENERATOR_GROUP), answering())
    assert (facts.error, facts.holder) == (None, None)


def test_a_lock_program_that_fails_says_nothing_of_who_holds_the_bench():
    facts = contact(host(part=GENERATOR_GROUP), answering(lock=(1, "no space left")))
    assert "no space left" in str(facts.error)


def test_a_login_that_prints_a_greeting_is_refused():
    facts = contact(host(), answering(answer="Welcome to sut!\n1.0\n\n"))
    assert "login gives no usable shell" in str(facts.error)


def test_one_host_that_does_not_answer_leaves_the_others():
    def connector(access):
        if access.name == "sut":
            raise lab_broken("cannot be reached", where="sut")
        return answering()(access)

    reported = contact_all([host("sut"), host("gen", GENERATOR_GROUP)], connector)
    assert str(reported["sut"].error) == "sut: cannot be reached"
    assert reported["gen"].error is None
