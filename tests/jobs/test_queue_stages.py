"""A push to a server's repository goes through the scripts of scripts/ci, on a real queue."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError

import pytest
from tests.jobs.bench_queue import Queue
from tests.repositories import commit, git, make_repository
from tests.waiting import until

pytestmark = pytest.mark.night
ROOT = Path(__file__).parents[2]
SUCCESS, RETRY = 0, 5
LAUNCHER = """\
#!/usr/bin/env bash
# Stands in for leaselab, which would need a bench: keeps its words, archives one result.
echo "$BENCH $*" >>"{log}"
for word; do [[ $last != --id-file ]] || printf 'one\\ntwo\\n' >"$word"; last=$word; done
[[ "$*" != "step provision"* || ! -e "{broken}" ]] || exit 4
"""


@pytest.fixture
def place(tmp_path):
    """A checkout with the project's scripts and another launcher, and a server's repository."""
    leaselab = make_repository(tmp_path / "leaselab")
    shutil.copytree(ROOT / "scripts/ci", leaselab / "scripts/ci")
    launcher = LAUNCHER.format(log=tmp_path / "words", broken=tmp_path / "broken")
    (leaselab / "inventory/racks").mkdir(parents=True)
    files = {"leaselab": launcher, "inventory/racks/x": "", ".gitignore": "/ci/\n/server/\n"}
    commit(leaselab, "Begin", files)
    git(leaselab, "update-index", "--chmod=+x", "leaselab")
    git(leaselab, "commit", "--quiet", "-m", "Run it")
    commit(make_repository(tmp_path / "server"), "Begin", {"file": "1"})
    return tmp_path


@pytest.fixture
def queue(place):
    job = {"scenario": "v4-memfile", "server": "kea", "against": "release"}
    queue = Queue(
        place,
        benches={"a": {"inventory": "inventory/racks", "tags": ["perf"]}},
        leaselab={"url": str(place / "leaselab"), "branch": "main"},
        servers={"kea": {"url": str(place / "server"), "branch": "main", "poll_s": 1}},
        canary={"scenario": "v4-dnsmasq"},
        jobs={"push": {**job, "tags": ["perf"], "start": "push", "options": "--budget 5"}},
    )
    queue.start()
    yield queue
    queue.command("stop")


def words_of(place):
    file = place / "words"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def polled(queue):
    """What the master has noted of the server's repository."""
    with closing(sqlite3.connect(queue.folder / "master/state.sqlite")) as state:
        return state.execute("SELECT 1 FROM object_state WHERE name = 'lastRev'").fetchall()


def test_a_push_is_measured_and_a_broken_bench_is_inspected_before_it_goes_on(place, queue):
    until(lambda: polled(queue), lambda value: value)  # what was there before is no push
    (place / "broken").touch()
    pushed = commit(place / "server", "Push", {"file": "2"}, minute=1)
    until(
        lambda: words_of(place), lambda words: any("maintenance on" in line for line in words)
    )
    (change,) = queue.ask("changes")
    assert change["revision"] == pushed
    (request,) = until(queue.waiting, lambda left: len(left) == 1)
    assert queue.results(request) == [("a", RETRY)]
    first = words_of(place)
    (place / "words").unlink()
    (place / "broken").unlink()
    queue.force("canary-a", 1000)
    queue.await_done()
    assert queue.results(request)[-1] == ("a", SUCCESS)

    bench = "-i inventory/racks --bench=a"
    assert first[0].startswith(f"a lab take {bench} --take-over --purpose http://127.0.0.1:")
    assert first[1:4] == [
        f"a step provision {bench}",
        f"a lab release {bench}",
        f"a lab status {bench} --json",
    ]
    reason = next(line for line in first if "maintenance on" in line)
    assert reason.startswith("a lab maintenance on a -i inventory/racks --reason canary: exit")
    second = words_of(place)
    canary = "--error-budget --strict --pairs 1 --slowdown 10 --results ci/canary -- v4-dnsmasq"
    assert f"a calibrate {bench} {canary}" in second
    take = next(i for i in range(5, len(second)) if "lab take" in second[i])
    verbs = ["lab take", "step provision", "step build", "compare", "dev archive", "report"]
    for verb, words in zip([*verbs, "compare"], second[take:], strict=False):
        assert words.startswith(f"a {verb} "), second
    assert second[-1] == f"a lab release {bench}"
    duel = next(line for line in second if "--live" in line)
    assert duel.endswith("--id-file ci/ids --budget 5 -- release HEAD")
    assert git(queue.folder / "a/bench/build/server", "rev-parse", "HEAD") == pushed

    for words in ({"branch": "--upload-pack=touch x"}, {"revision": "--exec=x"}):
        with pytest.raises(HTTPError, match="400"):
            queue.force("push", 30, **words)
