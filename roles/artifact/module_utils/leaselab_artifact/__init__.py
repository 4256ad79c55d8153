"""What an artifact may hold: the same rules where it is packed and where it is unpacked.

The builder packs by them what a commit installed, and each host that serves unpacks by them
what came: neither has to believe the other.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterable

FILE_MODE, PROGRAM_MODE, LINK_MODE = 0o644, 0o755, 0o777
MARKER, FILES = "artifact.sha256", "artifact.files"
"""What a host writes into the folder of an artifact: its hash, and those of its files."""


def objection(
    members: Iterable[tarfile.TarInfo], prefix: str, most_bytes: int, most_files: int
) -> str:
    """Return why an artifact is not to be installed, as ``name: reason``; "" where it is.

    It holds the folder `prefix` first and then what lies below it: files, folders, and links
    that stay inside, all of them root's and with a mode that no build can choose.  They have
    names that a line of text can hold, are at most `most_files`, and their contents together
    `most_bytes`, as unpacked.  No more members are read than until the first that is refused.
    """
    root = prefix.strip("/")
    folders: set[str] = set()
    names: set[str] = set()
    size = 0
    for member in members:
        name = member.name
        if name in names:
            return f"{name}: it is there twice"
        if name != root and posixpath.dirname(name) not in folders:
            # So nothing lies elsewhere, below a link, or behind "..".
            return f"{name}: it does not lie in a folder of {prefix} that came before it"
        reason = _reason(member, root)
        if reason:
            return f"{name}: {reason}"
        names.add(name)
        size += member.size
        if size > most_bytes:
            found = f"{name}: with it the artifact has {size >> 20} MiB"
            return f"{found} (limit: build_artifact_mib {most_bytes >> 20})"
        if len(names) > most_files:
            return f"{name}: it is file {len(names)} (limit: build_artifact_files {most_files})"
        if member.isdir():
            folders.add(name)
    return "" if root in folders else f"{root}: it is not there"


def _reason(member: tarfile.TarInfo, root: str) -> str:
    """Why a member by itself is not to be installed."""
    text = member.name + member.linkname
    if posixpath.normpath(member.name) != member.name or "\\" in text or not text.isprintable():
        return "it, or where it leads, is not the plain name of a file"
    if member.name in (f"{root}/{MARKER}", f"{root}/{FILES}"):
        return "this name is the lab's own"
    if (member.uid, member.gid) != (0, 0):
        return f"it belongs to user {member.uid}, group {member.gid}, and not to root"
    if member.issym():
        inside = stays_inside(member.name, member.linkname, root)
        return "" if inside else f"it is a link that leads out of /{root}, to {member.linkname}"
    if not (member.isreg() or member.isdir()):
        return "it is neither a file, a folder nor a symbolic link"
    allowed = (PROGRAM_MODE,) if member.isdir() else (FILE_MODE, PROGRAM_MODE)
    return "" if member.mode in allowed else f"its mode is {member.mode:04o}"


def stays_inside(name: str, target: str, root: str) -> bool:
    """Whether a symbolic link leads to what lies in `root`, wherever other links lead.

    ``..`` may stand at the beginning of the target only, where the folders above are known
    to be folders: behind another link it would go up from where that one leads.
    """
    if target.startswith("/"):
        path = posixpath.relpath(target, f"/{posixpath.dirname(name)}")
        if posixpath.normpath(target) != target:
            return False
    else:
        path = target
    parts = [part for part in path.split("/") if part not in ("", ".")]
    down = [part for part in parts if part != ".."]
    if parts[len(parts) - len(down) :] != down:
        return False
    place = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    return place == root or place.startswith(f"{root}/")
