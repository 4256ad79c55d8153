"""What the engine makes of what servers' contracts answer; the clocks of their hosts."""

import time

import pytest
from tests.fake_host import FakeFollower, FakeHost
from tests.here import ConnectionHere

from leaselab.lab.contract.remote import RemoteGenerator
from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, Outcome

CONTRACT, VARIANT = "/opt/leaselab/server", "v4-memfile.1a2b3c4d5e"
STARTED = {"pid": 7, "version": "2.6.3", "commit": None, "config_sha256": "1" * 64}
LIBRARY = "/usr/lib/libkea-dhcpsrv.so.92"
LOADED = {
    "program": "/usr/sbin/kea-dhcp4",
    "program_sha256": "a" * 64,
    "libraries_sha256": {LIBRARY: "b" * 64},
    "confinement": "kea-dhcp4 (enforce)",
}
DATABASE = {"name": "mysql", "version": "11.8.6", "confinement": "mysqld (enforce)"}
DATABASE |= {"variables": {"flush": "2", "log": "1"}}
NONE = "none, none, none, none, none"
TUNED = "mysqld (enforce), 2, 1, mysql, 11.8.6"
SAMPLE = {"t": 1.0, "cpu_s": 0.5, "rss_bytes": 1000, "udp_drops": 0, "held": 3}
SAMPLE |= {"counters": {}, "refused": None, "beside_cpu_s": {}}
SAMPLED = {"event": "cpu-clock:u", "samples": 2, "sampled_s": 0.002, "lost": 0}
SAMPLED |= {"stacks": {"kea;main;run": 2}, "waits": {"database": 0.001}}
GOOD = {
    "sh": "this boot",
    "start": STARTED,
    "state": {"trouble": ""},
    "settle": {"trouble": ""},
    "reset": {"held": 0, "was": 5},
    "stop": {"was_running": True},
    "list": "10.0.0.1 000c01\n10.0.0.2 000c02\n",
}


def sampling(status=None, words="", **changes):
    """A host whose sampler runs, or has ended with a status and its last words."""
    if status is None:
        return FakeFollower({**SAMPLE, **changes})
    return FakeFollower(None, status, words)


def host(name="server", sampler=None, profiler=None, operator=None, **answers):
    followers = {"sample": sampler or sampling(), "operate": operator}
    followers["profile"] = profiler or FakeFollower(SAMPLED, 0, "")
    return FakeHost(name, follower=followers, **{**GOOD, **answers})


def server(made, **fields):
    known = {"name": "kea", "version": "2.6.3", "contract": CONTRACT, "variant": VARIANT}
    known |= {"holds": "leases", "config_file": "/etc/kea/a.json"}
    known |= {"config_sha256": "0" * 64, "running_config_sha256": "1" * 64}
    return ContractServer(made, ServerUnderTest(**known, **fields))


def started(made=None, **fields):
    sut = server(made or host(), **fields)
    sut.start()
    return sut


def refused(act):
    with pytest.raises(LeaselabError) as caught:
        act()
    return caught.value


def verbs(made):
    """The verbs that a host's contract was asked, but for what follows a start."""
    own = [argv for argv in made.asked if argv[0] == CONTRACT and argv[1] != "sample"]
    assert all(argv[2:] in ([VARIANT], []) for argv in own)
    return [argv[1] for argv in own]


def test_a_start_and_a_reload_may_take_as_long_as_the_deployment_says():
    made = host(start={**STARTED, "start_s": 0.16}, reload={"reload_s": 4.2})
    sut = server(made, start_limit_s=1150.0)
    assert (sut.start().start_s, sut.reload()) == (0.16, 4.2)
    assert {made.limits_s[verb] for verb in ("start", "reload")} == {1150.0}
    made = host()
    assert server(made).start().start_s is None
    assert made.limits_s["start"] == 150.0


ANOTHER = {
    "configuration": ({"config_sha256": "f" * 64}, "f" * 64),
    "version": ({"version": "2.7.0"}, "2.7.0"),
    "commit": ({"commit": "abcdef0"}, "abcdef0"),
    LOADED["program"]: ({"program_sha256": "f" * 64}, "f" * 64),
    LIBRARY: ({"libraries_sha256": {LIBRARY: "f" * 64}}, "f" * 64),
    "AppArmor profile": ({"confinement": "unconfined"}, "unconfined"),
}


