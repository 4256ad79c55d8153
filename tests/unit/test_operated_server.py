"""A server that is operated through its contract, and the clocks of its bench."""

import time

import pytest
from tests.fake_host import FakeFollower, FakeHost
from tests.here import ConnectionHere

from leaselab.lab.contract.remote import RemoteGenerator
from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, Outcome

AHEAD_S = 40.0
KNOWN = {"operations": {"reload": {"does": "It reads.", "seen": "a serial number"}}}


def servers(follower=None, **answers):
    deployed = ServerUnderTest(
        name="kea",
        version="2.6.3",
        contract="/opt/leaselab/server",
        variant="v4",
        config_sha256="0" * 64,
        config_file="/etc/kea/a.json",
        running_config_sha256="1" * 64,
    )
    host = FakeHost(follower={"operate": follower}, **answers)
    return Servers({"server": ContractServer(host, deployed)})


def test_what_can_be_done_is_what_its_contract_lists():
    (known,) = servers(operations=KNOWN).operations().items()
    assert (known[0], known[1].does, known[1].seen) == (
        "reload",
        "It reads.",
        "a serial number",
    )
    with pytest.raises(
        LeaselabError, match="what can be done to it is unknown: no verb"
    ) as caught:
        servers(operations=(1, "no verb operations")).operations()
    assert caught.value.outcome is Outcome.LAB


def test_its_clock_is_known_by_when_it_was_asked_and_answered():
    now = time.time() + AHEAD_S
    line = {"name": "reload", "begun": now, "effect": None, "ended": now, "why": "old"}
    with servers(FakeFollower(line)).operating() as operate:
        done = operate("reload")
    assert (done.name, done.effect, done.why) == ("reload", None, "old")
    assert done.ahead_s == pytest.approx(AHEAD_S, abs=60)
    assert done.ahead_s <= AHEAD_S  # all of this came later


@pytest.mark.parametrize(
    ("follower", "what"),
    [
        (FakeFollower(None, 1, "its zone is gone"), "reload was not carried out: its zone is"),
        (FakeFollower(None), "reload was not carried out: no answer within 90 s"),
        (FakeFollower(None, 1, "no such verb", begun=None), "cannot be operated: no such verb"),
    ],
)
def test_a_contract_that_ends_or_is_silent_is_named(follower, what):
    with pytest.raises(LeaselabError, match=what), servers(follower).operating() as operate:
        operate("reload")


def test_the_clock_of_a_generators_host_is_known_as_well(tmp_path):
    host = RemoteGenerator(ConnectionHere(), "lo", ["127.0.0.1"], str(tmp_path / "turn"))
    assert host.clock_ahead_s() == pytest.approx(0.0, abs=60)
