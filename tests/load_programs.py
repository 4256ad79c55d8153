"""leaseload and leaserespond, built from load/; what was built is kept between runs."""

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
    manifest = ROOT / "load" / "Cargo.toml"
    asked = ["cargo", "build", "--release", "--locked", "--manifest-path", manifest]
    subprocess.run(
        [*asked, "--target-dir", ROOT / "load" / "target", "--quiet"], cwd=ROOT, check=True
    )
    return ROOT / "load" / "target" / "release"
