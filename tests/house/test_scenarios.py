"""Scenarios: no two points of a family are the same, and each can be a variant's name."""

import re
from pathlib import Path

import pytest

from leaselab.catalog.family import load_families

ROOT = Path(__file__).parents[2]
FAMILIES = load_families(ROOT / "scenarios")
BACKENDS = {
    *("memfile", "mysql", "postgresql", "dnsmasq", "dhcpd", "responder", "responder-transport")
}
"""Families that are no experiment with one question: each is a way to serve, or to be wrong."""
LONGEST = 63 - len(".0123456789-at2")
"""Longest name of a scenario, that a variant of a build at the second place has one."""


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - BACKENDS))
def test_no_two_points_of_an_experiment_are_the_same(name):
    family = FAMILIES[name]
    points = [
        str(
            (
                item.server.options,
                item.beside,
                item.hosts,
                item.partner,
                item.support,
                item.load,
                family.procedures[place],
            )
        )
        for place, item in family.scenarios.items()
    ]
    factors = [str(sorted(scenario.factors.items())) for scenario in family.scenarios.values()]
    assert len(set(points)) == len(set(factors)) == len(points)


def test_a_variant_can_have_the_name_of_its_scenario():
    for name in (scenario for family in FAMILIES.values() for scenario in family.scenarios):
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name)
        assert len(name) <= LONGEST, name
