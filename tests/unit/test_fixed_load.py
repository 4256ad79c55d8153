"""One load for seconds to hours: its trials, its figures, and how they drift."""

from collections import deque

import pytest
from msgspec.structs import replace
from tests.examples import trial_of

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.procedures import method_of
from leaselab.measure.procedures.fixed_load import figures, latency_drift
from leaselab.measure.search_error import MORE_CLIENTS, SearchError, SearchReason
from leaselab.measure.server_use import memory_drift
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.record import GENERATOR_LIMITED, TOO_FEW_CLIENTS
from leaselab.model.trial import Load, Percentiles, Sample, Second

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


def test_a_longer_load_is_offered_in_trials_one_after_the_other():
    """With clients of their own, to the end, and without a reset between them."""
    bench = Bench()
    assert measured(bench).shown_trial == 2
    assert [load.duration_s for load in bench.asked] == [10, 10, 5]
    assert {load.rate for load in bench.asked} == {100}
    assert [how["reset"] for how in bench.how] == [False, False, True]
    assert not any(how["may_abort"] for how in bench.how)
    firsts = [load.first_client for load in bench.asked]
    assert firsts[0] == 0
    for load, following in zip(bench.asked, firsts[1:], strict=False):
        assert following >= load.first_client + load.rate * load.duration_s


def test_one_trial_is_enough_for_a_short_load():
    bench = Bench()
    measured(bench, FixedLoad(rate=100, duration_s=10, trial_s=60))
    assert bench.asked == [Load(100, 10)]
    assert bench.how == [{"may_abort": False, "reset": True}]


def test_a_trial_that_a_stall_spoiled_is_made_again_with_other_clients():
    bench = Bench(made(), STALLED, made(lost=100))
    result = measured(bench)
    assert [load.duration_s for load in bench.asked] == [10, 10, 10, 5]
    assert len({load.first_client for load in bench.asked}) == 4
    assert result.metrics["loss_ratio"] == pytest.approx(100 / 2500)
    assert result.shown_trial == 3


def test_the_last_of_several_is_not_as_the_server_was_reset_after_it():
    bench = Bench(made(), made(lost=1), STALLED)
    assert measured(bench).shown_trial == 1
    assert [load.duration_s for load in bench.asked] == [10, 10, 5]
    assert [how["reset"] for how in bench.how] == [False, False, True]


def test_the_only_one_is_as_the_server_is_as_it_was_before():
    bench = Bench(STALLED)
    alone = FixedLoad(rate=100, duration_s=10, trial_s=60)
    assert measured(bench, alone).shown_trial == 1
    assert [load.duration_s for load in bench.asked] == [10, 10]
    assert [how["reset"] for how in bench.how] == [True, True]


def test_a_generator_that_is_always_stalled_ends_the_round():
    bench = Bench(*[STALLED] * 100)
    with pytest.raises(LeaselabError, match="no trial of the round counts") as caught:
        measured(bench)
    assert caught.value.outcome is Outcome.INVALID
    assert caught.value.found == GENERATOR_STALLED
    assert caught.value.where == "fixed load of 100/s"
    assert len(bench.asked) == STALLED_LIMIT + 3


def test_after_too_many_stalls_a_round_goes_on_with_what_counts():
    bench = Bench(*[STALLED] * (STALLED_LIMIT + 1))
    result = measured(bench)
    assert len(bench.asked) == STALLED_LIMIT + 3
    assert result.shown_trial == STALLED_LIMIT + 2
    assert result.metrics["completed_rate"] == pytest.approx(100)


def test_another_doubt_is_left_out_and_not_made_again():
    limited = made(lost=900, valid=False, reason=GENERATOR_LIMITED)
    bench = Bench(made(), limited)
    result = measured(bench)
    assert len(bench.asked) == 3
    assert result.metrics["loss_ratio"] == 0


def test_a_load_for_which_there_are_too_few_clients_says_how_many_it_needs():
    few = made(
        valid=False, reason=TOO_FEW_CLIENTS, detail="9 clients; may need 99 (--scale 11)"
    )
    with pytest.raises(SearchError, match=r"too few.*: 9 clients.*--scale 11") as caught:
        measured(Bench(few, few, few))
    assert caught.value.reason is SearchReason.TOO_FEW_CLIENTS
    assert caught.value.todo == MORE_CLIENTS


def test_a_trial_that_loses_much_counts_as_its_loss_is_the_answer():
    assert measured(Bench(made(lost=1000))).metrics["loss_ratio"] == pytest.approx(0.4)


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
        ([[]], None),
    ],
)
def test_the_growth_of_memory_is_a_line_through_all_samples(trials, drift):
    result = memory_drift([made(samples=samples(*taken)) for taken in trials])
    assert result == (None if drift is None else pytest.approx(drift))


def test_samples_at_one_moment_among_others_are_no_incompatibility():
    trials = [made(samples=samples((0.0, 0), (1.0, 100), (1.0, 100), (2.0, 200)))]
    assert memory_drift(trials) == pytest.approx(100)


def test_memory_without_any_samples_is_unknown():
    assert memory_drift([made()]) is None
