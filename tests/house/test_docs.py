"""Documents: what they name exists, commands are understood, each fact has one place."""

import re
import shlex
from collections import defaultdict

import pytest
import yaml
from tests.documents import (
    DOCUMENTS,
    LAUNCHERS_OWN,
    ROOT,
    WRITTEN,
    launcher_calls,
    parsed,
    prose,
    sentences,
    shell_lines,
    text,
    tracked,
)
from tests.pictures import MADE_OF, made_of
from tests.tutorial import PAGE, SAMPLE, kept, with_samples

from ci.docpages.__main__ import PAGES, outdated
from leaselab.cli.commands import COMMANDS, below, find
from leaselab.model.procedures import PROCEDURES

MOST_WORDS, PAGE_WORDS = 25_000, 1_200
"""Of all documents together, and of one page; in that, samples of outputs do not count."""
README_LINES, README_WORDS = 150, 900
CHANGELOG_WORDS = 600
SAME_WORDS = 10
"""So many equal words in a row are a fact in two places."""
FOLDERS = {name.partition("/")[0] for name in tracked() if "/" in name}
ANSIBLES_OWN = {"--check", "--diff", "--limit", "--tags"}
OTHERS = {
    *("--ignore-cache", "--delete-old", "--renew", "--numprocesses", "--hypothesis-profile"),
    *("--upgrade", "--part"),
}
"""Options of other programs that documents name."""


def words_of(document):
    return len(text(document).split())


def anchors(document):
    """The addresses that headings get."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in headings
    }


def links(document):
    """(target, anchor) of each link and picture within the repository."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            place = ((ROOT / document).parent / path).resolve() if path else ROOT / document
            yield place, anchor


def test_documents_can_be_read():
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= set(DOCUMENTS)
    assert text("LICENSE").lstrip().startswith("Apache License")
    counts = {name: words_of(name) for name in [*WRITTEN, "CHANGELOG.md"]}
    assert sum(counts.values()) < MOST_WORDS, counts
    for document in WRITTEN:
        page = re.sub(r"^ *```text\n.*?^ *```$", "", text(document), flags=re.M | re.S)
        assert len(page.split()) <= PAGE_WORDS, f"split {document} by tasks"
    assert len(text("README.md").splitlines()) <= README_LINES
    assert words_of("README.md") <= README_WORDS
    assert words_of("CHANGELOG.md") <= CHANGELOG_WORDS


def test_each_fact_has_one_place():
    places = defaultdict(set)
    for document in WRITTEN:
        words = re.findall(r"[\w%./-]+", sentences(document).lower())
        for start in range(len(words) - SAME_WORDS + 1):
            places[" ".join(words[start : start + SAME_WORDS])].add(document)
    assert {
        phrase: sorted(documents) for phrase, documents in places.items() if len(documents) > 1
    } == {}


def test_generated_pages_are_current():
    assert sorted(outdated(ROOT)) == [], "run scripts/ci/pages --renew"
    there = {path.name for path in (ROOT / "docs/generated").iterdir()}
    assert there == set(PAGES)


def test_pictures_of_pages_were_made_of_the_templates_as_they_are():
    assert MADE_OF.read_text(encoding="utf-8").strip() == made_of(), (
        "run scripts/ci/pictures --renew"
    )


def test_the_samples_of_the_tutorial_are_what_its_commands_said():
    """Each of them; none is written by hand."""
    page = text(PAGE)
    assert page == with_samples(page, kept()), "run scripts/ci/samples --renew"
    assert page.count("```text\n") == len(SAMPLE.findall(page)) > 0


def test_every_page_and_picture_of_docs_is_reached_by_a_link():
    reached = {place for document in DOCUMENTS for place, _ in links(document)}
    there = {ROOT / name for name in tracked() if name.startswith("docs/")}
    assert there - reached - {ROOT / "docs/README.md"} == set()


def test_every_link_leads_somewhere():
    for document, (place, anchor) in (
        (page, link) for page in DOCUMENTS for link in links(page)
    ):
        assert place.exists(), (document, place)
        if anchor:
            known = anchors(str(place.relative_to(ROOT)))
            assert anchor in known, (document, place, anchor)


