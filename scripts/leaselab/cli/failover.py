"""``leaselab failover``: kill the server of a pair under load; see what clients notice."""

from __future__ import annotations

import secrets
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leaselab.archive.failover import keep
from leaselab.archive.ident import new_id
from leaselab.archive.published import by_role
from leaselab.cli.bench_setup import add_inventory, check, deploy, inventory_of, prepare
from leaselab.cli.document import own_provenance
from leaselab.cli.options import (
    add_json,
    add_results,
    checkout_root,
    open_store,
    print_json,
    results_dir,
)
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.catalog import find_scenario
from leaselab.lab.generator import RemoteGenerator
from leaselab.lab.hold import owner_under
from leaselab.lab.lock import BenchLock, lease_s
from leaselab.lab.pair import ServerPair
from leaselab.lab.server import ContractServer
from leaselab.lab.transport import connect
from leaselab.measure.bench_trial import BenchTrials
from leaselab.measure.failover import Load, crash_under, figures
from leaselab.model import moment
from leaselab.model.bench import public_names
from leaselab.model.errors import LeaselabError, Outcome, usage_error
from leaselab.report.failover import failover_lines

if TYPE_CHECKING:
    import argparse

    from leaselab.archive.store import Store
    from leaselab.model.bench import Bench

NAME = "failover"
HELP = "Kill the server of a pair under a steady load; say how long nobody was served."
RUNS = 3
DEFAULT_SCENARIO = "v4-memfile-hs"
SHARE = 0.5
"""Offered load over the max rate measured last, where none is given."""
BEFORE_S = 10
AFTER_SLACK_S = 20
"""Traffic after the crash beyond the delay that the scenario sets (s)."""


