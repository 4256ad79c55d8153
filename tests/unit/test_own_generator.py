"""leaseload's source: packed the same each time, known by its files, found built."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest
from tests.build_record import ANSWER

from leaselab.builds import artifacts
from leaselab.builds.artifacts import KEY, built_key, is_built_for, pack, source_hash, version

FILES = {
    "Cargo.toml": '[workspace.package]\nversion = "1.2.3"\n',
    "net/src/lib.rs": "",
    "net/tests/one.rs": "not built",
    "target/debug/x": "not built",
}


@pytest.fixture
def source(tmp_path, monkeypatch):
    folder = tmp_path / "load"
    for name, text in FILES.items():
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
        assert tar.getnames() == ["Cargo.toml", "net/src/lib.rs"]


def test_it_is_known_by_the_hash_of_its_files(source, tmp_path):
    handed = pack(tmp_path)
    assert handed["commit"]["tree"] == handed["commit"]["hash"] == source_hash()
    assert handed["commit"]["described"] == version() == "1.2.3"
    (source / "net/tests/one.rs").write_text("changed", encoding="utf-8")
    assert source_hash() == handed["commit"]["hash"], "a test is no part of the program"
    (source / "net/src/lib.rs").write_text("changed", encoding="utf-8")
    assert source_hash() != handed["commit"]["hash"]


def test_a_build_is_found_where_it_is_of_this_source_and_kept(source, tmp_path):
    key = "0" * 24
    assert KEY.fullmatch(key)
    assert built_key(tmp_path) == ""
    note = tmp_path / "leaseload.json"
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
