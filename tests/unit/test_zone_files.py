"""Scripts of roles that write what a DNS server reads: lists of zones, raw zones, a key."""

import subprocess
import sys

import pytest
from tests.plays import ended
from tests.role_modules import ROLES

ZONES = "a.test.\ta.zone\n{file}.test.\tb.zone\n"


@pytest.fixture
def zones(tmp_path):
    (tmp_path / "zones.tsv").write_text(ZONES, "utf-8")
    return tmp_path


def listed(zones, head="zone:", line="  - {zone} in {file}\n    master", code=0):
    """Write the list of zones; whether it was another."""
    program = (sys.executable, ROLES / "dns_data/files/zone_list")
    words = (*program, zones / "zones.tsv", zones / "list", "0640", head, line)
    said = ended(words, code).stdout
    assert said in ("", "changed\n")
    return bool(said)


def test_a_list_has_a_head_and_each_zone_and_the_same_is_left_as_it_is(zones):
    assert listed(zones)
    text = "  - a.test. in a.zone\n    master\n  - {file}.test. in b.zone\n    master\n"
    assert (zones / "list").read_text("utf-8") == f"zone:\n{text}"
    before = (zones / "list").stat()
    assert before.st_mode & 0o777 == 0o640
    assert not listed(zones)
    assert (zones / "list").stat().st_ino == before.st_ino
    assert sorted(path.name for path in zones.iterdir()) == ["list", "zones.tsv"]
    assert listed(zones, head="")
    assert (zones / "list").read_text("utf-8") == text
    (zones / "zones.tsv").write_text("without a file\n", "utf-8")
    listed(zones, code=1)
    assert (zones / "list").read_text("utf-8") == text, "the old one stays"


def script(name, *words):
    """Run a script of role bind9 as its task does: from standard input."""
    text = (ROLES / "bind9/files" / name).read_text("utf-8")
    pipes = {"input": text, "capture_output": True, "text": True}
    return subprocess.run(["sh", "-s", *words], **pipes, check=False)


@pytest.fixture
def program(tmp_path):
    def make(text):
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)
        return path

    return make


def test_every_zone_is_compiled_into_a_fresh_folder_or_none_is_marked(zones, program):
    raw, old = zones / "raw", zones / "raw/old"
    raw.mkdir()
    old.touch()
    compiler = program('cat; echo "$@" >"$5"')
    done = script("raw_zones", compiler, raw, zones, raw / "mark")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in raw.iterdir()) == ["a.zone", "b.zone", "mark"]
    words = f"-q -F raw -o {raw}/a.zone a.test. {zones}/a.zone\n"
    assert (raw / "a.zone").read_text("utf-8") == words
    assert script("raw_zones", program("exit 3"), raw, zones, raw / "mark").returncode == 3
    assert list(raw.iterdir()) == []


def test_a_key_is_nobody_elses_and_whole(tmp_path, program):
    key = tmp_path / "key"
    assert script("control_key", program("echo half; exit 1"), key).returncode == 1
    assert not key.exists()
    assert script("control_key", program('echo "$@"'), key).returncode == 0
    assert key.read_text("utf-8") == "-a hmac-sha256 leaselab\n"
    assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("status", [0, 3])
def test_a_draft_is_validated_at_its_place_and_is_not_left_there(tmp_path, status):
    draft, place = tmp_path / "draft", tmp_path / "place"
    draft.write_text("as drafted\n", "utf-8")
    program = ["sh", "-c", f'echo "$0" "$2"; cat "$2"; exit {status}', "-t", "-cf"]
    done = ended([ROLES / "server/files/validate", place, draft, *program], status)
    assert (done.stdout, place.exists()) == (f"-t {place}\nas drafted\n", False)
