#!/usr/bin/python
"""Ansible module: set what makes a host steady, read it back, and undo it.

Sets files of the kernel, units and the processors of systemd's slices, all in one task.
Nothing survives a reboot: neither what was set, nor the note of what was there before.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from ansible.module_utils import host_tuning_systemd as systemd
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.host_tuning_knobs import Host, Knob, Reading, text

DOCUMENTATION = r"""
---
module: host_settings
short_description: Set, read back and restore what makes a host steady
description:
  - What is asked for by an empty value is left as it is, or given back where it was set before.
  - What a host does not have is no failure, unless it is in I(required).
options:
  state:
    description: >-
      V(present) sets it, after keeping what was there; V(read) reads it back; V(restored)
      gives everything back.
    choices: [present, read, restored]
    required: true
  folder:
    description: >-
      Where what was there before is kept; on a file system that does not survive a reboot.
    type: path
    required: true
  sysctl_file:
    description: >-
      Keeps the kernel's settings where a package that has all of them read again finds them.
    type: path
    required: true
  settings:
    description: >-
      What is asked for: smt, turbo (on, off), governor, idle_latency_us, interrupts (boolean),
      interface, interrupt_cpus, housekeeping_cpus, timers, services, sysctls (variable, name
      and value each).
    type: dict
    default: {}
  required:
    description: Settings that the host must have, by name.
    type: list
    elements: str
    default: []
author: the leaselab maintainers
"""

RETURN = r"""
record:
  description: >-
    Of state V(read), each setting with C(asked), C(found) and, where there is none, C(why).
  type: dict
missed:
  description: Of state V(read), settings that are not as asked although the host has them.
  type: list
lacking:
  description: Settings of I(required) that the host does not have.
  type: list
"""


class Ledger:
    """What was there before, from the first change in this boot on, and what was refused."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "before.json"
        kept = json.loads(text(self._path) or "{}")
        self.files: dict[str, str] = kept.get("files", {})
        self.units: list[str] = kept.get("units", [])
        self.slices: dict[str, str] = kept.get("slices", {})
        self.refused: dict[str, str] = kept.get("refused", {})

    def write(self) -> None:
        """Keep it, whole or not at all."""
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new")
        names = ("files", "units", "slices", "refused")
        kept = {name: getattr(self, name) for name in names}
        draft.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        draft.replace(self._path)

    def remove(self) -> None:
        """Forget it, and what else is kept beside it."""
        shutil.rmtree(self._folder)

    def exists(self) -> bool:
        """Whether anything is kept."""
        return self._folder.exists()


