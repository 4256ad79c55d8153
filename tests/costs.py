"""What the tests of a part of the suite cost: the ten slowest and each folder's share."""

from collections import defaultdict

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
