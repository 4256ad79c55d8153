"""What tests of commands share."""

import json

import pytest
from tests.made_up import Lab
from tests.repositories import commit, make_repository

from leaselab.cli.main import main


@pytest.fixture(autouse=True)
def words_of_charts(undrawn):
    """Commands are tested for what they say; drawings by tests of pages."""
    return undrawn


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The repository of a server."""
    return make_repository(tmp_path_factory.mktemp("source") / "server")


@pytest.fixture(scope="module")
def hashes(place):
    """The commits of its branch main; a test that adds others does so to a copy."""
    return [commit(place, f"Change <{n}>", {"n": str(n)}, minute=n) for n in range(13)]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A bench that is made up; tests say how fast its servers are."""
    return Lab(tmp_path, monkeypatch)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The folder of results of every command, in which there is none yet."""
    monkeypatch.setenv("LEASELAB_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def _said(capsys, words, code):
    capsys.readouterr()
    assert main([*map(str, words)]) == code
    return capsys.readouterr()


@pytest.fixture
def said(capsys):
    """Call a command, which ends with a code; return what it says."""
    return lambda *words, code=0: _said(capsys, words, code)


@pytest.fixture
def document(capsys):
    """Call a command, which ends with a code; return its JSON document."""
    return lambda *words, code=0: json.loads(_said(capsys, (*words, "--json"), code).out)


@pytest.fixture
def refused(capsys):
    """Call a command, whose words are bad input; return why."""
    return lambda *words: _said(capsys, words, 2).err
