"""What the tests of the real lab share: a deployed bench, its hosts, engines to be killed."""

import contextlib
import json
import subprocess
from pathlib import Path

import pytest
from tests.lab.building import Source
from tests.lab.commands import LOCAL, ROOT, SMALL, Engine, begin_playbook, hold_back_servers
from tests.waiting import HANGS_S

from leaselab.catalog.catalogue import Catalogue
from leaselab.lab.deploy.deployment import host_states, read_deployment
from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    PARTNER_GROUP,
    SERVER_GROUP,
    read_inventory,
)
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError
from leaselab.run import variants
from leaselab.run.preparation import leased, prepare

HERE = Path(__file__).parent
ORDER = (
    "test_docker_lab",
    "test_a_session",
    "test_check",
    "test_packaged",
    "test_cost",
    "test_faults_engine",
    "test_commits",
    "test_lab_down",
    "test_faults_machine",
    "test_faults_server",
    "test_faults_hosts",
    "test_hold",
    "test_faults_network",
    "test_faults_generator",
    "test_faults_database",
    "test_database_apart",
    "test_waits",
    "test_faults_powerdns",
    "test_recursor",
    "test_namespaces",
    "test_gates",
    "test_by_hand",
    "test_two_places",
    "test_range",
    "test_faults_builder",
    "test_duel",
    "test_hunt",
    "test_tutorial",
    "test_faults_blame",
    "test_faults_pair",
    "test_pipeline",
    "test_threats",
)
"""Modules one after the other, so that few deployments serve many tests: what takes the lab
down comes after those that need it up, then the pipeline, which deploys from a checkout of
its own.  Those after `test_lab_down` are in folder `night`: they run each night and before an
issue is closed, and only when that folder is named."""


def pytest_ignore_collect(collection_path, config):
    """Leave the folder `night` out unless an argument names it or what is in it."""
    if collection_path != HERE / "night":
        return None  # others decide
    named = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    return not any(collection_path in (item, *item.parents) for item in named) or None


def pytest_collection_modifyitems(items):
    """Have the modules in their order, and in each bring tests of one scenario together."""
    mine = [item for item in items if item.nodeid.startswith("tests/lab/")]
    scenarios = {}

    def place(item):
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        scenario = (item.path.stem, parameters.get("scenario", scenario_of(item.module)))
        return ORDER.index(item.path.stem), scenarios.setdefault(scenario, len(scenarios))

    items[:] = [item for item in items if item not in set(mine)] + sorted(mine, key=place)


def scenario_of(module):
    """The scenario of a module's tests: its own, else of the server that starts soonest."""
    return getattr(module, "SCENARIO", "v6-dnsmasq-file")


BUILDING = []
"""The build of the generator that is under way."""


@pytest.fixture(scope="session")
def generator_under_way():
    """Have the generator built, which takes a minute or two, while tests run without it.

    Where that fails, as without a lab, the first deployment builds it.
    """
    BUILDING.append(begin_playbook("generator"))
    yield
    built()


def built():
    """Wait for the build of the generator if one is under way."""
    while BUILDING:
        BUILDING.pop().wait(600)


@pytest.fixture(scope="session")
def bench_of():
    """Have the local lab up and deployed for a scenario; return its bench document.

    What still stands as this fixture left it is not played again, and neither is it asked
    of `leaselab` after each fault: tests put back what they break.
    """
    documents, kept = {}, {}

    def deploy(scenario):
        inventory = read_inventory(LOCAL)
        if scenario not in documents or not _stands(inventory, kept):
            document = played(inventory, scenario)
            record = read_deployment(ROOT, inventory.bench)
            there = {placed.server.variant for placed in record.benches.values()}
            for name in documents.keys() - there:
                del documents[name]
            documents[scenario] = document
            kept.update(states=host_states(inventory))
        hold_back_servers(held=any(word in scenario for word in ("memfile", "recursive")))
        return documents[scenario]

    def played(inventory, scenario):
        built()
        hold_back_servers(held=False)  # deploying takes all there is
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LEASELAB_ROOT", str(ROOT))
            catalogue = Catalogue(ROOT)
            chosen = catalogue.find(scenario)
            procedure = catalogue.procedure_of(chosen, SMALL)
            with leased(inventory, "the tests") as bench:
                prepare(bench, full=False)
                [deployed] = variants.deploy(chosen, bench, procedure, full=False)
        return deployed.document()

    return deploy


@pytest.fixture(scope="module")
def prepared():
    """The local lab, up and provisioned, for tests that deploy what they need themselves."""
    built()
    hold_back_servers(held=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASELAB_ROOT", str(ROOT))
        with leased(read_inventory(LOCAL), "the tests") as bench:
            prepare(bench, full=False)


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Commits to build."""
    return Source(tmp_path_factory.mktemp("source"))


def _stands(inventory, kept):
    try:
        return host_states(inventory) == kept["states"]
    except LeaselabError:
        return False


@pytest.fixture
def scenario(request):
    """What the lab is deployed for; modules and parameters say otherwise."""
    return scenario_of(request.module)


@pytest.fixture
def deployed(bench_of, scenario):
    """The local lab, up and deployed; its bench document."""
    return bench_of(scenario)


@pytest.fixture
def bench_file(deployed, tmp_path):
    """Write the bench document, with other parameters of its procedure where they are named."""

    def write(change=lambda document: document, **parameters):
        document = json.loads(json.dumps(deployed))
        document["procedure"].update(parameters)
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
    for item in started:
        item.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            item.process.wait(HANGS_S)
        item.process.kill()
        item.process.wait(HANGS_S)


@pytest.fixture
def on_host():
    """Run a shell command on the host of a role; return what it prints."""
    groups = {
        "server": SERVER_GROUP,
        "partner": PARTNER_GROUP,
        "generator": GENERATOR_GROUP,
    }

    def run(role, command):
        with connect(read_inventory(LOCAL).only(groups[role]).access) as host:
            done = host.run(["sh", "-c", command], timeout_s=HANGS_S)
        assert done.status == 0, done.stderr
        return done.stdout.decode()

    return run
