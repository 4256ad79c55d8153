"""leaseload and leaserespond, built from load/; kept in `.leaselab/rust` between runs."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@cache
def load_programs():
    """The folder with both; the test is skipped where there is no cargo."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here")
    folder = ROOT / ".leaselab" / "rust"
    # Not optimised: their tests in load/ compile the same, and no test here measures.
    asked = ["cargo", "build", "--locked", "--quiet", "--target-dir", folder]
    subprocess.run(asked, cwd=ROOT / "load", check=True)
    return folder / "debug"
