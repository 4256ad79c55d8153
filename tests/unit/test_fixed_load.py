"""One load for seconds to hours: its trials, its figures, and how they drift."""

from collections import deque
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.examples import trial_of
from tests.refusals import refused

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.procedures import method_of
from leaselab.measure.procedures.fixed_load import figures, latency_drift
from leaselab.measure.search_error import MORE_CLIENTS, SearchError, SearchReason
from leaselab.measure.server_use import memory_drift
from leaselab.model.errors import Outcome
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.record import GENERATOR_LIMITED, TOO_FEW_CLIENTS
from leaselab.model.trial import Percentiles, Sample, Second

PROCEDURE = FixedLoad(rate=100, duration_s=25, trial_s=10)


def latency(p50, p99):
    return Percentiles(p50=p50, p90=p50, p99=p99, p999=p99, max=p99)


def seconds(*medians):
    return tuple(
        Second(t=at, attempted=1, completed=1, p50_s=p50, p99_s=p50)
        for at, p50 in enumerate(medians)
    )


def samples(*taken):
    """Samples of (time in s, bytes)."""
    return {
        "server": tuple(
            Sample(t=t, cpu_s=0.0, rss_bytes=rss, udp_drops=0, held=0, counters={})
            for t, rss in taken
        )
    }


def made(*, lost=0, seconds=10, p50=0.001, p99=0.002, **fields):
    latencies = {"first": latency(9.0, 9.0), "whole exchange": latency(p50, p99)}
    return trial_of(100, seconds, lost, latency_s=latencies, **fields)


STALLED = made(valid=False, reason=GENERATOR_STALLED)


class Bench:
    """Makes the trials that a procedure asks for, and keeps what it asked."""

    def __init__(self, *trials):
        self.left, self.asked, self.how = deque(trials), [], []

    def __call__(self, load, **how):
        self.asked.append(load)
        self.how.append(how)
        trial = self.left.popleft() if self.left else made(seconds=load.duration_s)
        return replace(trial, duration_s=load.duration_s)


def measured(bench, procedure=PROCEDURE):
    return method_of(procedure).measure(bench, None, [])


@pytest.mark.parametrize(
    ("trials", "lengths", "shown", "loss"),
    [
        ([], [10, 10, 5], 2, 0.0),
        # a trial that a stall spoiled is made again, with other clients
        ([made(), STALLED, made(lost=100)], [10, 10, 10, 5], 3, 100 / 2500),
        # the last of several is not, as the server was reset after it
        ([made(), made(lost=1), STALLED], [10, 10, 5], 1, 1 / 2000),
        # after too many a round goes on with what counts
        ([STALLED] * (STALLED_LIMIT + 1), [10] * (STALLED_LIMIT + 2) + [5], -1, 0.0),
        # another doubt is left out, and not made again
        ([made(), made(lost=900, valid=False, reason=GENERATOR_LIMITED)], [10, 10, 5], 2, 0.0),
        # a trial that loses much counts, as its loss is the answer
        ([made(lost=1000)], [10, 10, 5], 2, 0.4),
    ],
)
def test_a_longer_load_is_offered_in_trials_one_after_the_other(trials, lengths, shown, loss):
    """With clients of their own, to the end, and with a reset after the last alone."""
    bench = Bench(*trials)
    result = measured(bench)
    assert [load.duration_s for load in bench.asked] == lengths
    assert {load.rate for load in bench.asked} == {100}
    assert [how["reset"] for how in bench.how] == [False] * (len(lengths) - 1) + [True]
    assert not any(how["may_abort"] for how in bench.how)
    assert bench.asked[0].first_client == 0
    for load, following in pairwise(bench.asked):
        assert following.first_client >= load.first_client + load.rate * load.duration_s
    assert result.shown_trial == shown % len(lengths)
    assert result.metrics["loss_ratio"] == pytest.approx(loss)
    assert result.metrics["completed_rate"] == pytest.approx(100 * (1 - loss))


