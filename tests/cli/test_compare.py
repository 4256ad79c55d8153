"""``leaselab compare``: exit codes, what is printed, and the files that a CI publishes."""

import json
import re
import sys
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from tests.examples import MAX_RATES, PROCEDURE, START, archive_result, built, example_result
from tests.hostile import ATTACK, hostile_archive
from tests.repositories import commit, git, make_repository

from leaselab.archive.store import Store
from leaselab.cli.main import main


@pytest.fixture
def measured(root):
    """Archive a result of a commit, `factor` times the usual rates; returns its record."""
    hours = iter(range(1000))

    def measure(digit, factor=1.0, subject="", **fields):
        name = digit * 40 if len(digit) == 1 else digit
        rates = fields.pop("rates", MAX_RATES)
        environment = fields.pop("environment", "1")
        dirty = fields.pop("dirty", False)
        hour = next(hours)
        record = example_result(
            [factor * rate for rate in rates],
            started=START + timedelta(hours=hour),
            token=f"{hour:04x}",
            **fields,
        )
        subject = subject or f"Change {name[0]}"
        tree = "e" * 40 if dirty else name[::-1]
        record = built(record, name, tree=tree, subject=subject, dirty=dirty)
        bench = replace(record.bench, environment=environment)
        return archive_result(root, replace(record, bench=bench))

    return measure


@pytest.fixture
def compared(capsys, tmp_path):
    """Compare with all files and this end; returns stdout, stderr, Markdown, test cases."""

    def call(*arguments, code=0):
        comment, report = tmp_path / "comment.md", tmp_path / "junit.xml"
        quality = tmp_path / "quality.json"
        for place in (comment, report, quality):
            place.unlink(missing_ok=True)
        files = ["--markdown", comment, "--junit", report, "--code-quality", quality]
        assert main(["compare", *arguments, *map(str, files)]) == code
        out, err = capsys.readouterr()
        assert comment.exists() == report.exists() == quality.exists()
        if not comment.exists():
            return out, err, "", []
        # each exit code but 0 has a finding
        assert bool(json.loads(quality.read_text("utf-8"))) == bool(code)
        cases = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314  # our own
        return out, err, comment.read_text("utf-8"), cases

    return call


def test_a_regression_names_the_commit_and_by_how_much(measured, compared):
    base = measured("a", subject="Start")
    other = measured("b", 0.92, "Describe each packet twice")
    out, err, comment, (own, judged) = compared(base.id, "last", code=1)
    said = (
        "Slower: kea 2.6.3 of commit bbbbbbbbbb (Describe each packet twice) is 8.0 % "
        "slower than kea 2.6.3 of commit aaaaaaaaaa (Start) across sessions 60 min apart, with "
        "the drift of the machine in it (p < 0.0001); the threshold is 5 %."
    )
    assert out.splitlines() == [
        "   server     commit      subject                     "
        "result                            max rate/s",
        f"A  kea 2.6.3  aaaaaaaaaa  Start                       {base.id}   6006 ± 25",
        f"B  kea 2.6.3  bbbbbbbbbb  Describe each packet twice  {other.id}   5526 ± 23",
        "",
        "ratio B to A across sessions: 0.920, 95 % interval 0.915 to 0.925 (-8.0 %, -8.5 % to "
        "-7.5 %)",
        "Yuen's test, across sessions: p < 0.0001; threshold: 5 %",
        "The smallest drop that runs with this scatter could have shown is 0.5 %",
        "v4-memfile on bench docker, environment 1",
        "loss at most 2.5 %, replies within 2 s, bracket at most 1 %, trials of 3 s",
        "± is half of a 95 % interval; 9 runs, 1 dropped at each end",
        "A began 2026-11-21 11:30:05 UTC, B began 2026-11-21 12:30:05 UTC, 60 min later: the "
        "drift of the machine in between is part of the ratio",
        "",
        said,
    ]
    assert err == f"leaselab: v4-memfile: {said}\n"
    assert comment.startswith("## Leaselab: slower across sessions\n\nSlower: kea 2.6.3 of ")
    assert f"| bbbbbbbbbb | Describe each packet twice | {other.id} |" in comment
    assert own.attrib["name"] == "v4-memfile kea 2.6.3 (bbbbbbbbbb)"
    assert [part.tag for part in own] == ["system-out"]
    assert judged.attrib["name"] == "v4-memfile verdict"
    assert judged.find("failure").attrib == {"message": said, "type": "slower"}


