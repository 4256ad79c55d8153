"""What a builder hands over: nothing of it is believed."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from tests.build_record import ANSWER, ASKED

from leaselab.builds.artifacts import check_answer, read_record
from leaselab.model.errors import LeaselabError, Outcome


def changed(path, value):
    if not path:
        return value
    document = copy.deepcopy(ANSWER)
    *folders, last = path
    place = document
    for folder in folders:
        place = place[folder]
    place[last] = value
    return document


def test_an_answer_to_what_was_asked_for_is_taken():
    check_answer(ANSWER, ASKED, "the builder")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("key",), "../../../root/.ssh"),
        (("key",), "0123456789abcdef0123456"),
        (("key",), 7),
        (("prefix",), "/"),
        (("prefix",), "/opt/leaselab/../../etc"),
        (("prefix",), f"/opt/leaselab/builds/{'f' * 24}"),
        (("name",), "kea"),
        (("commit",), "e" * 40),
        (("tree",), "e" * 40),
        (("described",), "v3\n"),
        (("options",), {"cflags": "-O3"}),
        (("system",), "make\nx"),
        (("builder", "distribution"), "debian 13; reboot"),
        (("builder", "packages"), ""),
        (("builder", "owner"), "x"),
        (("artifact_sha256",), "a" * 63),
        (("artifact_bytes",), "1"),
        (("seconds", "make"), "long"),
        (("runtime_packages", "/srv/evil.deb"), "1"),
        (("runtime_packages", "https://evil.example/x.deb"), "1"),
        (("runtime_packages", "libc6"), "1 && reboot"),
        (("format",), 1),
        (("more",), "x"),
        ((), None),
    ],
    ids=str,
)
def test_an_answer_of_another_shape_or_of_something_else_is_refused(path, value):
    with pytest.raises(LeaselabError) as error:
        check_answer(changed(path, value), ASKED, "the builder")
    assert error.value.outcome is Outcome.LAB
    assert str(error.value).startswith("the builder")


@pytest.fixture
def builds(tmp_path):
    """Keep a record as role build does; return the folder of all of them."""

    def keep(**changes):
        source = {"hash": ASKED["commit"], "tree": ASKED["tree"]}
        kept = {**ANSWER, "source": source, **changes}
        del kept["cached"]
        folder = tmp_path / ANSWER["key"]
        folder.mkdir()
        (folder / "build.json").write_text(json.dumps(kept))
        return tmp_path

    return keep


def test_a_kept_record_is_read_as_it_is(builds):
    record = read_record(builds(), ANSWER["key"])
    assert record["artifact_sha256"] == ANSWER["artifact_sha256"]
    assert set(record) == {*ANSWER, "source"} - {"cached"}


@pytest.mark.parametrize("key", ["../builds", "", "0" * 24, "last"])
def test_a_key_under_which_nothing_is_kept_is_refused(builds, key):
    with pytest.raises(LeaselabError, match="no such build") as error:
        read_record(builds(), key)
    assert error.value.outcome is Outcome.USAGE


def test_what_an_older_release_built_is_to_be_built_again(builds):
    """Its artifact held more than its folder."""
    with pytest.raises(LeaselabError, match="build the commit again"):
        read_record(builds(format=None), ANSWER["key"])


OTHER = {"key": "f" * 24, "prefix": f"/opt/leaselab/builds/{'f' * 24}"}


@pytest.mark.parametrize("changes", [OTHER, {"commit": "e" * 40}, {"source": None}])
def test_a_record_of_another_build_is_refused(builds, changes):
    with pytest.raises(LeaselabError, match="not of this build"):
        read_record(builds(**changes), ANSWER["key"])


def test_a_build_that_got_a_tag_later_is_still_the_same_build():
    """What the answer must be of is what role build asks, which names no tag."""
    check_answer(changed(("described",), "v2.92"), ASKED, "the builder")
    role = Path(__file__).parents[2] / "roles" / "build"
    asked = yaml.safe_load((role / "vars" / "main.yml").read_text())["build_asked"]
    assert asked.keys() == ASKED.keys()
