"""leaseload fails or is not there: never counted as a loss, and the sweep goes on."""

from contextlib import contextmanager

import pytest
from tests.lab.commands import journaled_trials, resumed, stopped

from leaselab.lab.bench.lock import PROGRAM

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
    "kill -9 $$": f"{LEASELOAD}: was killed, or did not end in time",
}
"""What leaseload does instead, and what is said of it: rubbish, killed."""


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
