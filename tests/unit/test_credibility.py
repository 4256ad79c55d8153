"""Which flags a result has."""

import pytest
from msgspec.structs import replace
from tests.examples import (
    MAX_RATES,
    PROCEDURE,
    built,
    confirmed,
    edited,
    example_result,
    invalid_result,
)

from leaselab.analysis.figures.credibility import flags


def words(record, level=None):
    return {flag.word for flag in flags(record) if level in (None, flag.level)}


def test_a_good_sweep_has_nothing_to_doubt():
    assert words(example_result(), "doubt") == words(example_result(), "refused") == set()
    assert words(example_result()) == {"traffic", "not confirmed", "no ceiling"}


def test_what_was_not_searched_for_or_was_confirmed_is_not_said_to_lack_it():
    record = example_result()
    rounds = tuple(replace(round_, bracket=None) for round_ in record.rounds)
    unsearched = words(replace(record, rounds=rounds))
    assert unsearched == words(confirmed(record)) == {"traffic", "no ceiling"}


def test_an_invalid_one_is_refused_with_its_reason_first():
    raised = flags(invalid_result())
    assert (raised[0].level, raised[0].word) == ("refused", "generator-limited")
    assert "5702 of 6000" in raised[0].text
    assert "trials not counted" in words(invalid_result(), "known")


@pytest.mark.parametrize(
    ("losses", "said"),
    [((0.15,) * 5 + (0.03,) * 4, True), ((0.15,) * 4 + (0.03,) * 5, False)],
)
def test_runs_in_which_a_hardly_heavier_load_loses_far_more_met_two_speeds(losses, said):
    """Seen: 1.15 of the truth of a server that was fast in every second trial."""

    def lose(document):
        for round_, loss in zip(document["rounds"], losses, strict=True):
            upper = round_["trials"][round_["bracket"]["upper_trial"]]
            upper["completed"] = round((1 - loss) * upper["attempted"])
            upper["lost"] = upper["attempted"] - upper["completed"] - upper["late"]

    record = edited(example_result(), lose)
    assert ("two speeds" in words(record, "doubt")) is said


def _refuse_most(document):
    for round_ in document["rounds"]:
        for trial in round_["trials"][:2]:
            trial |= {"valid": False, "reason": "generator-limited"}


def _cold():
    record = confirmed(example_result())
    first, *rest = record.confirmation.trials
    cold = replace(first, completed=first.completed // 2)
    result = replace(record.confirmation, trials=(cold, first, *rest))
    return replace(record, confirmation=result)


def _changed(edit):
    return edited(example_result(), edit)


DOUBTFUL = {
    "no interval": example_result(MAX_RATES[:3], procedure=replace(PROCEDURE, rounds=3)),
    "wide spread": example_result(
        [rate * (1 + 0.1 * (n % 3)) for n, rate in enumerate(MAX_RATES)]
    ),
    "wide bracket": _changed(lambda result: result["rounds"][0]["bracket"].update(lower=5400)),
    "trials not counted": _changed(_refuse_most),
    "changed leaselab": _changed(
        lambda result: result["provenance"].update(leaselab_dirty=True)
    ),
    "changed server": built(example_result(), "a" * 40, dirty=True),
    "cold start": _cold(),
}


@pytest.mark.parametrize("word", DOUBTFUL)
def test_what_makes_a_figure_doubtful_is_said(word):
    assert word in words(DOUBTFUL[word], "doubt")
    assert word not in words(confirmed(example_result()))


@pytest.mark.parametrize(("least_s", "doubted"), [(0.5, False), (1.1, True)])
def test_replies_that_take_a_good_part_of_a_trial_are_a_doubt(least_s, doubted):
    """At a light load: at the limit they wait in a queue."""

    def change(document):
        for round_ in document["rounds"]:
            for number, trial in enumerate(round_["trials"]):
                trial["latency_s"]["whole exchange"] |= {"p50": least_s + 0.2 * number}

    assert ("slow replies" in words(edited(example_result(), change), "doubt")) is doubted


def test_lost_packets_shared_processors_and_slow_clocks_are_known():
    def change(document):
        trial = document["rounds"][0]["trials"][1]
        trial["lost_at"] = {"server receive buffer": 12, "unanswered": 3}
        host = {"cpus_allowed": "0-2", "governor": "powersave"}
        document["bench"]["hosts"]["server"] |= host

    known = [flag for flag in flags(edited(example_result(), change)) if flag.level == "known"]
    by_name = {flag.word: flag.text for flag in known}
    assert by_name["lost packets"].endswith(" dropped: 12 server receive buffer, 3 unanswered")
    assert "shared processor" in by_name
    assert by_name["clock"] == "CPU governor performance, powersave"


SETTING = {"threads_by_default": "multi-threading.thread-pool-size"}


@pytest.mark.parametrize(
    ("tuning", "processors", "limit", "said"),
    [
        (SETTING, 8, 2.0, "8 threads"),
        (SETTING, 8, 1.5, "thread-pool-size to 2"),
        ({**SETTING, "worker_threads": 4}, 8, 0.5, "4 threads"),
        (SETTING, 2, 1.5, ""),
        (SETTING, 1, 0.5, ""),
        (SETTING, 8, None, ""),
        (SETTING, None, 2.0, ""),
        ({}, 8, 2.0, ""),
    ],
)
def test_threads_that_the_server_chose_beyond_its_quota_are_a_doubt(
    tuning, processors, limit, said
):
    record = example_result()
    host = replace(record.bench.hosts["server"], processors=processors, cpu_limit=limit)
    bench = replace(record.bench, hosts={**record.bench.hosts, "server": host})
    servers = {"server": replace(record.server, tuning=tuning)}
    raised = flags(replace(record, bench=bench, servers=servers))
    texts = [flag.text for flag in raised if flag.word == "threads beyond quota"]
    assert len(texts) == bool(said)
    assert said in "".join(texts)
