"""Modules of a host's contract, imported here as the contract finds them there."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROLES = Path(__file__).parents[1] / "roles"


@contextlib.contextmanager
def contract_module(role: str, name: str) -> Iterator[ModuleType]:
    """Import one that a role installs beside the contract, and what all contracts share."""
    folders = [str(ROLES / part / "files") for part in ("contract", role)]
    sys.path[:0] = folders
    try:
        yield importlib.import_module(name)
    finally:
        for folder in folders:
            sys.path.remove(folder)


def contract_fixture(role: str, name: str) -> Any:
    """A fixture that is such a module."""

    @pytest.fixture(scope="module")
    def module() -> Iterator[ModuleType]:
        with contract_module(role, name) as result:
            yield result

    return module
