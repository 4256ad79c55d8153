"""What a server's contract answers, and what the engine makes of it."""

import json
from types import SimpleNamespace

import pytest

from leaselab.lab.contract.server import ContractServer
from leaselab.lab.contract.servers import Servers
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, Outcome

CONTRACT = "/opt/leaselab/server"
VARIANT = "v4-memfile.1a2b3c4d5e"
STARTED = {"pid": 7, "version": "2.6.3", "commit": None, "config_sha256": "1" * 64}
SAMPLE = {
    "t": 1.0,
    "cpu_s": 0.5,
    "rss_bytes": 1000,
    "udp_drops": 0,
    "held": 3,
    "counters": {},
    "refused": None,
    "beside_cpu_s": {},
}


def deployed(**fields):
    return ServerUnderTest(
        name="kea",
        version="2.6.3",
        contract=CONTRACT,
        variant=VARIANT,
        holds="leases",
        config_sha256="0" * 64,
        running_config_sha256="1" * 64,
        config_file=f"/etc/kea/leaselab-{VARIANT}_dhcp.json",
        **fields,
    )


class Sampler:
    """A running `sample`, or one that has ended with a status and its last words."""

    def __init__(self, status=None, words="", **changes):
        self.status = status
        self.sample = {**SAMPLE, **changes}
        self.ended = None if status is None else words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ask(self, _timeout_s):
        return None if self.status is not None else json.dumps(self.sample)

    def lines(self):
        return [json.dumps(self.sample)]


SAMPLED = {"event": "cpu-clock:u", "samples": 2, "sampled_s": 0.002, "lost": 0}
SAMPLED["stacks"] = {"kea;main;run": 2}


class Profiler:
    """A running `profile`, which has begun; or one that ends with a reason."""

    def __init__(self, status=0, words="", last=None):
        self.status, self.ended = status, words
        self.begun = json.dumps({"recording": True})
        self.last = json.dumps(SAMPLED) if last is None else last

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def await_line(self, _timeout_s):
        return self.begun

    def conclude(self, _timeout_s):
        return self.last


class Host:
    """A host on which each verb does what the test says; by default what a good one does."""

    def __init__(
        self, name="leaselab-server", sampler=None, profiler=None, sums=None, **answers
    ):
        self.sums = sums
        self.everything = False
        self.lost = False
        self.access = SimpleNamespace(name=name)
        self.sampler = sampler or Sampler()
        self.profiler = profiler or Profiler()
        self.verbs = []
        self.limits_s = {}
        self.answers = {
            "start": STARTED,
            "state": {"trouble": ""},
            "settle": {"trouble": ""},
            "reset": {"held": 0, "was": 5},
            "list": "10.0.0.1 000c01\n10.0.0.2 000c02\n",
            "stop": {"was_running": True},
            **answers,
        }

    def run(self, argv, *, timeout_s):
        assert timeout_s > 0
        if argv[0] == "sh":
            return SimpleNamespace(status=0, stdout=b"this boot", stderr="")
        if argv[0] == "sha256sum":
            assert argv == ["sha256sum", "--", LOADED["program"], LIBRARY]
            rows = "".join(f"{digest}  {path}\n" for path, digest in self.sums.items())
            return SimpleNamespace(
                status=int(len(self.sums) < 2), stdout=rows.encode(), stderr=""
            )
        program, verb, *variant = argv
        assert (program, variant) == (CONTRACT, [] if self.everything else [VARIANT])
        self.verbs.append(verb)
        self.limits_s[verb] = timeout_s
        answer = self.answers[verb]
        if isinstance(answer, tuple):
            status, words = answer
            return SimpleNamespace(status=status, stdout=b"", stderr=words)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return SimpleNamespace(status=0, stdout=text.encode(), stderr="")

    def lasts(self, seconds):
        assert seconds > 0
        return not self.lost

    def follow(self, argv, _heard=None):
        assert argv in ([CONTRACT, "sample", VARIANT], [CONTRACT, "profile", VARIANT])
        return self.sampler if argv[1] == "sample" else self.profiler


