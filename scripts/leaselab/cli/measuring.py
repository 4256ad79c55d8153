"""Measuring a bench from its document to a sealed result: where all rooms meet."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from leaselab.archive.access import keep_access, with_access
from leaselab.archive.ident import new_id
from leaselab.archive.live import LiveFeed
from leaselab.archive.published import by_role, published, published_bench
from leaselab.archive.running import RunningSweep
from leaselab.archive.store import Store
from leaselab.cli.document import failed_document, own_provenance, result_document
from leaselab.cli.listeners import Live, Several
from leaselab.cli.options import checkout_root
from leaselab.cli.progress import progress
from leaselab.lab.bench_file import parse_bench
from leaselab.lab.deployment import distrust_deployment
from leaselab.lab.foreign import watching
from leaselab.lab.generator import RemoteGenerator
from leaselab.lab.hold import owner_under
from leaselab.lab.host_reading import RemoteHost
from leaselab.lab.host_tuning import check_tuned
from leaselab.lab.inventory import Inventory
from leaselab.lab.lock import BenchLock, Owner, lease_s
from leaselab.lab.pair import ServerPair
from leaselab.lab.server import ContractServer
from leaselab.lab.transport import Connection, connect
from leaselab.measure.bench_trial import BenchTrials
from leaselab.measure.ports import Listener, Server
from leaselab.measure.sweep import Sweep, read_journal
from leaselab.model import moment
from leaselab.model.bench import Bench, ServerUnderTest, public_names
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.plan import Plan
from leaselab.model.scenario import Scenario
from leaselab.model.source import Commit, public_address

BENCH_FILE = "bench.json"
"""The bench document, as a file of the result."""
BUILD_LOG = "build.log.gz"
"""The log of a build that failed, as a file of the result."""
SWEEP, FAULT = "sweep", "fault"
"""Journal events of a sweep as a whole: what it is, and what stopped it for now."""


def begin(store: Store, document: Mapping[str, Any], where: str) -> RunningSweep:
    """Create a sweep for a bench document, journaled before anything is touched."""
    bench = parse_bench(document, where)
    now = datetime.now(UTC)
    running = store.create(new_id(now, bench.scenario.name, secrets.token_hex(2)))
    keep_access(
        running.path, {role: host["access"] for role, host in document["hosts"].items()}
    )
    public = published_bench(document)
    running.write_text(BENCH_FILE, json.dumps(public, indent=1, sort_keys=True) + "\n")
    running.record(
        SWEEP,
        {
            "bench": public,
            "started_at": moment.timestamp(now),
            "command": command(),
            **own_provenance(checkout_root()),
        },
    )
    return running


def archive_failure(
    store: Store,
    *,
    error: LeaselabError,
    scenario: Scenario,
    plan: Plan,
    commit: Commit,
    log: Path | None,
    inventory: Inventory,
    environment: str,
) -> Path:
    """Seal the result of a commit that came to no sweep.

    `log` is that of its build, where that is what failed.  Where the playbook's own
    output lies on this machine is of no use to whoever reads the result elsewhere.
    """
    now = datetime.now(UTC)
    error = replace(error, todo=f"its whole log: {BUILD_LOG} of the result" if log else "")
    with store.create(new_id(now, scenario.name, secrets.token_hex(2))) as running:
        if log:
            running.write_bytes(BUILD_LOG, log.read_bytes())
        document = failed_document(
            sweep_id=running.id,
            scenario=scenario,
            plan=plan,
            commit=commit,
            inventory=inventory,
            environment=environment,
            error=error,
            started_at=moment.timestamp(now),
            command=command(),
            provenance=own_provenance(checkout_root()),
        )
        names = public_names(inventory.access())
        return store.seal(running, published(document, names))


def finish(store: Store, running: RunningSweep) -> tuple[LeaselabError | None, Path]:
    """Measure what is left of a sweep and seal it; return what went wrong and its directory.

    When the lab breaks, or the user interrupts, the sweep stays as it is and
    can be resumed: that error is raised.  An invalid measurement or a server
    that does not start is a result as well and is sealed with its reason.
    """
    events = [(event.name, event.data) for event in running.events()]
    if not events or events[0][0] != SWEEP:
        raise lab_broken(
            "the journal does not say what was to be measured",
            where=str(running.path),
            todo="it was killed before it began; remove that folder and measure anew",
        )
    begun = events[0][1]
    bench = parse_bench(with_access(begun["bench"], running.path), str(running.path))
    names = public_names({role: host.access for role, host in bench.hosts.items()})
    with running, progress(bench) as shown, closing(LiveFeed(running.path)) as feed:
        try:
            measured = _measure(running, bench, shown, feed, events)
        except BaseException as fault:
            told = by_role(str(fault), names) or type(fault).__name__
            running.record(FAULT, {"text": told})
            go_on = f"go on with: leaselab resume {running.id}"
            if isinstance(fault, LeaselabError):
                _distrust(bench, fault)
                fault.todo = _and(fault.todo, go_on)
            elif isinstance(fault, KeyboardInterrupt):
                fault.args = (go_on,)
            raise
        document = result_document(
            sweep_id=running.id,
            bench=bench,
            runs=measured.runs,
            confirmation=measured.confirmation,
            error=measured.error,
            setup_s=measured.setup_s,
            started_at=begun["started_at"],
            finished_at=moment.now(),
            command=begun["command"],
            owner=measured.owner,
            config_files=measured.config_files,
            provenance={key: begun[key] for key in begun if key.startswith("leaselab_")},
        )
        if measured.error is not None:
            _distrust(bench, measured.error)
        return measured.error, store.seal(running, published(document, names))


def _distrust(bench: Bench, fault: LeaselabError) -> None:
    """Have the next run deploy again where what failed is a host that serves."""
    serving = {
        bench.hosts[role].access.name for role in ("server", "partner") if role in bench.hosts
    }
    if fault.where in serving and fault.outcome is not Outcome.INVALID:
        distrust_deployment(checkout_root(), bench.name)


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a sweep came to."""

    runs: list[dict[str, Any]]
    confirmation: dict[str, Any] | None
    error: LeaselabError | None
    """What ended it for good before its last run, None when nothing did."""
    owner: str
    config_files: Mapping[str, str]
    """By role: the configuration as deployed, as a file of the result."""
    setup_s: float
    """Time before the first run: connections, lock, configuration (s)."""


