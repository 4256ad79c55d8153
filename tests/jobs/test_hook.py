"""The hook that notifies a controller of a push: what it sends, and that a push never waits."""

import os
import shutil
import stat
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.jobs.definitions import JOBS, run
from tests.repositories import git

TOKEN = 'made "up" \\ here & now='
HOOK = JOBS / "hooks/post-receive"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        split = urlsplit(self.path)
        self.server.requests.append((split.path, parse_qs(split.query)))
        self.server.gate.wait(120)
        self.send_response(self.server.code)
        self.end_headers()
        with suppress(BrokenPipeError):  # of a push that does not wait for the answer
            self.wfile.write(b"Scheduled leaselab/leaselab-commit-v4-memfile\n")


@contextmanager
def listening(code=200, silent=False):
    """A controller that keeps its requests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests, server.code, server.gate = [], code, threading.Event()
    if not silent:
        server.gate.set()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def place(tmp_path):
    """A developer's clone of a bare repository that has the hook."""
    bare, clone = tmp_path / "kea.git", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=master", str(bare))
    shutil.copy(HOOK, bare / "hooks/post-receive")
    git(tmp_path, "clone", "--quiet", str(bare), str(clone))
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    commit(clone, "a first commit")
    return bare, clone


def commit(clone, subject):
    (clone / "file").write_text(subject, encoding="utf-8")
    git(clone, "add", "file")
    git(clone, "commit", "--quiet", "-m", subject)
    return git(clone, "rev-parse", "HEAD").strip()


def configure(bare, url, **more):
    settings = {
        "controller": url,
        "url": "ssh://git@git.example.org/kea.git",
        "tokenFile": str(bare.parent / "token"),
        **more,
    }
    for name, value in settings.items():
        git(bare, "config", f"leaselab.{name}", value)


def push(clone, *what, path=None):
    """Push as a developer does; what the hook said."""
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
    if path:
        environment["PATH"] = f"{path}:{os.environ['PATH']}"
    done = run("git", "push", "origin", *what, cwd=clone, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_push_is_reported_with_repository_branch_commit_and_token(place):
    bare, clone = place
    head = git(clone, "rev-parse", "HEAD").strip()
    with listening() as server:
        configure(bare, f"{server.url}/jenkins/")
        said = push(clone, "master")
    (reported,) = server.requests
    assert reported == (
        "/jenkins/git/notifyCommit",
        {
            "url": ["ssh://git@git.example.org/kea.git"],
            "branches": ["master"],
            "token": [TOKEN],
        },
    )
    assert f"of master at {head[:12]}" in said
    assert "Scheduled leaselab/leaselab-commit-v4-memfile" in said
    assert TOKEN not in said


def test_each_branch_of_a_push_is_reported_and_nothing_else(place):
    bare, clone = place
    git(clone, "branch", "feature/lease-cache")
    git(clone, "tag", "v1")
    with listening() as server:
        configure(bare, server.url)
        push(clone, "master", "feature/lease-cache", "v1")
        git(clone, "branch", "-D", "feature/lease-cache")
        push(clone, "--delete", "feature/lease-cache")
    reported = [query["branches"] for _, query in server.requests]
    assert sorted(reported) == [["feature/lease-cache"], ["master"]]


def test_the_token_is_in_no_command_line(place, tmp_path):
    bare, clone = place
    programs, seen = tmp_path / "programs", tmp_path / "seen"
    programs.mkdir()
    curl = programs / "curl"
    curl.write_text(
        f'#!/bin/bash\nprintf "%s\\n" "$@" >>{seen}\nexec {shutil.which("curl")} "$@"\n',
        encoding="utf-8",
    )
    curl.chmod(curl.stat().st_mode | stat.S_IXUSR)
    with listening() as server:
        configure(bare, server.url)
        push(clone, "master", path=programs)
    assert server.requests[0][1]["token"] == [TOKEN]
    assert seen.read_text("utf-8").split() == ["-q", "--config", "-"]


def test_a_controller_that_does_not_answer_holds_a_push_for_a_bounded_time(place):
    bare, clone = place
    for number in range(4):
        git(clone, "branch", f"branch-{number}")
    with listening(silent=True) as server:
        configure(bare, server.url, timeoutS="2")
        begun = time.monotonic()
        said = push(clone, "--all")
        assert time.monotonic() - begun < 60
        assert len(server.requests) < 5
    assert "does not answer" in said
    assert "out of time" in said
    assert "the controller will find it when it polls" in said


@pytest.mark.parametrize(
    ("code", "said"),
    [(403, "refuses the token"), (401, "refuses the token"), (500, "answers 500")],
)
def test_a_controller_that_refuses_is_said_and_fails_no_push(place, code, said):
    bare, clone = place
    with listening(code) as server:
        configure(bare, server.url)
        assert said in push(clone, "master")


def test_a_controller_that_is_not_there_is_said_and_fails_no_push(place):
    bare, clone = place
    configure(bare, "http://127.0.0.1:1")
    said = push(clone, "master")
    assert "does not answer for master" in said
    assert "curl: (7)" in said


@pytest.mark.parametrize(
    ("setting", "value", "said", "requests"),
    [
        *(
            (name, None, f"leaselab.{name} is not set; no notification sent", 0)
            for name in ("controller", "url", "tokenFile")
        ),
        ("tokenFile", "/nowhere", "no token can be read from /nowhere", 0),
        ("timeoutS", "soon", "leaselab.timeoutS is soon", 1),
    ],
)
def test_a_setting_that_is_missing_or_none_is_named(place, setting, value, said, requests):
    bare, clone = place
    with listening() as server:
        configure(bare, server.url, timeoutS="9")
        words = ["--unset", f"leaselab.{setting}"] if value is None else [f"leaselab.{setting}"]
        git(bare, "config", *words, *([value] if value else []))
        assert said in push(clone, "master")
        assert len(server.requests) == requests
