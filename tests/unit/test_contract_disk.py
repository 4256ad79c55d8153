"""The disk of a server that is full for a while: what is left of it."""

import os
import resource
import socket
import subprocess

from tests.contracts import contract_fixture

disk = contract_fixture("contract", "leaselab_contract.disk")


def test_a_limit_ends_with_its_operation_even_if_that_is_killed_as_it_begins(disk):
    """The operation ends before the answer that files are limited."""
    with subprocess.Popen(["sleep", "infinity"]) as server:
        before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        here, there = socket.socketpair()
        here.close()
        if not (keeper := os.fork()):
            try:
                disk._keep_limited(there, server.pid, 264)
            finally:
                os._exit(0)
        os.waitpid(keeper, 0)
        there.close()
        try:
            assert resource.prlimit(server.pid, resource.RLIMIT_FSIZE) == before
        finally:
            server.kill()