def test_every_file_named_exists():
    """Paths in backticks that begin with a folder of the repository, placeholders aside."""
    folders = FOLDERS - {"results"}  # what is in that one is not the repository's
    for document in WRITTEN:
        for name in re.findall(r"`([\w.\-]+/[\w./\-]*)`", prose(document)):
            if name.partition("/")[0] in folders:
                assert (ROOT / name).exists(), (document, name)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_shown_is_understood(document):
    for words in launcher_calls(document):
        assert words
        parsed(words)
    if document == "docs/tutorial.md":
        commands = [words[0] for words in launcher_calls(document)]
        order = [commands.index(name) for name in ("run", "compare", "bisect", "lab")]
        assert order == sorted(order)


def every_option():
    """Every option of every command."""
    return {"--help", "--version"}.union(
        option
        for command in COMMANDS
        for action in command.parser()._actions
        for option in action.option_strings
    )


@pytest.mark.parametrize("document", WRITTEN)
def test_every_command_and_option_named_in_passing_exists(document):
    quoted = re.findall(r"`(?:\./)?leaselab (\S[^`]*)`", prose(document))
    for words in map(str.split, quoted):
        if words[0] not in LAUNCHERS_OWN and not words[0].isupper():
            assert below(words[:2]) or find(words), words
    options = set(re.findall(r"`(--[a-z][a-z-]+)", prose(document)))
    assert options <= every_option() | ANSIBLES_OWN | OTHERS


def test_every_playbook_call_shown_names_what_exists():
    for line in (line for document in WRITTEN for line in shell_lines(document)):
        words = shlex.split(line, comments=True)
        if words[:1] == ["ansible-playbook"]:
            assert (ROOT / words[words.index("-i") + 1]).exists(), line
            playbooks = [word for word in words if word.endswith(".yml")]
            assert playbooks
            assert all((ROOT / playbook).is_file() for playbook in playbooks), line


def test_every_threat_names_tests_that_there_are():
    """Wherever they are: a threat is tried where it is cheapest."""
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^ *def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    sections = yaml.safe_load(text("tests/threats.yml"))
    rows = [row for section in sections.values() for row in section]
    assert len(rows) > 10
    for row in rows:
        assert all(row[key] for key in ("who", "could", "stops", "tests")), row
        assert set(row["tests"]) <= there, row
        for change in row.get("broken", ()):
            assert text(change["in"]).count(change["from"]) == 1, change


def test_the_page_on_playbooks_has_every_tag():
    known = yaml.safe_load(text("ansible/vars/tags.yml"))["leaselab_tags"]
    rows = re.findall(r"^\| (`[^|]+`) \|", text("docs/how-to/playbooks.md"), re.M)
    results = [re.findall(r"`(\w+)`", row) for row in rows]
    assert {tag for tags in results for tag in tags} == set(known)


def test_what_code_says_of_documents_exists():
    """Messages and comments name documents by their paths."""
    named = re.compile(
        r"(?<![\w/.])(?:docs/[\w/.-]+\.md|(?:README|CONTRIBUTING|CHANGELOG)\.md)\b"
    )
    missing = {}
    for name in tracked():
        if name.endswith((".py", ".yml", ".yaml", ".sh", "Jenkinsfile", "Dockerfile", ".j2")):
            matches = set(named.findall(text(name)))
            gone = {document for document in matches if not (ROOT / document).exists()}
            if gone and not name.startswith("tests/"):
                missing[name] = gone
    assert missing == {}


def test_the_table_of_procedures_has_their_figures():
    """The steps of a ramp aside, whose number is a parameter."""
    table = text("docs/method/procedures.md").partition("\n\n- ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \|.*\| ([^|]+) \|$", table, re.M)
    shown = {name: re.findall(r"`(\w+)`", figures) for name, figures in rows}
    plans = {
        name: plan(rate=1) if "rate" in plan.__struct_fields__ else plan()
        for name, plan in PROCEDURES.items()
    }
    assert shown == {
        name: [
            metric.name for metric in plan.metrics("x") if not metric.name.startswith("step_")
        ]
        for name, plan in plans.items()
    }