def server(host, **fields):
    return ContractServer(host, deployed(**fields))


def refused(act):
    with pytest.raises(LeaselabError) as caught:
        act()
    return caught.value


def test_a_start_says_how_long_it_took_where_the_contract_reports():
    assert server(Host(start={**STARTED, "start_s": 0.16})).start().start_s == 0.16
    assert server(Host(start=STARTED)).start().start_s is None


def test_a_start_may_take_as_long_as_the_deployment_says():
    host = Host()
    server(host, start_limit_s=1150.0).start()
    assert host.limits_s["start"] == 1150.0
    server(host).start()
    assert host.limits_s["start"] == 150.0


def test_a_reload_says_how_long_it_took_and_may_take_as_long_as_a_start():
    host = Host(reload={"reload_s": 4.2})
    assert server(host, start_limit_s=1150.0).reload() == 4.2
    assert host.limits_s["reload"] == 1150.0


def test_a_reload_that_fails_is_the_servers_fault():
    error = refused(server(Host(reload=(1, "not loaded due to errors\n"))).reload)
    assert error.outcome is Outcome.BUILD
    assert error.what == "the server does not reload: not loaded due to errors"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"config_sha256": "f" * 64}, "another configuration"),
        ({"version": "2.7.0"}, "another version"),
        ({"commit": "abcdef0"}, "another commit"),
    ],
)
def test_another_server_than_was_deployed_is_not_measured(change, what):
    error = refused(server(Host(start={**STARTED, **change})).start)
    assert error.outcome is Outcome.LAB
    assert what in error.what
    assert error.found == next(iter(change.values()))


LIBRARY = "/usr/lib/libkea-dhcpsrv.so.92"
LOADED = {
    "program": "/usr/sbin/kea-dhcp4",
    "program_sha256": "a" * 64,
    "libraries_sha256": {LIBRARY: "b" * 64},
    "confinement": "kea-dhcp4 (enforce)",
}


@pytest.mark.parametrize(
    ("change", "what", "actual"),
    [
        ({"program_sha256": "f" * 64}, "another /usr/sbin/kea-dhcp4", "f" * 64),
        ({"libraries_sha256": {LIBRARY: "f" * 64}}, f"another {LIBRARY}", "f" * 64),
        ({"confinement": "unconfined"}, "another AppArmor profile", "unconfined"),
    ],
)
def test_another_program_than_was_deployed_is_not_measured(change, what, actual):
    error = refused(server(Host(start={**STARTED, **LOADED, **change}), **LOADED).start)
    assert error.outcome is Outcome.LAB
    assert what in error.what
    assert error.found == actual


@pytest.mark.parametrize("libraries", [{}, {LIBRARY: "b" * 64, "/lib/late.so": "c" * 64}])
def test_a_library_may_be_loaded_when_it_is_first_needed(libraries):
    started = {**STARTED, **LOADED, "libraries_sha256": libraries}
    assert server(Host(start=started), **LOADED).start().pid == 7


def test_a_bench_of_an_older_release_is_measured_whatever_its_files_are():
    assert server(Host(start={**STARTED, **LOADED})).start().pid == 7


@pytest.mark.parametrize(
    ("sums", "outcome", "actual"),
    [
        ({LOADED["program"]: "a" * 64, LIBRARY: "b" * 64}, Outcome.BUILD, ""),
        ({LOADED["program"]: "f" * 64, LIBRARY: "b" * 64}, Outcome.LAB, "f" * 64),
        ({LOADED["program"]: "a" * 64}, Outcome.LAB, "no such file"),
    ],
)
def test_a_program_that_was_replaced_and_does_not_start_is_not_the_servers_fault(
    sums, outcome, actual
):
    error = refused(server(Host(start=(1, "symbol lookup error"), sums=sums), **LOADED).start)
    assert error.outcome is outcome
    assert error.found == actual


