"""Says on a code host what a gate has measured; needs Python and no package.

  codehost.py comment NAME FILE   writes FILE as the comment NAME of the merge request, in place
                                  of the one that is there: LEASELAB_TOKEN, or the file that
                                  LEASELAB_TOKEN_FILE names, holds the token
  codehost.py annotate FILE       prints a code quality report as annotations of GitHub

The rest comes from the variables that GitLab and GitHub set.  FILE may come from a run of a
stranger's commit: it is text whose size is limited, and that cannot have an effect.
Exit codes: 0; 2 for what cannot be read or written; 4 if the code host does not answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from unicodedata import category
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPErrorProcessor, Request, build_opener

BYTES, ANSWER_BYTES = 60_000, 16 << 20
"""Most of a comment, less than GitHub takes, and of an answer."""
FINDINGS = 50
"""Annotations of a run that are printed."""
PAGES, PAGE = 50, 100
"""Most pages of comments, and comments of a page."""
ANSWER_S = 30
FOLDS = re.compile(r"<details><summary>[\w ]+</summary>|</details>")
"""The lines of HTML that a comment may have."""
EFFECTS = re.compile(r'[@#!$%&~^](?=[\w"])|&(?=#)|:(?=/)|(?<=www)\.', re.IGNORECASE)
"""Letters before what a code host takes for a mention, a reference, a number or an address."""
ODD = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Unicode's categories of letters that nobody sees."""
SPACE = "\u200b"
"""A space without width: it ends a mention or a reference before it begins."""


class RefusedError(Exception):
    """What ends the program, with its exit code."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


def artifact(path: str, most: int) -> str:
    """Return the text of a file of a commit's run: a link could lead to the token."""
    place = Path(path).absolute()
    if place.resolve() != place or not place.is_file():
        raise RefusedError(f"{path}: not a plain file")
    return read(path, most)


def read(path: str, most: int) -> str:
    """Return a text of at most `most` bytes."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise RefusedError(f"{path}: too large (wanted {most} bytes at most)")
    return content.decode(errors="replace")


def harmless(text: str) -> str:
    """Return Markdown that mentions nobody, links nowhere, folds alone, and orders nothing."""
    lines = []
    for row in text.split("\n"):
        line = "".join(
            letter for letter in row if letter == "\t" or category(letter) not in ODD
        )
        if FOLDS.fullmatch(line):
            lines += [line, ""]  # what follows is Markdown, not HTML
            continue
        # behind a backslash, these are letters already
        line = re.sub(r"\\.|[<\[]", lambda found: _letter(found[0]), line)
        line = EFFECTS.sub(rf"\g<0>{SPACE}", line)
        # GitLab takes a line that begins with a slash as an order
        lines.append(re.sub(r"^(\s*)/", r"\1\\/", line))
    return "\n".join(lines)


def _letter(found: str) -> str:
    return found if found.startswith("\\") else f"\\{found}"


class NoRedirect(HTTPErrorProcessor):
    """Hands over every answer: a redirect would take the token elsewhere."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002  (urllib's)
        """Return the answer as it is."""
        return response

    https_response = http_response


class Host:
    """What GitLab and GitHub have in common: comments of one merge request, by JSON."""

    def __init__(self, api: str, header: Mapping[str, str]) -> None:
        place = urlsplit(api)
        here = place.hostname in ("127.0.0.1", "localhost", "::1")
        if place.scheme != "https" and not (place.scheme == "http" and here):
            raise RefusedError(f"{api}: the token is sent by https alone")
        self._api, self._header = api.rstrip("/"), header
        self.comments = ""
        """Path of the comments of the merge request; empty where it is not the commit's."""

    def ask(self, method: str, path: str, document: object = None, **query: object) -> Any:  # noqa: ANN401  (parsed JSON)
        """Return the parsed answer; one that is no success ends the program."""
        address = f"{self._api}{path}{'?' * bool(query)}{urlencode(query)}"
        content = None if document is None else json.dumps(document).encode()
        fields = {"Content-Type": "application/json", "User-Agent": "leaselab", **self._header}
        asked = Request(address, content, fields, method=method)  # noqa: S310  # https, see above
        try:
            with build_opener(NoRedirect).open(asked, timeout=ANSWER_S) as answer:
                status, body = answer.status, answer.read(ANSWER_BYTES)
            if not 200 <= status < 300:
                raise RefusedError(f"{method} {path}: the code host refuses (HTTP {status})", 4)
            return json.loads(body) if body else None
        except (OSError, HTTPError, HTTPException, ValueError) as error:
            raise RefusedError(
                f"{method} {path}: no answer of the code host: {error}", 4
            ) from error

    def own(self, comment: Mapping[str, Any]) -> bool:
        """Whether this program's account wrote a comment."""
        raise NotImplementedError

    def renew(self, ident: int, text: str) -> None:
        """Replace the text of a comment."""
        raise NotImplementedError

    def written(self) -> Iterator[Mapping[str, Any]]:
        """Yield the comments that there are."""
        for page in range(1, PAGES + 1):
            found = self.ask("GET", self.comments, per_page=PAGE, page=page)
            yield from found
            if len(found) < PAGE:
                return


