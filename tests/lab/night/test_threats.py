"""What prevents a threat, broken: one of the tests that are named for it has to fail."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from tests.documents import ROOT, tracked

pytestmark = pytest.mark.lab
ROWS = [
    row
    for section in yaml.safe_load((ROOT / "tests/threats.yml").read_text("utf-8")).values()
    for row in section
]
PLACES = {
    name: str(path.relative_to(ROOT))
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^ *def (test_\w+)", path.read_text("utf-8"), re.M)
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the checkout; its programs are this one's."""
    place = tmp_path_factory.mktemp("copy")
    for name in tracked():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name, follow_symlinks=False)
    (place / ".venv").symlink_to(ROOT / ".venv")
    return place


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        pytest.param(row, broken, id=broken["in"])
        for row in ROWS
        for broken in row.get("broken", ())
    ],
)
def test_a_broken_defence_is_noticed(copy, row, broken):
    path, known = copy / broken["in"], (ROOT / broken["in"]).read_text("utf-8")
    path.write_text(known.replace(broken["from"], broken["to"]), "utf-8")
    try:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-x", "-k", " or ".join(row["tests"])),
                *sorted({PLACES[name] for name in row["tests"] if "lab/" not in PLACES[name]}),
            ],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy / "scripts"), "LEASELAB_ROOT": str(copy)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(known, "utf-8")
    assert done.returncode == 1, done.stdout
