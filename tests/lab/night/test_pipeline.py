"""From a push to a verdict: this checkout's pipeline, executed on the local lab.

No controller is to be had, so a stand-in executes the Jenkinsfile (tests/pipeline), every
step with its true command, in a workspace that is a clone of this checkout.  What is
pushed is dnsmasq; the hook that reports it is the one that owners of servers install.
"""

import http.server
import json
import shutil
import subprocess
import threading
import time
import urllib.parse

import docker
import pytest
from tests.jobs.definitions import parameters, pipelines
from tests.lab.commands import ROOT, copy_inventory, pinned_keys
from tests.pipeline.executor import Controller
from tests.repositories import git
from tests.sources import SourceLists, change, repository_of
from tests.waiting import HANGS_S

pytestmark = pytest.mark.lab

JOB = "leaselab/leaselab-commit"
LABEL, BROKEN = "leaselab-bench", "leaselab-broken"
INVENTORY = "inventory/two"
SWEEP = {
    "AGAINST": "",
    "ANCHOR": "",
    "OPTIONS": "--set rounds=3 --set trial_s=1 --set wait_s=0.5 --set late_s=0.25 "
    "--set relative_width=0.1 --set confirm_s=0",
}
DUEL = {"AGAINST": "main~1", "OPTIONS": "--budget 15"}
# Twice for an exchange, whose own work takes some 140 µs of a processor: a rate of 4000/s
# becomes one of 1000/s.
REPLY = "  unsigned char *opt, *clid = NULL;\n  struct dhcp_lease *ltmp, *lease = NULL;\n"
SLOW = """\
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  do
    clock_gettime(CLOCK_MONOTONIC, &to);
  while ((to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec < 400000L);
"""
NOT_C = "  this is not C;\n"
BUILD_S = 2400
"""Longest time of two builds, four deployments, a duel of 15 min and a profile (s)."""
GONE = """\
---
# A bench whose machines have gone: nobody listens there.
bench:
  children:
    dhcp_server: {hosts: {gone-server: {ansible_port: 22941}}}
    dhcp_generator: {hosts: {gone-generator: {ansible_port: 22943}}}
  vars:
    leaselab_bench: gone
    ansible_host: 127.0.0.1
    leaselab_known_hosts: /dev/null
    ansible_ssh_common_args: -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes
"""