DATABASE = {
    "name": "mysql",
    "version": "11.8.6",
    "confinement": "mysqld (enforce)",
    "variables": {"flush": "2", "log": "1"},
}


@pytest.mark.parametrize(
    ("running", "actual", "wanted"),
    [
        ({**DATABASE, "variables": {"flush": "1", "log": "1"}}, "1", "2"),
        ({**DATABASE, "version": "12.0.1"}, "12.0.1", "11.8.6"),
        (None, "none, none, none, none, none", "mysqld (enforce), 2, 1, mysql, 11.8.6"),
        ({**DATABASE, "confinement": "unconfined"}, "unconfined", "mysqld (enforce)"),
        ({**DATABASE, "confinement": None}, "None", "mysqld (enforce)"),
    ],
)
def test_a_database_that_was_changed_since_it_was_tuned_is_not_measured(
    running, actual, wanted
):
    host = Host(start={**STARTED, "beside": {"database": running} if running else {}})
    error = refused(server(host, beside={"database": DATABASE}).start)
    assert error.outcome is Outcome.LAB
    assert (error.found, error.wanted) == (actual, wanted)


def test_the_database_that_was_tuned_is_measured():
    host = Host(start={**STARTED, "beside": {"database": DATABASE}})
    assert server(host, beside={"database": DATABASE}).start().pid == 7


def test_a_database_that_nothing_was_tuned_for_is_not_measured():
    error = refused(server(Host(start={**STARTED, "beside": {"database": DATABASE}})).start)
    assert (error.outcome, error.wanted) == (Outcome.LAB, "none, none, none, none, none")


@pytest.mark.parametrize(
    ("status", "outcome"), [(1, Outcome.BUILD), (4, Outcome.LAB), (127, Outcome.LAB)]
)
def test_a_start_that_fails_says_whose_fault_it_is(status, outcome):
    error = refused(server(Host(start=(status, "last words"))).start)
    assert error.outcome is outcome
    assert "last words" in error.what


@pytest.mark.parametrize(("status", "outcome"), [(1, Outcome.INVALID), (4, Outcome.LAB)])
def test_a_server_that_ends_while_measured_says_whose_fault_it_was(status, outcome):
    sut = server(Host(sampler=Sampler(status, "Kea is gone")))
    sut.start()
    error = refused(sut.sample_now)
    assert error.outcome is outcome
    assert "Kea is gone" in error.what


def test_a_reset_that_meets_a_dead_server_is_the_servers_death():
    sut = server(Host(sampler=Sampler(1, "Kea is gone"), reset=(1, "no answer")))
    sut.start()
    assert refused(sut.reset).outcome is Outcome.INVALID


def test_a_reset_that_leaves_leases_is_a_broken_lab():
    error = refused(server(Host(reset={"held": 3, "was": 5})).reset)
    assert error.outcome is Outcome.LAB
    assert "3 leases left" in error.what


def test_a_sample_is_read_as_it_is_kept():
    sut = server(Host(sampler=Sampler(held=None, beside_cpu_s={"database": 1.5})))
    sut.start()
    (sample,) = sut.samples()
    assert (sample.held, sample.beside_cpu_s, sample.rss_bytes) == (
        None,
        {"database": 1.5},
        1000,
    )


@pytest.mark.parametrize("change", [{"leases": 3}, {"cpu_s": "many"}])
def test_a_sample_of_another_shape_is_a_broken_lab(change):
    """As the contract of another release prints it."""
    sut = server(Host(sampler=Sampler(**change)))
    sut.start()
    error = refused(sut.samples)
    assert (error.outcome, next(iter(change)) in str(error)) == (Outcome.LAB, True)


def test_a_profile_is_that_of_the_server_under_test():
    servers = Servers({"server": server(Host()), "partner": server(Host("partner"))})
    servers.begin_profile()
    result = servers.end_profile()
    assert (result.samples, result.sampled_s, result.lost) == (2, 0.002, 0)
    assert result.stacks == {"kea;main;run": 2}


