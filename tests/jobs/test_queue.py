"""The queue of benches with a real master and real workers, which are killed."""

import fcntl
import os
import random
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import pytest
from tests.jobs.bench_queue import BENCHES, JOBS, ROOT, Queue
from tests.waiting import HANGS_S, until

pytestmark = pytest.mark.night
TRY = ROOT / "jobs/buildbot/try.sh"
REQUESTS = 200
SUCCESS, WARNINGS, FAILURE, RETRY = 0, 1, 2, 5
KILLED = (*BENCHES, "master") * 4


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queue")
    environment = {**os.environ, "LEASELAB_ROOT": str(ROOT)}
    # Compiles what the benches share.
    subprocess.run([TRY, "0.1"], cwd=folder, env=environment, check=True)
    queue = Queue(folder)
    yield queue
    queue.command("stop")


def mark(queue, bench, name, text=""):
    """Have the small jobs of a bench, or its canary, find a file."""
    file = queue.place / bench / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def may_use(job):
    wanted = JOBS[job]
    return {
        name
        for name, bench in BENCHES.items()
        if wanted.get("bench", name) == name
        and set(wanted.get("tags", ())) <= set(bench["tags"])
    }


@pytest.fixture(scope="module")
def killed(queue):
    """What was asked for, of each request its job and priority, and what the master noted.

    Between, workers and the master were killed; some requests were lost by that for a time.
    """
    queue.start()
    chance = random.Random(51)  # noqa: S311  # no secret
    for name in BENCHES:
        queue.kill(name)
    asked = {}
    for _ in range(REQUESTS):
        job, priority = chance.choice(list(JOBS)), chance.choice((10, 20, 30))
        asked[queue.force(job, priority)] = job, priority
    queue.start()
    for name in chance.sample(KILLED, len(KILLED)):
        sure = len(queue.lines("end")) + chance.randint(1, 8)
        until(lambda: len(queue.lines("end")), lambda now, sure=sure: now >= sure)
        time.sleep(chance.random())  # jobs last that long: the kill comes at any moment of one
        queue.kill(name)
        queue.start()
    queue.await_done()
    names = {
        what: {entry[f"{what}id"]: entry["name"] for entry in queue.ask(f"{what}s")}
        for what in ("builder", "worker")
    }
    builds = [
        SimpleNamespace(
            request=build["buildrequestid"],
            tag=f"{names['builder'][build['builderid']]}-{build['number']}",
            bench=names["worker"][build["workerid"]],
            results=build["results"],
        )
        for build in queue.ask("builds?order=buildid")
    ]
    lost = queue.given_back()
    assert len(lost) <= len(KILLED)
    return SimpleNamespace(asked=asked, builds=builds, lost=lost)


def test_each_job_is_done_once_while_workers_and_master_are_killed(queue, killed):
    ended = {entry["buildrequestid"]: entry["results"] for entry in queue.ask("buildrequests")}
    assert ended == dict.fromkeys(killed.asked, SUCCESS)
    done = {build.tag: build.request for build in killed.builds if build.results == SUCCESS}
    assert Counter(done.values()) == dict.fromkeys(killed.asked, 1)
    cut = {build.tag for build in killed.builds if build.results == RETRY}
    assert cut, "no build was cut short"
    assert len(done) + len(cut) == len(killed.builds)
    # By the records of the jobs. Of those cut short, some had ended, but nobody noted it.
    begun = Counter(tag for tag, _ in queue.lines("begin"))
    measured = {tag: int(answered) for tag, _, answered in queue.lines("end")}
    assert begun == dict.fromkeys(begun, 1)
    assert done.keys() <= measured.keys() <= begun.keys() <= done.keys() | cut
    assert all(measured.values())


def test_no_two_jobs_are_on_a_bench(queue, killed):
    assert not queue.two.exists(), queue.two.read_text()
    for bench in BENCHES:
        noted = [build.tag for build in killed.builds if build.bench == bench]
        begun = [tag for tag, place in queue.lines("begin") if place == bench]
        assert begun == [tag for tag in noted if tag in begun]


def test_the_highest_priority_and_then_the_oldest_goes_first(killed):
    last, before = {}, {}
    for build in killed.builds:
        job, priority = killed.asked[build.request]
        assert build.bench in may_use(job)
        overtaken = {
            other
            for other, (name, its) in killed.asked.items()
            if (-its, other) < (-priority, build.request)
            and build.bench in may_use(name)
            # A build that was cut short on this bench waits again.
            and last.get(other, (build.bench, RETRY)) == (build.bench, RETRY)
        }
        # It does so a moment after its bench is back, and while it is lost it waits for none.
        overtaken -= {before.get(build.bench), *killed.lost}
        assert not overtaken, f"{build.tag} on {build.bench}"
        last[build.request] = build.bench, build.results
        before[build.bench] = build.request


