"""What must not be in any file of the repository."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN = "tests/house/test_cleanliness.py"
FORBIDDEN = {
    "a note of unfinished work": r"\b(TODO|FIXME|HACK)\b",
    "a path of one machine": r"(?<![\w.{}$/~-])/(home|root|Users|work)/\w",
    "a private key": r"BEGIN [A-Z ]*PRIVATE KEY",
    "a password or token": r"(?i)\b(password|passwd|secret|api_key)\s*[:=]\s*[\"'][^\"'{$]{6,}",
}
REGISTRY = "the address of a package registry"
PIP = """
from pip._internal.models.index import PyPI
print(PyPI.netloc, PyPI.file_storage_domain, sep="\\n")
"""


@cache
def registries():
    """Hosts of package registries, as the clients of this machine name them.

    The repository names none, and so this file cannot.
    """
    asked = [
        [sys.executable, "-c", PIP],
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        ["npm", "config", "get", "registry"],
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"],
    ]
    output = ""
    for argv in asked:
        if shutil.which(argv[0]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            output += done.stdout
    hosts = re.findall(r"(?:^|//)(?:[^/@\s]*@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)", output, re.M)
    return sorted({host for host in hosts if not re.fullmatch(r"[\d.]+", host)})


def forbidden(what):
    return re.compile(FORBIDDEN.get(what) or "|".join(map(re.escape, registries())))


@cache
def texts():
    """{name: text} of every tracked file that is text."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    read = {}
    for name in done.stdout.split("\0"):
        if not name or name in (OWN, "LICENSE") or not (ROOT / name).is_file():
            continue
        try:
            read[name] = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return read


@pytest.mark.parametrize("what", [*FORBIDDEN, REGISTRY])
def test_no_file_holds(what):
    assert {"leaselab", "ansible.cfg", "scripts/leaselab/cli/main.py"} <= set(texts())
    pattern = forbidden(what)
    results = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in texts().items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert results == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a note of unfinished work", "x = 1  # TODO later"),
        ("a path of one machine", "path = '/home/ana/lab'"),
        ("a private key", "-----BEGIN OPENSSH PRIVATE KEY-----"),
        ("a password or token", "password: 'hunter22'"),
        (REGISTRY, "index: https://{}/simple"),
    ],
)
def test_the_patterns_find_what_they_are_for(what, line):
    assert len(registries()) > 1, "the clients of this machine name them"
    assert forbidden(what).search(line.format(registries()[0]))


def test_every_module_of_the_lab_has_its_place_among_them():
    """One without a place ends the collection of all."""
    order = re.search(r"^ORDER = \((.*?)^\)", texts()["tests/lab/conftest.py"], re.M | re.S)[1]
    modules = (re.fullmatch(r"tests/lab/(?:night/)?(test_\w+)\.py", name) for name in texts())
    assert set(re.findall(r'"(\w+)"', order)) == {module[1] for module in modules if module}


def test_files_end_in_one_newline_and_none_is_a_result():
    kept = {name for name in texts() if name.startswith("results/")}
    schemas = ("schema.json", "changes.schema.json", "policy.schema.json")
    assert kept == {f"results/{name}" for name in schemas}
    recorded = "tests/data/"  # outputs of other programs, as they were
    results = [
        name
        for name, text in texts().items()
        if text
        and not name.startswith(recorded)
        and (text[-1] != "\n" or text.endswith("\n\n"))
    ]
    assert results == []
