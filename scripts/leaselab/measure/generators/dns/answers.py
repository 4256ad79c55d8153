"""Which answers a load of DNS queries expects, and which of those that came are not such.

A name server that refuses fast looks fast.  So what counts is the RCODE: NOERROR, and NXDOMAIN
for the share of the names that do not exist.  A probe at a low rate says how large the answers
are; those under load have to be as large.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaselab.model.errors import server_broken, usage_error
from leaselab.model.procedure import Procedure
from leaselab.model.scenario import Scenario
from leaselab.model.trial import RECORDED

CACHE, QUERIES, NAMES = "cache", "queries", "names"
"""Keys of a load."""
NONE, COLD, MIXED, HOT = STATES = ("none", "cold", "mixed", "hot")


def check_cache(scenario: Scenario, procedure: Procedure) -> None:
    """Raise a usage error where the cache would not be in the state that the load declares.

    A cold one is reset after each trial, and no trial asks for the same again.  A hot one is
    never reset after the start, and the warm-up has asked for everything once; of a count, its
    own steps have.
    """
    where = f"scenario {scenario.name}"
    state, queries = scenario.load.get(CACHE, NONE), scenario.load.get(QUERIES, 0)
    if state not in STATES:
        raise usage_error(
            "unknown state of a cache", where=where, found=repr(state), wanted=", ".join(STATES)
        )
    if once_only(scenario):
        _check_cold(procedure, queries, where)
    if state == HOT and not procedure.counts_alone:
        _check_hot(procedure, queries, where)


def once_only(scenario: Scenario) -> bool:
    """Whether a load may not begin again before the cache is emptied."""
    load = scenario.load
    return load.get(NAMES) == MIXED or load.get(CACHE, NONE) == COLD


def _check_cold(procedure: Procedure, queries: int, where: str) -> None:
    if procedure.keeps:
        raise usage_error(
            "a cold cache would become warm: nothing is reset after the start",
            where=where,
            found=f"reset {procedure.reset}",
            wanted="a reset after each trial",
            todo="leave out reset, or take a load whose cache is hot",
        )
    most = procedure.most_attempted
    if most > queries:
        raise usage_error(
            "a cold cache would become warm: the load repeats queries before a reset",
            where=where,
            found=f"{queries} queries",
            wanted=f"{most} or more, what may be offered until then",
            todo="give the load more queries, or offer less: a lower rate (max_rate of a "
            "search), or for a shorter time",
        )


def _check_hot(procedure: Procedure, queries: int, where: str) -> None:
    warmed = (procedure.warm_up_rate or 0) * procedure.warm_up_s
    if not procedure.keeps or warmed < queries:
        raise usage_error(
            "a cache that is to be hot would be cold: the warm-up does not ask for everything, "
            "or is reset",
            where=where,
            found=f"cache {HOT}, reset {procedure.reset}, warm_up_rate "
            f"{procedure.warm_up_rate}, warm_up_s {procedure.warm_up_s}",
            wanted=f"reset at-start, and a warm-up of {queries} queries or more",
            todo="say so in the scenario's procedure, or by --set reset=…, warm_up_rate=… and "
            "warm_up_s=…",
        )


OTHER_ANSWERS = "other-answers"
"""The trial passed, but its answers are of another size than those of the probe."""
NAMES_REPEATED = "names-repeated"
"""More was asked than the query file has, of a cache that is to be cold."""

NOERROR, NXDOMAIN = "NOERROR", "NXDOMAIN"
TRUNCATED = "TRUNCATED"
"""leaseload's word for an answer that did not fit: its client would ask again over TCP."""
TRANSPORTS = ("udp", "tcp", "dot", "https")
KEPT, FRESH = "kept", "fresh"
"""Connections of queries: open before the load, or a new one for each query."""
_KEY = re.compile(r"[a-z0-9.-]+:[A-Za-z0-9+/]+={0,2}")
_SUBNETS = re.compile(r"(?!,)(?:(?:^|,)[0-9a-f.:]+/\d{1,3}(?:\*\d+)?)+")
DEVIATIONS = 5.0
"""Standard deviations by which the share of names that do not exist may differ in the part
of a query file that is asked."""
SIZE_SHARE, SIZE_BYTES = 0.02, 2
"""By how much the mean size of answers may differ from the probe's: as a share, and in bytes,
as tools round it."""
PROBE_RATE, PROBE_S = 500, 2
"""Rate (queries/s) and length (s) of the probe: what a slow server answers, and enough names
for a mean."""
UPDATES_PROBE_RATE = 50
"""Rate of a probe with updates: what a slow disk syncs."""
PROBE_LATE_S = 1
"""When a query of the probe counts as lost (s): how fast the server is, trials show."""
PROBE_SHARE = 0.99
"""Share of the probe's queries that have to be answered as expected."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a load's queries are answered with, where all goes well."""

    misses: float | None
    """Share of the queries whose name does not exist (0..1); None where it is unknown, as for
    a user's own queries."""
    answer_bytes: int | None = None
    """Mean size of the probe's answers (bytes); None before there was a probe."""

    def failures(self, rcodes: Mapping[str, int]) -> dict[str, int]:
        """Return the answers that were not expected, by RCODE.

        Of NOERROR and NXDOMAIN it is what goes beyond their shares of all expected ones, with
        room for how these are spread over the query file.  Where the shares are not known,
        both are expected.
        """
        counts = {code: n for code, n in rcodes.items() if code not in (NOERROR, NXDOMAIN)}
        if self.misses is None:
            return counts
        answered = rcodes.get(NOERROR, 0) + rcodes.get(NXDOMAIN, 0)
        spread = DEVIATIONS * math.sqrt(answered * self.misses * (1 - self.misses))
        for code, share in ((NOERROR, 1 - self.misses), (NXDOMAIN, self.misses)):
            beyond = rcodes.get(code, 0) - math.ceil(share * answered + spread)
            if beyond > 0:
                counts[code] = beyond
        return {code: n for code, n in counts.items() if n}

    @property
    def words(self) -> str:
        """What is expected, in words."""
        if self.misses is None:
            return f"{NOERROR} or {NXDOMAIN}"
        return f"{NOERROR}, and {NXDOMAIN} for {100 * self.misses:g} % of the names"

    def same_size(self, answer_bytes: float) -> bool:
        """Whether answers of this mean size are as large as the probe's.

        The first of a user's own queries need not be like the others, so these may differ.
        """
        if self.answer_bytes is None or self.misses is None:
            return True
        room = SIZE_BYTES + SIZE_SHARE * self.answer_bytes
        return abs(answer_bytes - self.answer_bytes) <= room

    def check_probe(self, rcodes: Mapping[str, int], where: str) -> None:
        """Raise a server-broken error where a probe was answered with something else.

        Where answers did not fit it is a usage error.  `where` names the server's host.
        """
        answered = sum(rcodes.values())
        wrong = self.failures(rcodes)
        if answered and sum(wrong.values()) > (1 - PROBE_SHARE) * answered:
            counts = ", ".join(f"{code} {n}" for code, n in sorted(rcodes.items()))
            if TRUNCATED in wrong:
                raise usage_error(
                    "answers do not fit in a datagram: clients would ask again over TCP",
                    where=where,
                    found=f"{counts} of {answered} answers",
                    wanted=self.words,
                    todo="accept larger ones (--edns 1232), or take a load over TCP",
                )
            raise server_broken(
                "the server answers the load's queries with other RCODEs than it should",
                where=where,
                found=f"{counts} of {answered} answers",
                wanted=self.words,
                todo="compare the zones that it serves with the query file: data and size of "
                "the load",
            )