def test_a_terminal_gets_the_verdict_once_and_what_to_do_next(measured, capsys, monkeypatch):
    base, other = measured("a"), measured("b", 0.92)
    monkeypatch.setenv("COLUMNS", "80")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main(["compare", base.id, other.id]) == 1
    out, err = capsys.readouterr()
    assert (out + err).count("Slower: ") == 1
    assert err.startswith("next:\n  ./leaselab compare aaaaaaaaaa bbbbbbbbbb --live ")


def test_json_is_one_document_whatever_comes_of_it(measured, compared):
    base, other = measured("a"), measured("b", 0.92)
    out, err, *_ = compared(base.id, other.id, "--json", code=1)
    document = json.loads(out)
    assert err.count("\n") == 1
    assert (document["word"], document["reason"]) == ("slower", None)
    assert (document["a"]["id"], document["b"]["commit"]) == (base.id, "b" * 40)
    assert document["ratio"] == pytest.approx(0.92)
    assert document["ci95"] == pytest.approx([0.915, 0.925], abs=0.001)
    assert document["p"] < 1e-6
    assert document["threshold_percent"] == 5.0
    assert document["smallest_seen"] == pytest.approx(0.0053, abs=0.0001)
    out, err, *_ = compared(base.id, other.id, "--threshold", "10")
    assert (out.splitlines()[-1].startswith("Equal"), err) == (True, "")
    document = json.loads(compared(base.id, base.id, "--json", code=2)[0])
    assert (document["word"], document["ratio"]) == ("not comparable", None)


def test_what_is_not_comparable_is_refused_and_still_reported(measured, compared):
    base = measured("a", environment="1-aa")
    measured("b", 0.9, environment="1-bb", procedure=replace(PROCEDURE, trial_s=2))
    _, err, comment, (own, judged) = compared(base.id, "last", code=2)
    assert "another environment of the lab, another procedure trial_s" in err
    assert "found 1-bb, 2, wanted 1-aa, 3" in comment
    assert own.find("error") is None
    assert judged.find("error").attrib["type"] == "not comparable"


@pytest.mark.parametrize(
    ("outcome", "code"), [("build-failed", 5), ("invalid", 3), ("lab-broken", 3)]
)
def test_a_result_without_figure_is_neither_regression_nor_pass(
    measured, compared, outcome, code
):
    measured("a")
    reasons = [{"word": outcome, "text": "dhcp.c:7: expected ';'"}]
    measured("b", rates=(), outcome=outcome, reasons=reasons)
    for base in ("last~1", "previous", "nosuch"):
        out, err, comment, cases = compared(base, "last", code=code)
        assert f"dhcp.c:7: expected ';' (found a result that is {outcome})" in err
        assert "No verdict on kea 2.6.3 of commit bbbbbbbbbb" in out.splitlines()[-1]
        assert "dhcp.c:7: expected ';'" in comment
        assert all(case.find("error") is not None for case in cases)


def test_where_b_cannot_be_read_nothing_is_written_and_where_a_cannot_what_b_is(
    measured, compared
):
    measured("b")
    out, err, *files = compared("last", "nosuch", code=2)
    assert (out, files) == ("", ["", []])
    assert "no such result: 'nosuch'" in err
    assert "no such result: 'first'" in compared("first", "nosuch", code=2)[1]
    _, err, comment, (own, judged) = compared("nosuch", "last", code=2)
    assert all("no such result: 'nosuch'" in text for text in (err, comment))
    assert own.find("error") is None
    assert judged.find("error").attrib["type"] == "not comparable"


class TestPrevious:
    def test_it_is_the_newest_before_b_that_compares_and_is_of_another_server(
        self, measured, compared
    ):
        measured("a")
        wanted = measured("b")
        measured("c", environment="2")
        measured("d", scenario="v6-memfile")
        measured("e", procedure=replace(PROCEDURE, trial_s=2))
        measured("f", rates=MAX_RATES[:3], procedure=replace(PROCEDURE, rounds=3))
        measured("7", outcome="invalid", reasons=[{"word": "noisy", "text": "noisy"}])
        measured("8")  # of the same commit as B
        other = measured("8", 0.9)
        dirty = measured("8", 0.8, dirty=True)
        measured("9")
        for newer, older in ((other, wanted), (dirty, other)):
            out, *_ = compared("previous", newer.id, "--json", code=1)
            assert json.loads(out)["a"]["id"] == older.id

    def test_a_first_of_its_kind_is_said_everywhere_and_ends_well(self, measured, compared):
        measured("a", environment="before")
        measured("b")
        out, err, comment, (own, judged) = compared("previous", "last")
        said = "Nothing to compare kea 2.6.3 of commit bbbbbbbbbb (Change b) with yet"
        assert all(said in text for text in (out.splitlines()[-1], err))
        assert "## Leaselab: first\n" in comment
        assert own.find("skipped") is None
        assert judged.find("skipped").attrib["type"] == "first"
        assert json.loads(compared("previous", "last", "--json")[0])["word"] == "first"

    def test_a_damaged_one_is_said_and_passed_over(self, root, measured, compared, caplog):
        wanted, damaged = measured("a"), measured("b")
        measured("c")
        path = Store(root).place(damaged.id) / "result.json"
        path.chmod(0o644)
        path.write_text(path.read_text() + " ")
        out, *_ = compared("previous", "last", "--json")
        assert json.loads(out)["a"]["id"] == wanted.id
        assert f"{damaged.id} is left out: " in caplog.text


