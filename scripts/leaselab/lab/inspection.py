"""Inspects a bench: puts together what was read, and judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaselab.lab.build import build
from leaselab.lab.check_host import check_access, check_host, check_lock
from leaselab.lab.check_network import check_interface, check_pools, check_relay
from leaselab.lab.contact import Contact
from leaselab.lab.findings import CONTROLLER, Finding, Level, Wanted
from leaselab.lab.inventory import GENERATOR_GROUP, SERVER_GROUP, Inventory
from leaselab.model.scenario import Scenario


def judge(
    inventory: Inventory,
    reading: Mapping[str, Any],
    contacts: Mapping[str, Contact],
    scenarios: Mapping[str, Scenario],
) -> list[Finding]:
    """Return every finding, hosts in the inventory's order and the controller last.

    `reading` is what role lab_check hands over: `hosts` (by name what the
    module returned, with `probe` or with the `msg` of its failure), `wanted`
    (by name the fields of `Wanted`) and `controller` (the same of this machine
    as of a host).
    Raises a usage error for limits of another shape, and for a group with too
    many hosts.
    """
    generator, server = inventory.only(GENERATOR_GROUP), inventory.only(SERVER_GROUP)
    holder = contacts[generator.access.name].holder
    # What came from a host whose key is not the pinned one says nothing: Ansible may have
    # read it over a connection that was opened before.
    probes = {
        name: read["probe"]
        for name, read in reading["hosts"].items()
        if "probe" in read and contacts[name].error is None
    }
    used = {
        name
        for scenario in scenarios.values()
        for name in (scenario.server.kind, scenario.generator)
    }
    findings: list[Finding] = []
    for host in inventory.hosts:
        name = host.access.name
        contact = contacts[name]
        findings += check_access(host, contact, reading["hosts"].get(name, {}))
        if name in probes:
            wanted = build(Wanted, reading["wanted"][name], f"role lab_check, host {name}")
            findings += check_host(
                host, probes[name], contact, wanted, used=used, held=holder is not None
            )
            if not host.only_builds:  # such a one is not on the test network
                findings += check_interface(host, probes[name], contact, wanted.link_mbps)
        if host is generator and contact.error is None:
            findings.append(check_lock(host, holder, contact.maintenance))
    findings += check_relay(generator, server, probes)
    machines = dict(probes)
    if "probe" in reading["controller"] and reading["controller"]["probe"]["tools"]["ip"]:
        machines[CONTROLLER] = reading["controller"]["probe"]
    else:
        findings.append(
            Finding(
                CONTROLLER,
                "pool",
                Level.WARNING,
                "this machine's routes cannot be read",
                "that no pool overlaps them",
                "apt-get install iproute2 on this machine",
            )
        )
    findings += check_pools(scenarios, machines)
    order = [*(host.access.name for host in inventory.hosts), CONTROLLER]
    return sorted(findings, key=lambda finding: order.index(finding.host))


def document(bench: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as ``leaselab lab check --json`` prints them."""
    levels = [finding.level for finding in findings]
    return {
        "bench": bench,
        "ok": Level.ERROR not in levels,
        "errors": levels.count(Level.ERROR),
        "warnings": levels.count(Level.WARNING),
        "findings": [finding.document() for finding in findings],
    }
