"""leaseload's command lines for DNS, and what its recorded reports come to."""

import pytest
from msgspec import structs
from tests.dns import dns_bench, sums_up
from tests.leaseload import TOOL, dns, report, words
from tests.refusals import refused

from leaselab.measure.generators import check_fits
from leaselab.measure.generators.adapter import GENERATOR_STALLED, Seen
from leaselab.measure.generators.dns.answers import OTHER_ANSWERS
from leaselab.model.errors import Outcome
from leaselab.model.procedures import procedure_of
from leaselab.model.trial import WHOLE, Load, completed_rate_of, loss_ratio_of


@pytest.mark.parametrize(("cache", "filling"), [("none", ""), ("hot", "300")])
def test_a_count_has_the_names_in_a_hot_cache_before(cache, filling):
    (step,) = dns(load=[("cache", cache)], procedure=[("name", "cost")])[0].steps()
    assert step.filling.removeprefix("--window 1 --transactions ") == filling
    assert step.counted == "--window 1 --transactions 300"
    assert step.leases is None


def test_operations_under_queries_have_no_history_of_leases():
    made, host = dns(report("dns"), procedure=[("name", "operate")])
    assert made.offer(Load(500, 2), may_abort=False).history is None
    assert "--bin 0.001" in words(host)
    assert "--history" not in words(host)


def all_answered(size=17_200):
    """The report of a load of which each query was answered, all together in so many bytes."""
    replies = {"NOERROR": {"count": 400, "bytes": size}}
    counts = {**report("dns")["counts"], "completed": 400, "refused": 0}
    return report("dns", refused={}, replies=replies, counts=counts)


def offered(document, load=()):
    """The trial of a load, and the host that was asked for it."""
    made, host = dns(document, load=load)
    return made.offer(Load(400, 1), may_abort=True).trial(Seen()), host


def test_queries_come_at_the_distances_of_their_file_but_for_the_probe():
    made, host = dns(all_answered(), load={"arrivals": "recorded"})
    made.answers()
    made.offer(Load(400, 1), may_abort=True)
    probe, asked = (" ".join(argv) for argv in host.argvs)
    assert "--arrivals" not in probe
    assert " --arrivals recorded:/var/lib/q.txt" in asked


def test_updates_are_signed_and_probed_slowly():
    """A slow disk syncs fewer updates than a server answers queries."""
    made, host = dns(all_answered(), load={"updates": 0.1, "update_key": "lab.test:bGFi"})
    assert made.answers()
    assert words(host).split().count("lab.test:bGFi") == 1
    assert " --rate 50 " in words(host)
    _, host = offered(all_answered(), load={"updates": 1.0})
    assert "--tsig" not in words(host)


def of_updates(document, goal=0.005):
    made, _ = dns(document, load={"updates": 0.1}, procedure={"loss_ratio": goal})
    return made.offer(Load(9000, 3), may_abort=True).trial(Seen())


def test_a_trial_is_judged_by_its_worst_kind():
    """BIND 9 answered all 24 300 queries, and 2243 of 2700 updates, 100 of them at the end."""
    trial = of_updates(report("updates"))
    queries, updates = trial.kinds["query"], trial.kinds["update"]
    assert (queries.attempted, queries.failed) == (24_300, 0)
    assert 24_270 < queries.completed < 24_300, "some lay in its socket as the traffic ended"
    assert (updates.attempted, updates.failed) == (2700, 457)
    assert 0 < updates.late <= 100, "what lay in its queue as the traffic ended"
    assert trial.loss_ratio == updates.loss_ratio == pytest.approx(0.2, abs=0.03)
    assert 1 - trial.completed / trial.attempted < 0.025
    assert trial.completed_rate == pytest.approx(9000 * updates.completed / 2700)
    assert trial.kind_words.startswith("queries 0.06 % of 24300, updates 19.4")
    assert list(trial.latency_s) == ["QUERY-ANSWER", "UPDATE-ANSWER", WHOLE]
    assert trial.latency_s["UPDATE-ANSWER"].p50 > 100 * trial.latency_s["QUERY-ANSWER"].p50
    assert sums_up(trial)
    twice = loss_ratio_of([trial, trial])
    assert (twice, completed_rate_of([trial, trial])) == (
        trial.loss_ratio,
        trial.completed_rate,
    )


@pytest.mark.parametrize(
    ("lost", "begun", "decides"),
    [
        *((1, 1, False), (2, 2, True), (1, 12, False), (12, 12, True), (4, 199, False)),
        *((49, 199, True), (49, 200, True), (15, 1200, False), (30, 1200, True)),
    ],
)
def test_a_kind_decides_where_chance_does_not_explain_what_it_lost(lost, begun, decides):
    """However many it is of: of few, one that a server drops is more than the goal."""
    trial = of_updates(report("updates"))
    few = structs.replace(trial.kinds["update"], attempted=begun, completed=begun - lost)
    kinds = {"query": trial.kinds["query"], "update": few}
    trial = structs.replace(trial, attempted=27_000, completed=26_900 - lost, kinds=kinds)
    whole = 1 - trial.completed / trial.attempted
    assert trial.loss_ratio == pytest.approx(lost / begun if decides else whole)
    assert f"of {begun}{' (decides)' if decides else ''}" in trial.kind_words


