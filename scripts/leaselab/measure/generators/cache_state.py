"""What a load declares of the server's cache, and whether a procedure keeps to it.

For adapters of protocols whose servers have caches.  A load says it by its key `cache`: none
(there is nothing to be cached), cold (no query was asked before), mixed, or hot
(all of it was).  `queries` is how many it asks before it begins again.  A load whose names are
mixed asks for a share of them for the first time, until then.
"""

from __future__ import annotations

import math

from leaselab.model.errors import usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.scenario import Scenario

CACHE, QUERIES, NAMES = "cache", "queries", "names"
"""Keys of a load."""
NONE, COLD, MIXED, HOT = STATES = ("none", "cold", "mixed", "hot")


def check_cache(scenario: Scenario, procedure: Procedure) -> None:
    """Raise a usage error where the cache would not be in the state that the load declares.

    A cold one is reset after each trial, and no trial asks for the same again.  A hot one is
    never reset after the start, and the warm-up has asked for everything once.
    """
    where = f"scenario {scenario.name}"
    state, queries = scenario.load.get(CACHE, NONE), scenario.load.get(QUERIES, 0)
    if state not in STATES:
        raise usage_error(
            "no state of a cache", where=where, found=repr(state), wanted=", ".join(STATES)
        )
    if once_only(scenario):
        _check_cold(procedure, queries, where)
    if state == HOT:
        _check_hot(procedure, queries, where)


def once_only(scenario: Scenario) -> bool:
    """Whether a load may not begin again before the cache is emptied."""
    load = scenario.load
    return load.get(NAMES) == MIXED or load.get(CACHE, NONE) == COLD


def _check_cold(procedure: Procedure, queries: int, where: str) -> None:
    if procedure.keeps:
        raise usage_error(
            "a cache that is to be cold would be warm: nothing is reset after the start",
            where=where,
            found=f"reset {procedure.reset}",
            wanted="a reset after each trial",
            todo="leave out --reset, or take a load whose cache is hot",
        )
    most = procedure.most_attempted
    if most > queries:
        wanted = "a procedure that says how much it offers"
        if math.isfinite(most):
            wanted = f"{most:.0f} or more, what may be offered until then"
        raise usage_error(
            "a cache that is to be cold would be warm: the load asks for the same again "
            "before the server is reset",
            where=where,
            found=f"{queries} queries",
            wanted=wanted,
            todo="give the load more queries, or offer less: a lower rate (--max-rate of a "
            "search), or for a shorter time",
        )


def _check_hot(procedure: Procedure, queries: int, where: str) -> None:
    warmed = (procedure.warm_up_rate or 0) * procedure.warm_up_s
    if not procedure.keeps or warmed < queries:
        raise usage_error(
            "a cache that is to be hot would be cold: the warm-up does not ask for everything, "
            "or is reset",
            where=where,
            found=f"cache {HOT}, reset {procedure.reset}, warm_up_rate "
            f"{procedure.warm_up_rate}, warm_up_s {procedure.warm_up_s}",
            wanted=f"reset at-start, and a warm-up of {queries} queries or more",
            todo="say so in the scenario's procedure, or by --reset, --warm-up-rate and "
            "--warm-up-s",
        )
