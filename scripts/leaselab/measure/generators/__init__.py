"""Traffic generators: one adapter each, found by its name."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from leaselab.measure.generators.dns_answers import is_dns
from leaselab.model.errors import usage_error

if TYPE_CHECKING:
    from leaselab.measure.generators.adapter import Adapter
    from leaselab.model.procedure import Procedure
    from leaselab.model.scenario import Scenario

ADAPTERS = {
    "dnsperf": "leaselab.measure.generators.dnsperf:Dnsperf",
    "flame": "leaselab.measure.generators.flame:Flame",
    "kxdpgun": "leaselab.measure.generators.kxdpgun:Kxdpgun",
    "leaseload": "leaselab.measure.generators.leaseload:Leaseload",
    "perfdhcp": "leaselab.measure.generators.perfdhcp:Perfdhcp",
}
"""The adapter of each generator, imported when it is needed: what reads a tool's output takes
a while to import."""

OF_DHCP, OF_DNS = frozenset({"leaseload", "perfdhcp"}), ADAPTERS.keys() - {"perfdhcp"}
"""Those that make a protocol's load."""


def adapter_of(scenario: Scenario) -> type[Adapter]:
    """Return the adapter of a scenario's generator.

    Raises a usage error for one that nobody has written.
    """
    if scenario.generator not in ADAPTERS:
        raise usage_error(
            f"no adapter for generator {scenario.generator!r}",
            where=f"scenario {scenario.name}",
            wanted=f"one of {', '.join(sorted(ADAPTERS))}",
        )
    adapter: type[Adapter] = resolve_name(ADAPTERS[scenario.generator])
    return adapter


def check_fits(scenario: Scenario, procedure: Procedure) -> None:
    """Raise a usage error where a scenario cannot hold a procedure, as it says of itself."""
    transaction = scenario.transaction
    speaking = OF_DNS if is_dns(scenario) else OF_DHCP
    if scenario.generator in (OF_DHCP | OF_DNS) - speaking:
        raise usage_error(
            f"that generator makes no {transaction.plural}",
            where=f"scenario {scenario.name}",
            found=scenario.generator,
            wanted=f"one of {', '.join(sorted(speaking))}",
        )
    procedure.check_replies(len(transaction.stages), transaction.plural)
    adapter_of(scenario).check_fits(scenario, procedure)
