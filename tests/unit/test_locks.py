"""The locks: complete, hashed, without addresses, and agreeing with each other."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("captures", "parquet", "jobs", "queue", "dev")
LOCKS = ("bootstrap", "run", *EXTRAS)
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)(?: ; (.*?))? \\$", re.M)


def text(lock):
    return (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")


def pins(lock):
    """{name: versions}; a package may have one version per Python."""
    result = {}
    for name, version, _ in PIN.findall(text(lock)):
        result.setdefault(name, set()).add(version)
    return result


def canonical(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_with_hashes_or_a_comment_and_none_an_address_or_path(lock):
    content = text(lock)
    assert pins(lock)
    rest = PIN.sub("", content)
    rest = re.sub(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$", "", rest, flags=re.M)
    rest = re.sub(r"^ *#.*$", "", rest, flags=re.M)
    assert rest.split() == []
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|@ file", content)
    for match in PIN.finditer(content):
        assert content[match.end() :].lstrip("\n").startswith("    --hash=sha256:")


def test_each_package_is_pinned_in_one_lock():
    """So each part of the environment has the versions of the others."""
    names = [name for lock in ("run", *EXTRAS) for name in pins(lock)]
    assert len(names) == len(set(names))


def test_the_locks_hold_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {"run": project["dependencies"], **project["optional-dependencies"]}
    assert asked.keys() == {"run", *EXTRAS}
    for lock, requirements in asked.items():
        assert set(map(canonical, requirements)) <= {*pins("run"), *pins(lock)}
