"""What a DNS server's results are shown in: the words of its own protocol, everywhere."""

import io
import re
from datetime import UTC, datetime

import pytest
from rich.console import Console
from tests.examples import MAX_RATES, archive_result, edited, example_result
from tests.formula import (
    SCENARIO,
    STAGE,
    Flood,
    Zones,
    archived,
    formula_bench,
    formula_point,
    formula_trials,
)

from leaselab.analysis.comparison.verdict import compare
from leaselab.archive.published import published_bench
from leaselab.archive.store import Store
from leaselab.cli import main as cli
from leaselab.cli.progress import LiveProgress, PlainProgress
from leaselab.model.errors import LeaselabError
from leaselab.model.journal import Begun, TrialBegun, TrialEnded, entry_of
from leaselab.model.record import Provenance
from leaselab.model.trial import Load
from leaselab.report.live import LiveView, trial_words
from leaselab.report.site.seconds_chart import seconds_chart
from leaselab.report.site.site import write_site
from leaselab.report.text import print_result
from leaselab.report.verdict.table import print_comparison

FOREIGN = re.compile(
    r"\b(exchanges?|dhcp\w*|leases?|clients?|offers?|pools?|kea\w*|perfdhcp|addresses)\b", re.I
)
"""Words of another protocol, as people write them: `offered load` is none."""
PROCEDURES = {
    "max-rate": {"rounds": 2, "start_rate": 20_000, "confirm_s": 5},
    "fixed-load": {"rate": 60_000, "duration_s": 6, "trial_s": 3, "rounds": 2},
    "ramp": {"rates": [5000, 20_000, 60_000], "step_s": 6, "rounds": 2},
    "replay": {"arrivals": [40_000, 80_000, 30_000], "speed": 60, "rounds": 1},
}
HOT = {"reset": "at-start", "warm_up_s": 2, "warm_up_rate": 12_000}