@pytest.mark.parametrize("what", ANOTHER)
def test_another_server_than_was_deployed_is_not_measured(what):
    change, actual = ANOTHER[what]
    error = refused(server(host(start={**STARTED, **LOADED, **change}), **LOADED).start)
    assert (error.outcome, error.found) == (Outcome.LAB, actual)
    assert f"another {what}" in error.what


@pytest.mark.parametrize(
    ("libraries", "known"),
    [
        ({}, LOADED),  # one may be loaded when it is first needed
        ({LIBRARY: "b" * 64, "/lib/late.so": "c" * 64}, LOADED),
        ({LIBRARY: "f" * 64}, {}),  # a bench of an older release does not say what it has
    ],
)
def test_what_was_deployed_is_measured(libraries, known):
    given = {**STARTED, **LOADED, "libraries_sha256": libraries}
    assert server(host(start=given), **known).start().pid == 7


@pytest.mark.parametrize(
    ("sums", "outcome", "actual"),
    [
        ("ab", Outcome.BUILD, ""),
        ("fb", Outcome.LAB, "f" * 64),
        ("a", Outcome.LAB, "no such file"),
    ],
)
def test_a_program_that_was_replaced_and_does_not_start_is_not_the_servers_fault(
    sums, outcome, actual
):
    files = zip((LOADED["program"], LIBRARY), sums, strict=False)
    rows = "".join(f"{digest * 64}  {path}\n" for path, digest in files)
    made = host(start=(1, "symbol lookup error"), sha256sum=rows)
    error = refused(server(made, **LOADED).start)
    assert (error.outcome, error.found) == (outcome, actual)
    assert made.asked[-1] == ["sha256sum", "--", LOADED["program"], LIBRARY]


@pytest.mark.parametrize(
    ("running", "tuned", "actual", "wanted"),
    [
        (DATABASE, DATABASE, "", ""),
        ({**DATABASE, "variables": {"flush": "1", "log": "1"}}, DATABASE, "1", "2"),
        ({**DATABASE, "version": "12.0.1"}, DATABASE, "12.0.1", "11.8.6"),
        (None, DATABASE, NONE, TUNED),
        (DATABASE, None, TUNED, NONE),
        ({**DATABASE, "confinement": "unconfined"}, DATABASE, "unconfined", "mysqld (enforce)"),
        ({**DATABASE, "confinement": None}, DATABASE, "None", "mysqld (enforce)"),
    ],
)
def test_a_database_that_was_changed_since_it_was_tuned_is_not_measured(
    running, tuned, actual, wanted
):
    there, then = ({"database": known} if known else {} for known in (running, tuned))
    sut = server(host(start={**STARTED, "beside": there}), beside=then)
    if not actual:
        assert sut.start().pid == 7
        return
    error = refused(sut.start)
    assert (error.outcome, error.found, error.wanted) == (Outcome.LAB, actual, wanted)


BLAME = {
    "a start": ({"start": (1, "words")}, None, "start", Outcome.BUILD),
    "a start on a full disk": ({"start": (4, "words")}, None, "start", Outcome.LAB),
    "no contract": ({"start": (127, "words")}, None, "start", Outcome.LAB),
    "a reload": ({"reload": (1, "words")}, None, "reload", Outcome.BUILD),
    "a reset": ({"reset": (1, "words")}, None, "reset", Outcome.LAB),
    "leases that stay": ({"reset": {"held": 3, "was": 5}}, None, "reset", Outcome.LAB),
    "a dead server": ({}, (1, "words"), "sample_now", Outcome.INVALID),
    "a dead database": ({}, (4, "words"), "sample_now", Outcome.LAB),
    "a reset of a dead server": ({"reset": (1, "")}, (1, "words"), "reset", Outcome.INVALID),
}
"""What contract and sampler say, what is asked then, and whose fault it is."""


@pytest.mark.parametrize("case", BLAME)
def test_a_failure_says_whose_fault_it_is(case):
    answers, sampler, verb, outcome = BLAME[case]
    made = host(sampler=sampling(*sampler) if sampler else None, **answers)
    sut = server(made) if "start" in answers else started(made)
    error = refused(getattr(sut, verb))
    assert (error.outcome, error.where) == (outcome, "server")
    assert ("3 leases" if "held" in str(answers) else "words") in error.what


