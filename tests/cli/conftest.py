"""What tests of commands share."""

import pytest
from tests.made_up import Lab


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A bench that is made up; tests say how fast its servers are."""
    return Lab(tmp_path, monkeypatch)