def foreign(text):
    """Words that a text about a DNS server has no use for, with what stands around them."""
    text = re.sub(r"<script[\s\S]*?</script>|<style[\s\S]*?</style>", "", text)
    return [
        text[max(0, item.start() - 40) : item.end() + 20] for item in FOREIGN.finditer(text)
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    made = {
        name: archived(root, number, name=name, **given)
        for number, (name, given) in enumerate(PROCEDURES.items(), start=1)
    }
    made["slow"] = archived(root, 6, 0.8 * Flood.per_s, **PROCEDURES["max-rate"], **HOT)
    return root, made


@pytest.mark.parametrize("name", [*PROCEDURES, "slow"])
def test_a_result_on_a_terminal(results, name, capsys):
    shown = "\n".join(shown_of(results, name, capsys))
    assert STAGE in shown
    assert "queries" in shown
    assert foreign(shown) == []


def shown_of(results, name, capsys):
    return printed(Store(results[0]), results[1][name], capsys)


def printed(store, record, capsys):
    print_result(record, store.place(record.id), whole=True)
    return capsys.readouterr().out.splitlines()


def test_each_step_of_a_ramp_has_a_line_of_its_own(results, capsys):
    lines = shown_of(results, "ramp", capsys)
    first = lines.index("Steps")
    assert [line.split()[:3] for line in lines[first + 2 : first + 5]] == [
        ["1", "(5000/s)", "5000"],
        ["2", "(20000/s)", "20000"],
        ["3", "(60000/s)", "49950"],
    ]
    assert "Latency in the last step (ms, median of the runs)" in lines
    assert any("answered otherwise: " in line and "REFUSED" in line for line in lines)


def test_each_minute_of_a_replay_is_shown_the_worst_first(results, capsys):
    """Of minutes that lose equally they keep their order."""
    lines = shown_of(results, "replay", capsys)
    first = lines.index("Worst minutes")
    assert [line.split()[1:4] for line in lines[first + 2 : first + 5]] == [
        ["2", "80000", "50112"],
        ["1", "40000", "40000"],
        ["3", "30000", "30000"],
    ]


def test_each_kind_of_transactions_is_shown(tmp_path, capsys):
    """On the terminal of the trial shown, in the live line and on the page of every trial."""

    def mix(document):
        for round_ in document["rounds"]:
            for trial in round_["trials"]:
                updates, lost = trial["attempted"] // 10, trial["lost"]
                queries = trial["attempted"] - updates
                none = {"late": 0, "p50_s": None, "p99_s": 0.002}
                served = max(0, updates - lost)
                trial["kinds"] = {
                    "query": {"attempted": queries, "completed": queries, **none},
                    "update": {"attempted": updates, "completed": served, **none},
                }
                # A stage that nothing was in, as of updates alone.
                trial["latency_s"] = {STAGE: None, **trial["latency_s"]}

    record = archive_result(tmp_path, edited(example_result(MAX_RATES[:2]), mix))
    lines = printed(Store(tmp_path), record, capsys)
    first = lines.index("Kinds of exchanges at the lower bound")
    shown = record.rounds[0].shown
    counts = [
        [f"{part.attempted}", f"{part.completed}", "0", f"{part.failed}"]
        for part in shown.kinds.values()
    ]
    loss = f"{100 * shown.loss_ratio:.2f}"
    assert [line.split() for line in lines[first + 2 : first + 4]] == [
        ["1", "queries", *counts[0], "0.00", "2.00"],
        ["1", "updates", *counts[1], loss, "2.00"],
    ]
    said = f"queries 0.00 % of {counts[0][0]}, updates {loss} % of {counts[1][0]} (decides)"
    assert f"loss {loss} %, {said}, " in trial_words(shown, record.procedure)
    write_site(Store(tmp_path), tmp_path / "report")
    (page,) = (path.read_text() for path in tmp_path.rglob(f"{record.id}.html"))
    assert '<th scope="col">loss of each kind</th>' in page
    assert f'<td data-label="loss of each kind">{said}</td>' in page


def test_all_pages_of_an_archive(results, tmp_path):
    root, made = results
    write_site(Store(root), tmp_path)
    pages = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    assert len(pages) >= len(made) + 3
    assert foreign("100 exchanges/s offered to a client"), "they would be seen"
    assert {name: result for name, page in pages.items() if (result := foreign(page))} == {}
    ramp = pages[f"{made['ramp'].id}.html"]
    assert "<caption>Steps</caption>" in ramp
    assert '<th scope="row">3 (60000/s)</th><td class="figure">49950' in ramp
    assert "Latency in the last step (ms" in ramp
    assert "Latency at the lower bound (ms" in pages[f"{made['max-rate'].id}.html"]
    assert "answered otherwise" in ramp
    assert "bracket" not in ramp.lower()
    replay = pages[f"{made['replay'].id}.html"]
    assert '<th scope="row" class="figure">2</th><td class="figure">80000</td>' in replay


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_sweep_while_it_runs(name):
    """Its lines in a pipe, its table on a terminal, and who follows it."""
    bench, zones, stream = formula_bench(name=name, **PROCEDURES[name]), Zones(), io.StringIO()
    formula_point(bench, zones, PlainProgress(bench, stream))
    view, shown = LiveView(SCENARIO["name"]), []
    provenance = Provenance(leaselab_version="1")
    begun = Begun(bench=published_bench(bench), started_at="", provenance=provenance)
    view.journaled(begun)
    now = datetime.now(UTC)
    for event, data in zones.events:
        if event == "trial":
            trial = data["trial"]
            load = Load(trial["rate"], trial["duration_s"])
            view.happened(trial["started_at"], TrialBegun(load=load))
            shown += [*view.facts(now).values(), *view.series()]
            view.happened(trial["started_at"], TrialEnded(rate=load.rate))
        view.journaled(entry_of(event, data))
        shown += [*view.facts(now).values(), *view.series()]
    chart = seconds_chart(view.round(), plural=view.plural, holds=view.holds, loss_goal=None)
    assert chart is None or foreign(str(chart)) == []
    assert foreign(stream.getvalue() + "\n".join(map(str, shown))) == []
    assert ("offered (1/s)" in shown) is (name == "ramp")
    live, terminal = LiveProgress(bench), Console(file=io.StringIO(), width=120)
    live(TrialBegun(load=load))
    terminal.print(live)
    drawn = terminal.file.getvalue()
    assert load.words in drawn
    assert foreign(drawn) == []


def test_a_verdict_and_what_stands_in_its_way(results, capsys):
    _, made = results
    for other in ("slow", "ramp"):
        print_comparison(compare(made["max-rate"], made[other]))
        assert foreign(capsys.readouterr().out) == []


EXPORTS = ("--csv -", "--csv - --level trials", "--openmetrics -", "--markdown -")


@pytest.mark.parametrize(
    "command", ["list", "list --table", *(f"export {words}" for words in EXPORTS)]
)
def test_lists_tables_and_exports(results, command, capsys):
    root, _ = results
    cli.main([*command.split(), "--results", str(root)])
    shown = capsys.readouterr().out
    assert "zones" in shown
    assert foreign(shown) == []


def test_what_gives_its_clients_nothing_carries_none_of_them(results, capsys):
    root, _ = results
    asked = ["capacity", "--clients", "1000", "--lease-s", "3600", "--results", str(root)]
    assert cli.main(asked) == 0
    assert "zones-10k" not in capsys.readouterr().out


def test_errors_of_the_bench(monkeypatch):
    bench, zones = formula_bench(name="max-rate"), Zones()
    trials = formula_trials(bench, zones)
    with pytest.raises(LeaselabError, match="foreign traffic on the test network") as caught:
        trials.refuse_foreign("an answer from 192.0.2.1")
    assert foreign(str(caught.value)) == []
    monkeypatch.setattr(trials.generator, "answers", lambda: False)
    with pytest.raises(LeaselabError, match="completes no DNS query") as caught:
        trials.start_server()
    assert foreign(str(caught.value)) == []


@pytest.mark.parametrize(
    ("zones", "given", "match"),
    [
        (Zones(capacity=2.0), {}, "fails at the lowest rate"),
        (Zones(capacity=9e9), {}, "passes at the highest rate allowed"),
    ],
)
def test_errors_of_a_search(zones, given, match):
    error = formula_point(formula_bench(rounds=1, **given), zones).error
    assert re.search(match, str(error))
    assert foreign(str(error)) == []
