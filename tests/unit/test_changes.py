"""The list of known changes: one change, size and commit on every page and in every command."""

import json
import re

import pytest
from tests.past import fought, name_of, past

from leaselab.analysis.history.series import State
from leaselab.archive.changes import CHANGES, note_search, read_changes
from leaselab.archive.store import Store
from leaselab.cli import review as command
from leaselab.cli.main import main
from leaselab.model.changes import Culprit, Search
from leaselab.model.errors import LeaselabError
from leaselab.report.review.reading import review_of
from leaselab.report.review.words import next_words
from leaselab.report.site.site import write_site

pytestmark = pytest.mark.usefixtures("undrawn")

STEP = [1.0] * 8 + [0.96] * 6
CULPRIT = "c" * 40
SIZE, INTERVAL = "3.4 % slower", "-3.9 to -2.9 %"


def searched(root, before, after, *, good, bad, duel, **fields):
    """Note a search that named the commit between two builds, or what `fields` say."""
    parent = {"parent": before.server.commit, "parent_subject": before.source.subject}
    what = {"commit": CULPRIT, "subject": "Count twice", "date": after.source.author_date}
    culprit = Culprit(**what, **parent, ratio=0.966, ci95=(0.961, 0.971), duel=duel)
    known = {"scenario": before.scenario.name, "bench": before.bench.name, "good": good}
    known |= {"bad": bad, "ending": "found", "further": False, "culprits": (culprit,)}
    known |= {"metric": "completed_rate", "at": "2026-12-05T00:00:00.000Z"}
    note_search(root, Search(**(known | fields)))


