"""An archive that several processes and users write, on a disk that fills, with a bad index."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, START, archive_result, example_result
from tests.waiting import HANGS_S

from leaselab.archive.store import Store

ROOT = Path(__file__).parents[2]
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
SHORT = replace(PROCEDURE, rounds=3, trim=0)
USERS = """
import contextlib, io, json, os, sys
from pathlib import Path
from leaselab.cli.main import main
from tests.unit.test_shared_archive import archive_result, small
root = Path(sys.argv[1])
os.chmod(root, 0o2775)
os.chown(root, 60001, 60000)
records = [small(number, "aaaa") for number in range(3)]
def look():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(["list", "--json", "--results", str(root)])
    return f"{code} {len(json.loads(out.getvalue()))}"
look()
for record, user in zip(records, (60001, 60002, 60001), strict=True):
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setresgid(60000, 60000, 60000)
        os.setresuid(user, user, user)
        os.umask(int(sys.argv[2], 8))
        try:
            archive_result(root, record)
        except PermissionError:
            print("refused")
        print(look(), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
FULL = """
import contextlib
import sys
from pathlib import Path
from tests.examples import begun
from leaselab.model.errors import LeaselabError
from tests.unit.test_shared_archive import Store, small
root = Path(sys.argv[1])
store, record = Store(root), small(0, "aaaa")
running = begun(store, record)
ballast = root / "ballast"
with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as stream:
    while stream.write(bytes(4096)):
        pass
try:
    store.seal(running, record)
    sys.exit("it was sealed on a full disk")
except LeaselabError as error:
    assert f"leaselab resume {record.id}" in error.todo
    print(error.outcome.value, error.what, len(store.running()))
ballast.unlink()
running.close()
store.seal(store.open_running(), record)
print(store.load("last") == record, store.verify("last").files, len(store.running()))
"""


def small(number, token):
    started = START + timedelta(minutes=number)
    return example_result(MAX_RATES[:3], started=started, token=token, procedure=SHORT)


def archive_for_ever(root, token):
    for number in range(10_000):
        archive_result(root, small(number, token))


def python(script, *arguments, before=()):
    """What a script prints, as root."""
    paths = os.pathsep.join(str(item) for item in (ROOT, ROOT / "scripts"))
    done = subprocess.run(
        [*AS_ROOT, "env", f"PYTHONPATH={paths}", *before, sys.executable, "-c", script]
        + [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_who_archive_at_once_and_are_killed_lose_nothing(tmp_path):
    """At random moments, again and again: what was begun can go on, or is a whole result."""
    chance = random.Random(1)  # noqa: S311  # no secret
    archive_result(tmp_path, small(0, "ffff"))  # and imports what the workers need
    for turn in range(8):
        workers = [
            multiprocessing.Process(target=archive_for_ever, args=(tmp_path, f"{n}{turn:03x}"))
            for n in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            before = len([*tmp_path.glob("????/??/*")])
            while len([*tmp_path.glob("????/??/*")]) <= before:
                assert worker.is_alive(), worker.exitcode
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.05))
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
    store = Store(tmp_path)
    for sweep in store.running():
        store.open_running(sweep.id).close()
    places = {path.name for path in tmp_path.glob("????/??/*")}
    assert len(places) > 2 * 8
    assert {row["id"] for row in store.index.rows()} == places
    assert [store.verify(name).files for name in places] == [4 + 3 * 3] * len(places)


@pytest.mark.parametrize(
    ("umask", "seen"),
    [
        ("002", ["0 1", "0 2", "0 3"]),
        ("022", ["0 1", "refused", "0 1", "0 2"]),
        ("077", ["0 1", "refused", "0 0", "0 2"]),
    ],
)
def test_an_archive_of_two_users_shows_each_what_may_be_read(umask, seen):
    """Both write where they share a group and its umask; else one of them is refused."""
    # not below pytest's folder, where others may not go
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        assert python(USERS, root, umask).splitlines() == seen


def test_a_disk_that_is_full_while_sealing_loses_nothing(tmp_path):
    mounted = 'mount -t tmpfs -o size=1m tmpfs $0 && exec "$@"'
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounted, tmp_path]
    reported = python(FULL, tmp_path, before=apart).splitlines()
    assert reported == ["4 no space left on the disk 1", f"True {4 + 3 * 3} 0"]
