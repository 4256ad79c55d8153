"""The job definitions as tests look at them, and altered copies of them."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.waiting import HANGS_S

from ci.jobcheck.generate import generate

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "jobs"
SETTINGS = JOBS / "jenkins_jobs.ini"


@functools.cache
def made():
    """What the repository's definitions come to."""
    return generate([JOBS], SETTINGS)


def pipelines():
    """{name: XML} of the jobs that run a pipeline from this repository."""
    return {name: tree for name, tree in made().jobs.items() if tree.tag == "flow-definition"}


def parameters(tree):
    """{name: default} of a job's parameters."""
    result = tree.iter("hudson.model.StringParameterDefinition")
    return {item.findtext("name"): item.findtext("defaultValue") or "" for item in result}


def copy(place):
    """The definitions in a folder where a test may change them."""
    folder = place / "jobs"
    folder.mkdir()
    for path in JOBS.glob("*.yaml"):
        shutil.copy(path, folder)
    return folder


def few(place):
    """The same with one scenario for each kind of job: an update of all takes seconds."""
    folder = copy(place)
    project = folder / "project.yaml"
    text = project.read_text("utf-8")
    lists = re.compile(
        r"^(    \w*(?:scenario|experiment):\n      - \S+\n)(?:      - \S+\n)+", re.M
    )
    text, shortened = lists.subn(r"\1", text)
    assert shortened == 6, "project.yaml has other lists of scenarios"
    project.write_text(text, encoding="utf-8")
    return folder


def change(folder, name, old, new):
    """Replace a text, which is there, in one file of a copy."""
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text, f"{name} holds no {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run(*argv, cwd=ROOT, env=None, stdin=None):
    """Run a program; its exit code and what it printed."""
    return subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )
