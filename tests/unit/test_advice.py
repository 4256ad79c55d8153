"""Known costs of a configuration: each has a case, a place on the page, and scenarios."""

import pytest
from tests.advising import CATALOGUE, ROOT, having

from leaselab.inputs.advice import Given, advise
from leaselab.inputs.commented_json import read_commented_json
from leaselab.inputs.configuration import Configuration, addresses, inside
from leaselab.inputs.known_costs import known_costs

COSTS = {cost.name: cost for cost in known_costs()["kea"].costs}


def test_each_cost_has_a_case_and_its_place_on_the_page():
    assert having().keys() == COSTS.keys()
    page = (ROOT / "docs/how-to/advise.md").read_text(encoding="utf-8")
    table = page.partition("## Known costs")[2].partition("## Adding")[0]
    rows = (line for line in table.splitlines() if line.startswith("|"))
    reported = [name for row in rows for name in row.split("`")[1::2]]
    assert sorted(reported) == sorted(COSTS)


def test_each_declared_pair_is_of_scenarios_that_exist_for_each_object():
    known = CATALOGUE.scenarios.keys()
    for costs in known_costs().values():
        for pair in (pair for cost in costs.costs for pair in cost.pairs):
            assert pair.point != pair.base
            for prefixes in costs.objects.values():
                both = [
                    {f"{prefix}-{pair.point}", f"{prefix}-{pair.base}"} for prefix in prefixes
                ]
                assert any(each <= known for each in both), (prefixes, pair)


def test_a_cost_says_how_to_measure_it(tmp_path):
    file = tmp_path / "kea.conf"
    file.write_text('{"Dhcp4": {}}', encoding="utf-8")
    (finding,) = advise(file, CATALOGUE, Given()).findings
    assert finding.costs
    for cost in finding.costs:
        assert cost.command == f"leaselab run {cost.point} {cost.base}"


def test_a_pattern_finds_what_is_below_it_in_order(tmp_path):
    path = tmp_path / "kea.conf"
    path.write_text('{"a": {"b1": [{"c": 1}, {"c": 2}], "b2": [{"d": 3}], "c": 4}}')
    configuration = Configuration("a", read_commented_json(path).top)
    results = [(item.path, item.value) for item in configuration.at("b?[*].c")]
    assert results == [("a.b1[0].c", 1), ("a.b1[1].c", 2)]
    assert [item.path for item in configuration.at("")] == ["a"]


@pytest.mark.parametrize(
    ("pool", "count"),
    [
        ("192.0.2.1-192.0.2.1", 1),
        ("10.0.0.0/8", 2**24),
        ("2001:db8::/64", 2**64),
        ("2001:db8::1 - 2001:db8::ffff", 0xFFFF),
    ],
)
def test_addresses_of_a_pool_are_counted_and_those_in_pools_once(pool, count):
    assert addresses(pool) == count
    held = ["192.0.2.1", "192.0.2.9", "192.0.3.1"]
    assert inside(held, ["192.0.2.0/28", "192.0.2.0/29"]) == 2
