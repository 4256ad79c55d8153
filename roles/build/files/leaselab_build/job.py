"""A build's inputs, and the key by which its artifact is found again."""

import hashlib
import json
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

KEY_DIGITS = 24
FORMAT = 3
"""Version of how artifacts are built and packed; another version makes another key."""


@dataclass(frozen=True)
class Job:
    """One commit to be built with one builder's settings."""

    commit: str
    tree: str
    described: str
    source: str
    repository: str
    """Its name; what is shared between builds is shared by those of one repository."""
    accepted: bool
    """Whether the repository's main branch or a tag has it."""
    inputs: dict
    """All that makes the artifact what it is; the key is their hash."""
    key: str
    prefix: str
    """Where it is installed, compiled in: a folder of its own, so that builds lie side by side
    on a host.  It is made of the key, so it is none of the inputs."""


def read_job(config, stream):
    """Read what is to be built (JSON)."""
    asked = json.load(stream)
    inputs = {
        "format": FORMAT,
        "name": config["name"],
        "commit": asked["commit"],
        "tree": asked["tree"],
        "options": config["options"],
        "recipe": _sha256(Path(config["recipe"]).read_bytes()),
        "builds": config["builds"],
        "builder": builder(),
    }
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    key = _sha256(text.encode())[:KEY_DIGITS]
    return Job(
        commit=asked["commit"],
        tree=asked["tree"],
        described=asked["described"],
        source=asked["source"],
        repository=asked["repository"],
        accepted=asked["accepted"],
        inputs=inputs,
        key=key,
        prefix=f"{config['builds']}/{key}",
    )


def builder():
    """What this builder is: release, architecture, compiler, and a hash of its packages.

    All packages, not those that a build is thought to use: another library or header
    beneath it makes another binary.
    """
    packages = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Package}:${Architecture}=${Version}\n"],
        capture_output=True,
        check=True,
    ).stdout
    return {
        "distribution": distribution(),
        "architecture": platform.machine(),
        "compiler": compiler(),
        "packages": _sha256(b"\n".join(sorted(packages.splitlines())))[:KEY_DIGITS],
    }


def distribution():
    """Name and release by the host's os-release: ``debian 13``."""
    release = platform.freedesktop_os_release()
    return f"{release['ID']} {release.get('VERSION_ID', release.get('VERSION_CODENAME', ''))}"


def compiler():
    """The C++ compiler's own name for itself, the C compiler's where there is no other."""
    for program in ("c++", "cc"):
        try:
            done = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=True
            )
        except FileNotFoundError:
            continue
        return done.stdout.splitlines()[0]
    return "none"


def _sha256(content):
    return hashlib.sha256(content).hexdigest()
