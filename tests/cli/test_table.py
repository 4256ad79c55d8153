"""``leaselab list --table``."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, example_result, fixed_load_result


@pytest.fixture
def results(root):
    """Two results of v4-memfile, one of v6-memfile."""
    archive_result(root)
    newest = example_result(token="0002", started=START + timedelta(hours=1))
    archive_result(root, newest)
    archive_result(root, example_result(scenario="v6-memfile", token="0003"))
    return newest


def test_the_newest_result_of_each_scenario_is_shown(results, document):
    rows = document("list", "--table")
    by_name = {name: result for row in rows for name, result in row["results"].items()}
    assert by_name["v4-memfile"]["id"] == results.id
    assert "v6-memfile" in by_name


def test_a_newer_fixed_load_does_not_hide_the_max_rate(results, root, said):
    later = {"started": START + timedelta(hours=2), "token": "0004"}
    archive_result(root, fixed_load_result((0.0113, 0.0141), **later))
    printed = said("list", "--table", results.scenario.name).out
    assert "DHCPv6" not in printed
    assert "\nmax rate in exchanges/s: " in printed
    assert "\np99 latency in ms: " in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["v4-mysql"], "no results of v4-mysql; `leaselab list` shows"),
        (["v4-memfile", "v4-mysql*"], "no results of v4-mysql*"),
        (["v4-*", "--bench", "rack"], "no results of v4-* on bench rack"),
    ],
)
@pytest.mark.usefixtures("results")
def test_a_pattern_without_a_result_is_not_dropped(refused, words, said):
    assert said in refused("list", "--table", *words)


def test_another_durability_does_not_replace_the_usual_one(results, root, document):
    tried = example_result(token="0004", started=START + timedelta(hours=2))
    forgetful = replace(tried.server, durability="memory")
    archive_result(root, replace(tried, servers={"server": forgetful}))
    rows = document("list", "--table", "v4-*")
    assert {row["durability"] for row in rows} == {"written", "memory"}
    assert results.id in {result["id"] for row in rows for result in row["results"].values()}
