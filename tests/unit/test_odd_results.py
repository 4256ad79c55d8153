"""Valid results that are rare: each procedure, however it ended, through all that shows it."""

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.examples import START, archive_result, built, example_result

from leaselab.analysis.figures.summary import metrics_of
from leaselab.cli.main import main
from leaselab.measure.search_error import SearchReason
from leaselab.model.errors import Outcome
from leaselab.model.procedures import PROCEDURES, procedure_of
from leaselab.model.procedures.duel import DUEL
from leaselab.model.procedures.max_rate import MAX_RATE
from leaselab.model.record import Experiment
from leaselab.report.site.validity import NO_FIGURE, NOT_COUNTED

LOADS = {"replay": {"arrivals": (6000, 0, 9000)}, "profile": {"rate": 4000}}
FIGURES = (
    *((6000.0, 6100.0, 5900.0), (6000.0,) * 3),
    *((6000.0,), (5000.0,)),
    *((0.0,) * 3, (0.0,)),
    *((1e-9, 2e-9, 3e-9), (1e14, 2e14, 3e14)),
    *((1e-9, 1.0, 1e12), (6000.0, None, 5900.0)),
    *((None,) * 3, ()),
)
"""Values of each metric in the rounds of a result; two of them are an experiment."""
WORDS = {
    **dict.fromkeys(NOT_COUNTED, Outcome.INVALID),
    **dict.fromkeys(NO_FIGURE, Outcome.INVALID),
    **{reason.value: Outcome.INVALID for reason in SearchReason},
    "build-failed": Outcome.BUILD,
    "regression": Outcome.REGRESSION,
}
READERS = (
    ["report", "-o", "SITE", "--sweeps", "99"],
    ["list"],
    ["list", "--table"],
    ["list", "--json"],
    *(["export", "--csv", "-", "--level", level] for level in ("results", "runs", "trials")),
    ["export", "--openmetrics", "-", "--history"],
    ["export", "--junit", "-"],
    ["export", "--markdown", "-"],
    ["review"],
    ["capacity", "--clients", "1000", "--lease-s", "3600"],
)
NO_NUMBER = re.compile(r"\b(nan|infinity|undefined)\b|[-,(\" ]inf\b", re.I)


def result(name, values, number, word=""):
    """A result whose rounds have these values; for a word it has no figure."""
    planned = {} if name == DUEL else {"rounds": max(1, len(values)), "trim": 0}
    plan = procedure_of({"name": name, **planned, **LOADS.get(name, {})}).at_max_rate(6000.0)
    kinds = plan.metrics("exchanges")
    made = example_result(
        [6000.0] * len(values),
        scenario=f"v4-{name}",
        started=START + timedelta(minutes=number),
        outcome=WORDS.get(word, Outcome.OK).label,
        reasons=[{"word": word, "text": f"{word} it was"}] if word else (),
    )
    rounds = [
        replace(
            round_,
            metrics=dict.fromkeys((kind.name for kind in kinds), value),
            bracket=round_.bracket if value and name == MAX_RATE else None,
            trials=tuple(_trial(trial, value, word) for trial in round_.trials),
        )
        for round_, value in zip(made.rounds, values, strict=True)
    ]
    metrics = metrics_of(kinds, rounds, plan)
    made = replace(made, procedure=plan, rounds=tuple(rounds), metrics=metrics, at_least=None)
    return built(made, f"{number:040x}", subject=f"Change {number}")


def _trial(trial, value, word):
    if not value:
        trial = replace(trial, completed=0, late=0, lost=trial.attempted, latency_s={})
    return replace(trial, valid=False, reason=word) if word in NOT_COUNTED else trial


@pytest.fixture(scope="module", params=PROCEDURES)
def archived(request, tmp_path_factory):
    """The folder of all results of a procedure, and their ids."""
    root, name = tmp_path_factory.mktemp("results"), request.param
    made = [result(name, values, number) for number, values in enumerate(FIGURES)]
    words = WORDS if name == MAX_RATE else ("noisy", "build-failed", "regression")
    of_words = [
        result(name, (None,), number, word) for number, word in enumerate(words, len(made))
    ]
    for pair in [*zip(made[::2], made[1::2], strict=True), *([item] for item in of_words)]:
        ids = tuple(item.id for item in pair)
        experiment = Experiment(id=ids[0], points=ids, interleaved=True)
        for item in pair:
            archive_result(root, replace(item, experiment=experiment))
    return root, [item.id for item in (*made, *of_words)]


def test_no_odd_result_is_too_much_for_what_shows_it(archived, tmp_path, monkeypatch, capsys):
    root, ids = archived
    monkeypatch.setenv("LEASELAB_RESULTS", str(root))
    readers = [
        [word.replace("SITE", str(tmp_path / "site")) for word in line] for line in READERS
    ]
    for ident in ids:
        readers += [["show", ident, "--all"], ["show", ident, "--json"]]
        readers += [["compare", ids[0], ident]]
    for line in readers:
        code = main(line)
        shown = capsys.readouterr()
        assert code != 70 if line[0] == "compare" else code == 0, (line, shown.err)
        assert not NO_NUMBER.search(shown.out), line
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(ids)
    for page in pages:
        for drawn in re.findall(r"<svg.*?</svg>", page.read_text(encoding="utf-8"), re.S):
            assert not NO_NUMBER.search(drawn), page
