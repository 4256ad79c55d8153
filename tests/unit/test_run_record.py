"""What the record of a point is made of."""

from dataclasses import replace

import pytest
from tests.doubles import World, bench

from leaselab.model.record import Provenance
from leaselab.run.record import KeptConfig, record_of


@pytest.mark.parametrize("capabilities", [(), ("reload",)])
def test_a_result_has_a_reload_only_of_a_server_that_can(capabilities):
    """Few can: else each page would have an empty column."""
    rack = bench(rounds=2)
    server = replace(rack.server, capabilities=capabilities)
    rack = replace(rack, servers={**rack.servers, "server": server})
    record = record_of(
        "20261124T080000Z-tests-0001",
        rack,
        World().measure(rack),
        setup_s=1.0,
        started_at="2026-11-24T08:00:00.000Z",
        owner="a.tester@desk",
        configs=dict.fromkeys(rack.servers, KeptConfig("config/kea.conf", "0" * 64)),
        experiment=None,
        provenance=Provenance(leaselab_version="0.1.0"),
    )
    reported = {metric.name: metric.value for metric in record.metrics}
    assert reported.get("reload_s") == (2.5 if capabilities else None)
    assert ("reload_s" in reported) == bool(capabilities)
    assert reported["start_s"] == 0.25