@pytest.mark.parametrize("change", [{"leases": 3}, {"cpu_s": "many"}])
def test_a_sample_of_another_shape_is_a_broken_lab(change):
    """As the contract of another release prints it."""
    error = refused(started(host(sampler=sampling(**change))).samples)
    assert (error.outcome, next(iter(change)) in str(error)) == (Outcome.LAB, True)


def test_a_profile_is_that_of_the_server_under_test():
    servers = Servers({"server": server(host()), "partner": server(host("partner"))})
    servers.begin_profile()
    result = servers.end_profile()
    assert (result.samples, result.sampled_s, result.lost) == (2, 0.002, 0)
    assert result.stacks == {"kea;main;run": 2}


@pytest.mark.parametrize("begun", [None, "{}"], ids=["at once", "later"])
def test_where_perf_may_not_sample_there_is_no_profile_and_the_host_says_why(begun):
    """It is no fault of the server, and the lab is not broken."""
    sut = server(host(profiler=FakeFollower(None, 1, "perf may not", begun=begun)))
    if begun:
        sut.begin_profile()
    error = refused(sut.end_profile if begun else sut.begin_profile)
    assert (error.outcome, error.where) == (Outcome.INVALID, "server")
    assert "perf may not" in error.what


# --- several servers ------------------------------------------------------------------


def several(first=None, second=None, *, pair=True):
    hosts = first or host(), second or host("partner")
    roles = zip(("server", "partner"), hosts, strict=True)
    return Servers({role: server(made) for role, made in roles}, pair=pair), *hosts


def test_one_server_is_as_good_as_several():
    made = host()
    servers = Servers({"server": server(made, capabilities=("list",))})
    assert servers.start().pid == 7
    assert servers.trouble() == ""
    servers.settle()
    assert servers.reset() == {"server": 5}
    assert {role: len(taken) for role, taken in servers.samples().items()} == {"server": 1}
    assert servers.listing() == {"server": {"10.0.0.1": "000c01", "10.0.0.2": "000c02"}}
    assert verbs(made) == ["start", "reset", "list"]
    nothing = Servers({"server": server(host(reset={"held": None, "was": None}))})
    assert nothing.reset() == {}
    assert nothing.listing() == {}


def test_a_pair_starts_waits_and_is_emptied_together():
    second = host("partner", reset={"held": 0, "was": 4}, state={"trouble": "waiting"})
    both, first, _ = several(second=second)
    assert both.start().pid == 7
    assert verbs(first) == verbs(second) == ["start", "settle"]
    assert both.reset() == {"server": 5, "partner": 4}
    assert both.trouble() == "waiting"


@pytest.mark.parametrize(
    ("pair", "starts", "kept"),
    [
        (True, ["server", "partner"], {"server": 5, "partner": 5}),
        (False, ["partner", "server"], {"server": 5}),
    ],
    ids=["a pair", "a support"],
)
def test_what_another_one_uses_is_there_all_the_time(pair, starts, kept):
    """A database of the pair's server; a support, whose state is the server's to empty."""
    order = []

    def noting(role, **answers):
        for verb in ("start", "stop"):
            answers[verb] = lambda _, verb=verb: order.append((role, verb)) or GOOD[verb]
        return host(role, **answers)

    none = {} if pair else {"reset": {"held": None, "was": None}}
    both, *_ = several(noting("server"), noting("partner", **none), pair=pair)
    assert both.start().pid == 7
    assert both.trouble() == ""
    both.settle()
    taken = {role: len(samples) for role, samples in both.samples().items()}
    assert taken == {"server": 1, "partner": 1}
    assert both.reset() == kept
    both.stop()
    wanted = [(role, "start") for role in starts]
    assert order == [*wanted, *((role, "stop") for role in reversed(starts))]


@pytest.mark.parametrize(
    ("pair", "change", "outcome"),
    [
        (False, {"start": (1, "words")}, Outcome.LAB),
        (False, {"start": (4, "words")}, Outcome.LAB),
        (False, {"sampler": sampling(1, "words")}, Outcome.LAB),
        (True, {"sampler": sampling(1, "words")}, Outcome.INVALID),
    ],
)
def test_a_partner_or_support_that_fails_is_named(pair, change, outcome):
    """A support is no fault of the server."""
    both, first, _ = several(second=host("partner", **change), pair=pair)

    def act():
        both.start()
        both.sample_now()

    error = refused(act)
    assert (error.outcome, error.where) == (outcome, "partner")
    assert "words" in error.what
    assert verbs(first) == ([] if "start" in change else verbs(first))


