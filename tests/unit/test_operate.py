"""Operations under a load: what a round comes to, and when it does not count."""

import csv
import io
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace
from tests.examples import trial_of
from tests.formula import archived
from tests.refusals import refused
from tests.unit.test_stalls import base, load_of, stalled

from leaselab.leases.history import Kind, Recorder
from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.procedures import method_of
from leaselab.model.errors import Outcome
from leaselab.model.observation import Operated, OperationKind
from leaselab.model.procedures import procedure_of
from leaselab.model.trial import Sample
from leaselab.report.export.markdown import markdown
from leaselab.report.site.operations_chart import operation_chart, operation_note
from leaselab.report.text import print_result

PLAN = procedure_of(
    {"name": "operate", "operations": ["reload", "pause-1s"], "every_s": 7, "rate": 1000}
)
BEGAN = 1_800_000_000.0
"""When the load began, by the engine's clock."""
AHEAD_S = 40.0
"""The server's clock before that."""


def sample(at_s, mib):
    t = BEGAN + AHEAD_S + at_s
    return Sample(t=t, cpu_s=1.0, rss_bytes=mib << 20, udp_drops=0, held=0, counters={})


class Server:
    """A server that is operated at set times; `broken` operations have no effect."""

    def __init__(self, at=(6.0, 13.0), broken=(), holds=None, prepared_s=0.0):
        self.at, self.broken, self.asked = iter(at), broken, []
        self.prepared_s = prepared_s
        self.holds = {} if holds is None else {"server": holds}

    def listing(self):
        return self.holds

    def operations(self):
        return {name: OperationKind("", "") for name in ("pause-1s", "reload")}

    @contextmanager
    def operating(self):
        yield self.operate

    def operate(self, name):
        self.asked.append(name)
        begun = BEGAN + AHEAD_S + next(self.at)
        why = "the old zone is answered" if name in self.broken else ""
        effect = None if why else begun + 0.25
        asked = begun - self.prepared_s
        return Operated(name, asked, begun, effect, begun + 0.5, why, AHEAD_S)


def round_of(server, delays=base, plan=PLAN, reasons=("",), history=None):
    """What a round comes to, with the trial; its trials do not count for `reasons`."""
    made, waited = [], []

    def ask(load, *, may_abort, during):
        assert (load.rate, load.duration_s, may_abort) == (1000, 19, False)
        during.happen(waited.append)
        samples = [sample(at_s, mib) for at_s, mib in ((2, 900), (7, 300), (8, 500), (15, 200))]
        reading = SimpleNamespace(binned=load_of(delays), history=history)
        fields = during.fields(reading, BEGAN, samples)
        if reason := reasons[len(made)]:
            fields = {**fields, "valid": False, "reason": reason}
        made.append(replace(trial_of(1000, 19), **fields))
        return made[-1]

    outcome = method_of(plan).measure(ask, server, [])
    assert waited == [5, 12] * len(made)
    return outcome, made[-1]


def both(due):
    """A stall of 0.5 s by the first operation, and one of 1 s that is served slowly after."""
    return stalled(6.0, 0.5)(due) + stalled(13.0, 1.0, 0.5)(due) - base(due)


def test_a_round_has_the_figures_of_each_operation_and_the_worst_of_all():
    server = Server()
    outcome, trial = round_of(server, both)
    assert server.asked == ["reload", "pause-1s"]
    figures = outcome.metrics
    for name, value in {
        "step_1_stall_s": 0.5,
        "step_2_stall_s": 1.0,
        "stall_s": 1.0,
        "step_1_recovered_s": 0.5,
        "step_2_recovered_s": 2.0,
        "recovered_s": 2.0,
        "effect_s": 0.25,
        "step_1_memory_mib": 500,
        "step_2_memory_mib": 200,
        "lost": 0,
        "late": 0,
    }.items():
        assert figures[name] == pytest.approx(value, abs=0.05), name
    assert 0 < figures["usual_gap_s"] < 0.005
    known = {kind.name for kind in PLAN.metrics("queries") if not kind.seldom}
    assert set(figures) == known
    first, second = trial.operations
    assert (first.name, second.name) == ("reload", "pause-1s")
    assert (first.at_s, second.at_s) == pytest.approx((6.0, 13.0))


def test_a_stall_by_what_prepares_an_operation_is_of_none():
    outcome, trial = round_of(Server(prepared_s=2.5), stalled(11.0, 1.0))
    figures = outcome.metrics
    assert max(figures["stall_s"], figures["usual_gap_s"]) < 0.01
    assert [operation.at_s for operation in trial.operations] == pytest.approx([6.0, 13.0])