def is_dns(scenario: Scenario) -> bool:
    """Whether a scenario's load is one of queries; else it is one of DHCP clients."""
    return "queries" in scenario.load


def expected_of(scenario: Scenario) -> Expected:
    """Return what the queries of a scenario's load are answered with."""
    is_own = "query_file" in scenario.load
    return Expected(None if is_own else float(scenario.load.get("misses", 0.0)))


def repeats(scenario: Scenario, queries: int) -> bool:
    """Whether so many queries ask for a name again that was to be new."""
    most = most_queries(scenario)
    return most is not None and queries > most


def most_queries(scenario: Scenario) -> int | None:
    """How many queries may be asked until the cache is emptied; None without a bound."""
    return int(scenario.load.get(QUERIES, 0)) if once_only(scenario) else None


def check_queries(scenario: Scenario, procedure: Procedure, known: tuple[str, ...]) -> None:
    """Raise a usage error for a load that queries cannot have, or a transport not `known`."""
    transport_of(scenario, known)
    connections_of(scenario)
    subnets_of(scenario)
    is_recorded(scenario)
    updates_of(scenario)
    _share_of(scenario, "misses", 0.0)
    check_cache(scenario, procedure)


def edns_of(scenario: Scenario, sizes: Sequence[int] | None) -> tuple[int, bool]:
    """Return the size of answers that EDNS says (bytes, 0 without EDNS), and the DO bit.

    Raises a usage error for a size that the generator cannot say: `sizes` are those that it
    can, None for any.
    """
    size = int(scenario.load.get("edns_bytes", 0))
    if size and sizes is not None and size not in sizes:
        raise usage_error(
            f"{scenario.generator} does not send EDNS of this size",
            where=f"scenario {scenario.name}: edns_bytes",
            found=str(size),
            wanted=" or ".join(map(str, sizes)) or "a load without EDNS",
            todo="add --generator leaseload",
        )
    return size, bool(scenario.load.get("dnssec_ok"))