class TestNamesOfCommits:
    @pytest.fixture
    def place(self, tmp_path, measured):
        """A repository with a measured release, a measured head, and one commit unmeasured."""
        place = make_repository(tmp_path / "kea")
        first = commit(place, "Release", {"n": "1"})
        git(place, "tag", "-a", "v1.0", "-m", "1.0")
        git(place, "tag", "missing", commit(place, "Not measured", {"n": "2"}))
        last = commit(place, "Slow it down", {"n": "3"})
        measured(first, 3.0, dirty=True)
        measured(first)
        measured(first, scenario="v6-memfile")
        measured(last, 0.9)
        measured(last, rates=(), outcome="invalid", reasons=[{"word": "noisy", "text": "n"}])
        return place, first, last

    @pytest.fixture
    def by_name(self, place, compared):
        """Compare commits by their names, by default of one scenario."""

        def call(a, b, *options, scenario="v4-memfile", code=1):
            names = ["--repo", str(place[0]), "--scenario", scenario]
            return compared(a, b, *names, *options, code=code)

        return call

    def test_they_stand_for_the_newest_results_with_a_figure_that_compare(
        self, place, by_name, measured
    ):
        _, first, last = place
        document = json.loads(by_name("v1.0", "main", "--json")[0])
        assert [document[side]["commit"] for side in "ab"] == [first, last]
        assert document["ratio"] == pytest.approx(0.9)
        assert "(Slow it down)" not in document["text"]  # the result's own subject is shown
        by_name("previous", last[:12])
        measured(last, 0.5, procedure=replace(PROCEDURE, trial_s=2))
        measured(first, 0.4, procedure=replace(PROCEDURE, trial_s=4))
        again = json.loads(by_name("v1.0", "main", "--json")[0])
        assert [again[side]["id"] for side in "ab"] == [document[side]["id"] for side in "ab"]

    def test_a_commit_that_does_not_build_ends_with_its_reason(self, place, by_name, measured):
        name = git(place[0], "rev-parse", "missing")
        reasons = [{"word": "build-failed", "text": "it does not compile"}]
        measured(name, rates=(), outcome="build-failed", reasons=reasons)
        assert "it does not compile" in by_name("v1.0", "missing", code=5)[1]

    @pytest.mark.parametrize(
        ("a", "b", "scenario", "said"),
        [
            ("v1.0", "missing", "v4-memfile", "no result of v4-memfile for"),
            ("missing", "nosuch", "v4-memfile", "no commit 'nosuch'"),
            ("v1.0", "main", "v4-*hs", "no result of any scenario for main"),
            ("v1.0", "nosuch", "v4-*", "no commit 'nosuch'"),
            ("v1.0", "main", "memfil", "did you mean 'memfile', "),
        ],
    )
    def test_what_names_no_result_is_refused(self, by_name, a, b, scenario, said):
        assert said in by_name(a, b, scenario=scenario, code=2)[1]

    def test_a_scenario_and_a_repository_go_together(self, place, refused):
        for option, value in (("--scenario", "x"), ("--repo", place[0])):
            assert f"found {option} alone" in refused("compare", "a", "last", option, value)

    @pytest.mark.parametrize("pattern", ["memfile", "v?-memfile"])
    def test_a_family_or_pattern_compares_each_scenario(
        self, place, measured, by_name, pattern
    ):
        _, first, last = place
        measured(last, 1.1, scenario="v6-memfile")
        out, err, comment, cases = by_name("v1.0", "main", scenario=pattern)
        assert err.splitlines()[-1].startswith("leaselab: 1 of 2 scenarios: v4-memfile")
        table = [line.split() for line in out.splitlines()[1:3]]
        assert [(row[0], row[1], row[-4]) for row in table] == [
            ("v4-memfile", "slower", "0.900"),
            ("v6-memfile", "faster", "1.100"),
        ]
        assert "| v6-memfile | faster across sessions | max rate/s |" in comment
        assert [len(list(case)) for case in cases if "verdict" in case.get("name")] == [2, 1]
        document = json.loads(by_name("v1.0", "main", "--json", scenario=pattern)[0])
        assert document["outcome"] == "regression"
        sides = [(each["a"], each["b"]) for each in document["comparisons"]]
        assert {(a["commit"], b["commit"]) for a, b in sides} == {(first, last)}

    def test_of_several_scenarios_one_without_a_result_or_a_verdict_is_said(
        self, place, measured, by_name
    ):
        out, err, *_ = by_name("v1.0", "main", scenario="v?-memfile")
        assert "without a result of B: v6-memfile" in err
        assert "v6-memfile" not in out
        noisy = [{"word": "noisy", "text": "too noisy"}]
        measured(place[2], rates=(), scenario="v6-memfile", outcome="invalid", reasons=noisy)
        out, _, _, cases = by_name("v1.0", "main", scenario="v?-memfile")
        assert "v6-memfile: No verdict on " in out
        (verdict,) = [case for case in cases if case.get("name") == "v6-memfile verdict"]
        assert [part.tag for part in verdict] == ["error", "system-out"]


