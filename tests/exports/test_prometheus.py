"""Metrics as Prometheus itself takes them, and the dashboard's questions to it."""

import contextlib
import enum
import json
import socket
import subprocess
import typing
import urllib.parse
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest
from tests.examples import START, archive_result, example_result
from tests.hostile import hostile_archive
from tests.past import past
from tests.tools import unpacked
from tests.waiting import HANGS_S, until

from leaselab.archive.store import Store
from leaselab.report.export.openmetrics import openmetrics

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "leaselab.json"
SCRAPED_WORDS = {
    "$scenario": ".*",
    "$bench": ".*",
    "$__interval": "1d",
    "$__range": "30d",
}


@pytest.fixture(scope="module")
def programs():
    """The folder of prometheus and promtool."""
    return unpacked("prometheus") / "usr" / "bin"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A history of results, hostile ones and two builds with an anchor among them."""
    root = tmp_path_factory.mktemp("results")
    hostile_archive(root)
    for day in range(6):
        archive_result(root, example_result(started=START + timedelta(days=5 + day)))
    past(root, (1.0, 0.9), scenario="v4-hooks-none")
    return Store(root).index.every()


@pytest.mark.parametrize("history", [True, False])
def test_promtool_finds_nothing_to_complain_of(programs, rows, history):
    done = subprocess.run(
        [programs / "promtool", "check", "metrics"],
        input=openmetrics(rows, history=history),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def ask(programs, rows, tmp_path_factory):
    """A real Prometheus with the history backfilled; asks it a query over the whole of it."""
    folder = tmp_path_factory.mktemp("prometheus")
    metrics = folder / "history.om"
    metrics.write_bytes(openmetrics(rows, history=True))
    create = ["tsdb", "create-blocks-from", "openmetrics", metrics, folder / "data"]
    subprocess.run([programs / "promtool", *create], check=True, capture_output=True)
    (folder / "prometheus.yml").write_text("scrape_configs: []\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen(
        [
            programs / "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def get(path, **words):
        query = urllib.parse.urlencode(words)
        with urllib.request.urlopen(f"http://{address}/{path}?{query}") as answer:  # our own
            return json.loads(answer.read() or "null") if "api" in path else None

    def query(text):
        end = START + timedelta(days=12)
        return get(
            "api/v1/query_range",
            query=text,
            start=START.timestamp() - 86400,
            end=end.timestamp(),
            step=86400,
        )["data"]["result"]

    def is_ready():
        assert server.poll() is None, "prometheus ended"
        with contextlib.suppress(OSError):
            get("-/ready")
            return True

    try:
        until(is_ready, bool)
        yield query
    finally:
        server.terminate()
        server.wait(HANGS_S)


def test_a_backfilled_history_is_answered_with_the_figures_of_the_results(ask, rows):
    answer = ask('last_over_time(leaselab_max_rate{scenario="v4-memfile",environment="1"}[1d])')
    values = [float(value) for line in answer for _, value in line["values"]]
    known = [
        row["value"]
        for row in rows
        if row["scenario"] == "v4-memfile" and row["environment"] == "1"
    ]
    assert values == pytest.approx(known)


def panels():
    """Each panel's title and question."""
    document = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [
        (f"{panel['title']} {target['refId']}", target["expr"])
        for panel in document["panels"]
        for target in panel["targets"]
    ]


def lost(asked, taken, where=""):
    """Where a document has what another one lacks or says otherwise."""
    if isinstance(asked, dict) and isinstance(taken, dict):
        for key, value in asked.items():
            if key not in taken:
                yield f"{where}.{key}"
            else:
                yield from lost(value, taken[key], f"{where}.{key}")
    elif isinstance(asked, list) and isinstance(taken, list):
        for place, both in enumerate(zip(asked, taken, strict=True)):
            yield from lost(*both, f"{where}[{place}]")
    elif asked != taken:
        yield f"{where}: {asked!r}, {taken!r}"


def unknown_words(model, where=""):
    """Values of a model of Grafana's that are not among those its type has."""
    if isinstance(model, list | dict):
        members = model.items() if isinstance(model, dict) else enumerate(model)
        for key, value in members:
            yield from unknown_words(value, f"{where}[{key}]")
    if not hasattr(model, "to_json"):
        return
    hints = typing.get_type_hints(type(model).__init__)
    for name, value in vars(model).items():
        hint = hints.get(name)
        kinds = [
            argument
            for argument in (hint, *typing.get_args(hint))
            if isinstance(argument, type)
        ]
        words = [kind for kind in kinds if issubclass(kind, enum.Enum)]
        if value is not None and words and value not in [word.value for word in words[0]]:
            yield f"{where}.{name}: {value}"
        yield from unknown_words(value, f"{where}.{name}")


def in_grafana(document):
    """A dashboard as Grafana's own model takes it: the model, and what it makes of it."""
    # 0.4 s in each process of the suite
    from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: PLC0415
    from grafana_foundation_sdk.cog.plugins import register_default_plugins  # noqa: PLC0415
    from grafana_foundation_sdk.models.dashboard import Dashboard  # noqa: PLC0415

    register_default_plugins()
    model = Dashboard.from_json(document)
    return model, json.loads(json.dumps(model, cls=JSONEncoder))


def test_the_dashboard_has_nothing_that_the_model_of_grafana_does_not_know():
    document = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    model, taken = in_grafana(document)
    assert list(lost(document, taken)) == []
    assert list(unknown_words(model)) == []


@pytest.mark.parametrize(
    ("part", "key", "value"), [("options", "legendary", 1), ("gridPos", "width", 24)]
)
def test_a_dashboard_with_a_mistake_in_it_is_found_out(part, key, value):
    document = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    document["panels"][1][part][key] = value
    _, taken = in_grafana(document)
    assert list(lost(document, taken)) == [f".panels[1].{part}.{key}"]


@pytest.mark.parametrize(("title", "expression"), panels())
def test_every_panel_of_the_dashboard_asks_what_prometheus_can_answer(ask, title, expression):
    for word, value in SCRAPED_WORDS.items():
        expression = expression.replace(word, value)
    answer = ask(expression)
    assert answer, title
    assert all(line["values"] for line in answer)
