"""How far a result can be believed: what was seen that a reader should know."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from leaselab.model.errors import BELIEVED
from leaselab.model.host import Host
from leaselab.model.procedure import Procedure
from leaselab.model.record import GENERATOR, SERVER, Confirmation, Record, Round
from leaselab.model.trial import WHOLE

_STEADY = 0.05
"""Spread of the runs above which a difference of a few per cent says little (ratio)."""
_FEW_COUNTED = 0.5
"""Share of valid trials below which most of the work said nothing (ratio)."""
_STEEPEST, _APART = 3.0, 0.07
"""How much more a server may lose of a load that is heavier by a share, over that share, and
beyond that by chance (ratio)."""
_SLOW = 0.2
"""Share of a trial that the replies of a server below its limit may take (ratio)."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One thing to know of a result."""

    level: str
    """``refused``: no figure; ``doubt``: a figure to be careful with; ``known``: how it is."""
    word: str
    text: str


def flags(record: Record) -> list[Flag]:
    """Return what there is to know of a result, what weighs most first."""
    order = ("refused", "doubt", "known")
    found = [*_reasons(record), *_doubts(record), *_known(record)]
    return sorted(found, key=lambda flag: order.index(flag.level))


def level_of(flagged: Iterable[Flag]) -> str:
    """Whether a result may be used, by its flags: good, doubt, refused."""
    levels = {flag.level for flag in flagged}
    return next((level for level in ("refused", "doubt") if level in levels), "good")


def trust(flagged: Sequence[Flag]) -> str:
    """The level of a result, with the words that are the reason for it."""
    level = level_of(flagged)
    words = dict.fromkeys(flag.word for flag in flagged if flag.level == level)
    return f"{level} ({', '.join(words)})" if words else level


def _reasons(record: Record) -> Iterator[Flag]:
    level = "doubt" if record.outcome in BELIEVED else "refused"
    for reason in record.reasons:
        yield Flag(level, reason.word, reason.text)


def _doubts(record: Record) -> Iterator[Flag]:
    figure = record.figure
    if figure.value is not None:
        kept = figure.n - 2 * figure.trim
        if kept < 2:
            left = "one run is" if kept == 1 else f"{kept} runs are"
            yield Flag("doubt", "no interval", f"{left} left of {figure.n} after trimming")
        if figure.spread is not None and figure.spread > _STEADY:
            yield Flag(
                "doubt", "wide spread", f"spread of the runs {100 * figure.spread:.1f} %"
            )
    yield from _cold_start(record)
    host = record.bench.hosts.get(SERVER, Host())
    beyond = beyond_quota(record.server.tuning, host.processors, host.cpu_limit)
    if beyond:
        yield Flag("doubt", "threads beyond quota", beyond)
    after = slow_afterwards(record.confirmation, record.procedure)
    apart = two_speeds(record.rounds)
    if after:
        yield Flag("doubt", "slow after overload", after)
    if apart:
        yield Flag("doubt", "two speeds", apart)
    slow_s = slow_replies(record.rounds)
    if slow_s:
        yield Flag(
            "doubt",
            "slow replies",
            f"half of the {record.scenario.transaction.plural} took {slow_s:.2g} s or more at "
            "any load: the server is under full load for only a part of each trial, and the "
            f"figure may be too high; measure with --set trial_s={math.ceil(10 * slow_s)}",
        )
    widest = record.procedure.widest or 0.0
    wide = [
        round_.bracket.width
        for round_ in record.rounds
        if round_.bracket and round_.bracket.width > widest * 1.001
    ]
    if wide:
        yield Flag(
            "doubt",
            "wide bracket",
            f"{len(wide)} of {len(record.rounds)} brackets are wider than "
            f"{100 * widest:g} %, the widest {100 * max(wide):.1f} %",
        )
    trials = list(record.trials)
    reasons = Counter(trial.reason for trial in trials if not trial.valid)
    not_valid = sum(reasons.values())
    if not_valid:
        counts = ", ".join(f"{count} {word}" for word, count in reasons.most_common())
        level = "doubt" if not_valid > _FEW_COUNTED * len(trials) else "known"
        yield Flag(level, "trials not counted", f"{not_valid} of {len(trials)}: {counts}")
    if record.provenance.leaselab_dirty:
        yield Flag(
            "doubt", "changed leaselab", "measured by a checkout with uncommitted changes"
        )
    if record.source and record.source.dirty:
        yield Flag("doubt", "changed server", "built from a checkout with uncommitted changes")


