"""What a load declares of a cache, and the procedures that do not keep to it."""

import msgspec
import pytest
from tests.formula import formula_bench

from leaselab.measure.generators.dns.answers import check_cache
from leaselab.model.errors import LeaselabError, Outcome
from leaselab.model.procedures.fixed_load import FixedLoad
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.ramp import Ramp

WARMED = {"reset": "at-start", "warm_up_s": 10, "warm_up_rate": 500}


def check(procedure, **load):
    scenario = formula_bench().scenario
    check_cache(msgspec.structs.replace(scenario, load=load), procedure)


@pytest.mark.parametrize(
    ("cache", "procedure"),
    [
        ("none", MaxRate()),
        ("mixed", MaxRate()),
        ("mixed", MaxRate(**WARMED)),
        ("hot", MaxRate(**WARMED)),
        ("hot", FixedLoad(rate=9, **WARMED)),
        ("hot", Ramp(**WARMED)),
        ("cold", MaxRate(max_rate=1000, trial_s=5)),
        ("cold", FixedLoad(rate=500, duration_s=10)),
        ("cold", Ramp(rates=(100, 733), step_s=6)),
    ],
)
def test_a_procedure_that_keeps_the_declared_state_is_taken(cache, procedure):
    check(procedure, cache=cache, queries=5000)


def test_a_load_that_declares_nothing_is_taken():
    check(MaxRate())


@pytest.mark.parametrize(
    ("cache", "procedure", "match"),
    [
        ("hot", MaxRate(), "cache that is to be hot would be cold"),
        (
            "hot",
            MaxRate(reset="at-start"),
            "found cache hot, reset at-start, warm_up_rate None",
        ),
        ("hot", MaxRate(**{**WARMED, "warm_up_s": 9}), "a warm-up of 5000 queries or more"),
        ("hot", MaxRate(**{**WARMED, "reset": "after-trial"}), "or is reset"),
        ("cold", MaxRate(max_rate=1001, trial_s=5), "found 5000 queries, wanted 5005 or more"),
        ("cold", FixedLoad(rate=501, duration_s=10), "repeats queries before a reset"),
        ("cold", MaxRate(max_rate=99, reset="at-start"), "nothing is reset after the start"),
        (
            "luke-warm",
            MaxRate(),
            "unknown state of a cache .found 'luke-warm', wanted none, cold",
        ),
    ],
)
def test_one_that_does_not_is_refused_before_anything_is_measured(cache, procedure, match):
    with pytest.raises(LeaselabError, match=match) as caught:
        check(procedure, cache=cache, queries=5000)
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == "scenario zones-10k"


def test_a_load_that_asks_a_share_for_the_first_time_may_not_begin_again():
    check(MaxRate(max_rate=1000, trial_s=5), cache="mixed", names="mixed", queries=5000)
    with pytest.raises(LeaselabError, match="repeats queries before a reset"):
        check(MaxRate(max_rate=1001, trial_s=5), cache="mixed", names="mixed", queries=5000)
    with pytest.raises(LeaselabError, match="nothing is reset"):
        check(MaxRate(**WARMED), cache="mixed", names="mixed", queries=5000)
