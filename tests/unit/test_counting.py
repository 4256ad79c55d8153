"""When a count of a server counts."""

from contextlib import contextmanager

import pytest
from tests.refusals import refused

from leaselab.measure.counting import INSTRUCTIONS, SYSTEM_CALLS, WITH_CACHES, Step, count
from leaselab.model.errors import Outcome
from leaselab.model.observation import Counts, FunctionCost

STEP = Step("usual", ["leaseload"], 30, "fill", "warm-up", "counted", 10)
DONE = {
    SYSTEM_CALLS: Counts(system_calls={"recvmsg": 10}),
    INSTRUCTIONS: Counts((FunctionCost("s", "main", 9, 0, 0, False, 9, 1),)),
}


class Bench:
    """A server that holds so many leases, its counter and its generator; all that is asked."""

    def __init__(self, *, held=30, completed=10, done=DONE):
        self.asked, self._held, self._completed, self._done = [], held, completed, done

    @contextmanager
    def counting(self, by):
        self._by = by
        self.asked.append(by)
        yield self

    @contextmanager
    def serving(self, _argv, _environment):
        yield self

    def offer(self, load, step=None):
        self.asked.append(f"{load} in lock step" if step else load)
        return {"counts": {"attempted": 10, "completed": self._completed}}

    def settle(self):
        """It sleeps."""

    def begin(self):
        self.asked.append("begin")

    def zero(self):
        self.asked.append("zero")

    def take(self):
        self.asked.append("take")
        return self._done.get(self._by, DONE[INSTRUCTIONS])

    def held(self):
        return self._held


def test_only_what_is_offered_in_lock_step_after_the_warm_up_is_counted():
    bench = Bench()
    made = count(bench, bench, {}, [STEP], simulated=True).steps["usual"]
    assert (made.transactions, made.leases) == (10, 30)
    assert (made.plain, made.valgrind) == (DONE[SYSTEM_CALLS], DONE[INSTRUCTIONS])
    counted = ["warm-up in lock step", "zero", "counted in lock step", "take"]
    assert bench.asked == [
        *(SYSTEM_CALLS, "begin", "fill", *counted),
        *(WITH_CACHES, "fill", "begin", *counted),
    ]


@pytest.mark.parametrize(
    ("bench", "said"),
    [
        (Bench(completed=9), "has not completed each transaction of a count .found 9 of 10"),
        (Bench(held=29), "does not store the leases of its clients .found 29, wanted 30"),
        (Bench(done={SYSTEM_CALLS: Counts()}), "has done nothing for the transactions"),
    ],
)
def test_a_count_is_refused(bench, said):
    with refused(said, Outcome.INVALID):
        count(bench, bench, {}, [STEP])
