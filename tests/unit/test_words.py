"""Words that pages show: each one is explained."""

import ast
import enum
import importlib
import inspect
import pkgutil

from tests.examples import example_result

from leaselab import analysis, cli, measure, model, report
from leaselab.analysis.figures import credibility, steadiness
from leaselab.measure import trials
from leaselab.measure.generators import adapter, dhcp_load
from leaselab.measure.generators.dns import answers as dns_answers
from leaselab.measure.search_error import SearchReason
from leaselab.model.record import GENERATOR_LIMITED, MALFORMED
from leaselab.report.site.validity import MEANINGS, meanings, validity

NO_REASONS = {"EVERYBODY", "NOERROR", "NXDOMAIN", "TRUNCATED"}


def reasons():
    """The words of the reasons, as the modules that give them have them."""
    return {GENERATOR_LIMITED, MALFORMED} | {
        line.value.value
        for module in (adapter, dhcp_load, dns_answers, trials)
        for line in ast.parse(inspect.getsource(module)).body
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
        if isinstance(line.value.value, str) and line.targets[0].id not in NO_REASONS
    }


def flag_words():
    """The words of the flags, as the module that raises them has them."""
    calls = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(credibility)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Flag"
    ]
    words = [call.args[1] for call in calls]
    return {word.value for word in words if isinstance(word, ast.Constant)}


def test_each_reason_and_each_flag_has_a_meaning_and_no_meaning_is_of_a_word_that_is_gone():
    assert {"generator-stalled", "rejected", "pair-state"} <= reasons()
    assert "wide spread" in flag_words()
    ends = {"invalid", "build-failed", steadiness.UNSTEADY}
    known = reasons() | {reason.value for reason in SearchReason} | flag_words() | ends
    assert MEANINGS.keys() == known


def test_each_table_of_marks_words_and_colours_has_all_that_can_be_asked_for():
    """A table whose keys are members of an enum has every member."""
    tables = {
        f"{module.__name__}.{name}": (set(type(next(iter(table)))), table.keys())
        for part in (analysis, cli, measure, model, report)
        for place in pkgutil.walk_packages(part.__path__, f"{part.__name__}.")
        for module in [importlib.import_module(place.name)]
        for name, table in vars(module).items()
        if isinstance(table, dict) and isinstance(next(iter(table), None), enum.Enum)
    }
    assert {
        name: members - set(known)
        for name, (members, known) in tables.items()
        if members != known
    } == {}
    assert len(tables) > 10


def test_a_word_is_explained_once_and_an_unknown_one_not_at_all():
    rows = meanings(["traffic", "noisy", "traffic", "what"])
    assert list(rows) == ["traffic", "noisy"]


def test_results_stand_in_the_order_of_their_numbers():
    names = ["v4-threads-12", "v6-threads-1", "v4-threads-2", "v4-threads-1"]
    shown = validity([example_result(scenario=name) for name in names], [])["groups"]
    assert [row["name"] for item in shown.values() for row in item] == [
        *("v4-threads-1", "v4-threads-2", "v4-threads-12", "v6-threads-1")
    ]
