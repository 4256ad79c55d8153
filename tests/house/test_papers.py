"""README and docs: what they name exists, and what they tell to type is understood."""

import argparse
import importlib
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from leaselab.cli.main import COMMANDS
from leaselab.model.errors import Outcome

ROOT = Path(__file__).parents[2]


NO_FAULTS = {
    "test_a_result_says_what_its_database_promised_and_keeps_no_secret",
    "test_a_lease_in_a_database_is_told_by_its_address_and_client",
    "test_every_answered_client_is_known_to_both_servers",
}
"""Tests beside those of faults that show what holds where nothing fails."""


def tracked():
    """Every file of the repository, as paths below its root."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


PAPERS = [name for name in tracked() if name.endswith(".md")]
FOLDERS = {name.partition("/")[0] for name in tracked() if "/" in name}
LAUNCHERS_OWN = {"test", "lint", "--version", "--help"}
"""What the launcher does itself, or the frame of the command line does."""
ANSIBLES_OWN = {"--check", "--diff", "--limit", "--tags"}
"""Options of ansible-playbook that papers speak of."""


def text(paper):
    return (ROOT / paper).read_text(encoding="utf-8")


def prose(paper):
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text(paper), flags=re.M | re.S)


def shell_lines(paper):
    """Lines of the blocks marked as shell, continued ones joined, comments left out."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", text(paper), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def anchors(paper):
    """The addresses that headings get."""
    headings = re.findall(r"^#+ (.+)$", prose(paper), re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in headings
    }


def commands():
    """(paper, words) for each call of the launcher in a shell block."""
    found = []
    for paper in PAPERS:
        for line in shell_lines(paper):
            for part in re.split(r"&&|\||;", line):
                words = shlex.split(part, comments=True)
                words = words[1:] if words[:1] == ["sudo"] else words
                if words[:1] == ["./leaselab"]:
                    found.append((paper, words[1:]))
    return found


def test_the_papers_a_newcomer_looks_for_are_there():
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= set(PAPERS)
    assert {"docs/README.md", "docs/architecture.md", "docs/method.md"} <= set(PAPERS)
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_link_leads_somewhere(paper):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(paper)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = ((ROOT / paper).parent / path).resolve() if path else ROOT / paper
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(str(place.relative_to(ROOT))), target


@pytest.mark.parametrize("paper", PAPERS)
def test_every_file_named_exists(paper):
    """Paths in backticks that begin with a folder of the repository, placeholders aside."""
    folders = FOLDERS - {"results"}  # what is in that one is not the repository's
    for name in re.findall(r"`([\w.\-]+/[\w./\-]*)`", prose(paper)):
        if name.partition("/")[0] in folders:
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize(
    ("paper", "words"),
    commands(),
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_every_command_shown_is_understood(paper, words):
    assert words, paper
    if words[0] in LAUNCHERS_OWN:
        return
    row = next((row for row in COMMANDS if row.name == words[0]), None)
    assert row is not None, words[0]
    module = importlib.import_module(f"leaselab.cli.{row.module}")
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    module.add_arguments(parser)
    parser.parse_args(words[1:])


def every_option():
    """Every option of every command and its verbs."""
    found, parsers = {"--help", "--version"}, []
    for row in COMMANDS:
        parser = argparse.ArgumentParser(allow_abbrev=False)
        importlib.import_module(f"leaselab.cli.{row.module}").add_arguments(parser)
        parsers.append(parser)
    while parsers:
        for action in parsers.pop()._actions:
            found |= set(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_command_and_option_named_in_passing_exists(paper):
    names = {row.name for row in COMMANDS} | LAUNCHERS_OWN
    words = [
        quoted.removeprefix("./").split()[1]
        for quoted in re.findall(r"`((?:\./)?leaselab \S[^`]*)`", prose(paper))
    ]
    assert {word for word in words if not word.isupper()} <= names
    options = set(re.findall(r"`(--[a-z][a-z-]+)", prose(paper)))
    assert options <= every_option() | ANSIBLES_OWN


@pytest.mark.parametrize("paper", PAPERS)
def test_every_playbook_call_shown_names_what_exists(paper):
    for line in shell_lines(paper):
        words = shlex.split(line, comments=True)
        if words[:1] == ["ansible-playbook"]:
            assert (ROOT / words[words.index("-i") + 1]).exists(), line
            playbooks = [word for word in words if word.endswith(".yml")]
            assert playbooks
            assert all((ROOT / playbook).is_file() for playbook in playbooks), line


def test_the_readme_names_every_command():
    listed = set(re.findall(r"^\| `([a-z]+)", text("README.md"), re.M))
    assert {row.name for row in COMMANDS} <= listed


def test_the_readme_names_every_exit_code():
    rows = re.findall(r"^\| (\d+) \| (.+?) \|", text("README.md"), re.M)
    assert {int(code) for code, _ in rows} == {outcome.value for outcome in Outcome} | {130}


def test_the_readme_maps_every_folder():
    shown = set(re.findall(r"^([\w.]+)/ ", text("README.md"), re.M))
    assert {folder for folder in FOLDERS if not folder.startswith(".")} <= shown


def test_the_table_of_faults_and_the_tests_of_the_lab_name_each_other():
    """Each row's tests are there, and each test of a fault is in a row."""
    named = set(re.findall(r"`(test_\w+)`", text("docs/faults.md")))
    there, of_faults = set(), set()
    for path in sorted(
        path
        for part in ("hosts", "lab", "ssh", "vm")
        for path in ROOT.glob(f"tests/{part}/**/test_*.py")
    ):
        found = set(re.findall(r"^ *def (test_\w+)", path.read_text(encoding="utf-8"), re.M))
        there |= found
        if path.name.startswith("test_faults_"):
            of_faults |= found
    assert named - there == set()
    assert of_faults - named == NO_FAULTS


def test_every_row_of_the_table_of_threats_names_tests_that_there_are():
    """Wherever they are: a threat is tried where it is cheapest."""
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^ *def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    tables = re.findall(
        r"^\| who \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text("docs/threats.md"), re.M
    )
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 10
    for row in rows:
        who, could, stops, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        assert all((who, could, stops)), row
        named = re.findall(r"`(test_\w+)`", tests)
        assert named, row
        assert set(named) <= there, row


def test_the_page_on_playbooks_has_every_tag():
    known = yaml.safe_load(text("ansible/vars/tags.yml"))["leaselab_tags"]
    rows = re.findall(r"^\| (`[^|]+`) \|", text("docs/playbooks.md"), re.M)
    found = [re.findall(r"`(\w+)`", row) for row in rows]
    assert {tag for tags in found for tag in tags} == set(known)


def test_no_figure_is_left_to_be_filled_in():
    assert [paper for paper in PAPERS if "FIGURE-" in text(paper)] == []