class GitLab(Host):
    """The merge request of this pipeline."""

    def __init__(self, token: str) -> None:
        super().__init__(wanted("CI_API_V4_URL"), {"PRIVATE-TOKEN": token})
        request = (
            f"/projects/{quote(wanted('CI_PROJECT_ID'), safe='')}"
            f"/merge_requests/{int(wanted('CI_MERGE_REQUEST_IID'))}"
        )
        commit = os.environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or wanted("CI_COMMIT_SHA")
        if self.ask("GET", request)["sha"] == commit:
            self.comments = f"{request}/notes"
            self._me = self.ask("GET", "/user")["id"]

    def own(self, comment: Mapping[str, Any]) -> bool:
        """Whether the owner of the token wrote it."""
        return bool(comment["author"]["id"] == self._me)

    def renew(self, ident: int, text: str) -> None:
        """Replace its text."""
        self.ask("PUT", f"{self.comments}/{ident}", {"body": text})


class GitHub(Host):
    """The pull request whose workflow has ended, as event `workflow_run` says.

    The commit that ran names it: an artifact of that run could name any.
    """

    def __init__(self, token: str) -> None:
        accept = "application/vnd.github+json"
        header = {"Authorization": f"Bearer {token}", "Accept": accept}
        super().__init__(wanted("GITHUB_API_URL"), header)
        run = json.loads(read(wanted("GITHUB_EVENT_PATH"), ANSWER_BYTES))["workflow_run"]
        owner, self._place = (
            run["head_repository"]["owner"]["login"],
            wanted("GITHUB_REPOSITORY"),
        )
        head = f"{owner}:{run['head_branch']}"
        there = self.ask("GET", f"/repos/{self._place}/pulls", state="open", head=head)
        numbers = [int(one["number"]) for one in there if one["head"]["sha"] == run["head_sha"]]
        if numbers:
            self.comments = f"/repos/{self._place}/issues/{numbers[0]}/comments"

    def own(self, comment: Mapping[str, Any]) -> bool:
        """Whether a workflow wrote it."""
        mine = os.environ.get("LEASELAB_LOGIN", "github-actions[bot]")
        return bool(comment["user"]["login"] == mine)

    def renew(self, ident: int, text: str) -> None:
        """Replace its text."""
        self.ask("PATCH", f"/repos/{self._place}/issues/comments/{ident}", {"body": text})


def wanted(name: str) -> str:
    """Return a variable that must be there."""
    value = os.environ.get(name, "")
    if not value:
        raise RefusedError(f"{name} is not set")
    return value


def comment(name: str, path: str) -> str:
    """Write a comment, or renew the one of this name; return what was done."""
    if not re.fullmatch("[a-z-]+", name):
        raise RefusedError(
            f"not the name of a comment (found {name!r}, wanted lower-case letters)"
        )
    mark = f"<!-- leaselab:{name} -->"
    text = f"{mark}\n{harmless(artifact(path, BYTES))}"
    place = os.environ.get("LEASELAB_TOKEN_FILE")
    token = (read(place, 1000) if place else wanted("LEASELAB_TOKEN")).strip()
    host = GitHub(token) if os.environ.get("GITHUB_ACTIONS") else GitLab(token)
    if not host.comments:
        return "no comment: no open merge request ends with this commit"
    for there in host.written():
        if host.own(there) and there["body"].startswith(mark):
            if there["body"] != text:
                host.renew(there["id"], text)
            return "the comment is renewed"
    host.ask("POST", host.comments, {"body": text})
    return "the comment is written"


def commands(path: str) -> Iterator[str]:
    """Yield commands to GitHub's runner for the findings of a report."""
    for finding in json.loads(artifact(path, ANSWER_BYTES))[:FINDINGS]:
        place, line = finding["location"]["path"], int(finding["location"]["lines"]["begin"])
        known = "" if place == "." else f"file={property_of(place)},line={line},"
        kind = "error" if finding["severity"] == "major" else "warning"
        yield f"::{kind} {known}title=Leaselab::{data_of(finding['description'])}"


def data_of(text: str) -> str:
    """Return a text as a command of the runner has it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_of(text: str) -> str:
    """Return the same for a value before the text."""
    return data_of(text).replace(":", "%3A").replace(",", "%2C")


def main(arguments: list[str]) -> int:
    """Do what the first argument says."""
    try:
        match arguments:
            case ["comment", name, path]:
                sys.stderr.write(f"leaselab: {comment(name, path)}\n")
            case ["annotate", path]:
                sys.stdout.writelines(f"{command}\n" for command in commands(path))
            case _:
                raise RefusedError("wanted: comment NAME FILE, or annotate FILE")
    except RefusedError as error:
        sys.stderr.write(f"leaselab: {error}\n")
        return error.code
    except (OSError, ValueError, LookupError, TypeError) as error:
        sys.stderr.write(f"leaselab: {arguments[0]}: {error!r}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
