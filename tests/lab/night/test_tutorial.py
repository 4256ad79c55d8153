"""The tutorial, typed as its page has it: from the first result to the slow commit."""

import pytest
from tests.tutorial import play

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]


def wanted(line):
    """The exit code that the page promises for a line: the branch is slower."""
    slower = "--live" in line or ("bisect" in line and "--dry-run" not in line)
    return 1 if slower else 0


def test_a_reader_finds_the_commit_that_the_page_made_slow(tmp_path):
    said = ""
    for line, code, said in play(tmp_path):
        assert code == wanted(line), f"{line}\n{said}"
    (culprit,) = [line for line in said.splitlines() if "CULPRIT" in line]
    assert "Wait before each packet" in culprit