def test_where_perf_may_not_sample_there_is_no_profile_and_the_host_says_why():
    """It is no fault of the server, and the lab is not broken."""
    profiler = Profiler(1, "perf may not sample here: No permission (found kernel.")
    profiler.begun = None
    with pytest.raises(LeaselabError) as caught:
        server(Host(profiler=profiler)).begin_profile()
    assert caught.value.outcome is Outcome.INVALID
    assert caught.value.what.startswith("there is no profile: perf may not sample here: No per")
    assert caught.value.where == "leaselab-server"


def test_a_profile_that_fails_at_its_end_is_none():
    sut = server(Host(profiler=Profiler(1, "perf ended with 255: No space left on device")))
    sut.begin_profile()
    with pytest.raises(LeaselabError, match="no profile: perf ended with 255: No space") as e:
        sut.end_profile()
    assert e.value.outcome is Outcome.INVALID


def test_one_server_is_as_good_as_several():
    host = Host()
    servers = Servers({"server": server(host)})
    assert servers.start().pid == 7
    assert servers.trouble() == ""
    servers.settle()
    assert servers.reset() == {"server": 5}
    assert {role: len(sample) for role, sample in servers.samples().items()} == {"server": 1}
    assert servers.listing() == {"server": {"10.0.0.1": "000c01", "10.0.0.2": "000c02"}}
    assert host.verbs == ["start", "reset", "list"]


def test_a_server_that_holds_nothing_has_nothing_to_report():
    servers = Servers({"server": server(Host(reset={"held": None, "was": None}))})
    assert servers.reset() == {}


def several(first=None, second=None, *, pair=True):
    hosts = first or Host(), second or Host("leaselab-partner")
    roles = zip(("server", "partner"), hosts, strict=True)
    return Servers({role: server(host) for role, host in roles}, pair=pair), *hosts


def test_a_pair_starts_with_its_partner_and_waits_for_both():
    both, first, second = several()
    assert both.start().pid == 7
    assert first.verbs == ["start", "settle"]
    assert second.verbs == ["start", "settle"]


def test_a_pair_reports_what_each_held():
    both, *_ = several(second=Host("leaselab-partner", reset={"held": 0, "was": 4}))
    assert both.reset() == {"server": 5, "partner": 4}


def test_a_pair_is_in_trouble_when_one_of_them_says_so():
    both, *_ = several(second=Host("leaselab-partner", state={"trouble": "waiting"}))
    assert both.trouble() == "waiting"


def test_a_partner_that_dies_ends_the_measurement_and_is_named():
    both, *_ = several(second=Host("leaselab-partner", Sampler(1, "killed")))
    both.start()
    error = refused(both.sample_now)
    assert (error.outcome, error.where) == (Outcome.INVALID, "leaselab-partner")


def test_a_support_is_started_first_and_has_no_state_with_the_server():
    both, first, second = several(pair=False)
    order = []
    first.verbs = second.verbs = order
    assert both.start().pid == 7
    assert both.trouble() == ""
    both.settle()
    assert order == ["start", "start"]
    assert {role: len(sample) for role, sample in both.samples().items()} == {
        "server": 1,
        "partner": 1,
    }


def test_a_support_is_stopped_after_the_server_whatever_their_order_in_the_file():
    stopped = []
    hosts = {"partner": Host("leaselab-partner"), "server": Host()}
    for role, host in hosts.items():
        host.verbs = SimpleNamespace(
            append=lambda verb, role=role: stopped.append((role, verb))
        )
    Servers({role: server(host) for role, host in hosts.items()}).stop()
    assert stopped == [("server", "stop"), ("partner", "stop")]


def test_what_a_support_keeps_for_the_server_is_the_servers_to_empty():
    both, *_ = several(
        second=Host("leaselab-partner", reset={"held": None, "was": None}), pair=False
    )
    assert both.reset() == {"server": 5}


