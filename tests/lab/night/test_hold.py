"""A bench held over several commands, as a pipeline holds it."""

import json
import os
import signal

import pytest
from tests.lab.commands import LONG_TRIALS, ROOT, complaint, leaselab

from leaselab.model.errors import IN_USE

pytestmark = pytest.mark.lab

HOLD = ROOT / ".leaselab" / "holds" / "docker.json"


@pytest.fixture
def taken():
    """The bench, held by this checkout: a failure here leaves it free for the next test."""
    done = leaselab("lab", "take", "--purpose", "a test", "--json")
    assert done.returncode == 0, done.stderr
    yield None
    leaselab("lab", "release")


@pytest.mark.usefixtures("taken")
def test_a_held_bench_is_its_holders_alone_and_comes_back_whole(
    bench_file, results, engine, on_host, tmp_path
):
    """Others neither change nor measure it; what a killed sweep of it left is stopped."""
    bench = bench_file(**LONG_TRIALS)
    HOLD.rename(tmp_path / "hold")
    try:
        for words in (("deploy", "v4-dnsmasq"), ("sweep", bench, "--results", results)):
            done = leaselab("step", *words)
            assert done.returncode == IN_USE
            assert "in use" in complaint(done)
            assert "a test" in complaint(done)
    finally:
        (tmp_path / "hold").rename(HOLD)

    sweep = engine("step", "sweep", bench, "--results", results)
    sweep.saw(r"run 1/1: \d+/s for")
    os.kill(sweep.process.pid, signal.SIGKILL)
    sweep.end()
    held = json.loads(leaselab("lab", "status", "--json").stdout)["lock"]
    assert "T" in held["purpose"]  # the sweep's id: its lease has not run out
    assert leaselab("lab", "release").stdout == "released docker\n"
    assert json.loads(leaselab("lab", "status", "--json").stdout)["lock"] is None
    assert on_host("generator", "pgrep -x leaseload || echo none") == "none\n"
    assert on_host("server", "pgrep -x dnsmasq || echo none") == "none\n"
    assert leaselab("lab", "release").stdout == "no bench was held\n"
