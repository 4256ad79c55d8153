"""How far a result can be believed: what was seen that a reader should know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaselab.model.errors import BELIEVED
from leaselab.model.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STEADY = 0.05
"""Spread of the runs above which a difference of a few per cent says little (ratio)."""
_FEW_COUNTED = 0.5
"""Share of valid trials below which most of the work said nothing (ratio)."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One thing to know of a result."""

    level: str
    """``refused``: no figure; ``doubt``: a figure to be careful with; ``known``: how it is."""
    word: str
    text: str


def flags(document: Mapping[str, Any]) -> list[Flag]:
    """Return what there is to know of a result, what weighs most first."""
    order = ("refused", "doubt", "known")
    found = [*_reasons(document), *_doubts(document), *_known(document)]
    return sorted(found, key=lambda flag: order.index(flag.level))


def _reasons(document: Mapping[str, Any]) -> Iterator[Flag]:
    level = "doubt" if document["outcome"] in BELIEVED else "refused"
    for reason in document["reasons"]:
        yield Flag(level, reason["word"], reason["text"])


def _doubts(document: Mapping[str, Any]) -> Iterator[Flag]:
    rate = document["summary"]["max_rate"]
    goal = document["goal"]
    if rate is not None:
        if rate["ci95"] is None:
            kept = rate["n"] - 2 * rate["trim"]
            left = "one run is" if kept == 1 else f"{kept} runs are"
            yield Flag("doubt", "no interval", f"{left} left of {rate['n']} after trimming")
        if rate["spread"] is not None and rate["spread"] > _STEADY:
            yield Flag(
                "doubt", "wide spread", f"spread of the runs {100 * rate['spread']:.1f} %"
            )
    wide = [
        width
        for run in document["runs"]
        if (width := _width(run)) is not None and width > goal["relative_width"] * 1.001
    ]
    if wide:
        yield Flag(
            "doubt",
            "wide bracket",
            f"{len(wide)} of {len(document['runs'])} brackets are wider than "
            f"{100 * goal['relative_width']:g} %, the widest {100 * max(wide):.1f} %",
        )
    trials = [trial for run in document["runs"] for trial in run["trials"]]
    reasons = Counter(trial["reason"] for trial in trials if not trial["valid"])
    not_valid = sum(reasons.values())
    if not_valid:
        told = ", ".join(f"{count} {word}" for word, count in reasons.most_common())
        level = "doubt" if not_valid > _FEW_COUNTED * len(trials) else "known"
        yield Flag(level, "trials not counted", f"{not_valid} of {len(trials)}: {told}")
    if document["provenance"]["leaselab_dirty"]:
        yield Flag(
            "doubt", "changed leaselab", "measured by a checkout with uncommitted changes"
        )
    if source_of(document["server"]).get("dirty"):
        yield Flag("doubt", "changed server", "built from a checkout with uncommitted changes")


def _known(document: Mapping[str, Any]) -> Iterator[Flag]:
    drops = sum(_drops(trial) for run in document["runs"] for trial in run["trials"])
    if drops:
        yield Flag(
            "known",
            "receive buffer full",
            f"{drops} packets lost for want of receive buffer: overload, not the network",
        )
    hosts = document["bench"]["hosts"]
    pair = [hosts.get(role, {}) for role in ("server", "generator")]
    allowed = [_processors(host.get("cpus_allowed")) for host in pair]
    one_machine = len({host.get("kernel") for host in pair}) == 1 and all(allowed)
    if one_machine and allowed[0] & allowed[1]:
        yield Flag(
            "known", "shared processor", "generator and server may use the same processors"
        )
    governors = {host["governor"] for host in pair if host.get("governor")}
    if governors - {"performance"}:
        yield Flag("known", "clock", f"CPU governor {', '.join(sorted(governors))}")
    if document["summary"]["max_rate"] is not None and not document.get("confirmation"):
        yield Flag(
            "known", "not confirmed", "nobody looked whether the server holds it for longer"
        )
    share = document["summary"]["traffic_share"]
    if share is not None:
        yield Flag("known", "traffic", f"{100 * share:.0f} % of the time was traffic")


def _width(run: Mapping[str, Any]) -> float | None:
    lower, upper = run["lower_bound"], run["upper_bound"]
    if lower is None or not upper:
        return None
    return float((upper - lower) / upper)


def _drops(trial: Mapping[str, Any]) -> int:
    seen = [one["udp_drops"] for one in trial["samples"] if one["udp_drops"] is not None]
    return int(seen[-1] - seen[0]) if len(seen) > 1 else 0


def _processors(text: str | None) -> set[int]:
    """The processors of a list in the kernel's form, such as ``0-3,8``."""
    found: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
