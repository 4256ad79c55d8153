"""Scenario files: families by matrix, and what they refuse."""

import pytest
import yaml

from leaselab.lab.catalog import find_scenario, load_scenarios, match_scenarios
from leaselab.model.errors import LeaselabError, Outcome

COMMON = {
    "server": "kea",
    "backend": "memfile",
    "family": 4,
    "pool": {"subnet": "10.0.0.0/8", "range": "10.0.0.1 - 10.255.255.254"},
}


def family(**fields):
    return {
        "description": "An example",
        "common": COMMON,
        "axes": [[{"name": "one"}]],
        **fields,
    }


@pytest.fixture
def folder(tmp_path):
    """A function that writes a family and returns the folder it is in."""

    def write(content, name="example.yml"):
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def refused(place, match):
    with pytest.raises(LeaselabError, match=match) as caught:
        load_scenarios(place)
    assert caught.value.outcome is Outcome.USAGE
    return caught.value


def test_every_entry_of_one_axis_meets_every_entry_of_the_others(folder):
    axes = [
        [{"name": "a"}, {"name": "b"}],
        [{"name": ""}, {"name": "slow", "lease_lifetime_s": 7}],
    ]
    found = load_scenarios(folder(family(axes=axes)))
    assert list(found) == ["a", "a-slow", "b", "b-slow"]
    assert {name: item.lease_lifetime_s for name, item in found.items()} == {
        "a": 86400,
        "a-slow": 7,
        "b": 86400,
        "b-slow": 7,
    }
    assert all(item.description == "An example" for item in found.values())


def test_an_axis_overrides_what_is_common(folder):
    found = load_scenarios(folder(family(axes=[[{"name": "x", "backend": "mysql"}]])))
    assert found["x"].backend == "mysql"


def test_an_unknown_scenario_names_the_nearest(folder):
    with pytest.raises(LeaselabError, match="did you mean 'one'") as caught:
        find_scenario(folder(family()), "onn")
    assert caught.value.outcome is Outcome.USAGE


def test_a_name_like_no_other_lists_them_all(folder):
    axes = [[{"name": "one"}, {"name": "two"}]]
    with pytest.raises(LeaselabError, match="wanted one of one, two"):
        find_scenario(folder(family(axes=axes)), "xyzzy")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"discription": "x"}, r"example.yml: unknown key 'discription'.*'description'"),
        ({"common": {**COMMON, "bakend": "x"}}, r"unknown key 'bakend'.*'backend'"),
        ({"common": {**COMMON, "pool": {"subnet": "10.0.0.0/8"}}}, "key missing .wanted range"),
        ({"common": {**COMMON, "pool": "10.0.0.0/8"}}, "pool: not a mapping"),
        ({"common": {**COMMON, "family": "4"}}, r"family: value not allowed .found '4'"),
        ({"common": {**COMMON, "family": 5}}, "value not allowed"),
        ({"common": {**COMMON, "lease_lifetime_s": 1.5}}, "wanted int"),
        ({"common": {**COMMON, "lease_lifetime_s": True}}, "value of another type"),
        ({"common": {**COMMON, "memfile_persist": "yes"}}, "wanted bool"),
        ({"common": {**COMMON, "server": None}}, "value of another type"),
        ({"common": {"server": "kea"}}, "key missing"),
    ],
)
def test_what_does_not_belong_is_refused_with_its_place(folder, fields, match):
    error = refused(folder(family(**fields)), match)
    assert error.where.startswith("example.yml")


def test_a_name_may_exist_once_only(folder):
    place = folder(family(), "a.yml")
    folder(family(), "b.yml")
    assert refused(place, "scenario one exists twice").where == "b.yml"


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "just words\n"])
def test_a_file_that_is_no_family_is_refused(folder, text):
    refused(folder(text), "not YAML|not a mapping")


def test_an_empty_folder_is_refused(tmp_path):
    refused(tmp_path, "no scenarios")


def test_patterns_mean_names_each_once_in_the_order_given(folder):
    place = folder(family(axes=[[{"name": "b"}, {"name": "a"}], [{"name": ""}, {"name": "x"}]]))
    found = match_scenarios(place, ["b*", "a", "?"])
    assert [scenario.name for scenario in found] == ["b", "b-x", "a"]


def test_a_pattern_that_means_nothing_is_refused(folder):
    with pytest.raises(LeaselabError, match="unknown scenario 'z\\*'"):
        match_scenarios(folder(family()), ["one", "z*"])
