#!/usr/bin/python
"""Ansible module: install an artifact, its folder and nothing else.

ansible.builtin.unarchive would write wherever the archive says, with the owners and modes it
says.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.leaselab_artifact import FILES, MARKER, objection

DOCUMENTATION = r"""
---
module: artifact_install
short_description: Install an artifact that role build made
description:
  - Checks the file's hash and every member before anything is written, unpacks into a new
    folder, and puts that in the place of I(prefix) in one step. All of it is root's.
  - Leaves alone what is installed already, which the file C(artifact.sha256) in I(prefix) says,
    and whose files have the hashes in C(artifact.files) there, as C(sha256sum) writes them.
  - Without I(src) it only makes the folder of builds, and returns whether one is needed.
  - Removes I(src), and what else is beside I(prefix) but the builds that variants below
    I(variants) were deployed with.
options:
  src:
    description: The artifact, on this host, in the folder of I(prefix).
    type: path
  sha256:
    description: Its hash.
    type: str
    required: true
  prefix:
    description: The folder that it is, absolute; nothing is written elsewhere.
    type: path
    required: true
  variants:
    description: The folder of variants; each has a C(server.json) that names its I(build).
    type: path
    required: true
  most_bytes:
    description: What its files may have together, unpacked.
    type: int
    required: true
  most_files:
    description: How many files, folders and links it may have.
    type: int
    required: true
author: the leaselab maintainers
"""

RETURN = r"""
needed:
  description: Whether it is not installed, and there was no I(src).
  type: bool
  returned: always
removed:
  description: What was removed beside I(prefix), builds by key.
  type: list
  returned: always
sha256:
  description: Hash of what is installed.
  type: str
  returned: always
"""

_BLOCK = 1 << 20


def digest(path: Path) -> str:
    """Hash of a file."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def unpack(files: tarfile.TarFile, members: list[tarfile.TarInfo], root: str, to: Path) -> None:
    """Write members below a new folder, which stands for the folder `root` of the archive."""
    for member in members:
        place = to / os.path.relpath(member.name, root)
        if member.isdir():
            place.mkdir()
            place.chmod(member.mode)
        elif member.issym():
            place.symlink_to(member.linkname)
        else:
            content = files.extractfile(member)
            with place.open("xb") as stream:
                shutil.copyfileobj(content, stream)
            place.chmod(member.mode)


def installed(prefix: Path) -> str:
    """Hash of what is installed, "" where it is not whole or was changed since."""
    try:
        rows = (prefix / FILES).read_text(encoding="utf-8").splitlines()
        for found, path in (row.split("  ", 1) for row in rows):
            if digest(prefix / path) != found:
                return ""
        return (prefix / MARKER).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def listing(folder: Path) -> str:
    """Hash and path of each file below a folder, as sha256sum writes them."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    plain = (path for path in files if not path.is_symlink())
    return "".join(f"{digest(path)}  {path.relative_to(folder)}\n" for path in plain)


def install(src: Path, sha256: str, prefix: Path, most_bytes: int, most_files: int) -> str:
    """Install it; return why it was not, or nothing."""
    found = digest(src)
    if found != sha256:
        return (
            f"{src} is not the artifact that was built (found sha256 {found}, wanted {sha256})"
        )
    draft = prefix.with_name(f"{prefix.name}.new")
    try:
        with tarfile.open(src) as files:
            reason = objection(files, str(prefix), most_bytes, most_files)
            if reason:
                return f"the artifact is not to be installed: /{reason}"
            shutil.rmtree(draft, ignore_errors=True)
            draft.parent.mkdir(parents=True, exist_ok=True)
            unpack(files, files.getmembers(), str(prefix).strip("/"), draft)
    except (tarfile.TarError, EOFError) as error:
        return f"{src} is no archive: {error}"
    for name, text in ((FILES, listing(draft)), (MARKER, f"{sha256}\n")):
        (draft / name).write_text(text, encoding="utf-8")
        (draft / name).chmod(0o644)
    if prefix.is_symlink():
        prefix.unlink()
    elif prefix.exists():
        shutil.rmtree(prefix)
    draft.rename(prefix)
    return ""


def unused(prefix: Path, variants: Path) -> list[Path]:
    """What is beside `prefix` but builds of variants; nothing where these cannot be read."""
    try:
        used = {
            json.loads(path.read_text(encoding="utf-8"))["build"]
            for path in variants.glob("*/server.json")
        }
    except (OSError, ValueError, KeyError):
        return []
    others = (path for path in sorted(prefix.parent.glob("*")) if path != prefix)
    return [path for path in others if path.name not in used]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "src": {"type": "path"},
            "sha256": {"type": "str", "required": True},
            "prefix": {"type": "path", "required": True},
            "variants": {"type": "path", "required": True},
            "most_bytes": {"type": "int", "required": True},
            "most_files": {"type": "int", "required": True},
        },
        supports_check_mode=True,
    )
    prefix, sha256 = Path(module.params["prefix"]), module.params["sha256"]
    src, is_check = module.params["src"], module.check_mode
    absent = installed(prefix) != sha256
    if not is_check:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        prefix.parent.chmod(0o755)
    if absent and src and not is_check:
        limits = (module.params["most_bytes"], module.params["most_files"])
        try:
            reason = install(Path(src), sha256, prefix, *limits)
        finally:
            Path(src).unlink(missing_ok=True)
        if reason:
            module.fail_json(msg=reason)
    needed = absent and not src
    gone = [] if needed else unused(prefix, Path(module.params["variants"]))
    if not is_check:
        for path in gone:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    module.exit_json(
        changed=(absent and not needed) or bool(gone),
        needed=needed,
        sha256=sha256,
        removed=[path.name for path in gone],
    )


if __name__ == "__main__":
    main()