def test_one_kind_alone_is_not_counted_apart():
    document = report("updates")
    trial = of_updates({**document, "kinds": {"update": document["kinds"]["update"]}})
    assert trial.kinds == {}
    assert trial.kind_words == ""


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, ""),
        ({"dropped": 300}, ""),
        ({"dropped": 600}, GENERATOR_STALLED),
        ({"fell_behind": True}, GENERATOR_STALLED),
    ],
)
def test_a_kind_that_fails_is_doubted_though_all_together_pass(changed, word):
    """Within 2.5 % of all; what the generator dropped may have been updates."""
    trial = of_updates(report("updates", **changed), goal=0.025)
    assert trial.reason == word


def test_queries_of_connections_that_the_server_closed_are_lost_there():
    made, _ = dns(report("closed"), load={"transport": "tcp"})
    trial = made.offer(Load(1000, 1), may_abort=True).trial(Seen())
    lost = report("closed")["connections"]["lost"]
    assert trial.lost_at == {"generator socket": 0, "closed connections": lost}
    assert (trial.lost, trial.valid, sums_up(trial)) == (lost, True, True)


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("REFUSED", Outcome.BUILD), ("TRUNCATED", Outcome.USAGE), ("HTTP-ERROR", Outcome.BUILD)],
)
def test_other_answers_are_failures(word, outcome):
    given = report("dns")
    for counted in ("refused", "replies"):
        given[counted][word] = given[counted].pop("REFUSED")
    trial, _ = offered(given)
    assert trial.failures == {word: 20}
    assert (trial.completed, sums_up(trial)) == (380, True)
    with refused(outcome=outcome) as caught:
        dns(given)[0].answers()
    assert caught.value.found.endswith("of 400 answers")


def test_answers_of_another_size_than_the_probes_are_doubted():
    made, _ = dns(all_answered(), all_answered(), all_answered(size=12_000))
    assert made.answers()
    trials = [made.offer(Load(400, 1), may_abort=True).trial(Seen()) for _ in "12"]
    assert [trial.reason for trial in trials] == ["", OTHER_ANSWERS]


@pytest.mark.parametrize(
    ("parameters", "changed", "what"),
    [
        ({}, {"transport": "doh"}, "does not send queries that way"),
        ({}, {"connections": "fresh"}, "unknown kind of connections"),
        ({}, {"connections": "old", "transport": "tcp"}, "unknown kind of connections"),
        ({}, {"client_subnets": "10.0.0.0"}, "not client subnets"),
        ({}, {"client_subnet_share": 1.5}, "not a share"),
        ({}, {"arrivals": "poisson"}, "unknown kind of arrivals"),
        ({}, {"updates": 1.5}, "not a share of updates"),
        ({}, {"updates": 0.1, "misses": 0.1}, "wanted 0 to 1, without misses"),
        ({}, {"updates": 0.1, "update_key": "lab"}, "not a key of updates"),
        ({"name": "cost"}, {"cache": "cold"}, "this scenario cannot be counted"),
        ({"name": "cost"}, {"connections": "fresh", "transport": "tcp"}, "cannot be counted"),
        ({"name": "burst"}, {}, "leaseload cannot offer queries in that way"),
        ({"name": "replay"}, {}, "leaseload cannot offer queries in that way"),
    ],
)
def test_what_it_cannot_do_with_queries_is_refused(parameters, changed, what):
    scenario = dns_bench("leaseload", load=changed, settings=TOOL["settings"]).scenario
    with refused(what):
        check_fits(scenario, procedure_of(parameters))


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({}, " --transport udp --sockets 4 --queries /var/lib/q.txt --expect NOERROR --recur"),
        ({"transport": "tcp"}, " --transport tcp --sockets 4 --queries "),
        ({"transport": "https"}, " --transport https --sockets 4 --queries "),
        ({"transport": "dot", "connections": "fresh"}, " --transport dot --sockets 4 --fresh "),
        ({"transport": "dot", "connections": "kept"}, " --transport dot --sockets 4 --queries"),
        (
            {"client_subnets": "10.0.0.0/24*9,2001:db8::/56", "client_subnet_share": 0.5},
            " --edns 1232 --subnets 10.0.0.0/24*9,2001:db8::/56 --subnet-share 0.5 ",
        ),
        (
            {"query_file": "a" * 64, "edns_bytes": 1232, "dnssec_ok": True},
            "--expect NOERROR,NXDOMAIN --recursion --edns 1232 --dnssec ",
        ),
    ],
)
def test_the_command_line_says_how_queries_are_sent(load, said):
    """A user's own queries have their EDNS, and either answer is expected."""
    trial, host = offered(report("dns"), load=load)
    assert "dns --interface eth1 --server 198.18.0.10 --transport " in words(host)
    assert said in words(host)
    assert " --recursion " in words(host)
    assert trial.failures == {"REFUSED": 20}
