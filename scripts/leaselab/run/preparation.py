"""Bringing a bench to the point where a sweep can begin: the playbooks, in order."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaselab.archive.ident import is_id
from leaselab.archive.live import LiveFeed
from leaselab.lab import lease as locked
from leaselab.lab.build_record import read_record
from leaselab.lab.checkout import announce, checkout_root, kept_folder, say
from leaselab.lab.deployment import (
    Deployment,
    forget_deployment,
    host_states,
    played_hash,
    read_deployment,
    stands,
    write_deployment,
)
from leaselab.lab.inventory import BUILDER_GROUP, GENERATOR_GROUP
from leaselab.lab.leftovers import stop_leftovers
from leaselab.lab.lock import BenchInUseError, NoLockError
from leaselab.lab.made_here import making
from leaselab.lab.own_generator import built_key
from leaselab.lab.playbook import run_playbook
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.source import Commit
from leaselab.run.build_progress import BuildFollower
from leaselab.run.recovery import recover, revive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leaselab.lab.inventory import Inventory
    from leaselab.lab.lease import Lease
    from leaselab.lab.playbook import Event, PlaybookStats

_POLL_S = 0.2
"""Time between two looks at a build under way (s)."""


@dataclass(slots=True)
class LeasedBench:
    """A bench that this command has for itself; no other one is changed by playbooks."""

    inventory: Inventory
    lease: Lease
    just_up: bool = False
    """Whether this command has just brought it up, with servers of the default release."""


@contextmanager
def leased(
    inventory: Inventory, purpose: str, *, take_over: bool = False
) -> Iterator[LeasedBench]:
    """Have a bench from entering to leaving, before anything is changed; others read `purpose`.

    A generator that is down is brought up first, or recovered, and one that lacks the lock's
    program gets it; `take_over` is that of ``lab take``.  What a killed command of this
    checkout has left running is stopped.  Raises a broken-lab error where somebody else has
    the bench.
    """
    keeper = inventory.only(GENERATOR_GROUP).access

    just_up = False

    def take(lease: Lease) -> None:
        nonlocal just_up
        just_up = _take(inventory, lease, take_over=take_over)

    with locked.leased(checkout_root(), inventory.bench, keeper, purpose, take) as lease:
        if lease.killed is not None:
            say_killed(lease)
            with suppress(LeaselabError):  # what follows names a host that does not answer
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
    """Say what a killed command of this checkout had the bench for, and how that goes on."""
    killed = lease.killed
    if killed is not None:
        text = f"bench {lease.bench}: {killed.name} was killed in {killed.purpose}"
        if is_id(killed.purpose):
            text += f"; that goes on with: leaselab resume {killed.purpose}"
        announce(text)


def prepare(bench: LeasedBench, distribution: str = "", *, full: bool = True) -> str:
    """Bring the bench up and provision it, for any scenario; return its environment.

    Hosts that do not answer get their power cycled first, where something switches them.

    `distribution` is the release of what serves, for the local lab; its default without.
    Unless `full`, nothing is played where hosts, inventory and roles are what they were.
    """
    root, inventory = checkout_root(), bench.inventory
    recover(inventory, bench.lease)
    played = played_hash(root, inventory, distribution)
    record = read_deployment(root, inventory.bench)
    if (
        not full
        and record is not None
        and _has_generator(inventory)
        and stands(record, inventory, played)
    ):
        say("the hosts are prepared as they were")
        return record.environment
    forget_deployment(root, inventory.bench)
    if inventory.made_by and (distribution or not bench.just_up):
        bring_up(inventory, distribution, lease=bench.lease)
        _take(inventory, bench.lease)  # the generator may be a new one
    bench.just_up = False
    with _generator_built(inventory, bench.lease):
        environment = str(play("provision", inventory, {}, bench.lease).custom["environment"])
    _provisioned(inventory).parent.mkdir(parents=True, exist_ok=True)
    _provisioned(inventory).write_text(environment, encoding="utf-8")
    prepared = Deployment(played, environment, host_states(inventory))
    write_deployment(root, inventory.bench, prepared)
    return environment


def _has_generator(inventory: Inventory) -> bool:
    """Whether the generator is built; without a builder there is none to be built."""
    return not inventory.group(BUILDER_GROUP) or bool(built_key(_builds()))


@contextmanager
def _generator_built(inventory: Inventory, lease: Lease) -> Iterator[None]:
    """Have the generator built on the builder, where there is one, beside something else.

    Raises what that raises, and else what the build ends with.
    """
    if not inventory.group(BUILDER_GROUP):
        yield
        return
    given_up = threading.Event()

    def still_wanted() -> None:
        if given_up.is_set():
            raise lab_broken("the build of the generator was given up")

    with ThreadPoolExecutor(max_workers=1) as pool:
        building = pool.submit(
            run_playbook, "generator", inventory.path, _proof(lease), keep=still_wanted
        )
        try:
            yield
            if building.done():
                building.result()
                return
            say("building the generator")
            began = time.monotonic()
            while not building.done():
                lease.keep()
                wait([building], timeout=_POLL_S)
        except BaseException:
            given_up.set()
            raise
        _say_end(began, building.result().changed)


def bring_up(
    inventory: Inventory,
    distribution: str = "",
    *,
    take_over: bool = False,
    force: bool = False,
    lease: Lease | None = None,
) -> int:
    """Bring a lab of this machine up; return how many changes that took.

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
    """Return the environment that provisioning a bench last named; empty if it never was."""
    path = _provisioned(inventory)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _provisioned(inventory: Inventory) -> Path:
    return checkout_root() / ".leaselab" / "provisioned" / inventory.bench


