"""A real queue for tests: a master, and workers whose jobs last about a second."""

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

import yaml
from tests.here import PROGRAM
from tests.processes import await_end
from tests.server_kinds import free_port
from tests.waiting import until

from ci.benchqueue.claims import GIVEN_BACK

ROOT = Path(__file__).parents[2]
SMALL = f"{Path(__file__).parent}/small_job.sh"
BENCHES = {"a": {"tags": ["cpu", "perf"]}, "b": {"tags": ["cpu"]}, "c": {"tags": ["perf"]}}
JOBS = {
    **{f"series-{bench}": {"bench": bench} for bench in BENCHES},
    "of-perf": {"tags": ["perf"]},
    "of-all": {"tags": []},
}


class Queue:
    """Started by the command that people use; its folders are below `place`."""

    def __init__(self, place, **more):
        self.place, self.folder = place, place / "queue"
        self.log, self.two = place / "log", place / "two"
        self.page_port, self.builders = free_port(), {}
        command = f"{SMALL} {place} {PROGRAM}"
        site = {
            "benches": BENCHES,
            "jobs": {name: {"command": command, **job} for name, job in JOBS.items()},
            "canary": {"command": f"test ! -e {place}/$BENCH/ill"},
            "page_port": self.page_port,
            "worker_port": free_port(),
            **more,
        }
        self.site = place / "site.yaml"
        self.site.write_text(yaml.safe_dump(site), encoding="utf-8")

    def command(self, *arguments):
        done = subprocess.run(
            [ROOT / "scripts/ci/queue", *arguments],
            env={**os.environ, "LEASELAB_QUEUE": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self):
        return self.command("start", str(self.site))

    def kill(self, name):
        """Kill the master or a worker as a lost power would; not what a worker has started."""
        pid = int((self.folder / name / "twistd.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        await_end(pid)

    def ask(self, what):
        def answered():
            # A busy master may lose a connection.
            with (
                suppress(ConnectionError, HTTPException),
                urlopen(f"http://127.0.0.1:{self.page_port}/api/v2/{what}") as answer,
            ):
                return json.load(answer)[what.partition("?")[0]]

        return until(answered, lambda answer: answer is not None)

    def force(self, job, priority, **more):
        """Request a job, as the page does; return the number of the request."""
        if job not in self.builders:
            asked = {entry["name"]: entry["builderid"] for entry in self.ask("builders")}
            self.builders.update(asked)
        given = {"builderid": str(self.builders[job]), "priority": priority, **more}
        given["username"] = "ana@example.org"
        asked = {"jsonrpc": "2.0", "method": "force", "id": 1, "params": given}
        request = Request(
            f"http://127.0.0.1:{self.page_port}/api/v2/forceschedulers/{job}-by-hand",
            json.dumps(asked).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request) as answer:  # noqa: S310  # our own page
            (number,) = json.load(answer)["result"][1].values()
        return number

    def waiting(self, *requests):
        """The numbers of these requests, or of all, that are not complete."""
        unfinished = {
            entry["buildrequestid"] for entry in self.ask("buildrequests?complete=false")
        }
        return unfinished & set(requests) if requests else unfinished

    def await_done(self, *requests):
        while left := self.waiting(*requests):
            until(lambda: self.waiting(*requests), lambda now, before=left: now != before)

    def await_workers(self, *names):
        until(
            lambda: {entry["name"] for entry in self.ask("workers") if entry["connected_to"]},
            lambda there: there >= set(names),
        )

    def results(self, number):
        """The results of the builds of a request, in order, each with its bench."""
        benches = {entry["workerid"]: entry["name"] for entry in self.ask("workers")}
        builds = self.ask(f"builds?buildrequestid={number}&order=buildid&complete=true")
        return [(benches[entry["workerid"]], entry["results"]) for entry in builds]

    def given_back(self):
        """The requests whose claims led to no build."""
        logs = (self.folder / "master").glob("twistd.log*")
        numbers = (re.findall(rf"{GIVEN_BACK} (\d+)", log.read_text("utf-8")) for log in logs)
        return {int(number) for named in numbers for number in named}

    def lines(self, word):
        text = self.log.read_text("utf-8") if self.log.exists() else ""
        return [line.split()[1:] for line in text.splitlines() if line.startswith(word)]
