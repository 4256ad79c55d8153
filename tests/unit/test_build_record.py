"""What a builder hands over, of which nothing is believed; leaseload's source and its build."""

import copy
import hashlib
import json
import tarfile
from pathlib import Path

import pytest
import yaml
from tests.build_record import ANSWER, ASKED

from leaselab.builds import artifacts
from leaselab.builds.artifacts import (
    KEY,
    built_key,
    check_answer,
    is_built_for,
    pack,
    read_record,
    source_hash,
    version,
)
from leaselab.model.errors import LeaselabError, Outcome

OTHER = {"key": "f" * 24, "prefix": f"/opt/leaselab/builds/{'f' * 24}"}


def changed(path, value):
    if not path:
        return value
    place = document = copy.deepcopy(ANSWER)
    for folder in path[:-1]:
        place = place[folder]
    place[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((["key"], key) for key in ("../../../root/.ssh", "0123456789abcdef0123456", 7)),
        *((["prefix"], path) for path in ("/", "/opt/leaselab/../../etc", OTHER["prefix"])),
        *(([name], "e" * 40) for name in ("commit", "tree")),
        (["name"], "kea"),
        (["described"], "v3\n"),
        (["options"], {"cflags": "-O3"}),
        (["system"], "make\nx"),
        (["builder", "distribution"], "debian 13; reboot"),
        *((["builder", name], value) for name, value in (("packages", ""), ("owner", "x"))),
        (["artifact_sha256"], "a" * 63),
        (["artifact_bytes"], "1"),
        (["seconds", "make"], "long"),
        *((["runtime_packages", name], "1") for name in ("/srv/a.deb", "https://evil/x.deb")),
        (["runtime_packages", "libc6"], "1 && reboot"),
        *(([name], value) for name, value in (("format", 1), ("more", "x"))),
        ([], None),
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


@pytest.mark.parametrize("changes", [OTHER, {"commit": "e" * 40}, {"source": None}])
def test_a_record_of_another_build_is_refused(builds, changes):
    with pytest.raises(LeaselabError, match="not of this build"):
        read_record(builds(**changes), ANSWER["key"])


def test_a_build_that_got_a_tag_later_is_still_the_same_build():
    """What the answer must be of is what role build asks, which names no tag."""
    check_answer(ANSWER, ASKED, "the builder")
    check_answer(changed(["described"], "v2.92"), ASKED, "the builder")
    role = Path(__file__).parents[2] / "roles" / "build"
    asked = yaml.safe_load((role / "vars" / "main.yml").read_text())["build_asked"]
    assert asked.keys() == ASKED.keys()


FILES = {"Cargo.toml": '[workspace.package]\nversion = "1.2.3"\n', "net/src/lib.rs": ""}
NOT_BUILT = ("net/tests/one.rs", "target/debug/x")


@pytest.fixture
def source(tmp_path, monkeypatch):
    folder = tmp_path / "load"
    for name, text in (FILES | dict.fromkeys(NOT_BUILT, "")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(artifacts, "_SOURCE", folder)
    return folder


def test_equal_files_make_an_equal_tar_of_what_is_built(source, tmp_path):
    first = Path(pack(tmp_path / "a")["files"])
    (source / "Cargo.toml").touch()
    second = Path(pack(tmp_path / "b")["files"])
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        assert tar.getnames() == [*FILES]


def test_it_is_known_by_the_hash_of_its_files(source, tmp_path):
    handed = pack(tmp_path)
    assert handed["commit"]["tree"] == handed["commit"]["hash"] == source_hash()
    assert handed["commit"]["described"] == version() == "1.2.3"
    (source / "net/tests/one.rs").write_text("changed", encoding="utf-8")
    assert source_hash() == handed["commit"]["hash"], "a test is no part of the program"
    (source / "net/src/lib.rs").write_text("changed", encoding="utf-8")
    assert source_hash() != handed["commit"]["hash"]


def test_a_build_is_found_where_it_is_of_this_source_and_kept(source, tmp_path):
    key, note = "0" * 24, tmp_path / "leaseload.json"
    assert KEY.fullmatch(key)
    assert built_key(tmp_path) == ""
    for text in ("", "[]", "{}", '{"source": 1}'):
        note.write_text(text, encoding="utf-8")
        assert built_key(tmp_path) == "", "a note that is none"
    note.write_text(json.dumps({"source": source_hash(), "key": key}), encoding="utf-8")
    assert built_key(tmp_path) == "", "what is pruned is not there"
    (tmp_path / key).mkdir()
    (tmp_path / key / "artifact.tar.gz").touch()
    assert built_key(tmp_path) == key
    (source / "net/src/lib.rs").write_text("changed", encoding="utf-8")
    assert built_key(tmp_path) == ""


def test_a_build_serves_all_benches_with_such_machines(source, tmp_path):
    assert source.is_dir()
    assert not is_built_for(tmp_path, "x86_64")
    key = ANSWER["key"]
    note = json.dumps({"source": source_hash(), "key": key})
    (tmp_path / "leaseload.json").write_text(note, encoding="utf-8")
    (tmp_path / key).mkdir()
    (tmp_path / key / "artifact.tar.gz").write_bytes(b"programs")
    assert not is_built_for(tmp_path, "x86_64"), "nobody knows what it is built for"
    digest = hashlib.sha256(b"programs").hexdigest()
    commit = {"hash": ANSWER["commit"], "tree": ANSWER["tree"]}
    known = {**ANSWER, "name": "leaseload", "artifact_sha256": digest, "source": commit}
    (tmp_path / key / "build.json").write_text(json.dumps(known), encoding="utf-8")
    assert is_built_for(tmp_path, ANSWER["builder"]["architecture"])
    assert not is_built_for(tmp_path, "riscv64")
    (tmp_path / key / "artifact.tar.gz").write_bytes(b"half of")
    assert not is_built_for(tmp_path, ANSWER["builder"]["architecture"])
