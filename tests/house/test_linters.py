"""Every linter is content: each has a test, so that a failure names it.

Which there are, `./leaselab dev lint` says; the same list is run here, and pre-commit's
hooks are held to it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.documents import tracked

ROOT = Path(__file__).parents[2]
LAUNCHER = (ROOT / "leaselab").read_text(encoding="utf-8")
LINTERS = [line.split() for line in re.findall(r"^  lint (.+)$", LAUNCHER, re.M)]
WORDS = "scripts/ci/words"
"""The list of words to avoid, which tests/house/test_words.py holds everything to."""
PROGRAMS = [words for words in LINTERS if words not in (["shell_scripts"], [WORDS])]
ANSIBLE_LINT = ["ansible-lint", "--offline"]
QUICK = [words for words in PROGRAMS if words != ANSIBLE_LINT]
TOOLS = Path(sys.executable).parent


def shell_scripts():
    shebang = re.compile(rb"#!.*[/ ](ba)?sh\n")
    return [name for name in tracked() if shebang.match((ROOT / name).read_bytes())]


def run(*argv, before=TOOLS):
    """Run a program with those of a folder `before` others of these names."""
    return subprocess.run(
        argv,
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{before}:{TOOLS}:{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "LC_ALL": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_the_linters_are_those_this_house_means_to_have():
    python = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports"]]
    others = [["yamllint", "--strict", "."], ANSIBLE_LINT, [WORDS], ["shell_scripts"]]
    assert [*python, *others] == LINTERS


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_linter_is_content(words):
    done = run(str(TOOLS / words[0]), *words[1:])
    assert done.returncode == 0, done.stdout


def test_ansible_lint_is_content(tmp_path):
    """It takes minutes, so it is not asked twice about the same files and versions.

    It would also start Ansible for the syntax of each playbook, which
    tests/house/test_roles.py has checked by one process, and lint as YAML what yamllint does.
    """
    known = tmp_path / "ansible-playbook"
    known.write_text('#!/bin/sh\ntest "$1" = --syntax-check\n', "ascii")
    known.chmod(0o755)
    excluded = yaml.safe_load((ROOT / ".ansible-lint").read_text("utf-8"))["exclude_paths"]
    names = [name for name in tracked() if not name.startswith(tuple(excluded))]
    assert {"requirements/dev.txt", ".ansible-lint", "ansible/site.yml"} <= {*names}
    seen = hashlib.sha256()
    for name in names:
        seen.update(f"{name}\0".encode() + (ROOT / name).read_bytes() + b"\0")
    kept = ROOT / ".leaselab" / "ansible-lint-is-content"
    if kept.exists() and kept.read_text("ascii") == seen.hexdigest():
        return
    words = [*ANSIBLE_LINT[1:], "--skip-list=yaml"]
    done = run(str(TOOLS / ANSIBLE_LINT[0]), *words, before=tmp_path)
    assert done.returncode == 0, done.stdout
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(seen.hexdigest(), "ascii")


def test_shellcheck_is_content():
    assert shutil.which("shellcheck"), "install shellcheck; `./leaselab test` does"
    scripts = shell_scripts()
    assert {"leaselab", "scripts/ci/lock.sh", ".ci/run"} <= {*scripts}
    done = run("shellcheck", *scripts)
    assert done.returncode == 0, done.stdout


def test_ansible_and_types_are_held_to_their_strictest_profiles():
    settings = yaml.safe_load((ROOT / ".ansible-lint").read_text(encoding="utf-8"))
    assert settings["profile"] == "production"
    assert not settings.keys() & {"skip_list", "warn_list"}
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert mypy["strict"] is True
    assert "overrides" not in mypy


def test_every_ignored_rule_of_ruff_has_its_reason():
    """Each line that ignores a rule ends in a comment of some words."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[tool.ruff.lint]")[2].partition("[tool.ruff.lint.pydocstyle]")[0]
    lines = [line for line in section.splitlines() if re.search(r'"[A-Z]+\d*"', line)]
    ignoring = [line for line in lines if not line.startswith("select =")]
    assert len(ignoring) > 5
    assert [line for line in ignoring if len(line.partition("#")[2].split()) < 3] == []


def test_pre_commit_runs_the_same_linters_from_this_checkout():
    """No hook comes from another repository: there is one version of each tool."""
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    repositories = yaml.safe_load(text)["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    entries = [hook["entry"] for hook in hooks]
    programs = [f".venv/bin/{' '.join(words)}" for words in PROGRAMS]
    assert entries == [*programs, WORDS, "shellcheck"]
