"""What tests of commands share."""

import pytest
from tests.made_up import Lab
from tests.repositories import commit, make_repository


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
