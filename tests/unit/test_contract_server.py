"""What a server's contract answers, and what the engine makes of it."""

import json
from types import SimpleNamespace

import pytest

from leaselab.lab.pair import ServerPair
from leaselab.lab.server import ContractServer
from leaselab.model.bench import ServerUnderTest
from leaselab.model.errors import LeaselabError, Outcome

CONTRACT = "/opt/leaselab/server"
STARTED = {"pid": 7, "version": "2.6.3", "commit": None, "config_sha256": "1" * 64}
SAMPLE = {
    "t": 1.0,
    "cpu_s": 0.5,
    "rss_bytes": 1000,
    "udp_drops": 0,
    "leases": 3,
    "counters": {},
    "database_cpu_s": None,
}


def deployed(**fields):
    return ServerUnderTest(
        name="kea",
        version="2.6.3",
        contract=CONTRACT,
        config_sha256="0" * 64,
        running_config_sha256="1" * 64,
        config_file="/etc/kea/leaselab-dhcp4.json",
        **fields,
    )


class Sampler:
    """A running `sample`, or one that has ended with a status and its last words."""

    def __init__(self, status=None, words=""):
        self.status = status
        self.ended = None if status is None else words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ask(self, _timeout_s):
        return None if self.status is not None else json.dumps(SAMPLE)

    def lines(self):
        return [json.dumps(SAMPLE)]


class Host:
    """A host on which each verb does what the test says; by default what a good one does."""

    def __init__(self, name="leaselab-server", sampler=None, sums=None, **answers):
        self.sums = sums
        self.access = SimpleNamespace(name=name)
        self.sampler = sampler or Sampler()
        self.verbs = []
        self.answers = {
            "start": STARTED,
            "state": {"trouble": ""},
            "settle": {"trouble": ""},
            "wipe": {"leases": 0, "wiped": 5},
            "stop": {"was_running": True},
            **answers,
        }

    def run(self, argv, *, timeout_s):
        assert timeout_s > 0
        if argv[0] == "sha256sum":
            assert argv == ["sha256sum", "--", LOADED["program"], LIBRARY]
            rows = "".join(f"{digest}  {path}\n" for path, digest in self.sums.items())
            return SimpleNamespace(
                status=int(len(self.sums) < 2), stdout=rows.encode(), stderr=""
            )
        program, verb = argv
        assert program == CONTRACT
        self.verbs.append(verb)
        answer = self.answers[verb]
        if isinstance(answer, tuple):
            status, words = answer
            return SimpleNamespace(status=status, stdout=b"", stderr=words)
        return SimpleNamespace(status=0, stdout=json.dumps(answer).encode(), stderr="")

    def follow(self, argv, _heard=None):
        assert argv == [CONTRACT, "sample"]
        return self.sampler


def server(host, **fields):
    return ContractServer(host, deployed(**fields))


def refused(act):
    with pytest.raises(LeaselabError) as caught:
        act()
    return caught.value


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
    ("change", "what", "found"),
    [
        ({"program_sha256": "f" * 64}, "another /usr/sbin/kea-dhcp4", "f" * 64),
        ({"libraries_sha256": {LIBRARY: "f" * 64}}, f"another {LIBRARY}", "f" * 64),
        ({"confinement": "unconfined"}, "another AppArmor profile", "unconfined"),
    ],
)
def test_another_program_than_was_deployed_is_not_measured(change, what, found):
    error = refused(server(Host(start={**STARTED, **LOADED, **change}), **LOADED).start)
    assert error.outcome is Outcome.LAB
    assert what in error.what
    assert error.found == found


@pytest.mark.parametrize("libraries", [{}, {LIBRARY: "b" * 64, "/lib/late.so": "c" * 64}])
def test_a_library_may_be_loaded_when_it_is_first_needed(libraries):
    started = {**STARTED, **LOADED, "libraries_sha256": libraries}
    assert server(Host(start=started), **LOADED).start().pid == 7


def test_a_bench_of_an_older_release_is_measured_whatever_its_files_are():
    assert server(Host(start={**STARTED, **LOADED})).start().pid == 7


@pytest.mark.parametrize(
    ("sums", "outcome", "found"),
    [
        ({LOADED["program"]: "a" * 64, LIBRARY: "b" * 64}, Outcome.BUILD, ""),
        ({LOADED["program"]: "f" * 64, LIBRARY: "b" * 64}, Outcome.LAB, "f" * 64),
        ({LOADED["program"]: "a" * 64}, Outcome.LAB, "no such file"),
    ],
)
def test_a_program_that_was_replaced_and_does_not_start_is_not_the_servers_fault(
    sums, outcome, found
):
    error = refused(server(Host(start=(1, "symbol lookup error"), sums=sums), **LOADED).start)
    assert error.outcome is outcome
    assert error.found == found