def ends(made):
    return {"good": made[7].server.commit, "bad": made[8].server.commit}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """An archive whose ninth build is slower, of which a search named a commit before it."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(command, "_who", lambda: "A. Tester")
    records = past(tmp_path, STEP, noise=0.003, drift=0.01)
    duel, _ = fought(tmp_path, records[7], records[8], 0.95, days=13.5)
    searched(tmp_path, records[7], records[8], duel=duel, **ends(records))
    return records


def test_every_page_and_command_has_one_change_size_and_commit(made, tmp_path, capsys):
    assert len(made) == len(STEP)
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    since, title = CULPRIT[:10], f"v4-memfile is {SIZE} since {CULPRIT[:10]}"
    newest = f"sweep/{made[-1].id}.html"
    pages = ("index.html", "histories.html", "compare.html", "review.html", newest)
    texts = {page: (report / page).read_text("utf-8") for page in pages}
    for page in pages[:4]:
        assert title in re.search(r"<h1[^>]*>(.*?)</h1>", texts[page])[1]
    assert re.search(rf">-3\.4 % since {since}</span>", texts["index.html"]), "its own row"
    texts["history"] = (report / "history/v4-memfile.html").read_text("utf-8")
    for page, text in texts.items():
        assert since in text, page
        assert {SIZE, "-3.4 %"} & set(re.findall(r"-?\d\.\d %(?: slower)?", text)), page
        assert INTERVAL in text or page == "histories.html", page
        assert "./leaselab bisect" not in text, "it ended already"
    assert main(["review"]) == 1
    out = capsys.readouterr().out
    assert [
        part for part in (f"{since} Count twice", INTERVAL, "-3.4 %") if part not in out
    ] == []
    assert main(["review", "--json", "--markdown", str(tmp_path / "comment.md")]) == 1
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["culprit"], change["ratio"]) == (CULPRIT, 0.966)
    assert since in (tmp_path / "comment.md").read_text("utf-8")


def test_what_is_accepted_leaves_titles_and_exit_codes_and_can_be_taken_back(
    made, tmp_path, capsys
):
    assert made
    assert main(["review", "--accept", "1234567", "never mind"]) == 2
    assert f"wanted {CULPRIT[:10]}" in capsys.readouterr().err
    assert main(["review", "--accept", CULPRIT[:10], " "]) == 2
    assert main(["review", "--accept", CULPRIT[:10], "it counts <b>right</b> now"]) == 0
    out, err = capsys.readouterr()
    assert "accepted: v4-memfile" in err
    assert "0 confirmed, 0 refuted, 1 accepted" in out
    assert re.search(r"accepted by A\. Tester on \d{4}-\d\d-\d\d: it counts", out)
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    for page in ("index.html", "histories.html", "compare.html", "review.html"):
        text = (report / page).read_text("utf-8")
        assert SIZE not in re.search(r"<h1[^>]*>(.*?)</h1>", text)[1]
    assert "it counts &lt;b&gt;right" in (report / "review.html").read_text("utf-8")
    assert main(["review", "--unaccept", CULPRIT[:10]]) == 1
    assert read_changes(tmp_path).accepted == ()


def test_an_accepted_change_stays_so_when_a_search_names_its_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    records = past(tmp_path, STEP, noise=0.003, drift=0.01)
    assert main(["review", "--accept", records[8].server.commit[:10], "known"]) == 0
    duel, _ = fought(tmp_path, records[7], records[8], 0.95, days=13.5)
    searched(tmp_path, records[7], records[8], duel=duel, **ends(records))
    ((_, change),) = review_of(Store(tmp_path)).of(*State)
    assert (change.state, change.culprit.commit) == (State.ACCEPTED, CULPRIT)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (None, "bisect v4-memfile --repo /src/kea --good {good} --bad {bad}"),
        ({"further": True}, "--good {good} --bad {bad} --budget 480"),
        ({"further": False}, 'review v4-memfile --accept {bad} "REASON"'),
    ],
)
def test_what_to_do_next_is_never_what_was_done_already(tmp_path, fields, words):
    records = past(tmp_path, STEP, noise=0.003, drift=0.01)
    assert "review v4-memfile --confirm" in next_of(tmp_path)
    duel, _ = fought(tmp_path, records[7], records[8], 0.95, days=13.5)
    if fields:
        fields |= {"culprits": ()}
        searched(tmp_path, records[7], records[8], duel=duel, **ends(records), **fields)
    short = {name: commit[:10] for name, commit in ends(records).items()}
    assert next_of(tmp_path).endswith(words.format(**short))


def next_of(root):
    ((series, change),) = review_of(Store(root)).of(*State)
    return next_words(series, change)[1]


def test_a_culprit_of_no_history_is_a_known_change(tmp_path, capsys, monkeypatch):
    """Three builds have no history, but a search of them named one."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path))
    records = past(tmp_path, [1.0, 1.0, 0.96], days=0.1)
    duel, _ = fought(tmp_path, records[1], records[2], 0.96, days=1)
    good, bad = (records[place].server.commit for place in (0, 2))
    searched(tmp_path, records[1], records[2], good=good, bad=bad, duel=duel)
    report = write_site(Store(tmp_path), tmp_path / "report").parent
    title = f"v4-memfile is {SIZE} since {CULPRIT[:10]}"
    for page in ("index.html", "compare.html", "review.html"):
        assert title in (report / page).read_text("utf-8"), page
    assert CULPRIT[:10] in (report / "history/v4-memfile.html").read_text("utf-8")
    assert main(["review"]) == 1
    assert name_of(1)[:10] in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", '{"schema_version": 2}', '{"accepted": [{}]}'])
def test_a_damaged_list_is_refused_and_never_replaced(tmp_path, text):
    (tmp_path / CHANGES).write_text(text, encoding="utf-8")
    with pytest.raises(LeaselabError, match=r"changes\.json"):
        read_changes(tmp_path)
    record = past(tmp_path, [1.0])[0]
    with pytest.raises(LeaselabError):
        searched(tmp_path, record, record, good="a" * 40, bad="b" * 40, duel=record.id)
    assert (tmp_path / CHANGES).read_text("utf-8") == text
