"""HTTP/2 of both programs beside another implementation: nghttpx, between the two."""

import json
import os
import subprocess
from contextlib import contextmanager

import pytest
from tests.load_programs import load_programs
from tests.rooted import network_of
from tests.tools import AS_ROOT, run, unpacked_root
from tests.waiting import HANGS_S, until

SERVER, PROXY = "198.18.0.10", "198.18.0.20"
PORTS = {SERVER: "0A0012C6:01BB", PROXY: "140012C6:01BB"}
"""Port 443 of each, as /proc/net/tcp has it."""
KEY, CERTIFICATE = (f"/leaselab-{os.getpid()}.{word}" for word in ("key", "pem"))
"""In the root of the proxy."""


@pytest.fixture(scope="module")
def network():
    with network_of("https", f"{SERVER}/32", f"{PROXY}/32") as words:
        yield words


@pytest.fixture(scope="module")
def root():
    """The root of the proxy, with a key of its own."""
    place = unpacked_root("bookworm", "nghttp2-proxy")
    made = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", KEY)
    asked = ("req", "-x509", "-nodes", "-subj", "/CN=proxy", *made, "-out", CERTIFICATE)
    status, said = run(*AS_ROOT, "chroot", place, "openssl", *asked)
    assert status == 0, said
    yield place
    run(*AS_ROOT, "chroot", place, "rm", KEY, CERTIFICATE)


@contextmanager
def listening(network, address, *command):
    """A process, once it listens at port 443 of an address."""
    process = subprocess.Popen([*map(str, (*network, *command))])
    try:
        until(
            lambda: run(*network, "cat", "/proc/net/tcp")[1],
            lambda ports: PORTS[address] in ports or process.poll() is not None,
        )
        assert process.poll() is None, command
        yield
    finally:
        run(*AS_ROOT, "kill", str(process.pid))
        process.wait(timeout=HANGS_S)


@pytest.mark.parametrize("most", [None, 20])
def test_nothing_is_lost_through_a_proxy_that_takes_so_many_requests(
    most, network, root, tmp_path
):
    """It ends connections by GOAWAY, and answers what it has taken."""
    (tmp_path / "queries").write_text("a.lab.test. A\nb.lab.test. AAAA\n")
    responder = [load_programs() / "leaserespond", "dns", "--listen", SERVER]
    ends = [f"--frontend={PROXY},443", f"--backend={SERVER},443;;proto=h2;tls"]
    limit = [f"--frontend-max-requests={most}"] if most else []
    options = ["--conf=/dev/null", "--no-ocsp", "--insecure", *ends, *limit]
    proxy = ["chroot", root, "/usr/sbin/nghttpx", *options, KEY, CERTIFICATE]
    load = ["--transport", "https", "--rate", "200", "--seconds", "2", "--late", "20"]
    with (
        listening(network, SERVER, *responder, "--https-port", "443"),
        listening(network, PROXY, *proxy),
    ):
        status, said = run(
            *(*network, load_programs() / "leaseload", "dns", "--server", PROXY),
            *("--queries", tmp_path / "queries", *load),
        )
    assert status == 0, said
    report = json.loads(said)
    assert report["counts"]["completed"] == report["counts"]["attempted"] == 400, said
    opened = report["connections"]
    assert opened["lost"] == 0
    assert opened["closed"] >= 400 // (most + 10) if most else opened["closed"] == 0
