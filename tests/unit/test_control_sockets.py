"""What NSD 4.12 and Unbound 1.26 do for the server contract, with recorded answers of both."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.contracts import contract_module
from tests.control_sockets import answering

DATA = Path(__file__).parents[1] / "data"


def recorded(name):
    return (DATA / name).read_text("ascii")


@pytest.fixture(scope="module")
def nsd():
    with contract_module("nsd", "nsd_contract.server") as module:
        yield module


@pytest.fixture(scope="module")
def unbound():
    with contract_module("unbound", "unbound_contract.server") as module:
        yield module


@pytest.fixture
def config(tmp_path):
    return {
        "socket": str(tmp_path / "control"),
        "address": "127.0.0.1",
        "known_name": "z0000500.test.",
        "log_file": str(tmp_path / "log"),
        "process": {
            "argv": ["sh", "-c", "sleep 60 & wait"],
            "pid_file": str(tmp_path / "pid"),
            "log_files": [str(tmp_path / "log")],
            "output_file": str(tmp_path / "out"),
            "error_words": [],
            "noise_words": [],
        },
        "udp_port": 53,
    }


@pytest.fixture
def running(config):
    """A process with a child replaces a server."""
    with subprocess.Popen(config["process"]["argv"], start_new_session=True) as child:
        Path(config["process"]["pid_file"]).write_text(str(child.pid))
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        deadline = time.monotonic() + 60
        while not children.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield child.pid, int(children.read_text())
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def taking(nsd, config, first):
    """A sample of NSD, which had these processes when sampling began."""
    server = nsd.Server(config)
    server.first = first
    return server.take()


def test_a_command_that_is_refused_is_no_answer(nsd, config, tmp_path):
    with (
        answering(
            tmp_path / "control", lambda _: "error unknown command 'nonsense'\n"
        ) as asked,
        pytest.raises(ValueError, match="unknown command 'nonsense'"),
    ):
        nsd.control.ask(config["socket"], "NSDCT1", "nonsense", 1.0)
    assert asked == ["NSDCT1 nonsense"]


def test_answers_of_nsd_are_counted_by_their_rcode(nsd, config, tmp_path, running):
    with answering(tmp_path / "control", lambda _: recorded("nsd/nsd-4.12.txt")) as asked:
        taken = taking(nsd, config, nsd.process.tree(running[0]))
    assert asked == ["NSDCT1 stats_noreset"]
    counted = taken["counters"]
    assert counted["QUERY"] == counted["NOERROR"] + counted["NXDOMAIN"] > 205
    assert counted["NXDOMAIN"] == 2
    assert (taken["refused"], taken["held"]) == (0, None)


def test_a_process_of_nsd_that_was_replaced_is_a_server_that_died(nsd, config, running):
    """Its parent starts another one at once: a client sees but a gap."""
    first = nsd.process.tree(running[0])
    os.kill(running[1], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while running[1] in nsd.process.tree(running[0]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(nsd.ContractError, match=f"process {running[1]} of nsd has ended|gone"):
        taking(nsd, config, first)


def test_nsd_with_a_zone_that_it_could_not_read_says_so(nsd, config):
    nsd.Server(config).check_started()  # it has no log where it has nothing to say
    Path(config["log_file"]).write_text(
        "[2026-11-24 09:05:16.653] nsd[1]: error: zonefile leaf.zone does not exist\n"
    )
    with pytest.raises(nsd.ContractError, match=r"leaf\.zone does not exist"):
        nsd.Server(config).check_started()


def test_an_authority_holds_nothing(nsd, config):
    assert nsd.Server(config).reset() == {"held": None, "was": None}


@pytest.mark.parametrize("role", ["nsd", "unbound"])
@pytest.mark.parametrize(
    "rcode",
    ["REFUSED", "SERVFAIL", "NOERROR"],
)
def test_a_server_that_answers_without_its_data_is_not_ready(
    request, config, monkeypatch, role, rcode
):
    """REFUSED is the fastest of all answers."""
    server = request.getfixturevalue(role)
    monkeypatch.setattr(server.dns, "ask", lambda *_, **__: server.dns.Answer(rcode, 0, 0))
    monkeypatch.setattr(server.sampling, "udp_sockets", lambda *_: [["its own"]])
    with pytest.raises(server.ContractError, match=f"answers {rcode} with 0 records"):
        server.Server(config).ready()


def test_unbound_forgets_what_it_has_cached_and_counts_it(unbound, config, tmp_path):
    reloaded = []

    def answer(command):
        if command.endswith("reload"):
            reloaded.append(command)
            return "ok\n"
        return recorded(f"unbound/unbound-{'reloaded-' if reloaded else ''}1.26.txt")

    with answering(tmp_path / "control", answer) as asked:
        result = unbound.Server(config).reset()
    assert result["held"] == 0
    assert result["was"] > 2 * 205
    assert asked == ["UBCT1 stats_noreset", "UBCT1 reload", "UBCT1 stats_noreset"]


def test_a_cache_of_unbound_that_stays_warm_is_no_reset(unbound, config, tmp_path, monkeypatch):
    monkeypatch.setattr(unbound, "CONTROL_S", 0.3)

    def answer(command):
        return "ok\n" if command.endswith("reload") else recorded("unbound/unbound-1.26.txt")

    with (
        answering(tmp_path / "control", answer),
        pytest.raises(unbound.ContractError, match="in the caches after a reload"),
    ):
        unbound.Server(config).reset()


@pytest.mark.usefixtures("running")
def test_unbound_reports_how_often_it_had_to_ask(unbound, config, tmp_path):
    with answering(tmp_path / "control", lambda _: recorded("unbound/unbound-1.26.txt")):
        taken = unbound.Server(config).take()
    counted = taken["counters"]
    assert counted["QryRecursion"] == counted["QUERY"] == 206
    assert counted["Queryv4"] > 2 * 205
    assert counted["NXDOMAIN"] == 1
    assert taken["held"] > 2 * 205


def test_a_server_too_busy_to_count_is_sampled_all_the_same(nsd, unbound, config, running):
    """Nobody listens at its socket."""
    for row in (
        taking(nsd, config, nsd.process.tree(running[0])),
        unbound.Server(config).take(),
    ):
        assert (row["counters"], row["refused"], row["held"]) == ({}, None, None)
        assert row["rss_bytes"] > 0


def test_a_server_that_was_killed_is_no_sample(nsd, unbound, config, running):
    os.killpg(running[0], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while nsd.process.alive(running[0]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for take in (lambda: taking(nsd, config, {}), lambda: unbound.Server(config).take()):
        with pytest.raises(nsd.ContractError, match="sh is gone"):
            take()