def check_names(scenario: Scenario) -> None:
    r"""Refuse names with ``\DDD`` where dnsperf asks them (usage error): it reads others."""
    escaped = scenario.load.get("queries_file", {}).get("escaped", 0)
    if escaped:
        raise usage_error(
            r"dnsperf reads \DDD in a name as another character",
            where=f"scenario {scenario.name}: queries",
            found=f"{escaped} names with it, generator {scenario.generator}",
            wanted="none",
            todo="add --generator leaseload, or leave these queries out",
        )


def transport_of(scenario: Scenario, known: tuple[str, ...] = TRANSPORTS) -> str:
    """Return how a load's queries are sent; a usage error for a way that the tool has not."""
    transport = str(scenario.load.get("transport", TRANSPORTS[0]))
    if transport not in known:
        raise usage_error(
            f"{scenario.generator} does not send queries that way",
            where=f"scenario {scenario.name}: transport",
            found=transport,
            wanted=" or ".join(known),
        )
    return transport


def connections_of(scenario: Scenario) -> str:
    """Return which connections queries go over; a usage error for what is none."""
    connections = str(scenario.load.get("connections", KEPT))
    usual = connections == KEPT
    if not usual and (connections != FRESH or transport_of(scenario) == TRANSPORTS[0]):
        raise usage_error(
            "unknown kind of connections",
            where=f"scenario {scenario.name}: connections",
            found=f"{connections}, transport {transport_of(scenario)}",
            wanted=f"{KEPT}, or {FRESH} with {' or '.join(TRANSPORTS[1:])}",
        )
    return connections


def is_recorded(scenario: Scenario) -> bool:
    """Whether queries come at the distances that their file has; a usage error for none."""
    arrivals = scenario.load.get("arrivals", "")
    if arrivals not in ("", RECORDED):
        raise usage_error(
            "unknown kind of arrivals",
            where=f"scenario {scenario.name}: arrivals",
            found=repr(arrivals)[:40],
            wanted=f"{RECORDED}, or nothing for even distances",
        )
    return bool(arrivals)


def subnets_of(scenario: Scenario) -> tuple[str, float]:
    """Return the client subnets of queries, as leaseload writes them, and their share.

    Raises a usage error for what is none.
    """
    subnets = str(scenario.load.get("client_subnets", ""))
    if subnets and not _SUBNETS.fullmatch(subnets):
        raise usage_error(
            "not client subnets",
            where=f"scenario {scenario.name}: client_subnets",
            found=subnets,
            wanted="such as 10.0.0.0/24 or 10.0.0.0/24*1000, and several with commas",
        )
    return subnets, _share_of(scenario, "client_subnet_share", 1.0)


def _share_of(scenario: Scenario, key: str, usual: float) -> float:
    """Return a share of the queries (0..1); raises a usage error for what is none."""
    share = scenario.load.get(key, usual)
    if not 0 <= share <= 1:
        raise usage_error(
            "not a share of the queries",
            where=f"scenario {scenario.name}: {key}",
            found=repr(share),
            wanted="0 to 1",
        )
    return float(share)


def updates_of(scenario: Scenario) -> tuple[float, str]:
    """Return the share of the messages that are updates, and the key that signs them or none.

    Raises a usage error for what is none.
    """
    updates = scenario.load.get("updates", 0.0)
    key = str(scenario.load.get("update_key", ""))
    where = f"scenario {scenario.name}"
    if not 0 <= updates <= 1 or (updates and scenario.load.get("misses")):
        raise usage_error(
            "not a share of updates",
            where=f"{where}: updates",
            found=f"{updates!r}, misses {scenario.load.get('misses', 0.0)}",
            wanted="0 to 1, without misses",
        )
    if key and not _KEY.fullmatch(key):
        raise usage_error(
            "not a key of updates",
            where=f"{where}: update_key",
            found=key,
            wanted="NAME:SECRET, the secret in base64",
        )
    return float(updates), key
