"""What came of confirming a result, in words, and which trials are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def confirmation_words(document: Mapping[str, Any]) -> str:
    """One sentence: at which rate the result was confirmed, for how long; or why it was not."""
    found = document.get("confirmation")
    if not found:
        return f"not confirmed: {_why_not_tried(document)}"
    goal = 100 * document["goal"]["loss_ratio"]
    at = f"at {found['rate']:.0f} exchanges/s over {_seconds(confirming(document)):.0f} s"
    if not any(trial["valid"] for trial in confirming(document)):
        words = sorted({trial["reason"] for trial in confirming(document)})
        return f"not confirmed {at}: none of the trials counts ({', '.join(words)})"
    loss = f"loss {100 * found['loss_ratio']:.2f} %"
    if found["holds"]:
        return f"confirmed {at}: {loss}"
    if found["loss_ratio"] > document["goal"]["loss_ratio"]:
        return f"not confirmed {at}: {loss}, and the goal is at most {goal:g} %"
    most = max(overload(document), key=lambda trial: trial["completed"] / trial["traffic_s"])
    return (
        f"not confirmed {at}: {loss}, but of {most['rate']} exchanges/s the server completed "
        f"{most['completed'] / most['traffic_s']:.0f}, far more than the runs found"
    )


def confirming(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The trials below the lowest bound of the runs; none where nobody tried."""
    found = document.get("confirmation")
    return [one for one in found["trials"] if one["rate"] == found["rate"]] if found else []


def overload(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The trial that offers far more than was confirmed; none of a pair."""
    found = document.get("confirmation")
    return [one for one in found["trials"] if one["rate"] != found["rate"]] if found else []


def _why_not_tried(document: Mapping[str, Any]) -> str:
    goal = document["goal"]
    if "confirm_s" not in goal:
        return "measured by a version of Leaselab that did not do that yet"
    if not goal["confirm_s"]:
        return "switched off (--confirm-s 0)"
    return "the sweep ended before that"


def _seconds(trials: Sequence[Mapping[str, Any]]) -> float:
    """How long the trials that count offered traffic (s), of all where none does."""
    counted = [trial for trial in trials if trial["valid"]] or trials
    return float(sum(trial["traffic_s"] for trial in counted))
