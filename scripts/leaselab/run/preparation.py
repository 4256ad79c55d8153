"""Preparation of a bench for a sweep: the playbooks, in order."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaselab.archive.ident import is_id
from leaselab.builds.artifacts import built_key
from leaselab.catalog.checkout import checkout_root, kept_folder
from leaselab.lab.bench import lease as locked
from leaselab.lab.bench.lease import Lease
from leaselab.lab.bench.lock import BenchInUseError, NoLockError
from leaselab.lab.bench.made_here import making
from leaselab.lab.deploy import deployment
from leaselab.lab.deploy.playbook import Event, PlaybookStats, run_playbook
from leaselab.lab.hosts.inventory import BUILDER_GROUP, GENERATOR_GROUP, Inventory
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.speech import announce, say
from leaselab.model.text import CLEAR, Control
from leaselab.report.width import is_screen
from leaselab.run.recovery import recover, revive, stop_leftovers

_POLL_S = 0.2
"""Interval of checks of a build under way (s)."""


@dataclass(slots=True)
class LeasedBench:
    """A bench that this command has leased; playbooks change no other bench."""

    inventory: Inventory
    lease: Lease
    just_up: bool = False
    """Whether this command has just brought it up, with hosts of the default release."""


@contextmanager
def leased(
    inventory: Inventory, purpose: str, *, take_over: bool = False
) -> Iterator[LeasedBench]:
    """Lease a bench for the context, before anything is changed; `purpose` is public.

    A generator that is down is brought up first, or recovered, and the lock's program is
    installed where it is missing; `take_over` is that of ``lab take``.  Processes that a killed
    command of this checkout left running are stopped.  Raises a broken-lab error where another
    user has the bench.
    """
    keeper = inventory.only(GENERATOR_GROUP).access

    just_up = False

    def take(lease: Lease) -> None:
        nonlocal just_up
        just_up = _take(inventory, lease, take_over=take_over)

    with locked.leased(checkout_root(), inventory.bench, keeper, purpose, take) as lease:
        if lease.killed is not None:
            say_killed(lease)
            with suppress(LeaselabError):  # a later step reports a host that does not answer
                stop_leftovers(inventory)
        yield LeasedBench(inventory, lease, just_up)


def _take(inventory: Inventory, lease: Lease, *, take_over: bool = False) -> bool:
    """Lock a bench whose generator may be down, or new; return whether it was brought up."""
    just_up = False
    try:
        try:
            lease.take()
        except (BenchInUseError, NoLockError):
            raise
        except LeaselabError:
            if not revive(inventory):
                if not inventory.made_by:
                    raise
                bring_up(inventory, take_over=take_over)
                just_up = True
            lease.take()
    except NoLockError:
        install_lock(inventory)
        lease.take()
    return just_up


def say_killed(lease: Lease) -> None:
    """Print the purpose of a killed command of this checkout, and how to resume it."""
    killed = lease.killed
    if killed is not None:
        text = f"bench {lease.bench}: {killed.name} was killed in {killed.purpose}"
        if is_id(killed.purpose):
            text += f"; that goes on with: leaselab resume {killed.purpose}"
        announce(text)


def prepare(bench: LeasedBench, distribution: str = "", *, full: bool = True) -> str:
    """Bring the bench up and provision it, for any scenario; return its environment.

    Hosts that do not answer get their power cycled first, where they have a power switch.

    `distribution` is the release of the servers' hosts in the local lab; empty for its default.
    Unless `full`, playbooks are skipped where hosts, inventory and roles are unchanged.
    """
    root, inventory = checkout_root(), bench.inventory
    recover(inventory, bench.lease)
    played = deployment.played_hash(root, inventory, distribution)
    record = deployment.read_deployment(root, inventory.bench)
    if (
        not full
        and record is not None
        and _has_generator(inventory)
        and deployment.stands(record, inventory, played)
    ):
        say("the hosts are prepared as they were")
        return record.environment
    deployment.forget_deployment(root, inventory.bench)
    if inventory.made_by and (distribution or not bench.just_up):
        bring_up(inventory, distribution, lease=bench.lease)
        _take(inventory, bench.lease)  # the generator may be a new host
    bench.just_up = False
    with _generator_built(inventory, bench.lease):
        environment = str(play("provision", inventory, {}, bench.lease).custom["environment"])
    _provisioned(inventory).parent.mkdir(parents=True, exist_ok=True)
    _provisioned(inventory).write_text(environment, encoding="utf-8")
    prepared = deployment.Deployment(played, environment, deployment.host_states(inventory))
    deployment.write_deployment(root, inventory.bench, prepared)
    return environment


def _has_generator(inventory: Inventory) -> bool:
    """Whether the generator is built; without a builder none is built."""
    return not inventory.group(BUILDER_GROUP) or bool(built_key(kept_folder("builds")))


@contextmanager
def _generator_built(inventory: Inventory, lease: Lease) -> Iterator[None]:
    """Build the generator on the builder, where there is one, in parallel to the context.

    Raises the context's error, or else that of the build.
    """
    if not inventory.group(BUILDER_GROUP):
        yield
        return
    given_up = threading.Event()

    def still_wanted() -> None:
        if given_up.is_set():
            raise lab_broken(
                "the build of the generator was given up", todo="see the error of the lab"
            )

    with ThreadPoolExecutor(max_workers=1) as pool:
        building = pool.submit(
            run_playbook, "generator", inventory.path, _proof(lease), keep=still_wanted
        )
        try:
            yield
            if building.done():
                building.result()
                return
            _say_begin(_GENERATOR)
            began = time.monotonic()
            while not building.done():
                lease.keep()
                wait([building], timeout=_POLL_S)
        except BaseException:
            given_up.set()
            raise
        _say_end(_GENERATOR, began, building.result().changed)


def bring_up(
    inventory: Inventory,
    distribution: str = "",
    *,
    take_over: bool = False,
    force: bool = False,
    lease: Lease | None = None,
) -> int:
    """Bring a lab of this machine up; return the number of changes.

    Parameters as those of `prepare` and of ``lab up``; `lease` is None for a lab that is down.
    Raises as `making`.
    """
    role = inventory.made_by
    chosen: dict[str, Any] = {f"{role}_take_over": take_over, f"{role}_force": force}
    if distribution:
        chosen[f"{role}_server_distribution"] = distribution
    with making(role, "lab up", checkout_root()):
        return play("lab_up", inventory, chosen, lease).changed


def environment_of(inventory: Inventory) -> str:
    """Return the environment of a bench's last provisioning; empty if there was none."""
    path = _provisioned(inventory)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _provisioned(inventory: Inventory) -> Path:
    return checkout_root() / ".leaselab" / "provisioned" / inventory.bench


