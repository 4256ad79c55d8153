"""The linter of Jenkinsfiles: Groovy's own syntax tree, held to what our pipelines may say."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.pipeline import groovy

Declared = Mapping[Path, Mapping[str, str | bool]]


def findings(
    files: Iterable[Path],
    repository: Path,
    provides: Mapping[str, Any],
    parameters: Declared | None = None,
) -> list[dict[str, Any]]:
    """What is wrong in Jenkinsfiles: file, line, rule, what, found and wanted of each.

    `repository` has the scripts that they call, `provides` is the allow-list, `parameters` are
    those that jobs declare for a file: {file: {name: default}}.
    """
    return list(json.loads(_lint(files, repository, provides, parameters, "--json").stdout))


def report(
    files: Iterable[Path],
    repository: Path,
    provides: Mapping[str, Any],
    parameters: Declared | None = None,
) -> str:
    """The same for people: a line for each, and nothing when nothing is wrong."""
    return _lint(files, repository, provides, parameters).stdout.strip()


def _lint(
    files: Iterable[Path],
    repository: Path,
    provides: Mapping[str, Any],
    parameters: Declared | None,
    *more: str,
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as place:
        allowed = Path(place) / "provides.json"
        allowed.write_text(json.dumps(provides), encoding="utf-8")
        declared = Path(place) / "parameters.json"
        by_name = {str(path): dict(each) for path, each in (parameters or {}).items()}
        declared.write_text(json.dumps(by_name), encoding="utf-8")
        words = ["--repository", str(repository), "--provides", str(allowed)]
        words += ["--parameters", str(declared), *more]
        done = subprocess.run(
            groovy.command("lint", *words, *map(str, files)),
            capture_output=True,
            text=True,
            check=False,
        )
    clean = done.stdout.strip() in ("", "[]")
    assert done.returncode == (0 if clean else 1), done.stderr
    return done