def install_lock(inventory: Inventory) -> None:
    """Install the bench lock's program, on a generator that has none: nobody can have it."""
    play("take", inventory, {}, None)


def build_commit(
    server: str,
    commit: Commit,
    files: Path,
    bench: LeasedBench,
    place: Path,
    *,
    layout: int = 0,
) -> Mapping[str, Any]:
    """Build a commit of a server or generator, or find it built, showing how far it is.

    `files` is the tar of its files, `place` where `leaselab watch` looks for a build under
    way.  `layout` is the seed of the order in which functions are linked; 0 for the linker's
    own.  Returns what is known of the artifact: its `key`, whether it was `cached`, how
    many `seconds` it took.
    """
    source = {
        "server": server,
        "commit": asdict(commit),
        "files": str(files),
        "layout": layout,
    }
    place.parent.mkdir(parents=True, exist_ok=True)
    inventory = bench.inventory
    builder = inventory.only(BUILDER_GROUP).access
    with (
        closing(LiveFeed(place)) as feed,
        closing(BuildFollower(builder, server, commit.hash, feed)) as follower,
    ):
        chosen = {"leaselab_source": source}
        stats = play("build", inventory, chosen, bench.lease, follower.event)
    made: Mapping[str, Any] = stats.custom["build"]
    return made


def build_log(commit: Commit) -> Path:
    """Where the log of a commit's last build lies, once it was built."""
    return _builds() / f"{commit.tree}.log.gz"


def is_kept(build_key: str) -> bool:
    """Whether what was built under this key can be deployed without building it again."""
    try:
        read_record(_builds(), build_key)
    except LeaselabError:  # such as what an older release built
        return False
    return True


def built_commit(build_key: str) -> Commit:
    """Return the commit that was built under a key; a usage error where nothing was."""
    return Commit(**read_record(_builds(), build_key)["source"])


def _builds() -> Path:
    return kept_folder("builds")


_TITLES = {
    "lab_up": "bringing the local lab up",
    "take": "installing the bench lock",
    "provision": "preparing the hosts",
    "build": "building the commit",
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
) -> PlaybookStats:
    """Run one playbook or several, saying what each is about and how long it took.

    What it changes is in its log.  `lease` is kept meanwhile, and proves to the playbooks that
    the bench is this command's; None where nobody can have the bench: a lab that is down, a
    generator without a lock.
    """
    phases = Phases()

    def show(event: Event) -> None:
        on_event(event)
        phases.event(event)

    chosen = variables if lease is None else {**variables, **_proof(lease)}
    keep = (lambda: None) if lease is None else lease.keep
    stats = run_playbook(names, inventory.path, chosen, show, keep)
    phases.end()
    return stats


class Phases:
    """Says which playbook begins, and at its end its seconds and the tasks with changes."""

    def __init__(self) -> None:
        self._name = ""
        self._began = 0.0
        self._changes = 0

    def event(self, event: Event) -> None:
        """Take an event of a playbook."""
        if event["event"] == "playbook":
            self.end()
            self._name, self._began, self._changes = event["name"], time.monotonic(), 0
            say(_TITLES[self._name])
        elif event["event"] == "changed":
            self._changes += 1

    def end(self) -> None:
        """Say how the playbook that has ended went."""
        if self._name:
            _say_end(self._began, self._changes)


def _say_end(began: float, changes: int) -> None:
    """Say how long what has ended took, from `began` on (monotonic), and what it changed."""
    seconds = time.monotonic() - began
    say(f"  {seconds:.0f} s, {changes} change{'s' * (changes != 1)}")


def _proof(lease: Lease) -> dict[str, Any]:
    """The variables that prove to a playbook that the bench is this command's."""
    return {"bench_lock_hold": str(lease.file)}
