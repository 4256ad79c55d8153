"""The locks: complete, hashed, without addresses, and agreeing with each other."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("bootstrap", "run", "dev")
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)(?: ; (.*?))? \\$", re.M)


def text(lock):
    return (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")


def pins(lock):
    """{name: versions}; a package may have one version per Python."""
    found = {}
    for name, version, _ in PIN.findall(text(lock)):
        found.setdefault(name, set()).add(version)
    return found


def canonical(requirement):
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_with_hashes_or_a_comment(lock):
    content = text(lock)
    assert pins(lock)
    rest = PIN.sub("", content)
    rest = re.sub(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$", "", rest, flags=re.M)
    rest = re.sub(r"^ *#.*$", "", rest, flags=re.M)
    assert rest.split() == []
    for match in PIN.finditer(content):
        assert content[match.end() :].lstrip("\n").startswith("    --hash=sha256:")


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_an_address_or_a_path(lock):
    assert not re.search(
        r"://|--(?:extra-)?index-url|--find-links|@ file|^-e", text(lock), re.M
    )


def test_development_runs_on_the_versions_that_measuring_runs_on():
    run, dev = pins("run"), pins("dev")
    assert {name: dev[name] for name in run} == run


def test_the_locks_hold_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {canonical(r) for r in project["dependencies"]} <= set(pins("run"))
    assert {canonical(r) for r in project["optional-dependencies"]["dev"]} <= set(pins("dev"))