def beyond_quota(
    tuning: Mapping[str, Any], processors: int | None, cpu_limit: float | None
) -> str:
    """Say that a server started more threads than its quota has processors; empty if not.

    `tuning` names in `threads_by_default` the setting that left their number to the server, and
    in `worker_threads` that number where it is known; it is one for each of its `processors`
    otherwise.  `cpu_limit` is the quota in processors, None without one.
    """
    setting = tuning.get("threads_by_default")
    threads = tuning.get("worker_threads") or processors
    if not (setting and threads and cpu_limit):
        return ""
    most = max(1, math.ceil(cpu_limit))
    if threads <= most:
        return ""
    return (
        f"the server started {threads} threads, as it counts processors, and a quota gives it "
        f"the time of {cpu_limit:g}: it stands still whenever they have used that up; set "
        f"{setting} to {most}"
    )


def two_speeds(rounds: Sequence[Round]) -> str:
    """Why runs do not prove a limit, empty where they do.

    Of a load that is heavier by a bracket's width no more is lost than by that, of a server
    that collapses some times that.  Where much more is lost in every second run, it is another
    server that the heavier load has met.
    """
    jumps = [
        one.trials[one.bracket.upper_trial].loss_ratio
        - one.trials[one.bracket.lower_trial].loss_ratio
        - _STEEPEST * one.bracket.width
        for one in rounds
        if one.bracket
    ]
    apart = [jump for jump in jumps if jump > _APART]
    if len(apart) < max(2, len(jumps) / 2):
        return ""
    return (
        f"in {len(apart)} of {len(jumps)} runs a load that was hardly heavier lost "
        f"{100 * median(apart):.0f} % more: the server changes from trial to trial, and "
        "the figure may be that of the faster one"
    )


def slow_afterwards(found: Confirmation | None, procedure: Procedure) -> str:
    """How a server served a load after an overload that it had sustained before; else empty."""
    made = found.trials if found else ()
    heavier = [place for place, one in enumerate(made) if found and one.rate > found.rate]
    after = [one for one in made[heavier[-1] + 1 :] if one.valid] if heavier else []
    if len(after) < 2 or any(procedure.passes(one) for one in after):
        return ""
    return (
        f"loss {100 * after[0].loss_ratio:.1f} % at {after[0].rate}/s after an overload, which "
        "it had sustained before: the figure may be too low, as searches overload it"
    )


def slow_replies(rounds: Sequence[Round]) -> float:
    """Least median latency of the trials of a search, where it is long for them (s); else 0.

    At a light load it is that of the server's work, and of no queue.
    """
    trials = [trial for one in rounds if one.bracket for trial in one.trials if trial.valid]
    medians = [whole.p50 for trial in trials if (whole := trial.latency_s.get(WHOLE))]
    least = min(medians, default=0.0)
    longest = max((trial.duration_s for trial in trials), default=0)
    return least if least > _SLOW * longest else 0.0


def _cold_start(record: Record) -> Iterator[Flag]:
    """A confirmation that failed at first, after the start, and held later."""
    found = record.confirmation
    first = next((trial for trial in found.trials if trial.valid), None) if found else None
    if found and found.holds and first and not record.procedure.passes(first):
        yield Flag(
            "doubt",
            "cold start",
            f"loss {100 * first.loss_ratio:.1f} % at {first.rate}/s in the first "
            f"{first.duration_s} s after a start, and {100 * found.loss_ratio:.1f} % later: "
            "the figure is of a server that has warmed up",
        )


def _known(record: Record) -> Iterator[Flag]:
    lost: Counter[str] = Counter()
    for trial in record.trials:
        lost.update(trial.lost_at)
    if lost:
        places = ", ".join(f"{packets} {place}" for place, packets in lost.most_common())
        yield Flag("known", "lost packets", f"where they were dropped: {places}")
    hosts = [record.bench.hosts.get(role, Host()) for role in (SERVER, GENERATOR)]
    allowed = [_processors(host.cpus_allowed) for host in hosts]
    if hosts[0].kernel == hosts[1].kernel and allowed[0] & allowed[1]:
        yield Flag(
            "known", "shared processor", "generator and server may use the same processors"
        )
    governors = {host.governor for host in hosts if host.governor}
    if governors - {"performance"}:
        yield Flag("known", "clock", f"CPU governor {', '.join(sorted(governors))}")
    searched = any(round_.bracket for round_ in record.rounds)
    if searched and record.figure.value is not None and not record.confirmation:
        yield Flag(
            "known",
            "not confirmed",
            "no trial checked whether the server sustains it for longer",
        )
    needs_none = record.procedure.of_generator or record.procedure.counts_alone
    if record.ceiling is None and not needs_none:
        yield Flag(
            "known", "no ceiling", "the generator's ceiling on this bench was not measured"
        )
    share = record.traffic_share
    if share is not None:
        yield Flag("known", "traffic", f"{100 * share:.0f} % of the time was traffic")


def _processors(text: str | None) -> set[int]:
    """The processors of a list in the kernel's form, such as ``0-3,8``."""
    found: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
