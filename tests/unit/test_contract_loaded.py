"""What a process has loaded, as the contracts report it: real processes."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.contracts import contract_fixture

loaded = contract_fixture("contract", "leaselab_contract.loaded")


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


def test_libraries_are_identified_by_their_hashes_and_a_replaced_program_refused(
    loaded, started
):
    program, pid = started
    libraries = loaded.identity(pid)["libraries_sha256"]
    (libc,) = (path for path in libraries if "/libc.so" in path)
    assert libraries[libc] == hashlib.sha256(Path(libc).read_bytes()).hexdigest()
    assert str(program) not in libraries
    program.unlink()
    with pytest.raises(Exception, match="kea-dhcp4 was replaced while") as caught:
        loaded.identity(pid)
    assert caught.value.status == 4


COMPILES = """
import mmap, os
memory = os.memfd_create("closures")
os.ftruncate(memory, 4096)
mapped = mmap.mmap(memory, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("up", flush=True)
input()
"""


def test_code_that_is_in_no_file_has_no_hash(loaded):
    """A library that compiles as it runs is no program that was replaced."""
    argv = [os.path.realpath("/usr/bin/python3"), "-c", COMPILES]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"up\n"
        assert "/memfd:closures" in Path(f"/proc/{child.pid}/maps").read_text()
        paths = loaded.identity(child.pid)["libraries_sha256"]
        child.stdin.close()
    assert paths
    assert not [path for path in paths if path.startswith("/memfd:")]
