"""An archive whose every text tries to be more than text."""

from datetime import timedelta

from tests.examples import (
    MAX_RATES,
    START,
    archive_result,
    confirmed,
    example_result,
    invalid_result,
)

from leaselab.archive.bench_notes import CHECK, STATUS, write_note

ATTACK = (
    "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    "\"'`{{7*7}}&amp;\\1\\d"
)
"""What a commit subject, a host name or a log line may carry."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hostile_archive(root):
    """Three scenarios: commits and an environment of their own, an invalid one, a pair.

    Every text that somebody else can choose is `ATTACK`.
    """
    documents = []
    for place, commit in enumerate((COMMIT, COMMIT[::-1])):
        document = example_result(
            [rate * (1 - 0.3 * place) for rate in MAX_RATES],
            started=START + timedelta(days=place),
            commit=commit,
        )
        document["server"]["build"] = {
            "source": {
                "repository": ATTACK,
                "hash": commit,
                "tree": commit,
                "author_date": f"2026-11-{20 + place}T10:00:00+00:00",
                "subject": ATTACK,
                "dirty": False,
            }
        }
        document["bench"]["environment"] = f"1-{place}{ATTACK}"
        documents.append(confirmed(document))
    documents.append(invalid_result(scenario="v6-memfile", started=START + timedelta(days=2)))
    documents[-1]["reasons"][0]["text"] = ATTACK
    pair = example_result(scenario="v4-memfile-mt-hs", started=START + timedelta(days=3))
    pair["scenario"]["multi_threading"] = {"enabled": True}
    pair["scenario"]["high_availability"] = {"mode": "hot-standby"}
    for run in pair["runs"]:
        for trial in run["trials"]:
            trial["partner_samples"] = trial["samples"]
    documents.append(pair)
    for document in documents:
        _attack(document)
        archive_result(root, document)
    _benches(root)
    return documents


def _benches(root):
    """Benches in good and bad states, with a holder who names himself."""
    hosts = [
        {"role": "server", "well": False, "answers": True},
        {"role": "generator", "well": False, "answers": False},
    ]
    check = {"at": "2026-11-22T10:00:00.000Z", "ok": False, "errors": 2, "first": ATTACK}
    for name, state in (("docker", "measuring"), ("rack2", "broken")):
        status = {"at": "2026-11-23T10:00:00.000Z", "state": state, "told": ATTACK}
        write_note(root, name, STATUS, {**status, "hosts": hosts})
    write_note(root, "rack2", CHECK, check)


def _attack(document):
    document["server"]["version"] = f"2.6{ATTACK}"
    document["server"]["package"] = ATTACK
    document["generator"]["version"] = ATTACK
    document["provenance"]["command"] = ["leaselab", "run", ATTACK]
    for host in document["bench"]["hosts"].values():
        host |= {"hostname": ATTACK, "os": ATTACK, "cpu_model": ATTACK, "kernel": ATTACK}
    for run in document["runs"]:
        for trial in run["trials"]:
            trial["argv"] = ["perfdhcp", ATTACK]
    if document["outcome"] != "ok":
        document["runs"][-1]["trials"][-1]["reason"] = ATTACK
