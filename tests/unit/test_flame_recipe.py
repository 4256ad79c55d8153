"""The recipe of Flamethrower: which trees it takes; building one needs its repository."""

import subprocess
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "roles/build/files/recipes/flame"
MESON = "project(\n  'flamethrower',\n  'cpp', 'c',\n  version: '0.12',\n)\n"


def identify(tree):
    return subprocess.run(
        [RECIPE, "identify", tree], capture_output=True, text=True, check=False
    )


def test_a_tree_with_its_meson_build_is_one(tmp_path):
    (tmp_path / "meson.build").write_text(MESON, encoding="utf-8")
    done = identify(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "meson\n", "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meson.build", "project(\n  'kea',\n)\n"),
        ("CMakeLists.txt", "project(flamethrower VERSION 0.11.0)\n"),
        ("README.md", "# Flamethrower\n"),
    ],
    ids=["another project", "its older releases", "no build at all"],
)
def test_another_tree_is_refused_in_a_line(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = identify(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("no Flamethrower of 0.12 or later")
    assert len(done.stderr.splitlines()) == 1
