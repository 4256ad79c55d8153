"""The server contract of dnsmasq, run as it is installed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROLES = Path(__file__).parents[2] / "roles"


@pytest.fixture
def contract(tmp_path):
    """The contract in a folder; no server runs."""
    for part in ("dnsmasq/files/dnsmasq_contract", "contract/files/leaselab_contract"):
        shutil.copytree(ROLES / part, tmp_path / Path(part).name)
    shutil.copy(ROLES / "contract/files/server", tmp_path / "server")
    (tmp_path / "server").chmod(0o755)
    gone = {"argv": ["dnsmasq"], "stop_signal": "SIGTERM"}
    settings = {
        "kind": "dnsmasq",
        "process": {**gone, "pid_file": str(tmp_path / "run" / "dnsmasq.pid")},
        "bus": {
            "process": {**gone, "pid_file": str(tmp_path / "run" / "bus.pid")},
            "socket": str(tmp_path / "run" / "bus"),
        },
        "lock_file": str(tmp_path / "run" / "lock"),
    }
    (tmp_path / "variants/v4-dnsmasq").mkdir(parents=True)
    (tmp_path / "variants/v4-dnsmasq/server.json").write_text(json.dumps(settings))
    return tmp_path


def test_stopping_what_never_ran_succeeds_without_its_folder(contract):
    """After a reboot the folder below /run is gone."""
    done = subprocess.run(
        [contract / "server", "stop", "v4-dnsmasq"], capture_output=True, check=True
    )
    assert json.loads(done.stdout) == {"was_running": False}
