"""The command behind scripts/ci/check-jobs."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import yaml
from jenkins_jobs.errors import JenkinsJobsException

from ci.jobcheck.finding import place_of
from ci.jobcheck.generate import Generated, definitions, generate
from ci.jobcheck.variables import unused
from leaselab.model.errors import LeaselabError, Outcome, usage_error

ROOT = Path(__file__).parents[3]


def checked(folder: Path, *, recursive: bool = False) -> Generated:
    """What the definitions in `folder` come to; LeaselabError where nothing can be made."""
    if not folder.is_dir():
        raise usage_error(
            "no such folder", where=str(folder), todo="name one with job definitions"
        )
    try:
        folders = definitions(folder.resolve(), recursive=recursive)
        made = generate(folders, ROOT / "jobs/jenkins_jobs.ini")
        made.findings += unused(made.roots, made.called_macros)
    except JenkinsJobsException as error:
        places = [error.pos, *(context.pos for context in reversed(error.ctx))]
        where = next((place_of(pos) for pos in places if pos), str(folder))
        text = error.message.replace("\n", "; ")
        raise usage_error(text, where=where, todo="mend the definition") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{mark.name}:{mark.line + 1}" if mark else str(folder)
        raise usage_error(str(error.problem), where=where, todo="mend the YAML") from error
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError, OSError) as error:
        # It looks at few types, and its own errors have no place.
        raise usage_error(
            f"jenkins-jobs fails on these definitions: {error!r}",
            where=str(folder),
            todo="look for a file or a value that is not what jenkins-jobs documents",
        ) from error
    if not made.jobs:
        todo = "read subfolders, too, with -r" if _left_out(folder) else "name another folder"
        raise usage_error("no job is defined", where=str(folder), todo=todo)
    return made


def _left_out(folder: Path) -> int:
    """How many YAML files of subfolders jenkins-jobs reads only with ``-r``."""
    return sum(path.suffix in (".yaml", ".yml") for path in folder.glob("*/**/*"))


def main() -> int:
    """Check, print the findings to stderr and the sum to stdout; the exit code."""
    parser = argparse.ArgumentParser(prog="check-jobs", description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "jobs")
    parser.add_argument("-r", "--recursive", action="store_true", help="read subfolders, too")
    args = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger().addHandler(logging.NullHandler())
    findings: list[LeaselabError] = []
    try:
        made = checked(args.folder, recursive=args.recursive)
        findings = made.findings
    except LeaselabError as error:
        findings = [error]
    for finding in dict.fromkeys(map(str, findings)):
        sys.stderr.write(f"leaselab: {finding}\n")
    if findings:
        return Outcome.USAGE.value
    for schedule in made.unspread:
        sys.stderr.write(f"leaselab: warning: no H in the schedule of {schedule}\n")
    sys.stdout.write(
        f"{len(made.jobs)} jobs, {len(made.views)} views: every key is read, every variable "
        f"used, {made.schedules} schedules are sound\n"
    )
    if not args.recursive and (left_out := _left_out(args.folder)):
        sys.stdout.write(f"{left_out} YAML files of subfolders are not read without -r\n")
    return Outcome.OK.value


if __name__ == "__main__":
    sys.exit(main())
