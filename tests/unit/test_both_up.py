"""Which servers can be up at once with another variant, and the load that each hears alone."""

import json

import pytest
from tests.bench_document import DOCUMENT

from leaselab.lab.contract.servers import apart, can_have_company
from leaselab.lab.deploy.bench_file import parse_bench

SECOND = {"interface": "leaselab2", "address": "198.18.0.11"}


def bench(*, second=SECOND, partner=False, **server):
    """A bench whose server declares what is given."""
    document = json.loads(json.dumps(DOCUMENT))
    document["servers"]["server"] |= {"capabilities": ["two-addresses"], **server}
    document["hosts"]["server"]["second"] = second
    document["scenario"]["partner"] = partner
    if partner:
        document["servers"]["partner"] = document["servers"]["server"]
        document["hosts"]["partner"] = document["hosts"]["server"]
    return parse_bench(document, "bench.json")


def test_a_server_that_declares_it_can_have_company_where_there_is_a_second_place():
    assert can_have_company(bench())


@pytest.mark.parametrize(
    "changes", [{"second": None}, {"capabilities": ["crash", "list"]}, {"partner": True}]
)
def test_one_without_a_second_place_or_that_does_not_serve_alone_cannot(changes):
    assert not can_have_company(bench(**changes))


def test_a_load_apart_is_heard_by_its_own_server_alone():
    rack = bench(load_apart={"relayed": True})
    assert apart(rack).scenario.load == {**rack.scenario.load, "relayed": True}


def test_where_nothing_has_to_change_the_load_is_the_scenarios_own():
    assert apart(bench()).scenario.load == bench().scenario.load
