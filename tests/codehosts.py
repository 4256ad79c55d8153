"""A server that plays what GitLab and GitHub offer to comment on one merge request."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-gate"
BOT, STRANGER = "github-actions[bot]", "mallory"
GITLAB = "/projects/7/merge_requests/3"
GITHUB = "/repos/lab/dnsmasq"


class CodeHost:
    """The merge request whose last commit is `head`; `comments` are its comments."""

    def __init__(self, address, head):
        self.address, self.head = address, head
        self.comments, self.asked = [], []

    def add(self, author, text):
        self.comments.append({"id": 100 + len(self.comments), "author": author, "body": text})

    def mine(self):
        """The texts of the gate's own comments."""
        return [each["body"] for each in self.comments if each["author"] == BOT]

    def answer(self, method, path, query, document):
        """Return status and document."""
        pages = query.get("page", ["1"]), query.get("per_page", ["20"])
        page, size = (int(value[0]) for value in pages)
        answered = 404, {"message": "404 Not Found"}
        match method, path.removeprefix(GITLAB).removeprefix(GITHUB):
            case "GET", "" if path == GITLAB:
                answered = 200, {"sha": self.head, "iid": 3}
            case "GET", "/user":
                answered = 200, {"id": 1, "username": BOT}
            case "GET", "/pulls":
                there = query["head"] == ["lab:change"] and query["state"] == ["open"]
                answered = 200, [{"number": 3, "head": {"sha": self.head}}] * there
            case "GET", "/notes" | "/issues/3/comments":
                answered = 200, [*map(shown, self.comments[(page - 1) * size : page * size])]
            case "POST", "/notes" | "/issues/3/comments":
                self.add(BOT, document["body"])
                answered = 201, shown(self.comments[-1])
            case "PUT" | "PATCH", place:
                comment = self.comments[int(place.rpartition("/")[2]) - 100]
                comment["body"] = document["body"]
                answered = 200, shown(comment)
        return answered


def shown(comment):
    """A comment as both show it."""
    name = comment["author"]
    author = {"id": 1 if name == BOT else 2, "username": name}
    return {**comment, "author": author, "user": {"login": name}}


@contextmanager
def code_host(head):
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            place = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(length)
            host.asked.append(f"{self.command} {place.path}")
            tokens = (self.headers.get("PRIVATE-TOKEN"), self.headers.get("Authorization"))
            status, document = 401, {"message": "401 Unauthorized"}
            if tokens[0] == TOKEN or f"Bearer {TOKEN}" == tokens[1]:
                parsed = json.loads(content) if content else None
                status, document = host.answer(
                    self.command, place.path, parse_qs(place.query), parsed
                )
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815  (http.server's)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host = CodeHost(f"http://127.0.0.1:{server.server_port}", head)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()


def gitlab_variables(host, commit):
    """What GitLab gives to a job of the merge request's pipeline."""
    return {
        "CI_API_V4_URL": host.address,
        "CI_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_IID": "3",
        "CI_COMMIT_SHA": commit,
    }


def github_event(commit, branch="change"):
    """The event of a workflow that has ended."""
    run = {
        "event": "pull_request",
        "head_sha": commit,
        "head_branch": branch,
        "head_repository": {"owner": {"login": "lab"}, "full_name": "lab/dnsmasq"},
        "id": 11,
    }
    return {"workflow_run": run, "repository": {"full_name": "lab/dnsmasq"}}


def github_variables(host, event):
    """What GitHub gives to a job; `event` is the file of its event."""
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": host.address,
        "GITHUB_REPOSITORY": "lab/dnsmasq",
        "GITHUB_EVENT_PATH": str(event),
    }
