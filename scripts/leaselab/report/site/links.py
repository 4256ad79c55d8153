"""Where pages lie in the site."""

from __future__ import annotations


def sweep_page(ref: str) -> str:
    """The page of one result, by its id."""
    return f"sweep/{ref}"


def history_page(scenario: str) -> str:
    """The page of one scenario over time."""
    return f"history/{scenario}"