@pytest.fixture
def up(queue):
    queue.start()
    queue.await_workers(*BENCHES)
    return queue


def test_a_dead_bench_delays_its_own_series_alone(up):
    up.kill("b")
    late = up.force("series-b", 30)
    up.await_done(*(up.force(job, 10) for job in ("of-all", "series-a", "of-all", "series-c")))
    assert up.waiting() == {late}
    up.start()
    up.await_done(late)
    assert up.results(late) == [("b", SUCCESS)]


def test_what_a_killed_worker_ran_ends_with_it_and_is_done_again(up):
    file = mark(up, "a", "long", "900")
    before = len(up.lines("begin"))
    number = up.force("series-a", 10)
    until(lambda: len(up.lines("begin")), lambda now: now > before)
    file.unlink()
    up.kill("a")
    with (file.parent / "here").open() as here:
        until(lambda: is_free(here), lambda free: free)
    up.start()
    up.await_done(number)
    assert up.results(number)[-1] == ("a", SUCCESS)


def test_a_job_that_ended_as_the_master_was_killed_is_not_done_again(up):
    """The master notes the end of a build first, and then that of its request."""
    number = up.force("series-a", 10)
    up.await_done(number)
    up.kill("master")
    with closing(sqlite3.connect(up.folder / "master/state.sqlite")) as state:
        undone = "UPDATE buildrequests SET complete = 0, results = -1, complete_at = NULL"
        state.execute(f"{undone} WHERE id = ?", (number,))
        state.commit()
    up.start()
    up.await_done(number)
    assert up.results(number) == [("a", SUCCESS)]
    (request,) = up.ask(f"buildrequests?buildrequestid={number}")
    assert request["results"] == SUCCESS


def test_a_request_whose_claim_led_to_no_build_is_offered_again(up):
    """As a worker leaves it that dies between the two."""
    up.kill("b")
    number = up.force("series-b", 10)
    with closing(sqlite3.connect(up.folder / "master/state.sqlite", timeout=HANGS_S)) as state:
        claim = "INSERT INTO buildrequest_claims (brid, masterid, claimed_at) VALUES (?, 1, 1)"
        state.execute(claim, (number,))
        state.commit()
    up.start()
    up.await_done(number)
    assert up.results(number) == [("b", SUCCESS)]


def is_free(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize(("code", "result"), [(1, WARNINGS), (3, WARNINGS), (5, FAILURE)])
def test_what_is_no_fault_of_the_bench_is_not_repeated(up, code, result):
    file = mark(up, "a", "exit", str(code))
    number = up.force("series-a", 10)
    up.await_done(number)
    assert up.results(number) == [("a", result)]
    file.unlink()


def test_a_bench_that_others_hold_is_asked_for_again(up):
    file = mark(up, "a", "exit", "75")
    number = up.force("series-a", 10)
    until(lambda: up.results(number), lambda results: len(results) > 1)
    file.unlink()
    up.await_done(number)
    assert set(up.results(number)[:-1]) == {("a", RETRY)}
    assert up.results(number)[-1] == ("a", SUCCESS)


def test_a_bench_that_is_always_broken_ends_a_series_after_three(up):
    file = mark(up, "a", "exit", "4")
    number = up.force("series-a", 10)
    up.await_done(number)
    assert up.results(number) == [("a", RETRY), ("a", RETRY), ("a", FAILURE)]
    file.unlink()
    up.await_done()
    assert "a: offered" in up.command("used"), "its canaries passed"


def test_a_broken_bench_is_out_until_its_canary_passes_and_its_duels_go_elsewhere(up):
    files = mark(up, "c", "exit", "4"), mark(up, "c", "ill")
    up.kill("a")
    duel = up.force("of-perf", 10)
    until(lambda: up.command("used"), lambda table: "c: out, canary" in table)
    series = up.force("series-c", 30)
    up.start()
    up.await_done(duel)
    assert up.results(duel) == [("c", RETRY), ("a", SUCCESS)]
    assert up.waiting() == {series}
    for file in files:
        file.unlink()
    up.force("canary-c", 1000)
    up.await_done(series)
    assert up.results(series) == [("c", SUCCESS)]
    table = up.command("used")
    assert "c: offered" in table
    assert "of-perf" in table
    assert "ana@example.org" in table