DATABASE = {"name": "mysql", "version": "11.8.6", "variables": {"flush": "2", "log": "1"}}


@pytest.mark.parametrize(
    ("running", "found", "wanted"),
    [
        ({**DATABASE, "variables": {"flush": "1", "log": "1"}}, "1", "2"),
        ({**DATABASE, "version": "12.0.1"}, "12.0.1", "11.8.6"),
        (None, "none, none, none, none", "2, 1, mysql, 11.8.6"),
    ],
)
def test_a_database_that_was_changed_since_it_was_tuned_is_not_measured(running, found, wanted):
    host = Host(start={**STARTED, "database": running})
    error = refused(server(host, tuning={"database": DATABASE}).start)
    assert error.outcome is Outcome.LAB
    assert (error.found, error.wanted) == (found, wanted)


def test_the_database_that_was_tuned_is_measured():
    confined = {**DATABASE, "confinement": "mysqld (enforce)"}
    for running, tuned in (
        (DATABASE, DATABASE),
        (confined, confined),
        (confined, DATABASE),  # by an older release
    ):
        host = Host(start={**STARTED, "database": running})
        assert server(host, tuning={"database": tuned}).start().pid == 7


@pytest.mark.parametrize("label", ["unconfined", None])
def test_a_database_that_is_confined_otherwise_is_not_measured(label):
    confined = {**DATABASE, "confinement": "mysqld (enforce)"}
    host = Host(start={**STARTED, "database": {**DATABASE, "confinement": label}})
    error = refused(server(host, tuning={"database": confined}).start)
    assert (error.outcome, error.found) == (Outcome.LAB, str(label))
    assert "another AppArmor profile than was tuned" in str(error)


@pytest.mark.parametrize(
    ("status", "outcome"), [(1, Outcome.BUILD), (4, Outcome.LAB), (127, Outcome.LAB)]
)
def test_a_start_that_fails_says_whose_fault_it_is(status, outcome):
    error = refused(server(Host(start=(status, "last words"))).start)
    assert error.outcome is outcome
    assert "last words" in error.what


@pytest.mark.parametrize(("status", "outcome"), [(1, Outcome.INVALID), (4, Outcome.LAB)])
def test_a_server_that_ends_while_measured_says_whose_fault_it_was(status, outcome):
    one = server(Host(sampler=Sampler(status, "Kea is gone")))
    one.start()
    error = refused(one.sample_now)
    assert error.outcome is outcome
    assert "Kea is gone" in error.what


def test_a_wipe_that_meets_a_dead_server_is_the_servers_death():
    one = server(Host(sampler=Sampler(1, "Kea is gone"), wipe=(1, "no answer")))
    one.start()
    assert refused(one.wipe).outcome is Outcome.INVALID


def test_a_wipe_that_leaves_leases_is_a_broken_lab():
    error = refused(server(Host(wipe={"leases": 3, "wiped": 5})).wipe)
    assert error.outcome is Outcome.LAB
    assert "3 leases left" in error.what


def pair(first=None, second=None):
    hosts = first or Host(), second or Host("leaselab-partner")
    return ServerPair(*(server(host) for host in hosts)), *hosts


def test_a_pair_starts_with_its_partner_and_waits_for_both():
    both, first, second = pair()
    assert both.start().pid == 7
    assert first.verbs == ["start", "settle"]
    assert second.verbs == ["start", "settle"]


def test_a_pair_tells_the_leases_of_each():
    both, *_ = pair(second=Host("leaselab-partner", wipe={"leases": 0, "wiped": 4}))
    assert both.wipe() == (5, 4)


def test_a_pair_is_in_trouble_when_one_of_them_says_so():
    both, *_ = pair(second=Host("leaselab-partner", state={"trouble": "waiting"}))
    assert both.trouble() == "waiting"


def test_a_partner_that_dies_ends_the_measurement_and_is_named():
    both, *_ = pair(second=Host("leaselab-partner", Sampler(1, "killed")))
    both.start()
    error = refused(both.sample_now)
    assert (error.outcome, error.where) == (Outcome.INVALID, "leaselab-partner")


def test_a_partner_is_stopped_when_the_server_cannot_be():
    both, _, second = pair(first=Host(stop=(1, "it hangs")))
    assert "it hangs" in refused(both.stop).what
    assert second.verbs == ["stop"]
