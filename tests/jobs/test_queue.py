"""The queue of benches with a real master and real workers, which are killed."""

import fcntl
import random
import sqlite3
from collections import Counter
from contextlib import closing

import pytest
from tests.jobs.bench_queue import BENCHES, JOBS, Queue
from tests.waiting import until

pytestmark = pytest.mark.night
REQUESTS = 60
SUCCESS, WARNINGS, FAILURE, RETRY = 0, 1, 2, 5
KILLED = ("a", "b", "master", "c", "a", "b", "master", "c")


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    queue = Queue(tmp_path_factory.mktemp("queue"))
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


def test_each_job_is_done_once_in_order_while_workers_and_master_are_killed(queue):
    queue.start()
    chance = random.Random(51)  # noqa: S311  # no secret
    for name in BENCHES:
        queue.kill(name)
    asked = {}
    for _ in range(REQUESTS):
        job, priority = chance.choice(list(JOBS)), chance.choice((10, 20, 30))
        asked[queue.force(job, priority)] = job, priority
    queue.start()
    for name in KILLED:
        done = len(queue.lines("end"))
        until(lambda: len(queue.lines("end")), lambda now, sure=done: now > sure + 2)
        queue.kill(name)
        queue.start()
    queue.await_done()

    requests = {request["buildrequestid"]: request for request in queue.ask("buildrequests")}
    assert {
        number: request["results"] for number, request in requests.items()
    } == dict.fromkeys(asked, 0)
    assert not queue.two.exists(), "two jobs were on a bench"
    builds = queue.ask("builds?order=buildid")
    finished = Counter(
        build["buildrequestid"]
        for build in builds
        if build["results"] == SUCCESS and build["complete"]
    )
    assert finished == dict.fromkeys(asked, 1)
    assert len(builds) > REQUESTS, "no build was cut short"
    benches = {worker["workerid"]: worker["name"] for worker in queue.ask("workers")}
    begun = set()
    for build in builds:
        number, bench = build["buildrequestid"], benches[build["workerid"]]
        job, priority = asked[number]
        assert bench in may_use(job)
        if number not in begun:
            before = {
                other
                for other, (name, its) in asked.items()
                if (-its, other) < (-priority, number) and bench in may_use(name)
            }
            assert before <= begun, f"{number} overtook them on {bench}"
        begun.add(number)


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
