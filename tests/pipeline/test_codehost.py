"""Comments and annotations on a code host, against a server that plays its API."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.codehosts import (
    STRANGER,
    TOKEN,
    code_host,
    github_event,
    github_variables,
    gitlab_variables,
)

PROGRAM = Path(__file__).parents[2] / "scripts" / "ci" / "codehost.py"
HEAD = "a" * 40
MARK = "<!-- leaselab:cost -->\n"
FILTER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("codehost", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.stdout.write(module.harmless(sys.stdin.read()))
"""


def call(*words, **environment):
    path = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, PROGRAM, *map(str, words)],
        env={**path, **environment},
        check=False,
        capture_output=True,
        text=True,
    )


def harmless(text):
    done = subprocess.run(
        [sys.executable, "-c", FILTER, PROGRAM],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def host():
    with code_host(HEAD) as started:
        yield started


@pytest.fixture(params=["gitlab", "github"])
def gate(request, host, tmp_path):
    """Comment as a pipeline of that code host does, for a commit that was measured."""

    def run(text, commit=HEAD, **changes):
        (tmp_path / "comment.md").write_text(text, encoding="utf-8")
        event = tmp_path / "event.json"
        event.write_text(json.dumps(github_event(commit)))
        variables = (
            gitlab_variables(host, commit)
            if request.param == "gitlab"
            else github_variables(host, event)
        )
        words = ("comment", "cost", tmp_path / "comment.md")
        return call(*words, **{**variables, "LEASELAB_TOKEN": TOKEN, **changes})

    return run


def test_a_comment_is_renewed_and_not_repeated(gate, host):
    for n in range(250):  # more than two pages
        host.add(STRANGER, f"A remark {n}")
    for text in ("slower", "equal", "equal"):
        done = gate(text)
        assert done.returncode == 0, done.stderr
    assert host.mine() == [f"{MARK}equal"]
    assert len([line for line in host.asked if line.startswith(("PUT", "PATCH"))]) == 1


def test_a_stranger_who_copies_the_mark_keeps_their_comment(gate, host):
    host.add(STRANGER, f"{MARK}mine")
    assert gate("equal").returncode == 0
    assert [comment["body"] for comment in host.comments] == [f"{MARK}mine", f"{MARK}equal"]


def test_an_older_commit_that_was_measured_later_says_nothing(gate, host):
    done = gate("slower", commit="b" * 40)
    assert (done.returncode, host.mine()) == (0, [])
    assert "no open merge request ends with this commit" in done.stderr


def test_a_token_may_be_in_a_file_and_is_in_no_output(gate, host, tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    done = gate("equal", LEASELAB_TOKEN="", LEASELAB_TOKEN_FILE=str(tmp_path / "token"))
    assert (done.returncode, len(host.mine())) == (0, 1)
    assert TOKEN not in done.stdout + done.stderr


def test_a_wrong_token_is_a_code_host_that_refuses(gate, host):
    done = gate("equal", LEASELAB_TOKEN="another")
    assert (done.returncode, host.mine()) == (4, [])
    assert "HTTP 401" in done.stderr
    assert "another" not in done.stderr


def test_no_token_goes_over_a_network_in_the_clear(gate):
    address = "http://git.example.org/api"
    done = gate("equal", CI_API_V4_URL=address, GITHUB_API_URL=address)
    assert done.returncode == 2
    assert "https" in done.stderr


def test_a_comment_that_is_too_long_is_refused(gate, host):
    done = gate("a" * 60_001)
    assert (done.returncode, host.mine()) == (2, [])
    assert "too large" in done.stderr


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_of_an_artifact_is_not_followed_to_the_token(host, tmp_path, folder):
    out = tmp_path / "out"
    if folder:
        (tmp_path / "elsewhere").mkdir()
        out.symlink_to(tmp_path / "elsewhere")
        (out / "comment.md").write_text("elsewhere")
    else:
        out.mkdir()
        (out / "comment.md").symlink_to("/proc/self/environ")
    variables = {**gitlab_variables(host, HEAD), "LEASELAB_TOKEN": TOKEN}
    done = call("comment", "cost", out / "comment.md", **variables)
    assert (done.returncode, host.comments) == (2, [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2 % more, +3\xa0140, `id`", "1.2 % more, +3\xa0140, `id`"),
        ("## Leaselab: more\n\n### Figures", "## Leaselab: more\n\n### Figures"),
        ("@ana \\@ana &#64;ana", "@\u200bana \\@\u200bana &\u200b#\u200b64;ana"),
        ("<img src=x>", "\\<img src=x>"),
        ("\\\\<script>", "\\\\\\<script>"),
        ("![a](https://x.org) [b]: /c", "!\\[a](https:\u200b//x.org) \\[b]: /c"),
        ("www.x.org", "www.\u200bx.org"),
        ("  /close", "  \\/close"),
        ("/merge", "\\/merge"),
        ("#12 !3 ~bug", "#\u200b12 !\u200b3 ~\u200bbug"),
        ("a\x1b[31m\u202eb\u2028/merge", "a\\[31mb/merge"),
        (
            "<details><summary>By function</summary>\nx",
            "<details><summary>By function</summary>\n\nx",
        ),
        ("<details open>", "\\<details open>"),
        ("<!-- leaselab:rate -->", "\\<!-- leaselab:rate -->"),
    ],
)
def test_text_of_a_stranger_is_shown_and_has_no_effect(text, shown):
    assert harmless(text) == shown


def finding(path, line, text, severity="major"):
    location = {"path": path, "lines": {"begin": line}}
    return {"description": text, "severity": severity, "location": location}


def test_findings_are_annotations_whose_texts_give_no_orders(tmp_path):
    report = tmp_path / "quality.json"
    findings = [
        finding("src/a,b:c.c", 6, "100 % more\n::set-env name=x::"),
        finding("src/d.c", 7, "less", "minor"),
        finding(".", 1, "no place"),
    ]
    report.write_text(json.dumps(findings))
    done = call("annotate", report)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "::error file=src/a%2Cb%3Ac.c,line=6,title=Leaselab::100 %25 more%0A::set-env name=x::",
        "::warning file=src/d.c,line=7,title=Leaselab::less",
        "::error title=Leaselab::no place",
    ]


@pytest.mark.parametrize("content", ["", "[1]", '[{"location": null}]', "{}"])
def test_what_is_no_report_is_refused(tmp_path, content):
    (tmp_path / "quality.json").write_text(content)
    done = call("annotate", tmp_path / "quality.json")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
