"""What the tests of the real lab share: a deployed bench, its hosts, engines to be killed."""

import contextlib
import json
import subprocess

import pytest
from tests.lab.commands import (
    BENCH,
    LOCAL,
    SMALL,
    Engine,
    containers,
    hold_back_servers,
    playbook,
)

from leaselab.lab.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    read_inventory,
)
from leaselab.lab.transport import connect


def pytest_collection_modifyitems(items):
    """Bring a module's tests of one scenario together: each change is a deployment."""
    modules = {}
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        same = modules.setdefault(item.module, {}).setdefault(parameters.get("scenario"), [])
        same.append(item)
    groups = (same for module in modules.values() for same in module.values())
    items[:] = [item for same in groups for item in same]


@pytest.fixture(scope="session")
def bench_of():
    """Have the local lab up and deployed for a scenario; return its bench document.

    What is deployed is asked of bench.json each time, as other tests deploy, too; and a lab
    that other tests took down and brought up again is provisioned again.
    """
    known = {}
    hosts = None

    def deploy(scenario):
        nonlocal hosts
        current = json.loads(BENCH.read_text(encoding="utf-8")) if BENCH.exists() else None
        anew = hosts is None or containers() != hosts
        if anew or scenario not in known or known[scenario] != current:
            first = ("lab_up", "provision") if anew else ()
            for name in (*first, "deploy", "tune"):
                if name == "deploy":
                    hold_back_servers(held=False)  # it takes all there is
                settings = json.dumps({"scenario": scenario, "leaselab_plan": SMALL})
                done = playbook(name, "-e", settings)
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr
            hosts = containers()
            hold_back_servers(held="memfile" in scenario)
            known[scenario] = json.loads(BENCH.read_text(encoding="utf-8"))
        return known[scenario]

    return deploy


@pytest.fixture
def scenario():
    """What the lab is deployed for; modules and parameters say otherwise."""
    return "v4-memfile"


@pytest.fixture
def deployed(bench_of, scenario):
    """The local lab, up and deployed; its bench document."""
    return bench_of(scenario)


@pytest.fixture
def bench_file(deployed, tmp_path):
    """Write the bench document, with other parameters of the sweep where they are named."""

    def write(change=lambda document: document, **plan):
        document = json.loads(json.dumps(deployed))
        document["plan"].update(plan)
        change(document)
        path = tmp_path / "bench.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write


@pytest.fixture
def results(tmp_path):
    """A folder for results of its own."""
    return tmp_path / "results"


@pytest.fixture
def engine():
    """Start commands in the background; what still runs at the end is ended.

    Asked first, so that a test that failed does not leave the bench locked for the next.
    """
    started = []

    def start(*arguments):
        started.append(Engine(*arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.process.wait(20)
        one.process.kill()
        one.process.wait(10)


@pytest.fixture
def on_host(deployed):
    """Run a shell command on the host of a role; return what it prints."""
    assert deployed["hosts"]
    groups = {
        "server": SERVER_GROUP,
        "partner": PARTNER_GROUP,
        "generator": GENERATOR_GROUP,
    }

    def run(role, command):
        with connect(read_inventory(LOCAL).only(groups[role]).access) as host:
            done = host.run(["sh", "-c", command], timeout_s=30)
        assert done.status == 0, done.stderr
        return done.stdout.decode()

    return run
