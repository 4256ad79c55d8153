"""What differs between results is named by its field, and nothing else is."""

import copy

from tests.examples import example_result

from leaselab.analysis.differences import config_differences, differences


def test_two_sweeps_of_the_same_differ_in_nothing_but_what_they_found():
    base = example_result()
    again = copy.deepcopy(base)
    again["runs"][0]["max_rate"] = 1.0
    again["bench"]["lock_owner"] = "somebody else"
    assert differences([base, again]) == []


def test_each_field_that_differs_is_named_with_all_its_values():
    base = example_result()
    other = copy.deepcopy(base)
    other["scenario"]["threads"] = 4
    other["bench"]["hosts"]["server"]["kernel"] = "6.1"
    del other["provenance"]["tuning"]["memfile_persist"]
    found = {one.field: one.values for one in differences([base, other])}
    assert found == {
        "scenario.threads": ("0", "4"),
        "bench.hosts.server.kernel": ("6.12.48+deb13-amd64", "6.1"),
        "provenance.tuning.memfile_persist": ("true", "-"),
        "provenance.tuning": ("-", "{}"),
    }


def test_configurations_in_json_differ_by_setting_whatever_their_layout():
    one = '{"Dhcp4": {"valid-lifetime": 86400, "hooks": [{"library": "a"}]}}'
    same = '{"Dhcp4":\n {"hooks": [{"library": "a"}], "valid-lifetime": 86400}}'
    other = '{"Dhcp4": {"valid-lifetime": 60, "hooks": [{"library": "b"}]}}'
    assert config_differences([one, same]) == []
    assert [(found.field, found.values) for found in config_differences([one, other])] == [
        ("Dhcp4.valid-lifetime", ("86400", "60")),
        ("Dhcp4.hooks[0].library", ("a", "b")),
    ]


def test_other_configurations_differ_by_line_and_comments_count_for_nothing():
    found = config_differences(["port=67\n# one\nbind", "port=67\n# two\n", None])
    assert [(one.field, one.values) for one in found] == [
        ("port=67", ("there", "there", "-")),
        ("bind", ("there", "-", "-")),
    ]
