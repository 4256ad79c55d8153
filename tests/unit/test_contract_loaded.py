"""What a process has loaded, as the contracts tell it: real processes."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.contracts import contract_module


@pytest.fixture(scope="module")
def loaded():
    """The module, found where the contracts find it."""
    with contract_module("contract", "leaselab_contract.loaded") as loaded:
        yield loaded


@pytest.fixture
def started(tmp_path):
    """Start a copy of cat that has read a line, so that its libraries are there."""
    program = tmp_path / "kea-dhcp4"
    shutil.copy(os.path.realpath("/bin/cat"), program)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b"up\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"up\n"
        yield program, child.pid
        child.kill()


def test_program_and_libraries_are_told_by_their_hashes(loaded, started):
    program, pid = started
    found = loaded.identity(pid)
    assert found["program"] == str(program)
    assert found["program_sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    (libc,) = (path for path in found["libraries_sha256"] if "/libc.so" in path)
    wanted = hashlib.sha256(Path(libc).read_bytes()).hexdigest()
    assert found["libraries_sha256"][libc] == wanted
    assert str(program) not in found["libraries_sha256"]


def test_a_program_that_is_replaced_as_it_starts_is_refused(loaded, started):
    program, pid = started
    program.unlink()
    with pytest.raises(Exception, match="kea-dhcp4 was replaced while") as told:
        loaded.identity(pid)
    assert told.value.status == 4