class Site:
    """A site's fork of this checkout, its server's repository, and the stand-in."""

    def __init__(self, folder):
        self.folder = folder
        self.fork = folder / "leaselab"
        git(folder, "clone", "--quiet", str(ROOT), str(self.fork))
        git(self.fork, "checkout", "--quiet", "-B", "main")
        benches = self.fork / INVENTORY
        benches.mkdir()
        (benches / "gone.yml").write_text(GONE, encoding="utf-8")
        # Hosts that are up already, reached as those of a rack are: no lab is brought up.
        text = copy_inventory(
            benches, pinned_keys(), ("leaselab_bench: docker", "leaselab_bench: rack")
        )
        text.rename(benches / "rack.yml")
        git(self.fork, "add", "--all")
        git(self.fork, "commit", "--quiet", "-m", "Describe our benches")
        self.work = folder / "dnsmasq"
        lists = SourceLists(folder / "lists", ["trixie"])
        repository_of("dnsmasq", ["trixie"], self.work, lists)
        self.bare = folder / "dnsmasq.git"
        git(folder, "clone", "--quiet", "--bare", str(self.work), str(self.bare))
        git(self.work, "remote", "add", "origin", str(self.bare))
        declared = parameters(pipelines()[JOB])
        self.controller = Controller(
            folder / "jenkins",
            {JOB: self.fork / "Jenkinsfile"},
            parameters={JOB: declared},
        )
        self.controller.have_resources({"gone": [LABEL], "rack": [LABEL]})
        self.results = folder / "results"
        self.builds = []
        self.measured = SWEEP
        self._hook()

    def _hook(self):
        """Have a push notify the stand-in, as in a git server it notifies a controller."""
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        token = self.folder / "token"
        token.write_text("a token of a test\n", encoding="utf-8")
        token.chmod(0o600)
        shutil.copy(ROOT / "jobs/hooks/post-receive", self.bare / "hooks" / "post-receive")
        for name, value in {
            "controller": f"http://127.0.0.1:{self.server.server_port}",
            "url": self.bare,
            "tokenFile": token,
        }.items():
            git(self.bare, "config", f"leaselab.{name}", str(value))

    def _handler(self):
        site = self

        class Notified(http.server.BaseHTTPRequestHandler):
            """The address of the git plugin for notifications of pushes."""

            def do_GET(self):
                asked = urllib.parse.urlparse(self.path)
                reported = dict(urllib.parse.parse_qsl(asked.query))
                wanted = {"url": str(site.bare), "token": "a token of a test"}
                known = asked.path == "/git/notifyCommit" and reported.items() >= wanted.items()
                if known:
                    site.start()
                self.send_response(200 if known else 403)
                self.end_headers()

            def log_message(self, *_):
                """Say nothing."""

        return Notified

    @property
    def workspace(self):
        return self.controller.home / "agent" / "leaselab" / "rack"

    def start(self):
        """Start the job's next build, as the last push asked for it."""
        self.builds.append(
            self.controller.start(
                JOB,
                self.fork,
                parameters={
                    "SCENARIO": "v4-dnsmasq",
                    "REPO": str(self.bare),
                    "COMMIT": "main",
                    "CREDENTIALS": "",
                    **self.measured,
                    "THRESHOLD": "10",
                    "INVENTORY": INVENTORY,
                },
                environment={"LEASELAB_RESULTS": str(self.results)},
            )
        )
        return self.builds[-1]

    def push(self, measured=SWEEP):
        """Push what was committed; return how its build ended, and after how long (s)."""
        self.measured = measured
        began = time.monotonic()
        git(self.work, "push", "--quiet", "origin", "main")
        record = self.builds[-1].wait(BUILD_S)
        return record, time.monotonic() - began

    def changed(self, old, new, subject, minute):
        return change(self.work, "src/rfc2131.c", old, new, subject, minute=minute)

    def leaselab(self, *words):
        """Run a command in the workspace, as an agent would."""
        done = subprocess.run(
            [self.workspace / "leaselab", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self):
        self.server.shutdown()
        for build in self.builds:
            build.abort()


@pytest.fixture(scope="module")
def site(tmp_path_factory, bench_of):
    """The site; its rack is the local lab."""
    bench_of("v4-dnsmasq")
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


def archived(record, name):
    return (record.folder / "archive" / "ci" / name).read_text(encoding="utf-8")


def free(site):
    """Whether nobody holds the bench, and nothing runs on it."""
    inventory = site.fork / INVENTORY / "rack.yml"
    status = json.loads(site.leaselab("lab", "status", "-i", str(inventory), "--json"))
    client = docker.from_env()
    quiet = [
        client.containers.get(host).exec_run(["pgrep", "-x", name]).exit_code == 1
        for host, name in (("leaselab-generator", "leaseload"), ("leaselab-server", "dnsmasq"))
    ]
    return status["lock"] is None and quiet == [True, True]


def test_a_push_that_meets_a_broken_bench_is_measured_on_another(site):
    """The bench that does not answer is marked; the first of its kind is a success."""
    git(site.work, "commit", "--quiet", "--allow-empty", "-m", "Begin", minute=5)
    met, _ = site.push()
    assert met.result == "NOT_BUILT", met.log
    assert met.stages["Check"] == "UNSTABLE"
    assert met.stages["Provision"] == "SKIPPED"
    assert site.controller.resources["gone"]["labels"] == [BROKEN]
    again, *more = site.controller.follow(
        met, site.fork, at_most=2, environment={"LEASELAB_RESULTS": str(site.results)}
    )
    assert more == []
    assert again.result == "SUCCESS", again.log
    assert set(again.stages.values()) == {"SUCCESS"}
    assert "Nothing to compare" in archived(again, "comment.md")
    assert site.controller.resources["rack"]["labels"] == [LABEL]
    assert free(site)


def test_a_slow_commit_ends_unstable_and_is_named(site, record_property):
    """It is measured in turn with the commit before it, as the job does by default."""
    slow = site.changed(REPLY, SLOW + REPLY, "Take more time for a packet", 10)
    record, seconds = site.push(DUEL)
    record_property("push_to_verdict_s", round(seconds))
    assert record.result == "UNSTABLE", record.log
    assert record.stages["Verdict"] == "UNSTABLE"
    comment = archived(record, "comment.md")
    assert slow[:10] in comment
    assert "Take more time for a packet" in comment
    assert 'failures="1"' in archived(record, "junit.xml")
    (page,) = record.folder.glob("htmlreports/*/index.html")
    assert slow[:10] in page.read_text(encoding="utf-8")
    assert free(site)


def test_a_commit_that_does_not_build_is_a_failure_and_is_published(site):
    broken = site.changed(SLOW, NOT_C, "Break the build", 11)
    record, _ = site.push()
    assert record.result == "FAILURE", record.log
    assert record.stages["Build"] == "UNSTABLE"
    assert record.stages["Deploy"] == "SKIPPED"
    assert broken[:10] in archived(record, "comment.md")
    assert "rfc2131.c" in archived(record, "junit.xml")
    assert free(site)


def test_an_abort_stops_the_traffic_and_frees_the_bench(site):
    site.measured = SWEEP
    site.changed(NOT_C, "", "Mend it", 12)
    git(site.work, "push", "--quiet", "origin", "main", "--no-verify")
    build = site.builds[-1]
    deadline = time.monotonic() + BUILD_S
    while "run 1/3: " not in build.log:
        assert time.monotonic() < deadline, build.log
        time.sleep(0.2)
    build.abort()
    record = build.wait(BUILD_S)
    assert record.result == "ABORTED", record.log
    assert record.stages["Archive"] == "SKIPPED"
    assert "cleanup" in record.posts
    assert free(site)