def test_nothing_that_users_wrote_is_markup_or_moves_the_cursor(root, compared, measured):
    documents = hostile_archive(root)
    for base, other in ((0, 1), (0, 0), (1, 2)):
        out, err, comment, cases = compared(documents[base].id, documents[other].id, code=2)
        assert re.search(r"(?<!\\)[<`]script", comment) is None
        assert [case.find(".//script") for case in cases] == [None, None]
        assert any(ATTACK in case.attrib["name"] for case in cases)
        assert all(letter.isprintable() or letter == "\n" for letter in out + err)
    base, other = measured("a"), measured("b", 0.9, "\x1b[31mRed\x1b[0m\nalert")
    out, err, comment, _ = compared(base.id, other.id, code=1)
    assert "\x1b" not in out + err + comment
    assert err.count("\n") == 1


def test_what_is_to_be_doubted_is_said(measured, compared):
    wild = [rate * (1 + 0.15 * (-1) ** place) for place, rate in enumerate(MAX_RATES)]
    base, _ = measured("a"), measured("b", 0.93, rates=wild)
    out, _, comment, _ = compared(base.id, "last")
    for text in (out, comment.partition("### To be careful with\n\n")[2]):
        assert "B: wide spread: spread of the runs" in text
    assert "one of 5 % may have gone unseen." in out.splitlines()[-1]


@pytest.mark.parametrize("threshold", ["-1", "100", "nan", "inf", "much"])
def test_what_is_no_threshold_is_refused(measured, refused, threshold):
    measured("a")
    assert "threshold" in refused("compare", "last", "last", "--threshold", threshold)


@pytest.fixture
def point(root):
    """Archive a result of a family's point; its factors say what it differs in."""

    def archive(threads, factor):
        record = example_result(
            [factor * rate for rate in MAX_RATES],
            scenario=f"v4-threads-{threads}",
            token=f"{threads:04}",
            started=START + timedelta(minutes=threads),
        )
        options = {"threads": threads, "queue": 64}
        scenario = replace(
            record.scenario,
            server=replace(record.scenario.server, options=options),
            factors={"protocol": "DHCPv4", "threads": threads},
        )
        tuned = {"server": replace(record.server, tuning={"queue_size": 64 * threads})}
        return archive_result(root, replace(record, scenario=scenario, servers=tuned))

    return archive


def test_points_of_a_family_are_compared_and_what_differs_is_printed(point, compared):
    first, second = point(1, 1.0), point(2, 1.5)
    out, *_ = compared(first.id, second.id)
    assert "A is v4-threads-1, B is v4-threads-2, on bench docker" in out
    assert "which differ in threads (1, 2), tuning.queue_size (64, 128)\n" in out
    assert "in v4-threads-2 is 50.0 % faster than kea 2.6.3 as packaged" in out
    document = json.loads(compared(first.id, second.id, "--json")[0])
    assert document["differs"] == {"threads": ["1", "2"], "tuning.queue_size": ["64", "128"]}
    assert [document[item]["scenario"] for item in "ab"] == ["v4-threads-1", "v4-threads-2"]
    compared(second.id, first.id, code=1)