@pytest.mark.parametrize("role", ["server", "partner"])
@pytest.mark.parametrize(
    ("status", "boot", "what"),
    [
        (-1, "another boot", "restarted"),
        (-1, "", "went away"),
        (-1, "this boot", "connection broke"),
        (1, "another boot", "restarted"),  # the server was ended first
    ],
)
def test_a_host_that_goes_away_is_no_death_of_its_server(role, status, boot, what, monkeypatch):
    gone = host(role, sampling(status, "killed"))
    gone.is_there = status < 0
    monkeypatch.setattr("leaselab.lab.contract.verbs.boot_of", lambda _: boot)
    both, *_ = several(**{"first" if role == "server" else "second": gone})
    both.start()
    error = refused(both.sample_now)
    assert (error.outcome, error.where) == (Outcome.LAB, role)
    assert what in error.what


@pytest.mark.parametrize("verb", ["start", "reload", "end_profile"])
def test_a_host_that_shuts_down_is_no_server_that_fails(verb, monkeypatch):
    monkeypatch.setattr("leaselab.lab.contract.verbs.boot_of", lambda _: "")
    made = host(profiler=FakeFollower(None, -1, ""))
    made.is_there = False
    sut = started(made)
    sut.begin_profile()
    made.answers |= {"start": (143, ""), "reload": (143, "Terminated\n")}
    error = refused(getattr(sut, verb))
    assert (error.outcome, "went away" in error.what) == (Outcome.LAB, True)


def test_each_is_ended_by_itself():
    both, first, second = several(first=host(crash={"was_running": True}, stop=(1, "it hangs")))
    both.crash(["server"])
    assert (verbs(first), verbs(second)) == (["crash"], [])
    assert "it hangs" in refused(both.stop).what
    assert verbs(second) == ["stop"]
    both, *hosts = several()
    both.clear()  # whatever the variant is that an earlier sweep left
    assert [made.asked for made in hosts] == [[[CONTRACT, "stop"]]] * 2


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("start", {}),
        ("start", {**STARTED, "start_s": -1}),
        ("start", "\x1b[8m"),
        ("state", {"trouble": None}),
        ("reset", {"held": 0, "was": 2**60}),
        ("reload", {"reload_s": 1e300}),
        ("reload", []),
        *(
            ("list", f"{line}\n10.0.0.2 000c02\n")
            for line in ("10.0.0.1", "Welcome to sut!", "")
        ),
    ],
)
def test_an_answer_that_no_contract_gives_is_a_broken_lab(verb, answer):
    act = getattr(server(host(**{verb: answer})), {"list": "listing"}.get(verb, verb))
    error = refused(act)
    assert error.outcome is Outcome.LAB
    assert f"{CONTRACT} {verb}" in str(error)


# --- operations, and clocks -----------------------------------------------------------

AHEAD_S = 40.0
KNOWN = {"operations": {"reload": {"does": "It reads.", "seen": "a serial number"}}}


def alone(operator=None, **answers):
    return Servers({"server": server(host(operator=operator, **answers))})


def test_what_can_be_done_is_what_its_contract_lists():
    ((name, known),) = alone(operations=KNOWN).operations().items()
    assert (name, known.does, known.seen) == ("reload", "It reads.", "a serial number")
    error = refused(alone(operations=(1, "no verb operations")).operations)
    assert error.outcome is Outcome.LAB
    assert "what can be done to it is unknown: no verb" in error.what


def test_its_clock_is_known_by_when_it_was_asked_and_answered():
    now = time.time() + AHEAD_S
    line = {
        "name": "reload",
        "asked": now,
        "begun": now,
        "effect": None,
        "ended": now,
        "why": "old",
    }
    with alone(FakeFollower(line)).operating() as operate:
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
    with pytest.raises(LeaselabError, match=what), alone(follower).operating() as operate:
        operate("reload")


def test_the_clock_of_a_generators_host_is_known_as_well(tmp_path):
    made = RemoteGenerator(ConnectionHere(), "lo", ["127.0.0.1"], str(tmp_path / "turn"))
    assert made.clock_ahead_s() == pytest.approx(0.0, abs=60)
