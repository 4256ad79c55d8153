"""What differs between results is named by its field, and nothing else is."""

from tests.examples import edited, example_result

from leaselab.analysis.differences import config_differences, differences


def test_two_sweeps_of_the_same_differ_in_nothing_but_what_they_found():
    def again(document):
        document["rounds"][0]["metrics"]["max_rate"] = 1.0
        document["bench"]["lock_owner"] = "somebody else"
        document["provenance"]["command"] = ["leaselab", "run"]
        document["servers"]["server"]["config_file"] = "config/other.conf"
        document["scenario"]["description"] = "in other words"
        document["scenario"]["across"] = ["backend"]
        document["scenario"]["factors"]["backend"] = "files"

    assert differences([example_result(), edited(example_result(), again)]) == []


def test_each_field_that_differs_is_named_with_all_its_values():
    def other(document):
        document["scenario"]["server"]["options"]["queue_size"] = 32
        document["procedure"]["trial_s"] = 2
        document["bench"]["hosts"]["server"]["kernel"] = "6.1"
        document["servers"]["server"]["version"] = "2.6.4"
        del document["servers"]["server"]["tuning"]["memfile_persist"]

    found = differences([example_result(), edited(example_result(), other)])
    assert {one.field: one.values for one in found} == {
        "scenario.server.options.queue_size": ("64", "32"),
        "procedure.trial_s": ("5", "2"),
        "bench.hosts.server.kernel": ("6.12.48+deb13-amd64", "6.1"),
        "server.version": ("2.6.3", "2.6.4"),
        "server.tuning.memfile_persist": ("true", "-"),
        "server.tuning": ("-", "{}"),
    }


def test_a_second_server_differs_field_by_field_from_none():
    def pair(document):
        document["servers"]["partner"] = {**document["servers"]["server"], "version": "2.6.4"}

    found = differences([example_result(), edited(example_result(), pair)])
    assert {one.field.partition(".")[0] for one in found} == {"partner"}
    assert ("partner.version", ("-", "2.6.4")) in [(one.field, one.values) for one in found]


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