def _measure(
    running: RunningSweep,
    bench: Bench,
    shown: Listener,
    feed: LiveFeed,
    events: list[tuple[str, Mapping[str, Any]]],
) -> _Measured:
    began = time.monotonic()
    live = Live(feed)
    listener = Several(shown, live)
    with ExitStack() as stack:
        hosts: dict[str, Connection] = {}
        roles = ("generator", "server", "partner") if bench.partner else ("generator", "server")
        for role in roles:
            listener.phase(f"connecting to the {role}")
            hosts[role] = stack.enter_context(connect(bench.hosts[role].access))
            check_tuned(bench.hosts[role], hosts[role])
        owner = sweep_owner(running.id, bench.name)
        lock = stack.enter_context(
            BenchLock(hosts["generator"], owner, lease_s(bench.plan, bench.scenario))
        )
        config_files = {"server": _fetch_config(running, bench.server, hosts["server"])}
        alone = ContractServer(hosts["server"], bench.server, live.sampler("server"))
        server: Server = alone
        if bench.partner:
            config_files["partner"] = _fetch_config(
                running, bench.partner, hosts["partner"], "partner/"
            )
            partner = ContractServer(hosts["partner"], bench.partner, live.sampler("partner"))
            server = ServerPair(alone, partner)
        watched = {role: RemoteHost(host) for role, host in hosts.items()}
        generator = RemoteGenerator(hosts["generator"])
        watch = stack.enter_context(watching(bench.hosts, hosts))
        trials = BenchTrials(bench, server, generator, running, watched, watch)
        sweep = Sweep(bench, server, trials, lock, running, listener)
        setup_s = time.monotonic() - began
        final = None
        try:
            sweep.measure(read_journal(events))
        except LeaselabError as error:
            if error.outcome is Outcome.LAB:
                raise
            final = error
        return _Measured(
            sweep.runs, sweep.confirmation, final, owner.name, config_files, setup_s
        )


def _fetch_config(
    running: RunningSweep, deployed: ServerUnderTest, server: Connection, folder: str = ""
) -> str:
    """Keep a server's configuration with the result; it must be the one deployed."""
    path = deployed.config_file
    done = server.run(["cat", path], timeout_s=10.0)
    found = hashlib.sha256(done.stdout).hexdigest()
    if done.status != 0 or found != deployed.config_sha256:
        raise lab_broken(
            f"{path} is not the configuration that was deployed for this sweep",
            where=server.access.name,
            found=found if done.status == 0 else done.stderr.strip(),
            wanted=deployed.config_sha256,
            todo="deploy again",
        )
    name = f"config/{folder}{PurePosixPath(path).name}"
    return running.write_text(name, done.stdout.decode())


def sweep_owner(sweep_id: str, bench: str) -> Owner:
    """Name this process as who has a sweep's bench, also where it goes on with the sweep."""
    return owner_under(checkout_root(), bench, sweep_id, _lock_token(sweep_id))


def _lock_token(sweep_id: str) -> str:
    """Return the same token whenever this checkout goes on with this sweep.

    So a resumed sweep takes over the lock its killed self left, while nobody
    who only reads results can.
    """
    path = checkout_root() / ".leaselab" / "lock-secret"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"lock-secret.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        draft.rename(path)
    secret = path.read_text(encoding="ascii").encode()
    return hmac.new(secret, sweep_id.encode(), hashlib.sha256).hexdigest()


def command() -> list[str]:
    """Return the command as the user gave it, without what may be a secret of an address."""
    given = shlex.split(os.environ.get("LEASELAB_COMMAND", "")) or ["leaselab", *sys.argv[1:]]
    return [public_address(word) for word in given]


def _and(first: str, second: str) -> str:
    return f"{first}; {second}" if first else second