def install_lock(inventory: Inventory) -> None:
    """Install the bench lock's program on a generator without it, which cannot be locked."""
    play("take", inventory, {}, None)


_GENERATOR = "building the generator"
_TITLES = {
    "lab_up": "bringing the local lab up",
    "take": "installing the bench lock",
    "provision": "preparing the hosts",
    "deploy": "deploying the server",
    "tune": "tuning hosts and database",
    "retune": "tuning the hosts as their inventory says",
}


def play(
    names: str | Sequence[str],
    inventory: Inventory,
    variables: Mapping[str, Any],
    lease: Lease | None,
    on_event: Callable[[Event], None] = lambda _: None,
    *,
    titles: Mapping[str, str] = _TITLES,
) -> PlaybookStats:
    """Run one playbook or several, and print the purpose and duration of each.

    `titles` are the purposes by the playbooks' names.  Changes are in its log.  `lease` is
    renewed meanwhile, and proves to the playbooks that this command holds the bench; None where
    the bench cannot be leased: a lab that is down, a generator without a lock.
    """
    phases = Phases(titles)

    def show(event: Event) -> None:
        on_event(event)
        phases.event(event)

    chosen = variables if lease is None else {**variables, **_proof(lease)}
    keep = (lambda: None) if lease is None else lease.keep
    stats = run_playbook(names, inventory.path, chosen, show, keep)
    phases.end()
    return stats


class Phases:
    """Prints the start of each playbook, and at its end its duration and number of changes.

    A screen gets one line for all of a call.
    """

    def __init__(self, titles: Mapping[str, str] = _TITLES) -> None:
        self._titles = titles
        self._names: list[str] = []
        self._began = 0.0
        self._changes = 0

    def event(self, event: Event) -> None:
        """Process an event of a playbook."""
        if event["event"] == "playbook":
            if not is_screen(sys.stderr):
                self.end()
            if not self._names:
                self._began, self._changes = time.monotonic(), 0
            self._names.append(event["name"])
            _say_begin(self._titles[event["name"]])
        elif event["event"] == "changed":
            self._changes += 1

    def end(self) -> None:
        """Print the outcome of the playbooks that have ended."""
        if self._names:
            title = ", ".join(self._titles[name] for name in self._names)
            _say_end(title, self._began, self._changes)
        self._names = []


def _say_begin(title: str) -> None:
    """Say what begins; on a screen in the line that its end will take."""
    if is_screen(sys.stderr):
        sys.stderr.write(Control(f"{CLEAR}{title} …"))
        sys.stderr.flush()
    else:
        say(title)


def _say_end(title: str, began: float, changes: int) -> None:
    """Print the duration since `began` (monotonic), and the changes."""
    took = f"{time.monotonic() - began:.0f} s, {changes} change{'s' * (changes != 1)}"
    if is_screen(sys.stderr):
        sys.stderr.write(CLEAR)
        took = f"{title}: {took}"
    else:
        took = f"  {took}"
    say(took)


def _proof(lease: Lease) -> dict[str, Any]:
    """The variables that prove to a playbook that this command holds the bench."""
    return {"bench_lock_hold": str(lease.file)}
