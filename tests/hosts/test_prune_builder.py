"""The playbook `prune` on a builder that is this machine, with its cache in a folder."""

import fcntl
import os
import time

import pytest
import yaml
from tests.inventories import parsed

from leaselab.cli.prune import prune_builder
from leaselab.model.errors import LeaselabError, Outcome

NAMED, FREE, YOUNG = "a" * 24, "b" * 24, "c" * 24
DAYS = 30
OLD = f"{FREE}.log.gz"


@pytest.fixture
def cache(tmp_path):
    """What a builder has: two old artifacts, a young one, and what killed builds have left."""
    place = tmp_path / "cache"
    for name, size in (
        (f"artifacts/{NAMED}/artifact.tar.gz", 10),
        (f"artifacts/{FREE}/artifact.tar.gz", 100),
        (f"artifacts/{YOUNG}/artifact.tar.gz", 1000),
        (f"artifacts/{YOUNG}.new/artifact.tar.gz", 5),
        (f"logs/{OLD}", 7),
        ("logs/young.log.gz", 8),
        ("sources/old.tar", 20),
        ("sources/young.tar", 30),
        ("work/kea/source/file", 3),
        ("objects/aa/kept", 1),
        ("build.lock", 0),
    ):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (place / "artifacts" / ("d" * 24)).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    long_ago = time.time() - (DAYS + 1) * 86400
    for name in (f"artifacts/{NAMED}", f"artifacts/{FREE}", f"logs/{OLD}", "sources/old.tar"):
        os.utime(place / name, (long_ago, long_ago))
    return place


@pytest.fixture
def inventory(tmp_path, cache):
    here = {"ansible_connection": "local", "ansible_host": "127.0.0.1"}
    groups = {"dhcp_server": 1, "dhcp_generator": 2, "builder": 3}
    settings = {
        "leaselab_bench": "rack1",
        "build_cache": str(cache),
        "bench_lock_folder": str(tmp_path / "contract"),
    }
    hosts = {
        group: {"hosts": {f"host{port}": {**here, "ansible_port": port}}}
        for group, port in groups.items()
    }
    path = tmp_path / "bench.yml"
    path.write_text(yaml.safe_dump({"bench": {"vars": settings, "children": hosts}}))
    # The engine itself reaches hosts by SSH alone, and asks none here.
    listing = {group: {"hosts": list(entry["hosts"])} for group, entry in hosts.items()}
    variables = {f"host{port}": {"leaselab_bench": "rack1"} for port in groups.values()}
    return parsed(path, {"_meta": {"hostvars": variables}, **listing})


def inside(cache):
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}


GONE = {f"artifacts/{FREE}/artifact.tar.gz", f"artifacts/{YOUNG}.new/artifact.tar.gz"}
GONE |= {f"logs/{OLD}", "sources/old.tar", "work/kea/source/file"}
FREED = {
    "artifacts": {"items": 1, "bytes": 100},
    "logs": {"items": 1, "bytes": 7},
    "leftovers": {"items": 3, "bytes": 28},
}


def test_what_is_old_and_not_named_goes_and_a_dry_run_says_so_before(
    cache, inventory, tmp_path
):
    before = inside(cache)
    foreseen = prune_builder(inventory, DAYS, [NAMED], dry_run=True)
    assert foreseen == {"busy": False, "freed": FREED}
    assert inside(cache) == before
    assert prune_builder(inventory, DAYS, [NAMED], dry_run=False) == foreseen
    assert inside(cache) == before - GONE
    assert (tmp_path / "elsewhere").is_dir()


def test_nothing_goes_while_a_build_is_under_way(cache, inventory):
    before = inside(cache)
    with (cache / "build.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reported = prune_builder(inventory, DAYS, [], dry_run=False)
    assert reported == {"busy": True, "freed": {}}
    assert inside(cache) == before


def test_a_bench_that_is_measuring_is_not_loaded(cache, inventory, tmp_path):
    lock = tmp_path / "contract" / "bench-lock"
    lock.parent.mkdir()
    owner = '{"name": "ana", "purpose": "a sweep", "age_s": 1, "expires_in_s": 60}'
    lock.write_text(f'#!/bin/sh\necho \'{{"owner": {owner}, "maintenance": null}}\'\n')
    lock.chmod(0o755)
    before = inside(cache)
    with pytest.raises(LeaselabError, match="in use by ana") as caught:
        prune_builder(inventory, DAYS, [], dry_run=False)
    assert caught.value.outcome is Outcome.LAB
    assert inside(cache) == before
