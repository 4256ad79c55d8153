"""The artifact: a tar of what was installed below the prefix, and the packages it needs."""

import gzip
import os
import re
import stat
import subprocess
import tarfile
from pathlib import Path

from leaselab_artifact import FILE_MODE, LINK_MODE, PROGRAM_MODE, objection
from leaselab_contract.errors import ContractError, LabError
from leaselab_contract.process import ENVIRONMENT

from leaselab_build import confine
from leaselab_build.cache import sha256
from leaselab_build.log import line, reason

_LEVEL = 3
_AT_ONCE = 64
_PATH_BYTES = 3000
"""So long a path can be read here, and below a longer folder on a host."""
_ELF = b"\x7fELF"
_NEEDED = re.compile(r"NEEDED\s+(\S+)")


def pack(config, prefix, stage, target, watch):
    """Pack the files in the stage below the prefix; return the artifact's record.

    What was installed elsewhere is left out: a server's sample configuration, its empty
    folders, and anything else that a commit would install on the hosts that serve.  Raises
    ContractError where something below the prefix is not to be installed, or `watch` where
    it takes too long.
    """
    top = installed(prefix, stage)
    members = [_member(config, stage, path) for path in _tree(config, top)]
    against = objection(members, prefix, config["artifact_bytes"], config["artifact_files"])
    if against:
        raise ContractError(f"it would install /{line(against)}")
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as files,
    ):
        for member in members:
            watch.check()
            if member.isreg():
                with (stage / member.name).open("rb") as content:
                    files.addfile(member, content)
            else:
                files.addfile(member)
    return {
        "artifact_sha256": sha256(target),
        "artifact_bytes": target.stat().st_size,
        "runtime_packages": runtime_packages(config, stage, members, watch),
    }


def installed(prefix, stage):
    """Return the prefix's folder in the stage; no link leads to it."""
    place = stage
    for part in Path(prefix.lstrip("/")).parts:
        place /= part
        if place.is_symlink() or not place.is_dir():
            raise ContractError(f"it installs nothing below {prefix}")
    return place


def _tree(config, top):
    """Return a folder and all below it, a folder before what it holds.

    Raises ContractError for more than an artifact may have; so none is read to its end.
    """
    found = [top]
    for place in found:
        if len(found) > config["artifact_files"]:
            raise ContractError(
                "it would install more files and folders than it may "
                f"(limit: build_artifact_files {config['artifact_files']})"
            )
        if len(os.fsencode(place)) > _PATH_BYTES:
            raise ContractError(f"it would install {line(str(place))}: its path is too long")
        if place.is_dir() and not place.is_symlink():
            with os.scandir(place) as rows:
                found += [place / row.name for row in rows]
    return sorted(found)


def _member(config, stage, path):
    """Return the member of the tar for a file; the same files make the same artifact.

    So it has no times, root's name, and one of two modes.  A file of another owner (a hard
    link) and one with setuid are refused, not made harmless: they are no accident.
    """
    about = path.lstat()
    member = tarfile.TarInfo(path.relative_to(stage).as_posix())
    name = line(member.name)
    if about.st_uid != config["uid"]:
        raise ContractError(f"it would install /{name}: it belongs to user {about.st_uid}")
    if stat.S_ISREG(about.st_mode):
        if about.st_mode & (stat.S_ISUID | stat.S_ISGID):
            raise ContractError(f"it would install /{name}: it has setuid or setgid")
        member.mode = PROGRAM_MODE if about.st_mode & 0o111 else FILE_MODE
        member.size = about.st_size
    elif stat.S_ISDIR(about.st_mode):
        member.type, member.mode = tarfile.DIRTYPE, PROGRAM_MODE
    elif stat.S_ISLNK(about.st_mode):
        member.type, member.mode = tarfile.SYMTYPE, LINK_MODE
        member.linkname = str(path.readlink())
    else:
        raise ContractError(
            f"it would install /{name}: it is neither a file, a folder nor a symbolic link"
        )
    member.uname = member.gname = "root"
    return member


def runtime_packages(config, stage, members, watch):
    """Return the packages, by name and version, of the libraries that it was linked with."""
    plain = [stage / member.name for member in members if member.isreg()]
    binaries = [str(path) for path in plain if _is_elf(path)]
    needed = set()
    for first in range(0, len(binaries), _AT_ONCE):
        # objdump must not read an untrusted binary as root
        dump = confine.run(config, ["objdump", "-p", *binaries[first : first + _AT_ONCE]])
        watch.check()
        if dump.returncode != 0:
            raise ContractError(
                f"it would install no binary: {reason(dump.returncode, dump.stderr)}"
            )
        needed.update(_NEEDED.findall(dump.stdout))
    found = dict(
        re.findall(r"^[ \t]+(\S+) \(.*=> (\S+)$", _run("ldconfig", "-p"), re.MULTILINE)
    )
    packages = {}
    for name in sorted(needed - {Path(member.name).name for member in members}):
        if name not in found:
            raise ContractError(f"it is linked with {line(name)}, which no package here has")
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
    raise LabError(f"no package has {path}, which it is linked with")


def _is_elf(path):
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return done.stdout
