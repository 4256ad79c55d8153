"""Metrics as Prometheus itself takes them, and the dashboard's questions to it."""

import json
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from datetime import timedelta
from pathlib import Path

import pytest
from tests.examples import START, archive_result, example_result
from tests.hostile import hostile_archive
from tests.tools import unpacked

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
    """A history of ten results, hostile ones among them."""
    root = tmp_path_factory.mktemp("results")
    hostile_archive(root)
    for day in range(6):
        archive_result(root, example_result(started=START + timedelta(days=5 + day)))
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

    try:
        for _ in range(100):
            try:
                get("-/ready")
                break
            except OSError:
                assert server.poll() is None, "prometheus ended"
                time.sleep(0.1)
        yield query
    finally:
        server.terminate()
        server.wait(20)


def test_a_backfilled_history_is_answered_with_the_figures_of_the_results(ask, rows):
    found = ask('last_over_time(leaselab_max_rate{scenario="v4-memfile",environment="1"}[1d])')
    values = [float(value) for line in found for _, value in line["values"]]
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


@pytest.mark.parametrize(("title", "expression"), panels())
def test_every_panel_of_the_dashboard_asks_what_prometheus_can_answer(ask, title, expression):
    for word, value in SCRAPED_WORDS.items():
        expression = expression.replace(word, value)
    found = ask(expression)
    assert found, title
    assert all(line["values"] for line in found)