@pytest.mark.parametrize("stalled", [0, 1])
def test_of_a_short_load_a_stalled_trial_is_made_again_as_the_server_is_as_before(stalled):
    bench = Bench(*[STALLED] * stalled)
    alone = FixedLoad(rate=100, duration_s=10, trial_s=60)
    assert measured(bench, alone).shown_trial == stalled
    assert [load.duration_s for load in bench.asked] == [10] * (stalled + 1)
    assert bench.how == [{"may_abort": False, "reset": True}] * (stalled + 1)


def test_a_generator_that_is_always_stalled_ends_the_round():
    bench, where = Bench(*[STALLED] * 100), "fixed load of 100/s"
    with refused("no trial of the round counts", Outcome.INVALID, where) as caught:
        measured(bench)
    assert caught.value.found == GENERATOR_STALLED
    assert len(bench.asked) == STALLED_LIMIT + 3


def test_a_load_for_which_there_are_too_few_clients_says_how_many_it_needs():
    few = made(
        valid=False, reason=TOO_FEW_CLIENTS, detail="9 clients; may need 99 (--scale 11)"
    )
    with pytest.raises(SearchError, match=r"too few.*: 9 clients.*--scale 11") as caught:
        measured(Bench(few, few, few))
    assert caught.value.reason is SearchReason.TOO_FEW_CLIENTS
    assert caught.value.todo == MORE_CLIENTS


# --- figures ------------------------------------------------------------------------


def test_figures_are_of_all_trials_and_of_whole_transactions():
    trials = [
        made(lost=100, p50=0.001, p99=0.010),
        made(p50=0.002, p99=0.030),
        made(seconds=5, p50=0.004, p99=0.020),
    ]
    computed = figures(trials)
    assert (computed["p50_s"], computed["p99_s"]) == (0.002, 0.020)
    assert computed["loss_ratio"] == pytest.approx(100 / 2500)
    assert computed["completed_rate"] == pytest.approx(2400 / 25)
    names = {kind.name for kind in PROCEDURE.metrics("exchanges")}
    assert names == set(computed) | {"cpu_us"}  # that one is of every procedure


def test_a_server_that_answers_nothing_has_no_latency_and_loses_all():
    silent = replace(made(lost=1000), latency_s={"first": None, "whole exchange": None})
    computed = figures([silent])
    assert (computed["p50_s"], computed["p99_s"]) == (None, None)
    assert (computed["loss_ratio"], computed["completed_rate"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("trials", "drift"),
    [
        ([[1.0] * 9], 0.0),
        ([[1.0, 1.0, 1.0], [5.0, 5.0, 5.0], [1.5, 1.5, 1.5]], 0.5),
        ([[2.0, 2.0], [9.0, 9.0], [1.0, 1.0]], -0.5),
        ([[1.0, None, 3.0], [None, 2.0]], 1.0),
        ([[1.0, 2.0]], None),
        ([[0.0, 1.0, 2.0]], None),
        ([[]], None),
    ],
)
def test_the_drift_of_latency_is_of_the_last_third_over_the_first(trials, drift):
    result = latency_drift([made(per_second=seconds(*medians)) for medians in trials])
    assert result == (None if drift is None else pytest.approx(drift))


@pytest.mark.parametrize(
    ("trials", "drift"),
    [
        ([[(0.0, 1000), (1.0, 1000)], [(10.0, 1000)]], 0.0),
        ([[(0.0, 1000), (1.0, 1500)], [(10.0, 6000), (12.0, 7000)]], 500.0),
        ([[(0.0, 9000), (2.0, None), (4.0, 1000)]], -2000.0),
        ([[(0.0, 1000)]], None),
        ([[(3.0, 1000), (3.0, 2000)]], None),
        ([[(0.0, 0), (1.0, 100), (1.0, 100), (2.0, 200)]], 100.0),
        ([[]], None),
        ([], None),
    ],
)
def test_the_growth_of_memory_is_a_line_through_all_samples(trials, drift):
    result = memory_drift([made(samples=samples(*taken)) for taken in trials])
    assert result == (None if drift is None else pytest.approx(drift))
