#!/usr/bin/python
"""Ansible module: have additions in the AppArmor profiles of programs, loaded."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
---
module: apparmor_additions
short_description: Have additions in the AppArmor profiles of programs, loaded
description:
  - Writes rules into a block of the local additions of each program's profile, and loads the
    profile where the kernel has AppArmor and shows its profiles. What a site added there stays.
  - A profile that includes no local additions, as those of Kea in Debian 12, gets that line.
  - Leaves alone programs without a profile. Does not enforce a profile that is disabled.
  - Fails where a program is confined and its profile cannot be loaded.
options:
  programs:
    description: By path of the program, a list of rules without the comma at their end.
    type: dict
    required: true
author: the leaselab maintainers
"""

RETURN = r"""
profiles:
  description: >-
    Of each program that has a profile: program, name (of the profile), file, and label, what
    the kernel calls the profile and its mode, such as C(kea-dhcp4 (enforce)); "" where it is
    not loaded.
  type: list
  returned: always
written:
  description: Files that were written.
  type: list
  returned: always
"""

PROFILES = Path("/etc/apparmor.d")
SWITCH = Path("/sys/module/apparmor/parameters/enabled")
LOADED = Path("/sys/kernel/security/apparmor/profiles")
PARSER_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PARSE_S = 120
_INCLUDE = re.compile(
    r"^[ \t]*#?include[ \t]+(?:if[ \t]+exists[ \t]+)?<local/([^>\n]+)>", re.MULTILINE
)
_MODE = 0o644


class Refused(Exception):  # noqa: N818  # how the module fails
    """Reported as the failure of the Ansible task."""


def header(text: str) -> tuple[str, int] | None:
    """Name of the first profile of a file, and the end of the line that opens it.

    None where there is none: MariaDB of Debian has a file that holds words alone.
    """
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        words = line.split()
        if words and words[-1] == "{" and (words[0] == "profile" or words[0].startswith("/")):
            return words[1 if words[0] == "profile" else 0].strip('"'), end
    return None


def find(program: str) -> Path | None:
    """The file of a program's profile, by the names that distributions give them."""
    path = Path(program)
    for name in (program.strip("/").replace("/", "."), path.name):
        file = PROFILES / name
        if file.is_file() and header(file.read_text(encoding="utf-8")):
            return file
    return None


def with_block(text: str, name: str, rules: list[str]) -> str:
    """Local additions with ours in a block of their own; everything else stays."""
    begin, end = f"# BEGIN leaselab: {name}\n", f"# END leaselab: {name}\n"
    block = begin + "".join(f"{rule},\n" for rule in rules) + end
    if begin in text and end in text:
        before, _, rest = text.partition(begin)
        return before + block + rest.partition(end)[2]
    return text + ("\n" if text and not text.endswith("\n") else "") + block


def loaded() -> dict[str, str] | None:
    """Mode of each loaded profile; None where AppArmor is off or not this host's to rule.

    A container sees that its machine's kernel has AppArmor, and none of its profiles.
    """
    try:
        if SWITCH.read_text(encoding="ascii").strip() != "Y":
            return None
        rows = LOADED.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    parted = (row.rpartition(" (") for row in rows)
    return {name: mode.rstrip(")") for name, _, mode in parted}


def load(file: Path, name: str, known: dict[str, str]) -> None:
    """Load a profile, so that what is in its files is in force."""
    parser = shutil.which("apparmor_parser", path=PARSER_PATH)
    if parser is None:
        if name in known:
            raise Refused(
                f"AppArmor confines {name}, and its profile cannot be changed (found no "
                "apparmor_parser, wanted that of package apparmor); install it"
            )
        return  # nothing can load it, at a boot either
    done = subprocess.run(
        [parser, "--replace", "--write-cache", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PARSE_S,
    )
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"status {done.returncode}"
        raise Refused(
            f"the AppArmor profile of {name} cannot be loaded (apparmor_parser --replace "
            f"{file} says: {said}); correct what else is added to it"
        )


def write(path: Path, text: str) -> None:
    """Write a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.leaselab")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(_MODE)
    draft.replace(path)


def wanted(programs: dict[str, list[str]]) -> tuple[list[dict], dict[Path, str]]:
    """The profiles of programs, and what their files should hold."""
    found, texts = [], {}
    for program, rules in programs.items():
        file = find(program)
        if file is None:
            continue
        text = file.read_text(encoding="utf-8")
        name, at = header(text)  # type: ignore[misc]  # find() saw it
        included = _INCLUDE.search(text)
        additions = PROFILES / "local" / (included[1] if included else file.name)
        if not included:
            texts[file] = f"{text[:at]}  include if exists <local/{file.name}>\n{text[at:]}"
        on_disk = additions.read_text(encoding="utf-8") if additions.exists() else ""
        # Two profiles may include the same file.
        texts[additions] = with_block(texts.get(additions, on_disk), name, rules)
        found.append({"program": program, "name": name, "file": str(file)})
    return found, texts


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"programs": {"type": "dict", "required": True}}, supports_check_mode=True
    )
    profiles, texts = wanted(module.params["programs"])
    todo = {
        path: text
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    before = loaded()
    if not module.check_mode:
        try:
            for path, text in todo.items():
                write(path, text)
            for profile in profiles:
                file = Path(profile["file"])
                # Also where no file was written: an earlier edit may not be loaded yet.
                if before is not None and not (PROFILES / "disable" / file.name).exists():
                    load(file, profile["name"], before)
        except (Refused, OSError, subprocess.TimeoutExpired) as error:
            module.fail_json(msg=str(error))
    after = loaded() or {}
    for profile in profiles:
        mode = after.get(profile["name"])
        profile["label"] = f"{profile['name']} ({mode})" if mode else ""
    module.exit_json(
        changed=bool(todo) or (before or {}) != after,
        profiles=profiles,
        written=sorted(map(str, todo)),
    )


if __name__ == "__main__":
    main()