@pytest.mark.parametrize(("clients", "count"), [("ab", 1), ("aa", 0)])
def test_a_round_says_what_was_broken_of_leases_where_clients_say_what_they_saw(clients, count):
    recorder = Recorder()
    for place, client in enumerate(clients):
        recorder.add(Kind.GRANTED, client, "10.0.0.1", place, place + 1, valid_s=3600)
    outcome, trial = round_of(Server(), history=recorder.history())
    assert outcome.metrics["violations"] == count
    assert [each.rule for each in trial.violations] == ["twice"] * count


@pytest.mark.parametrize(("holds", "count"), [({}, 1), ({"10.0.0.1": "a"}, 0), (None, 0)])
def test_a_lease_that_the_server_does_not_hold_in_the_end_is_forgotten(holds, count):
    recorder = Recorder()
    recorder.add(Kind.GRANTED, "a", "10.0.0.1", 0, 1, valid_s=3600)
    _, trial = round_of(Server(holds=holds), history=recorder.history())
    assert [each.rule for each in trial.violations] == ["forgotten"] * count


def test_the_picture_has_the_seconds_around_each_operation_in_hundredths():
    _, trial = round_of(Server(), both)
    around = trial.operations[0].around
    assert (around.from_s, around.step_s) == pytest.approx((-1.0, 0.01))
    answered = np.array(around.answered)
    assert answered[:99].min() >= 5  # 10 are due in each
    assert answered[101:149].sum() == 0
    assert answered[149:152].max() > 400  # all that waited
    assert len(around.latency_s) == answered.size
    assert max(filter(None, around.latency_s)) == pytest.approx(0.5, abs=0.02)
    assert answered.size == pytest.approx(100 * (1 + 0.5 + 2), abs=10)


@pytest.mark.parametrize(
    ("server", "delays", "why"),
    [
        (Server(broken=("reload",)), base, "reload: the old zone is answered"),
        (
            Server(),
            lambda due: np.where(due > 13.5, 1e4, base(due)),
            "pause-1s: the load was no",
        ),
        (Server((0.5, 13.0)), base, "reload began 0.5 s after the load"),
    ],
)
def test_an_operation_that_comes_to_nothing_ends_the_measurement(server, delays, why):
    with refused(f"found .*no-figure: {why}", Outcome.INVALID):
        round_of(server, delays)


def test_an_operation_that_the_server_does_not_have_is_refused_before_the_load():
    with refused("relaod.*reload"):
        round_of(Server(), plan=replace(PLAN, operations=("relaod",)))


def test_a_round_that_the_generator_spoiled_is_made_again():
    server = Server((6.0, 13.0, 6.1, 13.1))
    outcome, _ = round_of(server, reasons=(GENERATOR_STALLED, ""))
    assert (len(server.asked), outcome.shown_trial) == (4, 1)


# --- what is shown -------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    asked = {"operations": ["reload", "pause-1s"], "rate": 1000, "rounds": 2}
    return archived(tmp_path_factory.mktemp("results"), 1, name="operate", **asked)


def test_a_result_is_the_longest_stall_and_has_each_operation_in_a_table(record):
    assert record.figure.name == "stall_s"
    assert record.figure.value == pytest.approx(1.0, abs=0.01)
    stream = io.StringIO()
    print_result(record, Path("there"), stream)
    heading, *rows = stream.getvalue().split("\nOperations\n")[1].splitlines()[:3]
    assert heading.startswith("operation  ")
    assert "stall s  recovery s  effect ms  late  lost" in heading
    assert len(heading) <= 80
    shown = [" ".join(row.split()[:4]) for row in rows]
    assert shown == ["1 reload 0.251 0.250", "2 pause-1s 1.00 1.00"]
    assert "| 1 reload | 0.251 | 0.250 | 100.0 |" in markdown([record])


def test_the_picture_shows_answers_and_latency_around_an_operation(record):
    (shown,) = {round_.shown.operations[1] for round_ in record.rounds[:1]}
    chart = operation_chart(shown, "queries")
    answers, latency = (_points(layers) for layers in chart["vconcat"])
    assert (answers[-0.5], answers[0.5]) == (1000, 0)
    assert max(latency.values()) == pytest.approx(1000, abs=10)
    assert "took effect" in operation_note(shown)
    known = len(shown.around.latency_s) - 50
    cut = replace(shown.around, latency_s=(*[None] * 50, *shown.around.latency_s[-known:]))
    _, latency = operation_chart(replace(shown, around=cut), "queries")["vconcat"]
    first, *_, last = _points(latency).values()
    assert (np.isnan(first), np.isnan(last)) == (True, False), "where nothing was answered"
    silent = replace(shown.around, answered=(0, 0), latency_s=(None, None))
    assert operation_chart(replace(shown, around=silent), "queries") is None


def _points(panel):
    """Values of the panel of a chart by their times."""
    rows = csv.DictReader(panel["layer"][0]["data"]["values"].splitlines())
    return {float(row["s"]): float(row["v"]) for row in rows}
