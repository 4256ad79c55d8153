"""Papers say of each experiment what its file in scenarios/ says."""

import re
from pathlib import Path

import pytest

from leaselab.lab.catalog import load_families

ROOT = Path(__file__).parents[2]
FAMILIES = load_families(ROOT / "scenarios")
BACKENDS = {"memfile", "mysql", "postgresql", "dnsmasq", "responder", "responder-transport"}
"""Families that are no experiment with one question: each is a way to serve, or to be wrong."""
LONGEST = 63 - len(".0123456789-at2")
"""Longest name of a scenario, that a variant of a build at the second place has one."""


PAPERS = ("docs/catalogue.md", "docs/dns.md")
"""Each has a table of experiments: those of Kea, and those of name servers."""
TABLE = re.compile(r"^\| experiment \| question \|.*\n\|-.*\n((?:\| `.*\n)+)", re.MULTILINE)


def rows():
    """The lines of the tables, by experiment: question, factors, procedure, needs."""
    tables = [TABLE.search((ROOT / paper).read_text(encoding="utf-8"))[1] for paper in PAPERS]
    lines = [line for table in tables for line in table.splitlines()]
    cells = (re.split(r" ?\| ?", line) for line in lines)
    return {first.strip("`"): rest for _, first, *rest, _ in cells}


def test_every_experiment_is_in_a_catalogue_and_no_other():
    assert sorted(rows()) == sorted(set(FAMILIES) - BACKENDS)


@pytest.mark.parametrize("name", rows())
def test_the_catalogue_says_what_the_file_says(name):
    family = FAMILIES[name]
    question, factors, procedure, _ = rows()[name]
    scenarios = family.scenarios.values()
    assert {question} == {one.description for one in scenarios}
    seen = dict.fromkeys(factor for one in scenarios for factor in one.factors)
    varied = [
        factor
        for factor in seen
        if len({str(one.factors.get(factor)) for one in scenarios}) > 1
    ]
    assert sorted(factors.split(", ")) == sorted(varied)
    named = {one.get("name", "max-rate") for one in family.procedures.values()}
    assert {procedure.split(",")[0]} == named


@pytest.mark.parametrize("name", rows())
def test_no_two_points_of_an_experiment_are_the_same(name):
    family = FAMILIES[name]
    points = [
        str(
            (
                one.server.options,
                one.beside,
                one.hosts,
                one.partner,
                one.support,
                one.load,
                family.procedures[place],
            )
        )
        for place, one in family.scenarios.items()
    ]
    factors = [str(sorted(one.factors.items())) for one in family.scenarios.values()]
    assert len(set(points)) == len(set(factors)) == len(points)


@pytest.mark.parametrize(
    "name", [one for family in FAMILIES.values() for one in family.scenarios]
)
def test_a_variant_can_have_the_name_of_its_scenario(name):
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name)
    assert len(name) <= LONGEST
