"""leaseload or a host fails: never counted as a loss, and the sweep goes on."""

import re
from contextlib import contextmanager

import docker
import pytest
from tests.lab.commands import LONG_TRIALS, journaled_trials, reached, resumed, stopped

from leaselab.lab.bench.lock import PROGRAM
from leaselab.lab.hosts.inventory import GENERATOR_GROUP, SERVER_GROUP

pytestmark = pytest.mark.lab

LEASELOAD = "/opt/leaselab/leaseload"
# Single exchanges and the first trial are real; the trials after it are not.
STAND_IN = f"""#!/bin/sh
case "$*" in *" --quiet "*) ;; *) exec {LEASELOAD}.real "$@" ;; esac
[ -e /run/leaselab/measured ] || {{ touch /run/leaselab/measured; exec {LEASELOAD}.real "$@"; }}
"""


@pytest.fixture
def instead(on_host):
    """Put a script in the place of leaseload, and leaseload back afterwards."""

    def put(script):
        on_host(
            "generator",
            f"[ -e {LEASELOAD}.real ] ||"
            f" {{ mv {LEASELOAD} {LEASELOAD}.real && rm -f /run/leaselab/measured; }}\n"
            f"cat > {LEASELOAD} <<'END'\n{STAND_IN}{script}\nEND\nchmod 755 {LEASELOAD}",
        )

    def back():
        on_host("generator", f"! [ -e {LEASELOAD}.real ] || mv {LEASELOAD}.real {LEASELOAD}")

    put.back = back
    yield put
    back()


NO_MEASUREMENT = {
    "echo 'All is well.'": "leaseload's output does not parse: JSON is malformed",
    f'{LEASELOAD}.real "$@" | head -c 1000': (
        "Input data was truncated (found 1000 bytes ending in "
    ),
    "kill -9 $$": f"{LEASELOAD}: was killed, or did not end in time",
    "echo no such device >&2; exit 1": (
        f"{LEASELOAD}: failed with exit status 1: no such device"
    ),
}
"""What leaseload does instead, and what is said of it: rubbish, truncated, killed, failing."""


def test_a_trial_without_a_measurement_is_not_counted(instead, bench_file, results):
    """One sweep meets one after the other, and counts its first trial alone."""
    words = ("step", "sweep", bench_file())
    for script, what in NO_MEASUREMENT.items():
        instead(script)
        assert what in stopped(results, *words)
        assert len(journaled_trials(results)) == 1
        words = ()
    instead.back()
    resumed(results)


@contextmanager
def taken_away(on_host, path):
    """The generator's host lacks a file for a while."""
    on_host("generator", f"mv {path} {path}.away")
    try:
        yield
    finally:
        on_host("generator", f"mv {path}.away {path}")


def test_what_a_lab_that_was_never_provisioned_lacks_is_named(on_host, bench_file, results):
    """As after `lab down` and `lab up`: the hosts answer, and have nothing of ours."""
    with taken_away(on_host, LEASELOAD):
        missing = stopped(results, "step", "sweep", bench_file())
    assert f"leaselab-generator: {LEASELOAD}: not found on the host" in missing
    with taken_away(on_host, PROGRAM):
        missing = stopped(results)
    assert "there is no bench lock: " in missing
    assert "No such file or directory; provision the bench first: leaselab run, or " in missing
    resumed(results)


def test_a_host_that_goes_away_ends_the_sweep_and_it_goes_on(engine, bench_file, results):
    """In the middle of a trial; the server's end is no death of the server.

    The last test of its scenario, which would have to be deployed again after it.
    """
    words = ("step", "sweep", bench_file(rounds=2, **LONG_TRIALS))
    for name, group in (
        ("leaselab-generator", GENERATOR_GROUP),
        ("leaselab-server", SERVER_GROUP),
    ):
        host = docker.from_env().containers.get(name)
        sweep = engine(*words, "--results", results)
        sweep.saw(r"run \d/2: \d+/s for (?!.*journal)")
        host.kill()
        try:
            code, last = sweep.end(timeout_s=60)
        finally:
            host.start()
        assert code == 4
        assert re.search(f"{name}: (connection lost|the host (went away|was restarted)) ", last)
        assert journaled_trials(results)
        reached(group)
        words = ("resume",)
    resumed(results)
