"""How the suite runs: property tests, its parts, and the table of what it cost."""

import copy
import gc
import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import settings
from markupsafe import Markup, escape
from tests import costs
from tests.tools import TOOLS

from leaselab.archive import index
from leaselab.catalog import family
from leaselab.lab.hosts import inventory
from leaselab.report.site import figure

# No deadline for one example: the machine may be busy measuring.  CI tries the same
# examples each time, so that a commit passes or fails by what it changes; on a desk they
# differ each time, which is how new ones are found.
settings.register_profile("desk", deadline=None, print_blob=True, max_examples=50)
NIGHT = "night"
settings.register_profile(NIGHT, settings.get_profile("desk"), max_examples=500)
settings.register_profile("ci", settings.get_profile("desk"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "desk")

os.environ["TERM"] = "xterm"  # terminals of tests know control codes, wherever they run
PARTS = ("quick", "parallel", "lab")
OF_PROGRAMS = {"versions", "load", "hosts", "power", "browser", "pipeline"}
"""Folders whose tests run servers, hosts, a browser or Jenkins' language."""
MOST_KEPT_BYTES = 1 << 20
AFTER_EXAMPLES = "2027-12-31T00:00:00.000Z"
TESTS = Path(__file__).parent
INVENTORIES = TESTS.parent / "inventory"


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=PARTS,
        help="only the tests of this part: parallel ones may run side by side, quick ones are "
        "those of them that run no server, host or browser, and those of the lab measure, one "
        "after the other",
    )


@pytest.fixture(scope="session", autouse=True)
def archive_in_the_past():
    """The dates of examples are fixed: none is in the future on the day of the test.

    An archive that holds some lists them apart.
    """
    soon = index._soon
    index._soon = lambda: max(soon(), AFTER_EXAMPLES)
    yield
    index._soon = soon


@pytest.fixture(scope="session", autouse=True)
def each_chart_once():
    """Draw equal charts once: many pages show the same results, and drawing is slow.

    The browser's script, which takes seconds, is made once for all processes.
    """
    drawn, draw, bundle = {}, figure.svg, figure.vl_convert.javascript_bundle

    def svg(spec):
        key = json.dumps(spec, sort_keys=True)
        if key not in drawn:
            drawn[key] = draw(spec)
        return drawn[key]

    def bundled(snippet):
        TOOLS.mkdir(parents=True, exist_ok=True)
        version = hashlib.sha256(f"{figure.script_version()} {snippet}".encode()).hexdigest()
        kept = TOOLS / f"vega-{version[:16]}.js"
        if not kept.exists():
            draft = kept.with_suffix(f".{os.getpid()}")
            draft.write_text(bundle(snippet), "utf-8")
            draft.replace(kept)
        return kept.read_text("utf-8")

    figure.svg, figure.vl_convert.javascript_bundle = svg, bundled
    yield
    figure.svg, figure.vl_convert.javascript_bundle = draw, bundle


@pytest.fixture
def undrawn(monkeypatch):
    """Have pages with the words of their charts, whose drawing takes half of the time."""
    box = Markup('<svg class="marks" role="img" aria-label="{}" viewBox="0 0 9 9"></svg>')
    monkeypatch.setattr(figure, "svg", lambda spec: box.format(escape(spec["description"])))


@pytest.fixture(scope="session", autouse=True)
def each_inventory_once():
    """Ask Ansible once about an inventory of the project: it takes seconds; none changes.

    Commands that the lab's tests start ask themselves, as users' do.
    """
    answers, ask = {}, inventory.ask_ansible

    def asked(path):
        if not path.is_relative_to(INVENTORIES):
            return ask(path)
        settings = [item for item in os.environ.items() if item[0].startswith("ANSIBLE_")]
        key = (path, *sorted(settings))
        if key not in answers:
            answers[key] = ask(path)
        return copy.deepcopy(answers[key])

    inventory.ask_ansible = asked
    yield
    inventory.ask_ansible = ask


@pytest.fixture(scope="session", autouse=True)
def each_catalogue_once():
    """Read equal scenarios once: checkouts of tests have copies, and reading takes long."""
    known, read = {}, family._families

    def families(folder, stamps):
        if not all(path.is_file() and size < MOST_KEPT_BYTES for path, _, size in stamps):
            return read(folder, stamps)
        key = tuple((path.relative_to(folder), path.read_bytes()) for path, _, _ in stamps)
        if key not in known:
            known[key] = read(folder, stamps)
        return known[key]

    family._families = families
    yield
    family._families = read


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk(request):
    """Have `os.fsync` check its handle and not wait: an archive of a test makes thousands.

    Whether a sealed result outlives a crash is proven by where the calls stand
    (tests/unit/test_store.py); the lab's part archives on the disk as users do.
    """
    if request.config.getoption("--part") == "lab":
        yield
        return
    real = os.fsync
    os.fsync = lambda file: os.fstat(file if isinstance(file, int) else file.fileno())
    yield
    os.fsync = real


def pytest_sessionstart():
    """Have no garbage sought among what collecting makes: all of it stays.

    That is a quarter of the time of a collection, which each process of a run makes.
    """
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    part, night = config.getoption("--part"), config.getoption("--hypothesis-profile") == NIGHT
    meant = [item for item in items if _is_of(item, part, night=night)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(meant)])
    items[:] = meant


def _is_of(item, part, *, night):
    if item.get_closest_marker("night") is not None and not night:
        return False
    if part is None:
        return True
    if item.get_closest_marker("lab") is not None:
        return part == "lab"
    of_programs = item.path.relative_to(TESTS).parts[0] in OF_PROGRAMS
    return part == "parallel" or (part == "quick" and not of_programs)


class Costs:
    """Adds up what each test cost; the tests may run in other processes."""

    def __init__(self):
        self.seconds = {}

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_terminal_summary(self, terminalreporter):
        if len(self.seconds) > costs.SLOWEST:
            terminalreporter.section("what it cost")
            for line in costs.table(self.seconds):
                terminalreporter.write_line(line)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # the process that hears of every test
        config.pluginmanager.register(Costs())
