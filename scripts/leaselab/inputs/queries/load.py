"""A scenario with the queries of a file, and where they are given with a user's own zones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from leaselab.catalog.catalogue import Catalogue
from leaselab.catalog.kept_scenarios import Made, keep_bytes
from leaselab.catalog.roles import ROLES, options_of
from leaselab.inputs.queries.file import Queries, about, check_inside
from leaselab.inputs.queries.zones import Zone, keep_zones, kept_zones
from leaselab.model.errors import usage_error
from leaselab.model.scenario import Scenario
from leaselab.model.trial import RECORDED

LISTED = "listed"
ORDERS = (LISTED, "uniform", "zipf")
"""How the lines of a file are asked: in their order, each once before any comes again, or the
k-th most popular one as often as 1/k."""
OF_DATA = {"misses", "updates", "update_key"}
"""Keys of a load that say what is sent for the lab's own data alone."""
_OWN = "own"
COLD = "cold"
"""What a load declares of a cache that has none of the names that are asked for."""


class Asked(NamedTuple):
    """How queries are sent."""

    order: str = LISTED
    edns_bytes: int = 0
    """Size of answers that EDNS says; 0 without EDNS."""
    dnssec_ok: bool = False
    zones: Sequence[Zone] = ()
    """A user's own zones, for a server that has zones."""
    scale: float | None = None
    """How many times as fast as they came; None for even distances."""


def with_queries(
    catalogue: Catalogue, scenario: Scenario, queries: Queries, asked: Asked
) -> Made:
    """Add a scenario with other queries to the catalogue.

    Raises a usage error for a scenario that asks no queries or cannot have the zones, for
    names outside its zones, and for names that come again where its cache is to be cold.
    """
    folder = catalogue.kept
    zones = _zones(scenario, queries, asked, folder)
    count = len(queries.lines) if asked.order == LISTED else int(scenario.load["queries"])
    _check_cache(scenario, queries, asked, count)
    procedure = catalogue.family_of(scenario.name).procedures[scenario.name]
    timing, text = "", queries.text
    if asked.scale:
        procedure, timing = _recorded(procedure, queries, asked)
        text = queries.timed_text
    load = {
        **{key: value for key, value in scenario.load.items() if key not in OF_DATA},
        "names": asked.order,
        "queries": count,
        "query_file": keep_bytes(folder, text, "lines"),
        "queries_file": about(queries.lines, queries.sha256),
        **({"edns_bytes": asked.edns_bytes} if asked.edns_bytes else {}),
        **({"dnssec_ok": True} if asked.dnssec_ok else {}),
        **({"arrivals": RECORDED} if asked.scale else {}),
    }
    if asked.zones:
        # Their size is that of the lab's own data.
        factors = {key: value for key, value in scenario.factors.items() if key != "size"}
        scenario = replace(scenario, factors=factors)
        load |= {
            "data": _OWN,
            "size": sum(zone.records for zone in asked.zones),
            "zone_files": keep_zones(folder, asked.zones),
        }
    made = catalogue.add_like(scenario, procedure, load, "queries")
    lines = [
        f"scenario {made.name}",
        f"  {len(queries.lines)} queries, {queries.distinct} different, asked {asked.order}",
        *([f"  {timing}"] if timing else []),
        f"  {zones}",
    ]
    return Made(made, lines)


def _recorded(
    given: Mapping[str, Any], queries: Queries, asked: Asked
) -> tuple[dict[str, Any], str]:
    """The procedure that asks all queries once, so many times as fast as they came; in words.

    Rate and length are whole numbers, so the speed is near the wanted one.
    """
    times = queries.times
    if not times or times[0] == times[-1]:
        raise usage_error(
            "the queries have no times",
            where=str(queries.path),
            wanted="a last word @SECONDS in each line",
            todo="leaselab queries CAPTURE --times, or leave out --scale",
        )
    if asked.order != LISTED:
        raise usage_error(
            "queries come as they were recorded in their own order only",
            where="--names",
            found=asked.order,
            wanted=LISTED,
        )
    count, scale = len(times), asked.scale or 1.0
    rate = max(1, round(count * scale / queries.length_s))
    length_s = max(1, count // rate)
    speed = queries.length_s * rate / count
    procedure = {key: given[key] for key in ("loss_ratio", "late_s", "wait_s") if key in given}
    procedure |= {
        "name": "fixed-load",
        "rate": rate,
        "duration_s": length_s,
        "trial_s": length_s,
    }
    return procedure, f"as recorded, {speed:.3g} times as fast: {rate}/s for {length_s} s"


def _zones(scenario: Scenario, queries: Queries, asked: Asked, folder: Path) -> str:
    """Check that the server can answer the queries; return from which zones, in words."""
    where = f"scenario {scenario.name}"
    if "queries" not in scenario.load:
        raise usage_error(
            "not a DNS scenario", where=where, wanted="a DNS scenario, such as bind9-zones"
        )
    served = options_of(scenario.server.kind, "main").get("data", {}).get("choices", ())
    takes = _OWN in served and scenario.support is None
    if asked.zones:
        if not takes:
            raise usage_error(
                "its server has no zones of its own",
                where=where,
                found=scenario.server.kind,
                wanted="an authority: bind9, nsd or powerdns",
                todo="leave --zone out, or name such a scenario",
            )
        names = {zone.name for zone in asked.zones}
        check_inside(queries, names.intersection)
        records = sum(zone.records for zone in asked.zones)
        return f"zones of yours: {len(asked.zones)}, with {records} records"
    if not takes:
        return "answered whatever the names are"
    kind, size = str(scenario.load["data"]), int(scenario.load["size"])
    if kind == _OWN:
        kept = kept_zones(folder, str(scenario.load["zone_files"]))
        check_inside(queries, kept.intersection)
        return f"zones of the scenario: {len(kept)}"
    check_inside(queries, lambda names: _made_zones(kind, size, names))
    return f"zones of the lab: {kind}, size {size}"


def _made_zones(kind: str, size: int, names: frozenset[str]) -> Iterable[str]:
    """Those of some names that are zones of the lab's own data: what role dns_data makes."""
    folder = str(ROLES / "dns_data" / "files")
    if folder not in sys.path:
        sys.path.append(folder)
    kinds: Any = importlib.import_module("leaselab_dns_data.kinds")
    return (zone for zone, _ in kinds.kind_of(kind, size).zones(size) if zone in names)


def _check_cache(scenario: Scenario, queries: Queries, asked: Asked, count: int) -> None:
    """Refuse names that come again where the load declares that none of them is cached."""
    if scenario.load.get("cache") != COLD:
        return
    seen: set[str] = set()
    again = None
    for number, line in zip(queries.numbers, queries.lines, strict=True):
        if line in seen:
            again = f"{queries.path}:{number}", line
            break
        seen.add(line)
    if asked.order == "zipf" or (asked.order == "uniform" and count > queries.distinct):
        again = "--names", f"{asked.order}, {count} of {queries.distinct} different queries"
    elif asked.order == "uniform" or again is None:
        return
    where, line = again
    raise usage_error(
        "a query repeats, but the scenario needs a cold cache",
        where=where,
        found=line,
        wanted="each query once",
        todo="choose a scenario whose cache is mixed or hot, or remove the repeated queries",
    )
