"""Traffic generators: one adapter each, by its name, and what each of them can offer."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Final

from leaselab.measure.generators.adapter import Adapter
from leaselab.measure.generators.dns.answers import KEPT, is_dns
from leaselab.model.errors import usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.procedures import PROCEDURES
from leaselab.model.procedures.burst import Burst
from leaselab.model.procedures.cost import Cost
from leaselab.model.procedures.event import Event
from leaselab.model.procedures.fill import Fill
from leaselab.model.procedures.max_rate import MaxRate
from leaselab.model.procedures.operate import Operate
from leaselab.model.procedures.ramp import Ramp
from leaselab.model.procedures.replay import Replay
from leaselab.model.scenario import Scenario

ADAPTERS = {
    "dnsperf": "leaselab.measure.generators.dnsperf.command:Dnsperf",
    "flame": "leaselab.measure.generators.flame.command:Flame",
    "leaseload": "leaselab.measure.generators.leaseload.command:Leaseload",
    "perfdhcp": "leaselab.measure.generators.perfdhcp.command:Perfdhcp",
}
"""The adapter of each generator, imported when it is needed: what reads a tool's output takes
a while to import."""

_ALL: Final = frozenset(PROCEDURES.values())
_OF_CLIENTS: Final = {Burst, Event, Fill, Replay}
"""Procedures that need clients with numbers, and when each of them was answered."""
OF_DHCP: Final = {"leaseload": _ALL, "perfdhcp": _ALL - {Replay, Cost, Operate}}
OF_DNS: Final = {
    "dnsperf": _ALL - _OF_CLIENTS - {Cost, Operate},
    "flame": frozenset({MaxRate, Ramp}),  # counts, by second
    "leaseload": _ALL - _OF_CLIENTS,
}
"""Those that make a protocol's load, with the procedures whose loads they can offer."""
OF_QUERIES: Final = {
    "client_subnets": ("", frozenset({"leaseload"})),
    "connections": (KEPT, frozenset({"leaseload"})),
    "family": (4, frozenset({"dnsperf", "leaseload"})),
    "updates": (0.0, frozenset({"leaseload"})),
}
"""Keys of a load of queries, with what every generator does, and those that can do more."""


def adapter_of(scenario: Scenario) -> type[Adapter]:
    """Return the adapter of a scenario's generator.

    Raises a usage error for a generator without an adapter.
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
    """Raise a usage error where a scenario's generator or load does not suit a procedure."""
    generator, transaction = scenario.generator, scenario.transaction
    offering = OF_DNS if is_dns(scenario) else OF_DHCP
    where = f"scenario {scenario.name}"
    if generator in (OF_DHCP | OF_DNS).keys() - offering.keys():
        raise usage_error(
            f"that generator makes no {transaction.plural}",
            where=where,
            found=generator,
            wanted=f"one of {', '.join(sorted(offering))}",
        )
    if is_dns(scenario):
        _check_queries(scenario)
    can = offering.get(generator, _ALL)
    kind = Operate if procedure.operates else type(procedure)
    if kind not in can:
        others = [name for name in offering if kind in offering[name]]
        raise usage_error(
            f"{generator} cannot offer {transaction.plural} in that way",
            where=where,
            found=f"procedure {procedure.name}"
            + " about operations" * (kind is not type(procedure)),
            wanted=" or ".join(name for name, other in PROCEDURES.items() if other in can),
            todo="take another procedure"
            + f", or --generator {' or '.join(others)}" * bool(others),
        )
    procedure.check_replies(len(transaction.stages), transaction.plural)
    adapter_of(scenario).check_fits(scenario, procedure)


def _check_queries(scenario: Scenario) -> None:
    """Raise a usage error for queries that the scenario's generator cannot send."""
    for key, (usual, able) in OF_QUERIES.items():
        asked = scenario.load.get(key, usual)
        if asked != usual and scenario.generator not in able:
            raise usage_error(
                f"{scenario.generator} does not send such queries",
                where=f"scenario {scenario.name}: {key} of the load",
                found=repr(asked),
                wanted=repr(usual),
                todo=f"add --generator {' or '.join(sorted(able))}",
            )
