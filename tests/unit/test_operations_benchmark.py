"""`leaselab dev bench operations`: all operations of all servers, and its table."""

import json

import pytest
from benchmarks.operations import OF_ANY, OPERATIONS, main, rows_of
from msgspec.structs import replace
from tests.contracts import contract_module
from tests.examples import archive_result
from tests.formula import archived

from leaselab.catalog.catalogue import Catalogue

ELSEWHERE = {"dnsmasq": {"rotate-log"}}
"""What only a user's own configuration has; link-delay wants another kernel than the lab's."""
KINDS = {name: Catalogue.here().find(name).server.kind for name in OPERATIONS}


@pytest.mark.parametrize("kind", sorted(set(KINDS.values())))
def test_all_operations_of_a_server_are_in_it(kind):
    with contract_module(kind, f"{kind}_contract.server") as module:
        methods = (getattr(module.Server, name) for name in dir(module.Server))
        known = {method.operation[0] for method in methods if hasattr(method, "operation")}
    own = (OPERATIONS[scenario] for scenario, of in KINDS.items() if of == kind)
    measured = {*OF_ANY, *(name for names in own for name in names)}
    assert known - ELSEWHERE.get(kind, set()) == measured | {"link-delay"}


PLAN = {"name": "operate", "operations": ["reload", "pause-1s"], "rate": 1000}


def test_a_row_has_what_clients_noticed_of_an_operation(tmp_path):
    first, second = rows_of(archived(tmp_path, 1, rounds=1, **PLAN))
    assert (first.operation, second.operation) == ("reload", "pause-1s")
    assert second.stall_s == pytest.approx(1.0, abs=0.01)
    assert (second.late, second.lost, second.why, second.rate) == (0, 0, "", 1000)
    assert first.usual_gap_s < 0.01


def test_what_the_archive_has_is_not_measured_again(tmp_path, capsys):
    made = archived(tmp_path / "made", 1, rounds=1, **PLAN)
    scenario = replace(made.scenario, name="v4-memfile")
    ident = made.id.replace(made.scenario.name, scenario.name)
    archive_result(tmp_path / "results", replace(made, id=ident, scenario=scenario))
    assert main(["v4-memfile", "--made", "--results", str(tmp_path / "results"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    assert [row["operation"] for row in rows] == ["reload", "pause-1s"]


def test_a_result_without_operations_is_a_row_with_its_reason(tmp_path):
    (row,) = rows_of(archived(tmp_path, 1, rounds=1, name="fixed-load", rate=1000))
    assert (row.operation, row.stall_s) == ("-", None)
    assert row.why
