"""What the templates of Compare and Validity get, without an archive."""

from tests.examples import MAX_RATES, edited, example_result, fixed_load_result

from leaselab.report.site.compare import compared, group
from leaselab.report.site.validity import validity


def test_the_pairs_that_differ_come_first(tmp_path):
    """Of figures beside, one that no result has takes no column."""

    def made(times, token):
        record = example_result([rate * times for rate in MAX_RATES], token=token)
        return edited(record, lambda document: document["metrics"].append(unknown))

    unknown = {"name": "memory", "title": "memory", "unit": "MiB", "better": "lower"}
    unknown |= {"value": None, "how": "mean"}
    first, same, slower = made(1, "aaaa"), made(1, "bbbb"), made(0.8, "cccc")
    pairs = [
        group(name, [(first, tmp_path), (other, tmp_path)], {})
        for name, other in (("same", same), ("slower", slower))
    ]
    assert [metric.name for metric in pairs[0].others] == [
        metric.name for metric in first.metrics[1:] if metric.value is not None
    ]
    page = compared(pairs)
    assert [pair.name for pair in page["groups"]] == ["slower", "same"]
    assert [pair.comparison.word for pair in page["lines"]] == ["slower", "equal"]


def test_of_a_scenario_with_several_figures_validity_names_each():
    page = validity([example_result(), fixed_load_result([0.004, 0.005])], [])
    names = {result["name"] for level in page["groups"].values() for result in level}
    assert names == {"v4-memfile, max rate", "v4-memfile, p99 latency"}
    assert validity([example_result()], [])["groups"]["good"][0]["name"] == "v4-memfile"
