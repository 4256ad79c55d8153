"""Builds of commits on a bench's builder, and the artifacts that are kept of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

from leaselab.archive.live import LiveFeed
from leaselab.archive.store import Store
from leaselab.builds.artifacts import read_record
from leaselab.catalog.checkout import checkout_root, kept_folder
from leaselab.lab.deploy import deployment
from leaselab.lab.hosts.inventory import BUILDER_GROUP
from leaselab.model.errors import LeaselabError
from leaselab.model.source import Commit
from leaselab.model.speech import say
from leaselab.run.build_progress import BuildFollower
from leaselab.run.preparation import LeasedBench, play


def build_commit(
    server: str,
    commit: Commit,
    files: Path,
    bench: LeasedBench,
    store: Store,
    *,
    layout: int = 0,
    full: bool = True,
) -> str:
    """Build a commit of a server or generator, unless it is built, and show the progress.

    `files` is the tar of its files; `leaselab watch` finds the build under way in `store`.
    `layout` is the seed of the order in which functions are linked; 0 for the linker's own.
    Unless `full`, what the builder has kept since it was prepared is not done again: the
    playbook is skipped where the artifact is there, and its preparation where it has built
    another commit so.  Returns the key of the artifact.
    """
    root, inventory = checkout_root(), bench.inventory
    alike = f"{server}-{layout}-"
    asked = alike + deployment.digest(asdict(_nameless(commit)))
    made: Mapping[str, str] = {}
    if not full and (record := deployment.read_deployment(root, inventory.bench)):
        made = record.builds.get(deployment.builder_state(inventory), {})
        if (key := made.get(asked)) and _is_kept_of(key, commit):
            say(f"{server} {commit.name}: built as it was")
            return key
    source = {
        "server": server,
        "commit": asdict(commit),
        "files": str(files),
        "layout": layout,
        "prepared": any(known.startswith(alike) for known in made),
    }
    place = store.build_place(inventory.bench)
    place.parent.mkdir(parents=True, exist_ok=True)
    builder = inventory.only(BUILDER_GROUP).access
    with (
        closing(LiveFeed(place)) as feed,
        closing(BuildFollower(builder, server, commit.hash, feed)) as follower,
    ):
        chosen = {"leaselab_source": source}
        titles = {"build": f"building {server} {commit.name}"}
        stats = play("build", inventory, chosen, bench.lease, follower.event, titles=titles)
    key = str(stats.custom["build"]["key"])
    if record := deployment.read_deployment(root, inventory.bench):
        state = deployment.builder_state(inventory)
        builds = {state: {**record.builds.get(state, {}), asked: key}}
        deployment.write_deployment(root, inventory.bench, replace(record, builds=builds))
    return key


def build_log(commit: Commit) -> Path:
    """Path of the log of a commit's last build, if any."""
    return _builds() / f"{commit.tree}.log.gz"


def is_kept(build_key: str) -> bool:
    """Whether the artifact with this key can be deployed without another build."""
    try:
        read_record(_builds(), build_key)
    except LeaselabError:  # such as an artifact of an older release
        return False
    return True


def _is_kept_of(build_key: str, commit: Commit) -> bool:
    """Whether an artifact is kept with the record of this commit; it is not pruned then."""
    folder = _builds() / build_key
    kept = is_kept(build_key) and (folder / "artifact.tar.gz").exists()
    if kept:
        folder.touch()
    return kept and _nameless(built_commit(build_key)) == _nameless(commit)


def _nameless(commit: Commit) -> Commit:
    """A commit by whatever name it was asked for, as it is deployed but once, too."""
    return replace(commit, ref="")


def built_commit(build_key: str) -> Commit:
    """Return the commit of the artifact with a key; raises a usage error without one."""
    return Commit(**read_record(_builds(), build_key)["source"])


def _builds() -> Path:
    return kept_folder("builds")