class Tuning:
    """The settings of one host, as they are asked for."""

    def __init__(
        self, host: Host, asked: dict, ledger: Ledger, sysctl_file: Path, *, dry: bool
    ) -> None:
        self._host, self._asked, self._ledger, self._dry = host, asked, ledger, dry
        self._sysctl_file = sysctl_file
        self.changed = False
        self.refused: dict[str, str] = {}

    def readings(self) -> dict[str, tuple[object, Reading]]:
        """What is asked for of each setting, and how it is."""
        asked, host = self._asked, self._host
        found: dict[str, tuple[object, Reading]] = {}
        for name in ("smt", "turbo", "governor", "idle_latency_us"):
            if _is_asked(asked.get(name)):
                found[name] = (asked[name], getattr(host, f"read_{name}")(asked[name]))
        if asked.get("interrupts"):
            where = (asked["interface"], asked.get("interrupt_cpus", ""))
            wanted = [knob.asked for knob in host.interrupts(*where)]
            found["interrupts"] = (wanted or "one processor each", host.read_interrupts(*where))
        for variable, (name, value) in asked.get("sysctls", {}).items():
            found[variable] = (value, host.read_sysctl(name, value))
        for name in ("timers", "services"):
            if asked.get(name):
                found[name] = ("stopped", systemd.read_units(asked[name]))
        if asked.get("housekeeping_cpus"):
            cpus = asked["housekeeping_cpus"]
            found["housekeeping_cpus"] = (cpus, systemd.read_slices(cpus, host.online()))
        return found

    def present(self) -> None:
        """Set the kernel's files, the slices and the units."""
        asked, host, ledger = self._asked, self._host, self._ledger
        # Threads first: they change which processors there are.
        smt = host.cpus / "smt/control"
        if _is_asked(asked.get("smt")):
            self._set("smt", host.smt(asked["smt"]))
        elif str(smt) in ledger.files:
            self._give_back(str(smt))
        wanted = {str(smt)} if _is_asked(asked.get("smt")) else set()
        for name, knobs in self._knobs().items():
            self._set(name, knobs)
            wanted |= {str(knob.path) for knob in knobs}
        for path in sorted(set(ledger.files) - wanted):
            self._give_back(path)
        self._keep_sysctls()
        self._slices()
        units = [*asked.get("timers", []), *asked.get("services", [])]
        states = systemd.unit_states(units)
        stop = [unit for unit in units if states[unit] in systemd.RUNNING]
        start = [unit for unit in ledger.units if unit not in units]
        self._units("start", start)
        ledger.units = sorted({*ledger.units, *stop} - set(start))
        ledger.refused = self.refused
        if not self._dry:
            ledger.write()
        self._units("stop", stop)

    def restore(self) -> None:
        """Give everything back, and forget it."""
        ledger = self._ledger
        smt = str(self._host.cpus / "smt/control")
        for path in sorted(ledger.files, key=lambda path: path != smt):
            self._give_back(path)
        for unit, cpus in sorted(ledger.slices.items()):
            self._allow(unit, cpus)
        self._units("start", ledger.units)
        self._write_sysctl_file("")
        if ledger.exists():
            self.changed = True
            if not self._dry:
                ledger.remove()

    def _knobs(self) -> dict[str, list[Knob]]:
        asked, host = self._asked, self._host
        found = {
            name: getattr(host, name)(asked[name])
            for name in ("turbo", "governor", "idle_latency_us")
            if _is_asked(asked.get(name))
        }
        if asked.get("interrupts"):
            cpus = asked.get("interrupt_cpus", "")
            found["interrupts"] = host.interrupts(asked["interface"], cpus)
        for variable, (name, value) in asked.get("sysctls", {}).items():
            found[variable] = host.sysctl(name, value)
        return found

    def _keep_sysctls(self) -> None:
        sysctls = self._asked.get("sysctls", {}).items()
        able = [item for variable, item in sysctls if variable not in self.refused]
        lines = [f"{name}={value}\n" for name, value in able if self._host.sysctl(name, value)]
        self._write_sysctl_file("".join(lines))

    def _write_sysctl_file(self, content: str) -> None:
        path = self._sysctl_file
        if (text(path) or "") == content.strip():
            return
        self.changed = True
        if self._dry:
            return
        if not content:
            path.unlink()
            return
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(0o644)

    def _units(self, verb: str, units: list[str]) -> None:
        if units:
            self.changed = True
            if not self._dry:
                systemd.change_units(verb, units)

    def _slices(self) -> None:
        ledger, cpus = self._ledger, self._asked.get("housekeeping_cpus", "")
        reading = systemd.read_slices(cpus, self._host.online()) if cpus else None
        if reading is not None and reading.found is not None and not reading.holds:
            for unit, allowed in systemd.slices(cpus, self._host.online()).items():
                ledger.slices.setdefault(unit, systemd.allowed_cpus(unit))
                self._allow(unit, allowed)
        if not cpus:
            for unit, before in ledger.slices.items():
                self._allow(unit, before)
            ledger.slices = {}

    def _allow(self, unit: str, cpus: str) -> None:
        self.changed = True
        if not self._dry:
            systemd.allow_cpus(unit, cpus)

    def _set(self, name: str, knobs: list[Knob]) -> None:
        for knob in knobs:
            found = text(knob.path)
            if found == knob.asked:
                continue
            refusal = self._write(knob.path, knob.asked)
            if refusal:
                self.refused[name] = refusal
            else:
                self._ledger.files.setdefault(str(knob.path), found or "")

    def _give_back(self, path: str) -> None:
        """Write what was there.

        A file that is gone, or that refuses it, as of a processor that is off, waits.
        """
        if not Path(path).exists():
            return
        before = self._ledger.files[path]
        if text(Path(path)) == before or not self._write(Path(path), before):
            del self._ledger.files[path]

    def _write(self, path: Path, value: str) -> str:
        """Write one of the kernel's files; return why it refuses."""
        # A network namespace shows some that only the machine beneath it may set.
        if not os.access(path, os.W_OK):
            return f"the kernel does not let {path} be set here"
        if self._dry:
            self.changed = True
            return ""
        try:
            path.write_text(value, encoding="utf-8")
        except OSError as error:
            return f"the kernel refuses {value} in {path}: {error.strerror}"
        self.changed = True
        return ""


def _is_asked(value: object) -> bool:
    return value not in (None, "", -1)


def recorded(readings: dict[str, tuple[object, Reading]], refused: dict[str, str]) -> dict:
    """Each setting for the result: asked, found and, where there is none, why."""
    return {
        name: {
            "asked": asked,
            "found": reading.found,
            "why": reading.why or (refused.get(name) if not reading.holds else None) or None,
        }
        for name, (asked, reading) in readings.items()
    }


def main() -> None:
    """Set, read or restore."""
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["present", "read", "restored"], "required": True},
            "folder": {"type": "path", "required": True},
            "sysctl_file": {"type": "path", "required": True},
            "settings": {"type": "dict", "default": {}},
            "required": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    asked = module.params
    ledger, sysctl_file = Ledger(Path(asked["folder"])), Path(asked["sysctl_file"])
    tuning = Tuning(Host(), asked["settings"], ledger, sysctl_file, dry=module.check_mode)
    try:
        if asked["state"] == "restored":
            tuning.restore()
            module.exit_json(changed=tuning.changed)
        readings = tuning.readings()
        record = recorded(readings, ledger.refused)
        lacking = [name for name in asked["required"] if (record.get(name) or {}).get("why")]
        if asked["state"] == "read":
            missed = [
                name
                for name, (_, reading) in readings.items()
                if not reading.holds and not record[name]["why"]
            ]
            # In check mode nothing was set that could be missed.
            missed = [] if module.check_mode else missed
            module.exit_json(changed=False, record=record, missed=missed, lacking=lacking)
        if not lacking:
            tuning.present()
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"the host cannot be tuned: {error}")
    module.exit_json(changed=tuning.changed, record=record, lacking=lacking)


if __name__ == "__main__":
    main()
