"""The page that says which results may be believed, and why; what words of reasons mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leaselab.analysis.comparison.matrix import cell_of
from leaselab.analysis.figures.credibility import Flag, flags, level_of
from leaselab.model.record import Record
from leaselab.report.matrix import shown
from leaselab.report.units import in_shown_units

NOT_OK = 100
"""Newest results without a figure that the page lists."""
_TRAFFIC = "traffic"
NOT_COUNTED = {
    "generator-limited": "the traffic generator was at its limit, or near it",
    "too-few-clients": "all clients waited for replies as more was due (`--scale`)",
    "generator-stalled": "the generator or its host stood still for a moment, which explains "
    "the loss",
    "foreign-reply": "a server that is not the bench's answered on the test network",
    "foreign-request": "a client or relay that is not the bench's asked on the test network",
    "malformed-replies": "replies came that are no messages of the protocol",
    "duplicate-address": "the server gave one address to two clients",
    "rejected": "the server refused requests, so it did less work than it was asked for",
    "pool-too-full": "more than half of the addresses were taken, where allocation slows down",
    "pair-state": "the servers were not in the state asked for at the end of the trial",
    "support-limited": "the support of the server under test had no processor time left",
    "lost-updates": "a server held less than clients were answered",
    "other-answers": "the answers are of another size than those of a probe at a low rate",
    "names-repeated": "there were more queries than names, so a cache that must be cold "
    "became warm",
    "no-figure": "the load was not served before the event, or not again after it; or an "
    "operation had no effect",
}
"""Why a trial does not count: each word with its meaning."""
NO_FIGURE = {
    "noisy": "trials contradict each other, so that no bracket was found",
    "below-min-rate": "the server loses too much at the lowest load that can be tried",
    "above-max-rate": "the server passes at the highest load that may be tried",
    "loses-at-any-load": "the server loses transactions far below what it can complete",
    "not-sustained": "the server passed single trials, and not a minute below its max rate",
    "warming-up": "the server was faster after all runs than in any of them",
    "invalid-trial": "the same trial was made several times and never counted",
    "invalid": "the figures cannot be believed",
    "build-failed": "the server does not build, or does not start",
}
"""Why a result has no figure, likewise."""
DOUBTS = {
    "unsteady": "the machine, the figure or what a transaction costs moved during the runs",
    "cold start": "the server loses what it could serve, for some time after its start",
    "threads beyond quota": "the server chose more threads than it may use processors",
    "slow after overload": "the server stays slow for a while after more than it can serve",
    "two speeds": "loads that are nearly equal met a fast and a slow server",
    "slow replies": "the server's replies take long, compared with the trials",
    "no interval": "too few runs to say how well the figure is known",
    "wide spread": "the runs differ by more than 5 % (standard deviation over mean)",
    "wide bracket": "passing and failing trial of a run are further apart than asked for",
    "trials not counted": "they say nothing about the server and are in no figure",
    "changed leaselab": "not reproducible: uncommitted changes",
    "changed server": "not reproducible: uncommitted changes of the server",
    "lost packets": "packets of transactions that were lost, by the place that dropped them",
    "no ceiling": "the figure may be that of the generator: measure it by leaselab calibrate",
    "shared processor": "generator and server compete for CPU",
    "clock": "the processor's clock may follow the load, and the figure with it",
    "not confirmed": "no traffic of a minute below the max rate, after the runs",
    _TRAFFIC: "the rest is waiting for late replies, reading output, starting servers",
}
"""What makes a figure doubtful, or is to be known of it."""
MEANINGS = {**NOT_COUNTED, **NO_FIGURE, **DOUBTS}
"""What the words of reasons and flags mean."""


def _by_numbers(name: str) -> list[tuple[str, int]]:
    """Sorts names as people count: 2 threads before 12."""
    return [(word, int(count or 0)) for word, count in re.findall(r"(\D*)(\d*)", name)]


def validity(records: Sequence[Record], failed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the template gets: the newest results with their flags, and those that failed.

    `records` are the newest of their scenarios, `failed` the newest rows of the index
    that came to no figure.
    """
    judged = sorted(
        in_shown_units(records), key=lambda record: _by_numbers(record.scenario.name)
    )
    titles = {record.figure.title for record in judged}
    shared = _shared([_weighed(record) for record in judged])
    results = [_judged(record, shared) for record in judged]
    _named(results)
    units = sorted({record.figure.unit for record in judged})
    return {
        "groups": {
            level: at_level
            for level in ("refused", "doubt", "good")
            if (at_level := [result for result in results if result["verdict"] == level])
        },
        "results": len(results),
        "shared": shared,
        "heading": titles.pop() if len(titles) == 1 else "",
        "units": units,
        "unit": units[0] if len(units) == 1 else "",
        "failed": failed[:NOT_OK],
        "all_shown": len(failed) <= NOT_OK,
        "goals": sorted({record.procedure.words for record in judged}),
        "verdicts": {
            "good": "usable",
            "doubt": "there is a figure; be careful with it, for the reason in the last column",
            "refused": "there is no figure, for the reason in the last column",
        },
        "words": meanings(
            word
            for record in judged
            for flag in _weighed(record)
            for word in (flag.word, *_trial_words(record, flag))
        ),
    }


def meanings(words: Iterable[str]) -> dict[str, str]:
    """The words that have a meaning here, each once, in their order, with it."""
    return {word: MEANINGS[word] for word in dict.fromkeys(words) if word in MEANINGS}


def _trial_words(record: Record, flag: Flag) -> list[str]:
    """The reasons that a flag counts trials by."""
    reasons = {trial.reason for trial in record.trials if not trial.valid}
    return sorted(reason for reason in reasons if f" {reason}" in flag.text)


def _weighed(record: Record) -> list[Flag]:
    """The flags that a result is judged by: how its time was spent is none of them."""
    return [flag for flag in flags(record) if flag.word != _TRAFFIC]


def _shared(every: Sequence[Sequence[Flag]]) -> list[Flag]:
    """The flags that each of several results has."""
    if len(every) < 2:
        return []
    return [flag for flag in every[0] if all(flag in others for others in every)]


def _named(results: Sequence[dict[str, Any]]) -> None:
    """Name the figure of a scenario that has several."""
    counts = Counter(result["name"] for result in results)
    for result in results:
        if counts[result["name"]] > 1:
            result["name"] += f", {result['title']}"


def _judged(record: Record, shared: Sequence[Flag]) -> dict[str, Any]:
    """What a row shows of a result: of its flags those that not all have."""
    weighed = _weighed(record)
    return {
        "id": record.id,
        "name": record.scenario.name,
        "title": record.figure.title,
        "figure": shown(cell_of(record)),
        "measured": cell_of(record).value is not None,
        "unit": record.figure.unit,
        "spread": record.figure.spread,
        "runs": len(record.rounds),
        "trials": len(list(record.trials)),
        "flags": [flag for flag in weighed if flag not in shared],
        "verdict": level_of(weighed),
    }
