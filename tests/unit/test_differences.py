"""What differs between results is named by its field, and nothing else is."""

import hashlib

from tests.examples import edited, example_result

from leaselab.analysis.comparison.incompatibilities import (
    also_changed,
    config_differences,
    differences,
)
from leaselab.model.server import settings_of


def test_two_sweeps_of_the_same_differ_in_nothing_but_what_they_found():
    def again(document):
        document["rounds"][0]["metrics"]["max_rate"] = 1.0
        document["bench"]["lock_owner"] = "another user"
        document["provenance"]["command"] = ["leaselab", "run"]
        document["servers"]["server"]["config_file"] = "config/other.conf"
        document["scenario"] |= {"description": "in other words", "across": ["backend"]}
        document["scenario"]["factors"]["backend"] = "files"

    assert differences([example_result(), edited(example_result(), again)]) == []


def test_each_field_that_differs_is_named_with_all_its_values():
    def other(document):
        document["scenario"]["server"]["options"]["queue_size"] = 32
        document["procedure"]["trial_s"] = 2
        document["bench"]["hosts"]["server"]["kernel"] = "6.1"
        document["servers"]["server"]["version"] = "2.6.4"
        del document["servers"]["server"]["tuning"]["memfile_persist"]

    rows = differences([example_result(), edited(example_result(), other)])
    assert {item.field: item.values for item in rows} == {
        "scenario.server.options.queue_size": ("64", "32"),
        "procedure.trial_s": ("3", "2"),
        "bench.hosts.server.kernel": ("6.12.48+deb13-amd64", "6.1"),
        "server.version": ("2.6.3", "2.6.4"),
        "server.tuning.memfile_persist": ("true", "-"),
        "server.tuning": ("-", "{}"),
    }


def test_configurations_in_json_differ_by_setting_whatever_their_layout():
    first = '{"Dhcp4": {"valid-lifetime": 86400, "hooks": [{"library": "a"}]}}'
    same = '{"Dhcp4":\n {"hooks": [{"library": "a"}], "valid-lifetime": 86400}}'
    other = '{"Dhcp4": {"valid-lifetime": 60, "hooks": [{"library": "b"}]}}'
    assert config_differences([first, same]) == []
    assert [(row.field, row.values) for row in config_differences([first, other])] == [
        ("Dhcp4.valid-lifetime", ("86400", "60")),
        ("Dhcp4.hooks[0].library", ("a", "b")),
    ]


def test_other_configurations_differ_by_line_and_comments_count_for_nothing():
    rows = config_differences(["port=67\n# one\nbind", "port=67\n# two\n", None])
    assert [(item.field, item.values) for item in rows] == [
        ("port=67", ("there", "there", "-")),
        ("bind", ("there", "-", "-")),
    ]


def built(variant, prefix, *, lifetime=60):
    """The configuration of a build, and what its settings come to."""
    text = f'{{"log": "/var/log/{variant}_dhcp.log", "hook": "{prefix}/a.so", "t": {lifetime}}}'
    settings = settings_of(text, variant, prefix)

    def change(document):
        document["servers"]["server"] |= {
            "config_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "config_settings_sha256": hashlib.sha256(settings.encode()).hexdigest(),
            "variant": variant,
        }

    return change


def test_two_builds_with_the_same_settings_have_no_other_configuration():
    first, other = built("v4.1a2b", "/opt/builds/1a2b"), built("v4.3c4d", "/opt/builds/3c4d")
    changed = built("v4.3c4d", "/opt/builds/3c4d", lifetime=61)
    base, other, changed = (edited(example_result(), of) for of in (first, other, changed))
    assert differences([base, other]) == also_changed(base, other) == []
    assert [row.field for row in differences([base, changed])] == [
        "server.config_settings_sha256"
    ]
    assert also_changed(base, changed) == ["the configuration file as rendered"]


def test_older_results_report_the_configuration_by_the_hash_of_the_whole_file():
    def old(document):
        document["servers"]["server"]["config_sha256"] = "1" * 64

    now = edited(example_result(), built("v4.1a2b", "/opt/builds/1a2b"))
    before = edited(example_result(), old)
    assert also_changed(before, now)
    assert "server.config_sha256" in [row.field for row in differences([before, now])]
    assert not also_changed(example_result(), example_result())


def test_a_second_server_differs_field_by_field_from_none():
    def pair(document):
        document["servers"]["partner"] = {**document["servers"]["server"], "version": "2.6.4"}

    rows = differences([example_result(), edited(example_result(), pair)])
    assert {item.field.partition(".")[0] for item in rows} == {"partner"}
    assert ("partner.version", ("-", "2.6.4")) in [(item.field, item.values) for item in rows]
