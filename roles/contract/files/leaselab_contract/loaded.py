"""What a process has loaded: its program, its libraries, and their hashes."""

import hashlib
from pathlib import Path

from leaselab_contract.confinement import label_of
from leaselab_contract.errors import LabError

_CHUNK = 1 << 20
_GONE = " (deleted)"
_NO_FILES = ("/memfd:", "/dev/zero", "/SYSV")
"""Names of mappings without a file, such as code that a library compiles at run time."""


def identity(pid, program=None):
    """Return what runs as a process: program, program_sha256, libraries_sha256, confinement.

    Everything that it has mapped as code counts: most of a server is in its libraries and
    hooks.  Takes some 0.1 s for Kea.  `program` is that of a process whose own is valgrind.
    """
    try:
        program = program or str(Path(f"/proc/{pid}/exe").readlink())
    except PermissionError as error:
        raise LabError(
            f"the server's own program cannot be read: {error}; in a container, root wants the "
            "capability SYS_PTRACE for a server that has changed its user"
        ) from None
    files = {path: sha256(path) for path in sorted({program, *mapped(pid)})}
    return {
        "program": program,
        "program_sha256": files.pop(program),
        "libraries_sha256": files,
        "confinement": label_of(pid),
    }


def mapped(pid):
    """Return the paths of the files that a process has mapped as code."""
    rows = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    fields = (row.split(maxsplit=5) for row in rows)
    return {
        field[5]
        for field in fields
        if len(field) == 6
        and "x" in field[1]
        and field[5].startswith("/")
        and not field[5].startswith(_NO_FILES)
    }


def sha256(path):
    """Return the hash of a file that a process runs; one that was replaced has none."""
    if path.endswith(_GONE):
        raise LabError(f"{path[: -len(_GONE)]} was replaced while the server started")
    found = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def together(paths, folder=None):
    """Return one hash of the files, and zone files in a folder, that a server reads.

    For a server that cannot report its running configuration.
    """
    found = hashlib.sha256()
    zones = sorted(Path(folder).glob("*.zone")) if folder else []
    for path in [*map(str, paths), *map(str, zones)]:
        found.update(f"{path}\0{sha256(path)}\0".encode())
    return found.hexdigest()
