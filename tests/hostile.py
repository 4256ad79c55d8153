"""A repository and an archive whose every text tries to be more than text."""

import subprocess
from datetime import timedelta
from functools import partial

from tests.examples import (
    MAX_RATES,
    START,
    archive_result,
    confirmed,
    edited,
    example_result,
    invalid_result,
)
from tests.repositories import commit, git, make_repository

from leaselab.archive.bench_notes import CHECK, STATUS, write_note

ATTACK = (
    "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    "\"'`{{7*7}}&amp;\\1\\d"
)
"""What a commit subject, a host name or a log line may carry."""
COMMAND = "{{ lookup('pipe', 'touch \"$LEASELAB_RAN\"') }}"
"""What makes a file, where Ansible takes it for a template."""
CODES = "\x1b[2J\x1b[8m\x1b]0;x\x07\x9b2J\u202e\u2066\t"
"""What clears a terminal, hides text, renames the window and turns the order of letters."""
FOREIGN = f"=1+1 {COMMAND} {{{{ placeholder }}}} {{# note #}} {CODES}-"
MARKUP = "<img src=x onerror=hacked()> **bold**"
"""What is an element to a browser and to a test report, and bold in a comment."""
NAME = "{{lookup('pipe','touch${IFS}\"$LEASELAB_RAN\"')}}\u202e"
"""The same, as far as git lets a branch or a tag be called."""
DATES = ("253402300800 +0000", "1700000000 +9959")
"""Of author and committer: in the year 10000, and in a zone that is none."""
EXPERIMENT = "20261121-commits"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hostile_repository(folder, files, dates=DATES):
    """Make a repository of one commit; every text of it is foreign.  Return its path.

    Its branch is ``-`` and `NAME`, its tag ``=`` and `NAME`.
    """
    path = make_repository(folder / FOREIGN)
    commit(path, "to be replaced", {**files, FOREIGN: "", "-rf": "", "a\nb": "", NAME: ""})
    who = f"{FOREIGN} <{FOREIGN}>"
    text = (
        f"tree {git(path, 'rev-parse', 'HEAD^{tree}')}\n"
        f"author {who} {dates[0]}\ncommitter {who} {dates[1]}\n\n{FOREIGN}\n\n{FOREIGN}\n"
    )
    made = subprocess.run(
        ["git", "-C", path, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    name = made.stdout.decode().strip()
    git(path, "update-ref", f"refs/heads/-{NAME}", name)
    git(path, "update-ref", f"refs/tags/={NAME}", name)
    return path


def hostile_archive(root):
    """Three scenarios: an experiment of two commits, an invalid one, a pair.

    Every text that others can choose is `ATTACK`.
    """
    records = []
    for place, name in enumerate((COMMIT, COMMIT[::-1])):
        record = example_result(
            [rate * (1 - 0.3 * place) for rate in MAX_RATES],
            started=START + timedelta(days=place),
            commit=name,
        )
        records.append(confirmed(edited(record, partial(_built, place=place, commit=name))))
    records.append(invalid_result(scenario="v6-memfile", started=START + timedelta(days=2)))
    pair = example_result(scenario="v4-memfile-mt-hs", started=START + timedelta(days=3))
    records.append(edited(pair, _paired))
    records = [edited(record, _attack) for record in records]
    for record in records:
        archive_result(root, record)
    _benches(root)
    return records


def _built(document, place, commit):
    document["servers"]["server"]["build"] = {
        "source": {
            "repository": ATTACK,
            "ref": ATTACK,
            "hash": commit,
            "tree": commit,
            "described": ATTACK,
            "author_date": f"2026-11-{20 + place}T10:00:00+00:00",
            "subject": ATTACK,
        }
    }
    document["bench"]["environment"] = f"1-{place}{ATTACK}"
    document["experiment"] = {
        "id": EXPERIMENT,
        "points": [document["id"]],
        "interleaved": False,
        "why": ATTACK,
    }


def _paired(document):
    document["scenario"]["factors"] |= {"threading": "multi", "servers": ATTACK}
    for round_ in document["rounds"]:
        for trial in round_["trials"]:
            trial["samples"]["partner"] = trial["samples"]["server"]


def _benches(root):
    """Benches in good and bad states, with a holder who names himself."""
    hosts = [
        {"role": "server", "well": False, "answers": True},
        {"role": "generator", "well": False, "answers": False},
    ]
    check = {"at": "2026-11-22T10:00:00.000Z", "ok": False, "errors": 2, "first": ATTACK}
    for name, state in (("docker", "measuring"), ("rack2", "broken")):
        status = {"at": "2026-11-23T10:00:00.000Z", "state": state, "detail": ATTACK}
        write_note(root, name, STATUS, {**status, "hosts": hosts})
    write_note(root, "rack2", CHECK, check)


def _attack(document):
    server = document["servers"]["server"]
    server |= {"version": f"2.6{ATTACK}", "package": ATTACK, "holds": ATTACK}
    document["generator"]["version"] = ATTACK
    document["provenance"]["command"] = ["leaselab", "run", ATTACK]
    document["metrics"][0]["title"] = f"max rate{ATTACK}"
    for host in document["bench"]["hosts"].values():
        host |= {"hostname": ATTACK, "os": ATTACK, "cpu_model": ATTACK, "kernel": ATTACK}
    for round_ in document["rounds"]:
        for trial in round_["trials"]:
            trial["argv"] = ["perfdhcp", ATTACK]
            trial["latency_s"] = {
                f"{stage}{ATTACK}": seen for stage, seen in trial["latency_s"].items()
            }
    if document["outcome"] != "ok":
        document["reasons"][0]["text"] = ATTACK
        document["rounds"][-1]["trials"][-1]["reason"] = ATTACK
