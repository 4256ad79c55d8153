"""What a load declares of a cache, and the procedures that do not keep to it."""

import msgspec
import pytest
from tests.formula import formula_bench
from tests.refusals import refused

from leaselab.measure.generators.dns.answers import check_cache
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
    check(procedure)


SHARE = {"cache": "mixed", "names": "mixed"}
"""A load that asks for a share of its names for the first time: it may not begin again."""


@pytest.mark.parametrize(
    ("load", "procedure", "match"),
    [
        ({"cache": "hot"}, {}, "cache that is to be hot would be cold"),
        ({"cache": "hot"}, {"reset": "at-start"}, "cache hot, reset at-start, warm_up_rate No"),
        ({"cache": "hot"}, {**WARMED, "warm_up_s": 9}, "a warm-up of 5000 queries or more"),
        ({"cache": "hot"}, {**WARMED, "reset": "after-trial"}, "or is reset"),
        ({"cache": "cold"}, {"max_rate": 1001, "trial_s": 5}, "5000 queries, wanted 5005 or"),
        ({"cache": "cold"}, {"max_rate": 99, "reset": "at-start"}, "nothing is reset after"),
        ({"cache": "luke-warm"}, {}, "cache .found 'luke-warm', wanted none, cold"),
        (SHARE, {"max_rate": 1001, "trial_s": 5}, "repeats queries before a reset"),
        (SHARE, WARMED, "nothing is reset"),
    ],
)
def test_one_that_does_not_is_refused_before_anything_is_measured(load, procedure, match):
    check(MaxRate(max_rate=1000, trial_s=5), **SHARE, queries=5000)
    with refused(match, where="scenario zones-10k"):
        check(MaxRate(**procedure), **load, queries=5000)
    with refused("repeats queries before a reset"):
        check(FixedLoad(rate=501, duration_s=10), cache="cold", queries=5000)
