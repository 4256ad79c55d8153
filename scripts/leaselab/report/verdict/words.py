"""Words and numbers of a verdict: changes in per cent, ratios, metrics."""

from __future__ import annotations

from leaselab.analysis.comparison.verdict import Limit, Verdict
from leaselab.analysis.duels.duel import Judged, Said
from leaselab.analysis.duels.starts import StartShare
from leaselab.model.procedure import CPU, RELOAD_S, SERVER_KINDS, START_S
from leaselab.model.record import Record


def percent(ratio: float) -> str:
    """A ratio as a change: ``-3.1 %``."""
    return f"{100 * (ratio - 1):+z.1f} %"


def two_digits(share: float, sign: str = "") -> str:
    """A share with two digits, and all before the point: ``0.24 %``, ``2561 %``."""
    shown = f"{100 * share:{sign}.2g}"
    return f"{100 * share:{sign}.0f} %" if "e+" in shown else f"{shown} %"


def interval_words(ci95: tuple[float, float] | None) -> str:
    """The same of an interval: ``-4.0 to -2.2 %``."""
    if ci95 is None:
        return "-"
    low, high = (100 * (end - 1) for end in ci95)
    return f"{low:+z.1f} to {high:+z.1f} %"


def change_words(ratio: float, ci95: tuple[float, float] | None) -> str:
    """A ratio as a change: ``-5.0 % (95 % interval -5.6 to -4.4 %)``."""
    return f"{percent(ratio)} (95 % interval {interval_words(ci95)})"


def pace_words(ratio: float, unit: str = "") -> str:
    """A ratio of figures of this unit as a change: ``3.4 % slower``, or lower."""
    less, more = ("slower", "faster") if unit.endswith("/s") else ("lower", "higher")
    return f"{100 * abs(ratio - 1):.1f} % {less if ratio < 1 else more}"


def p_words(p: float) -> str:
    """Return a p-value (0..1) in words."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def metric_title(name: str, record: Record) -> str:
    """A metric of a result in words, such as server CPU per query."""
    if name == CPU:
        return f"server CPU per {record.scenario.transaction.name}"
    kinds = (*record.procedure.metrics(record.scenario.transaction.plural), *SERVER_KINDS)
    title = next((kind.title for kind in kinds if kind.name == name), name)
    return f"{title} time" if name in (START_S, RELOAD_S) else title


def worse(verdict: Verdict) -> str:
    """The word for a change for the worse."""
    return "drop" if verdict.higher_is_better else "rise"


def change_word(figure: Judged) -> str:
    """The word for a change of a figure for the worse."""
    return "rise" if figure.rises else "drop"


def said_words(figure: Judged) -> str:
    """What a duel says of a figure, such as ``no rise bigger than 4.1 %``."""
    if figure.said is Said.EXCLUDED:
        return f"no {change_word(figure)} bigger than {100 * figure.bound:.1f} %"
    return str(figure.said.value)


def sight_words(verdict: Verdict) -> str:
    """The smallest change for the worse that would have been seen."""
    change = f"{100 * verdict.smallest_seen:.1f} %"
    what = f"The smallest {worse(verdict)} that runs with this scatter could have shown"
    least = f"{what} is {change}"
    if verdict.sees_threshold:
        return least
    return f"{least}, so that one of {verdict.threshold_percent:g} % may have gone unseen"


def starts_words(starts: StartShare) -> str:
    """What the starts of the servers have to do with the scatter of a duel's rounds."""
    low, high = (100 * end for end in starts.ci95)
    size = f"{100 * starts.share:.0f} % (95 % interval {low:.0f} to {high:.0f} %)"
    if starts.by_trials:
        of = f"the servers' starts make {size} of the variance of a round"
    else:
        of = (
            f"the servers' starts make at most {size} of the variance of a round, by the "
            "seconds of its trials"
        )
    return f"{of}: more rounds average that, longer trials do not ({starts.rounds} rounds)"


def basis_words(verdict: Verdict) -> str:
    """What a ratio rests on, such as ``measured in turn``."""
    if verdict.cost is not None:
        return "counted"
    return f"{verdict.basis.value} {verdict.anchor}".rstrip()


def ratio_words(verdict: Verdict | None) -> tuple[str, str]:
    """The ratio, with its limit, and its 95 % interval; dashes where there is none."""
    if verdict is None or verdict.limit is Limit.NO_LOAD:
        return "-", "-"
    limit = "" if verdict.limit is Limit.NONE else f"{verdict.limit.value} "
    ratio = f"{limit}{verdict.ratio:.3f}"
    if verdict.cost is not None:  # it is exact
        return ratio, "-"
    low, high = verdict.ci95
    return ratio, f"{low:.3f} to {high:.3f}"
