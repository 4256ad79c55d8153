"""The tutorial, typed as its page has it: from the first result to the slow commit."""

import subprocess
import sys

import pytest
from tests.documents import shell_lines
from tests.lab.commands import ENVIRONMENT, ROOT
from tests.sources import SourceLists, repository_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("prepared")]

PAGE = "docs/tutorial.md"
PLACE = "../dnsmasq"
"""Where the page puts the source of the server."""
ELSEWHERE = ("git clone", "./leaselab lab down")
"""No git hosting can be reached from everywhere, and other tests need the lab."""
COMMAND_S = 3600
IDENTITY = {
    f"GIT_{part}_{what}": value
    for part in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A Reader"), ("EMAIL", "reader@example.org"))
}


def wanted(line):
    """The exit code that the page promises for a line: the branch is slower."""
    slower = "--live" in line or ("bisect" in line and "--dry-run" not in line)
    return 1 if slower else 0


def test_a_reader_finds_the_commit_that_the_page_made_slow(tmp_path):
    place = tmp_path / "dnsmasq"
    lists = SourceLists(tmp_path / "lists", ["trixie"])
    assert list(repository_of("dnsmasq", ["trixie"], place, lists)) == ["2.91"]
    environment = {**ENVIRONMENT, **IDENTITY, "LEASELAB_RESULTS": str(tmp_path / "results")}
    said = ""
    for line in shell_lines(PAGE):
        if line.startswith(ELSEWHERE):
            continue
        typed = line.replace(PLACE, str(place)).replace(
            "./leaselab", f"{sys.executable} -m leaselab"
        )
        done = subprocess.run(
            ["bash", "-c", typed],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_S,
        )
        assert done.returncode == wanted(line), f"{line}\n{done.stdout}{done.stderr}"
        said = done.stdout
    (culprit,) = [line for line in said.splitlines() if "CULPRIT" in line]
    assert "Wait before each packet" in culprit
