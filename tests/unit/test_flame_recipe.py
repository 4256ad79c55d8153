"""The recipe of Flamethrower: which trees it takes; building one needs its repository."""

from pathlib import Path

import pytest
from tests.plays import ended

RECIPE = Path(__file__).parents[2] / "roles/build/files/recipes/flame"
MESON = "project(\n  'flamethrower',\n  'cpp', 'c',\n  version: '0.12',\n)\n"


@pytest.mark.parametrize(
    ("name", "content", "system"),
    [
        ("meson.build", MESON, "meson\n"),
        ("meson.build", "project(\n  'kea',\n)\n", ""),
        ("CMakeLists.txt", "project(flamethrower VERSION 0.11.0)\n", ""),
        ("README.md", "# Flamethrower\n", ""),
    ],
    ids=["one", "another project", "its older releases", "no build at all"],
)
def test_a_tree_with_its_meson_build_is_one_and_another_is_refused_in_a_line(
    tmp_path, name, content, system
):
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = ended([RECIPE, "identify", tmp_path], 0 if system else 2)
    assert done.stdout == system
    assert len(done.stderr.splitlines()) == (0 if system else 1)
    assert system or done.stderr.startswith("no Flamethrower of 0.12 or later")
