"""The server contract over all kinds of servers: what each verb does, whatever serves."""

import hashlib
import itertools
import os
import signal
from pathlib import Path

import pytest
from tests.contracts import contract_module
from tests.processes import await_end
from tests.server_kinds import KINDS, RCODES, deployed
from tests.waiting import until

OF_ZONES = {name: kind for name, kind in KINDS.items() if kind.dns}
HOLDING = {name: kind for name, kind in KINDS.items() if kind.fill}
LOGGING = {name: kind for name, kind in KINDS.items() if kind.log_failed}
BOUND = {name: kind for name, kind in KINDS.items() if kind.port}


@pytest.fixture
def variant(request, tmp_path, monkeypatch):
    """A variant of a kind, not started."""
    with deployed(KINDS[request.param], tmp_path, monkeypatch) as made:
        yield made


def of(kinds):
    return pytest.mark.parametrize("variant", kinds, indirect=True)


def failure(act):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # of a module that is loaded later
        act()
    return caught.value


def sampled(variant):
    """A sample with all that the kind has to say."""
    kind = variant.kind

    def is_whole(taken):
        has_all = taken["counters"] or not kind.counters
        return has_all and (taken["held"] is not None or not kind.fill)

    return until(lambda: variant.server().take(), is_whole)


@of(KINDS)
def test_it_starts_counts_what_it_served_and_ends(variant):
    kind = variant.kind
    assert variant.server().stop() == {"was_running": False}
    started = variant.server(commit="c" * 40).start()
    assert started["pid"] in variant.running()
    assert (started["version"], started["commit"]) == (kind.version, "c" * 40)
    assert started["start_s"] > 0
    program = Path(f"/proc/{started['pid']}/exe").resolve()
    assert started["program"] == str(program)
    assert started["program_sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    variant.do(kind.fill)
    taken = sampled(variant)
    assert taken["counters"].items() >= kind.counters.items()
    assert taken["held"] == (kind.was - kind.late if kind.fill else None)
    assert taken["refused"] == kind.refused
    assert taken["rss_bytes"] > 1_000_000
    assert taken["udp_drops"] == (0 if kind.dns else None)
    assert variant.server().is_running()
    assert variant.server().stop() == {"was_running": True}
    assert variant.running() == []
    assert variant.server().stop() == {"was_running": False}


@of(KINDS)
def test_each_start_is_a_new_process_with_nothing_of_the_one_before(variant):
    """What it runs with has another hash where it is another: also where its zones are."""
    first = variant.server().start()
    variant.do(variant.kind.fill)
    second = variant.server().start()
    assert first["pid"] != second["pid"]
    assert first["pid"] not in variant.running()
    assert variant.server().reset()["was"] in (0, None)
    assert first["config_sha256"] == second["config_sha256"]
    variant.do(variant.kind.changed)
    assert variant.server().start()["config_sha256"] != first["config_sha256"]


class Hurried:
    """A clock on which each look takes ten seconds."""

    sleep = staticmethod(lambda _: None)

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 10.0
        return self.now


@of(HOLDING)
def test_a_reset_empties_it_and_says_what_it_held(variant, monkeypatch):
    """Or fails, as while traffic runs: the trial would begin with what is there."""
    variant.server().start()
    variant.do(variant.kind.fill)
    assert variant.server().reset() == {"held": 0, "was": variant.kind.was}
    assert sampled(variant)["held"] == 0
    assert variant.server().reset() == {"held": 0, "was": 0}
    variant.do(variant.kind.fill)
    variant.do(variant.kind.warm)
    server = variant.server()
    if variant.kind.role in ("bind9", "unbound"):
        monkeypatch.setattr(f"{variant.kind.role}_contract.server.time", Hurried())
    error = failure(server.reset)
    assert (error.status, "is traffic running" in str(error)) == (1, True), error


@of([name for name in KINDS if name not in HOLDING])
def test_one_that_holds_nothing_has_nothing_to_empty(variant):
    pid = variant.server().start()["pid"]
    assert variant.server().reset() == {"held": None, "was": None}
    assert variant.running() == [pid]


def not_ready(server):
    """Why it is not, once it answers."""
    return str(until(lambda: failure(server.ready), lambda it: not isinstance(it, OSError)))


@of(OF_ZONES)
def test_one_that_answers_without_its_data_is_not_ready(variant):
    """REFUSED is the fastest of all answers."""
    variant.server().start()
    for records, (rcode, code) in itertools.product((0, 1), RCODES.items()):
        if (records, rcode) != (1, "NOERROR"):
            variant.be(rcode=code, records=records)
            assert f"answers {rcode} with {records} " in not_ready(variant.server())


@of(BOUND)
def test_an_answer_of_another_at_its_port_is_not_its_own(variant):
    """named goes on without a socket where another one has the port."""
    variant.server().start()
    other = variant.server(**{variant.kind.port: 9})
    assert "not serve UDP port 9" in not_ready(other)


@of(KINDS)
def test_one_that_ends_as_it_starts_gives_its_reason(variant):
    variant.be(dies="a.conf:7: error: unknown option", log={})
    error = failure(variant.server().start)
    assert (error.status, str(error)) == (1, "a.conf:7: error: unknown option")
    assert variant.running() == []


@of(LOGGING)
def test_one_that_serves_without_one_of_its_zones_does_not_start(variant):
    log = variant.kind.state(variant.folder).get("log", {})
    path = str(variant.folder / "log")
    variant.be(log={**log, path: f"{log.get(path, '')}{variant.kind.log_failed}\n"})
    error = failure(variant.server().start)
    assert (error.status, variant.kind.log_failed in str(error)) == (1, True), error
    assert variant.running() == []


@of(KINDS)
def test_one_too_busy_to_count_is_sampled_and_one_that_was_killed_is_not(variant):
    pid = variant.server().start()["pid"]
    if variant.kind.mute:
        variant.be(**variant.kind.mute)
        taken = variant.server().take()
        assert (taken["counters"], taken["refused"], taken["held"]) == ({}, None, None)
        assert taken["rss_bytes"] > 0
    os.kill(pid, signal.SIGKILL)
    await_end(pid)
    error = failure(variant.server().take)
    assert (error.status, " is gone: " in str(error)) == (1, True), error


@of(KINDS)
def test_one_that_was_restarted_is_another_process_and_sampled_on(variant):
    pid = variant.server().start()["pid"]
    sampler = variant.server()
    before = sampler.take()["cpu_s"]
    *_, is_seen = variant.server().end_and_start()
    assert is_seen
    assert sampler.running() != pid
    assert sampler.take()["cpu_s"] >= before


@pytest.mark.parametrize("role", sorted({kind.role for kind in KINDS.values()}))
def test_a_kind_has_a_method_for_each_of_its_verbs(role):
    verbs = {"start", "reset", "sample", "stop", "brake", "profile", "count"}
    verbs |= {"operations", "operate"}
    of_pair = {"state", "settle", "crash", "restart", "cut", "rejoin"}
    more = {"bind9": {"reload"}, "kea": of_pair | {"list"}}
    more |= {"dnsmasq": {"list"}, "isc_dhcpd": {"list"}}
    with contract_module(role, f"{role}_contract.server") as module:
        assert set(module.Server.VERBS) == verbs | more.get(role, set())
        assert all(callable(getattr(module.Server, verb)) for verb in module.Server.VERBS)