@dataclass
class _Measured:
    """What came of it, the failover that failed included."""

    found: list[dict[str, Any]] = field(default_factory=list)
    raws_gz: list[bytes] = field(default_factory=list)
    error: LeaselabError | None = None
    document: dict[str, Any] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``failover``."""
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT_SCENARIO,
        help=f"a scenario with a pair (default: {DEFAULT_SCENARIO})",
    )
    parser.add_argument(
        "--rate",
        type=int,
        metavar="N",
        help="offered load, 1/s (half of the max rate this bench measured last)",
    )
    parser.add_argument(
        "--before-s",
        type=int,
        default=BEFORE_S,
        metavar="N",
        help="traffic before the kill, s (10)",
    )
    parser.add_argument(
        "--after-s",
        type=int,
        metavar="N",
        help="traffic after the kill, s (20 more than the scenario's max_response_delay_s)",
    )
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"failovers, each anew ({RUNS})"
    )
    add_inventory(parser)
    add_results(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> Outcome:
    """Deploy the pair, offer the load, kill, show and keep what came of it."""
    inventory = inventory_of(args)
    scenario = find_scenario(checkout_root() / "scenarios", args.scenario)
    pair = scenario.high_availability
    if not pair.pair:
        raise usage_error(
            "a failover needs a pair",
            where=f"scenario {args.scenario}",
            todo="choose one whose name ends in -hs or -lb",
        )
    check(scenario, {}, inventory)
    after_s, rate = args.after_s, args.rate
    if after_s is None:
        after_s = round(pair.max_response_delay_s) + AFTER_SLACK_S
    _check_numbers(args, after_s, pair.max_response_delay_s)
    if rate is None:
        rate = _usual_rate(open_store(args), args.scenario, inventory.bench)
    load = Load(rate, args.before_s, after_s)
    prepare(inventory)
    bench = parse_bench(deploy(args.scenario, inventory, {}), "bench.json")
    measured = _measure(bench, load, args.runs)
    # one that failed is kept, too: why it was not served again is in the output
    place = keep(results_dir(args), measured.document, measured.raws_gz)
    if args.json:
        print_json(measured.document)
    else:
        for line in failover_lines(measured.document):
            print(line)
        print(f"  result   {place}")
    if measured.error is not None:
        raise measured.error
    return Outcome.OK


def _check_numbers(args: argparse.Namespace, after_s: int, noticed_s: float) -> None:
    """Refuse what could only end, after a deployment, without a figure."""
    for option, found in (
        ("--rate", args.rate),
        ("--before-s", args.before_s),
        ("--runs", args.runs),
    ):
        if found is not None and found < 1:
            raise usage_error(
                "out of range", where=option, found=str(found), wanted="1 or more"
            )
    if after_s <= noticed_s:
        raise usage_error(
            "the pair would not have noticed by then",
            where="--after-s",
            found=str(after_s),
            wanted=f"more than the scenario's max_response_delay_s, {noticed_s:g}",
        )


def _usual_rate(store: Store, scenario: str, bench: str) -> int:
    for row in store.index.rows(scenario=scenario, outcome=Outcome.OK.label):
        if row["bench"] == bench and row["trimmed_mean"]:
            return max(1, round(SHARE * float(row["trimmed_mean"])))
    raise usage_error(
        "no max rate of this scenario is known on this bench",
        where=f"scenario {scenario}",
        todo=f"give the load with --rate, or measure first: leaselab run {scenario}",
    )


def _measure(bench: Bench, load: Load, runs: int) -> _Measured:
    now = datetime.now(UTC)
    failover_id = new_id(now, bench.scenario.name, secrets.token_hex(2))
    if bench.partner is None:
        raise usage_error("no partner was deployed", where="bench.json")
    with ExitStack() as stack:
        hosts = {
            role: stack.enter_context(connect(bench.hosts[role].access))
            for role in ("generator", "server", "partner")
        }
        owner = owner_under(checkout_root(), bench.name, f"failover {failover_id}")
        lease = lease_s(bench.plan, bench.scenario) + load.before_s + load.after_s
        lock = stack.enter_context(BenchLock(hosts["generator"], owner, lease))
        pair = ServerPair(
            ContractServer(hosts["server"], bench.server),
            ContractServer(hosts["partner"], bench.partner),
        )
        trials = BenchTrials(bench, pair, RemoteGenerator(hosts["generator"]))
        measured = _Measured()
        try:
            for number in range(1, runs + 1):
                lock.renew()
                _one(measured, f"failover {number}/{runs}", load, trials, pair)
        except LeaselabError as error:
            measured.error = error
    names = public_names({role: host.access for role, host in bench.hosts.items()})
    measured.document = {
        "schema_version": 1,
        "id": failover_id,
        "started_at": moment.timestamp(now),
        "outcome": (measured.error.outcome if measured.error else Outcome.OK).label,
        "reasons": [by_role(str(measured.error), names)] if measured.error else [],
        "scenario": asdict(bench.scenario),
        "load": asdict(load),
        "late_s": bench.plan.goal.late_s,
        "failovers": measured.found,
        "server": {
            "name": bench.server.name,
            "version": bench.server.version,
            "commit": bench.server.commit,
            "durability": bench.server.durability.value,
            "tuning": dict(bench.server.tuning),
        },
        "bench": {"name": bench.name, "environment": bench.environment},
        "provenance": own_provenance(checkout_root()),
    }
    return measured


def _one(
    measured: _Measured, name: str, load: Load, trials: BenchTrials, pair: ServerPair
) -> None:
    """Start the pair, kill its server under the load, stop the pair."""
    try:
        print(f"{name}: starting the pair", file=sys.stderr, flush=True)
        trials.start_server()
        print(
            f"{name}: {load.rate}/s for {load.before_s} s, then without the server for "
            f"{load.after_s} s",
            file=sys.stderr,
            flush=True,
        )
        generated = crash_under(load, trials, pair)
        measured.raws_gz.append(generated.output_gz)
        measured.found.append(asdict(figures(generated, load, trials, pair)))
    except BaseException:
        # the first error is the one to tell
        with suppress(LeaselabError):
            pair.stop()
        raise
    pair.stop()