@pytest.mark.parametrize("status", [1, 4])
def test_a_support_that_does_not_start_is_no_fault_of_the_server(status):
    support = Host("leaselab-partner", start=(status, "no room"))
    both, first, _ = several(second=support, pair=False)
    error = refused(both.start)
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-partner")
    assert "no room" in error.what
    assert first.verbs == []


def test_a_support_that_dies_is_a_broken_lab_and_is_named():
    both, *_ = several(second=Host("leaselab-partner", Sampler(1, "killed")), pair=False)
    both.start()
    error = refused(both.sample_now)
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-partner")
    assert "supporting service: the server died while it was measured: killed" in error.what


@pytest.mark.parametrize("role", ["server", "partner"])
@pytest.mark.parametrize(
    ("status", "boot", "what"),
    [
        (-1, "another boot", "the host was restarted"),
        (-1, "", "the host went away"),
        (-1, "this boot", "the connection broke"),
        (1, "another boot", "the host was restarted"),  # the server was ended first
    ],
)
def test_a_host_that_goes_away_is_no_death_of_its_server(role, status, boot, what, monkeypatch):
    host = Host(f"leaselab-{role}", Sampler(status, "killed"))
    host.lost = status > 0
    monkeypatch.setattr("leaselab.lab.contract.server.boot_of", lambda _: boot)
    both, *_ = several(**{"first" if role == "server" else "second": host}, pair=True)
    both.start()
    error = refused(both.sample_now)
    assert (error.outcome, error.where) == (Outcome.LAB, f"leaselab-{role}")
    assert error.what.startswith(what)
    assert "then resume the sweep" in error.todo


@pytest.mark.parametrize("verb", ["start", "reload"])
def test_a_host_that_shuts_down_is_no_server_that_does_not_start(verb, monkeypatch):
    host = Host(**{verb: (143, "Terminated\n")})
    host.lost = True
    monkeypatch.setattr("leaselab.lab.contract.server.boot_of", lambda _: "")
    error = refused(getattr(server(host), verb))
    assert (error.outcome, error.where) == (Outcome.LAB, "leaselab-server")
    assert error.what.startswith("the host went away")


def test_a_host_that_goes_away_under_a_profile_is_a_broken_lab(monkeypatch):
    host = Host(profiler=Profiler(-1, "", ""))
    host.lost = True
    monkeypatch.setattr("leaselab.lab.contract.server.boot_of", lambda _: "another boot")
    profiled = server(host)
    profiled.start()
    profiled.begin_profile()
    error = refused(profiled.end_profile)
    assert (error.outcome, error.what[:22]) == (Outcome.LAB, "the host was restarted")


def test_a_crash_is_that_of_the_server_alone():
    both, first, second = several(first=Host(crash={"was_running": True}))
    both.crash()
    assert (first.verbs, second.verbs) == (["crash"], [])


def test_a_partner_is_stopped_when_the_server_cannot_be():
    both, _, second = several(first=Host(stop=(1, "it hangs")))
    assert "it hangs" in refused(both.stop).what
    assert second.verbs == ["stop"]


def test_what_an_earlier_sweep_left_is_stopped_whatever_its_variant():
    both, *hosts = several()
    for host in hosts:
        host.everything = True
    both.clear()
    assert [host.verbs for host in hosts] == [["stop"], ["stop"]]


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
    ],
)
def test_an_answer_that_no_contract_gives_is_a_broken_lab(verb, answer):
    error = refused(getattr(server(Host(**{verb: answer})), verb))
    assert error.outcome is Outcome.LAB
    assert f"what '{CONTRACT} {verb}' printed is no answer" in str(error)


@pytest.mark.parametrize("line", ["10.0.0.1", "Welcome to sut!", ""])
def test_a_listing_is_of_two_words_a_line(line):
    error = refused(server(Host(list=f"{line}\n10.0.0.2 000c02\n")).listing)
    assert (error.outcome, error.found) == (Outcome.LAB, repr(line))
    assert f"what '{CONTRACT} list' printed is no answer" in str(error)
