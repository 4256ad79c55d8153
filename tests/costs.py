"""What the tests cost: the ten slowest and each folder's share, over both parts of a suite."""

import json
from collections import defaultdict
from pathlib import Path

KEPT = Path(__file__).parents[1] / ".leaselab" / "test-costs.json"
"""The seconds of the quick part, for the table at the end of the other one."""
SLOWEST = 10


def table(seconds):
    """Lines for {test: seconds}: the slowest tests, then folders with tests, seconds, share.

    Seconds are those of setup, call and teardown; of tests that ran side by side they add
    up to more than the clock says.
    """
    total = sum(seconds.values())
    yield f"{'s':>8}  the {SLOWEST} slowest tests"
    for test in sorted(seconds, key=seconds.get, reverse=True)[:SLOWEST]:
        yield f"{seconds[test]:8.1f}  {test}"
    folders = defaultdict(list)
    for test, cost in seconds.items():
        folders[test.partition("::")[0].rpartition("/")[0]].append(cost)
    yield ""
    yield f"{'s':>8}  {'share':>5}  {'tests':>5}  folder"
    for folder, costs in sorted(folders.items(), key=lambda row: -sum(row[1])):
        spent = sum(costs)
        yield f"{spent:8.1f}  {spent / total:5.0%}  {len(costs):5}  {folder}"
    yield f"{total:8.1f}  {1:5.0%}  {len(seconds):5}  all"


def write(seconds):
    """Keep them for the part that follows."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(seconds), encoding="utf-8")


def read():
    """Return what the part before kept, nothing where there was none."""
    try:
        return json.loads(KEPT.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
