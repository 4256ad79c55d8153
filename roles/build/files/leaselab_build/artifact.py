"""The artifact: a tar of what was installed, and the packages it needs to run."""

import gzip
import re
import subprocess
import tarfile
from pathlib import Path

from leaselab_contract.errors import BeneathError
from leaselab_contract.process import ENVIRONMENT

from leaselab_build.cache import sha256

_LEVEL = 3
_ELF = b"\x7fELF"
_NEEDED = re.compile(r"NEEDED\s+(\S+)")


def pack(config, stage, target):
    """Pack what lies in the stage below the prefix; return what is to be known of it."""
    if not (stage / config["prefix"].lstrip("/")).is_dir():
        raise BeneathError(f"the recipe installed nothing below {config['prefix']}")
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as files,
    ):
        for path in sorted(stage.rglob("*")):
            files.add(path, path.relative_to(stage), recursive=False, filter=_plain)
    return {
        "artifact_sha256": sha256(target),
        "artifact_bytes": target.stat().st_size,
        "runtime_packages": runtime_packages(stage),
    }


def _plain(member):
    """The same files make the same artifact: no times, and root's."""
    member.mtime = 0
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def runtime_packages(stage):
    """Return the packages, by name and version, of the libraries that it was linked with."""
    needed, own = set(), set()
    for path in stage.rglob("*"):
        if path.is_file() and not path.is_symlink() and _is_elf(path):
            told = _run("objdump", "-p", str(path))
            needed.update(_NEEDED.findall(told))
        own.add(path.name)
    found = dict(re.findall(r"^\s+(\S+) \(.*=> (\S+)$", _run("ldconfig", "-p"), re.MULTILINE))
    packages = {}
    for name in sorted(needed - own):
        if name not in found:
            raise BeneathError(f"it is linked with {name}, which the builder does not have")
        package = _package(found[name])
        packages[package] = _run("dpkg-query", "--show", "--showformat", "${Version}", package)
    return packages


def _package(path):
    """Return the package of a library; with merged folders dpkg may know it by either path."""
    for one in (path, path.removeprefix("/usr"), str(Path(path).resolve())):
        done = subprocess.run(
            ["dpkg-query", "--search", one], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise BeneathError(f"no package has {path}, which it is linked with")


def _is_elf(path):
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return done.stdout
