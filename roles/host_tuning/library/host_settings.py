#!/usr/bin/python
"""Ansible module: set what makes a host steady, read it back, and undo it.

Sets files of the kernel and the processors of systemd's slices. Settings below /proc/sys and
units are the work of other modules; what they were before is kept here as well.
Nothing survives a reboot: neither what was set, nor the note of what was there before.
"""

from __future__ import annotations

import json
import os
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
sysctls:
  description: Of state V(present), names of the kernel's settings that can be set here.
  type: list
released_sysctls:
  description: Of state V(present), names that are no longer asked for.
  type: list
stop:
  description: Of state V(present), units that are to be stopped.
  type: list
start:
  description: Units that are to be started again.
  type: list
"""


class Ledger:
    """What was there before, from the first change in this boot on, and what was refused."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "before.json"
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
        """Forget it."""
        self._path.unlink(missing_ok=True)


class Tuning:
    """The settings of one host, as they are asked for."""

    def __init__(self, host: Host, asked: dict, ledger: Ledger, *, dry: bool) -> None:
        self._host, self._asked, self._ledger, self._dry = host, asked, ledger, dry
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

    def present(self) -> dict:
        """Set the kernel's files and the slices; return what other modules are to do."""
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
        sysctls, released = self._sysctls()
        wanted |= {str(host.sysctl(name)) for name, _ in asked.get("sysctls", {}).values()}
        for path in sorted(set(ledger.files) - wanted):
            self._give_back(path)
        self._slices()
        units = [*asked.get("timers", []), *asked.get("services", [])]
        states = systemd.unit_states(units)
        stop = [unit for unit in units if states[unit] in systemd.RUNNING]
        start = [unit for unit in ledger.units if unit not in units]
        ledger.units = sorted({*ledger.units, *stop} - set(start))
        ledger.refused = self.refused
        if not self._dry:
            ledger.write()
        return {"sysctls": sysctls, "released_sysctls": released, "stop": stop, "start": start}

    def restore(self) -> list[str]:
        """Give everything back; return the units that are to be started."""
        ledger = self._ledger
        smt = str(self._host.cpus / "smt/control")
        for path in sorted(ledger.files, key=lambda path: path != smt):
            self._give_back(path)
        for unit, cpus in sorted(ledger.slices.items()):
            self._allow(unit, cpus)
        if not self._dry:
            ledger.remove()
        return ledger.units

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
        return found

    def _sysctls(self) -> tuple[list[str], list[str]]:
        """Names that can be set here, and those no longer asked for; notes what they were."""
        host, ledger = self._host, self._ledger
        able, wanted = [], {}
        for variable, (name, value) in self._asked.get("sysctls", {}).items():
            wanted[name] = value
            found = text(host.sysctl(name))
            # A network namespace shows some that only the machine beneath it may set.
            if found is not None and not os.access(host.sysctl(name), os.W_OK):
                self.refused[variable] = f"the kernel does not let {name} be set here"
            elif found is not None:
                able.append(name)
                if found != str(value):
                    ledger.files.setdefault(str(host.sysctl(name)), found)
        root = f"{host.proc}/sys/"
        names = [path[len(root) :] for path in ledger.files if path.startswith(root)]
        released = [name.replace("/", ".") for name in names]
        return able, [name for name in released if name not in wanted]

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
            "settings": {"type": "dict", "default": {}},
            "required": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    asked = module.params
    ledger = Ledger(Path(asked["folder"]))
    tuning = Tuning(Host(), asked["settings"], ledger, dry=module.check_mode)
    try:
        if asked["state"] == "restored":
            start = tuning.restore()
            module.exit_json(changed=tuning.changed, start=start)
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
        done = {} if lacking else tuning.present()
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"the host cannot be tuned: {error}")
    module.exit_json(changed=tuning.changed, record=record, lacking=lacking, **done)


if __name__ == "__main__":
    main()
