"""The engine's own way to a host: what a connection reports, and what a failed one means."""

import json
import time

import pytest

from leaselab.lab.bench.lock import PROGRAM
from leaselab.lab.checks.contact import contact, contact_all
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP, InventoryHost
from leaselab.lab.hosts.transport import Completed
from leaselab.model.bench import HostAccess
from leaselab.model.errors import lab_broken

OWNER = {"name": "ana@laptop", "purpose": "a sweep", "age_s": 1.0, "expires_in_s": 9.0}


class FakeConnection:
    """Answers as a host would whose clock is `ahead_s` ahead."""

    def __init__(self, access, ahead_s=0.0, answer=None, lock=None):
        self.access = access
        self.ahead_s = ahead_s
        self.answer = answer
        self.lock = lock

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def run(self, argv, *, timeout_s, as_login=False):
        assert timeout_s > 0
        if argv == ["id", "-u"]:
            assert not as_login
            return Completed(0, b"1000\n", "")
        if argv == [PROGRAM, "status"]:
            if self.lock is None:
                return Completed(127, b"", "not found")
            return Completed(0, json.dumps(self.lock).encode(), "")
        if argv == ["test", "-x", PROGRAM]:
            return Completed(int(self.lock is None), b"", "")
        assert argv[:2] == ["sh", "-c"]
        assert as_login
        if self.answer is not None:
            return Completed(0, self.answer, "")
        now = time.time() + self.ahead_s
        ssh = "192.0.2.2 50000 192.0.2.11 22"
        return Completed(0, f"{now:.9f}\n{ssh}\n".encode(), "")


def host(name="sut", part=SERVER_GROUP):
    access = HostAccess(name, "192.0.2.11", "root", "/key", "/known_hosts")
    return InventoryHost(access=access, parts=(part,))


def test_it_reports_clock_login_and_management_address():
    facts = contact(host(), lambda access: FakeConnection(access, ahead_s=7.0))
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
    answer = f"1.0\n{ssh}\n".encode()
    facts = contact(host(), lambda access: FakeConnection(access, answer=answer))
    assert facts.management_address == address


def test_the_generator_reports_who_holds_the_bench():
    def connector(access):
        return FakeConnection(access, lock={"owner": OWNER, "maintenance": None})

    assert contact(host(part=GENERATOR_GROUP), connector).holder == OWNER
    assert contact(host(part=SERVER_GROUP), connector).holder is None


def test_a_generator_that_was_never_provisioned_is_free():
    facts = contact(host(part=GENERATOR_GROUP), FakeConnection)
    assert (facts.error, facts.holder) == (None, None)


def test_a_lock_program_that_fails_says_nothing_of_who_holds_the_bench():
    class Failing(FakeConnection):
        def run(self, argv, **options):
            if argv == [PROGRAM, "status"]:
                return Completed(1, b"", "no space left")
            return super().run(argv, **options)

    facts = contact(host(part=GENERATOR_GROUP), lambda access: Failing(access, lock={}))
    assert "no space left" in str(facts.error)


def test_a_login_that_prints_a_greeting_is_refused():
    answer = b"Welcome to sut!\n1.0\n\n"
    facts = contact(host(), lambda access: FakeConnection(access, answer=answer))
    assert "login gives no usable shell" in str(facts.error)


def test_one_host_that_does_not_answer_leaves_the_others():
    def connector(access):
        if access.name == "sut":
            raise lab_broken("cannot be reached", where="sut")
        return FakeConnection(access)

    reported = contact_all([host("sut"), host("gen", GENERATOR_GROUP)], connector)
    assert str(reported["sut"].error) == "sut: cannot be reached"
    assert reported["gen"].error is None
