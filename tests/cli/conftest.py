"""What tests of commands share."""

import pytest
from tests.made_up import Lab


@pytest.fixture(autouse=True)
def words_of_charts(undrawn):
    """Commands are tested for what they say; drawings by tests of pages."""
    return undrawn


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A bench that is made up; tests say how fast its servers are."""
    return Lab(tmp_path, monkeypatch)
