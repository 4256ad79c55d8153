"""The kernel's files behind each setting of a host: what is to be in them, and what is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_NO_SMT = ("off", "forceoff", "notsupported", "notimplemented")
"""What stands in smt/control where no two threads share a core."""


class Knob(NamedTuple):
    """One file of the kernel."""

    path: Path
    asked: str


class Reading(NamedTuple):
    """A setting as it is."""

    found: object
    """In the words of its variable; None where the host has no such setting."""
    holds: bool
    """Whether that is what was asked for."""
    why: str = ""
    """Why there is no such setting."""


def text(path: Path) -> str | None:
    """A file's text without its line end; None where it cannot be read or is empty."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def numbers(text: str) -> list[int]:
    """The numbers of a list in the kernel's form, such as ``0-3,8``."""
    found = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class Host:
    """The files of one host; `sys` and `proc` are where the kernel shows them."""

    def __init__(self, sys: Path = Path("/sys"), proc: Path = Path("/proc")) -> None:
        self.sys, self.proc = sys, proc
        self.cpus = sys / "devices/system/cpu"

    def online(self) -> list[int]:
        """Processors that are on."""
        return numbers(text(self.cpus / "online") or "")

    def smt(self, asked: str) -> list[Knob]:
        """Two threads of a core, ``on`` or ``off``."""
        found = text(self.cpus / "smt/control")
        if found is None or (found == asked or (asked == "off" and found in _NO_SMT)):
            return []
        return [Knob(self.cpus / "smt/control", asked)]

    def read_smt(self, asked: str) -> Reading:
        """Read it back."""
        found = text(self.cpus / "smt/control")
        if found is None:
            return Reading(None, holds=False, why="the kernel shows no smt/control")
        if asked == "on" and found in _NO_SMT[1:]:
            return Reading(
                found, holds=False, why="the processor has or may use one thread a core"
            )
        return Reading(found, holds=found == asked or (asked == "off" and found in _NO_SMT))

    def governor(self, asked: str) -> list[Knob]:
        """The governor of each processor."""
        return [Knob(path, asked) for path in self._each("cpufreq/scaling_governor")]

    def read_governor(self, asked: str) -> Reading:
        """Read it back: a name, or several where processors differ."""
        found = {text(knob.path) for knob in self.governor(asked)} - {None}
        if not found:
            return Reading(None, holds=False, why="no processor shows a governor")
        places = self._each("cpufreq/scaling_available_governors")
        lacking = [path for path in places if asked not in (text(path) or "").split()]
        if lacking:
            why = f"the kernel has no governor {asked} here, but {text(lacking[0])}"
            return Reading(", ".join(sorted(found)), holds=False, why=why)
        return Reading(", ".join(sorted(found)), holds=found == {asked})

    def turbo(self, asked: str) -> list[Knob]:
        """Clocks above the nominal one, ``on`` or ``off``."""
        off, on = self.cpus / "intel_pstate/no_turbo", self.cpus / "cpufreq/boost"
        if off.exists():
            return [Knob(off, "0" if asked == "on" else "1")]
        return [Knob(on, "1" if asked == "on" else "0")] if on.exists() else []

    def read_turbo(self, asked: str) -> Reading:
        """Read it back."""
        knobs = self.turbo(asked)
        if not knobs:
            return Reading(None, holds=False, why="the kernel shows neither no_turbo nor boost")
        holds = text(knobs[0].path) == knobs[0].asked
        return Reading(asked if holds else {"on": "off", "off": "on"}[asked], holds)

    def idle_latency_us(self, asked: int) -> list[Knob]:
        """Idle states of each processor: those that take longer to leave are disabled."""
        return [
            Knob(state / "disable", "1")
            for state, latency in self._idle_states()
            if latency > asked
        ]

    def read_idle_latency_us(self, asked: int) -> Reading:
        """Read it back: the longest that leaving an idle state may take (us)."""
        states = self._idle_states()
        if not states:
            return Reading(None, holds=False, why="no processor shows its idle states")
        usable = [latency for state, latency in states if text(state / "disable") == "0"]
        found = max(usable, default=0)
        return Reading(found, holds=found <= asked)

    def interrupts(self, interface: str, cpus: str) -> list[Knob]:
        """Each interrupt of an interface on one processor, in turn.

        `cpus` in the kernel's list form; empty for those that are near the interface.
        """
        device = self.sys / "class/net" / interface / "device"
        # A virtual function of a bus, such as virtio's, has them one level up.
        shown = [*device.glob("msi_irqs/*"), *device.glob("../msi_irqs/*")]
        lines = sorted({int(path.name) for path in shown if path.name.isdigit()})
        legacy = text(device / "irq")
        if not lines and legacy and legacy != "0":
            lines = [int(legacy)]
        online = self.online()
        near = numbers(cpus or text(device / "local_cpulist") or "")
        places = [cpu for cpu in near if cpu in online] or online
        return [
            Knob(self.proc / f"irq/{line}/smp_affinity_list", str(places[turn % len(places)]))
            for turn, line in enumerate(lines)
            if (self.proc / f"irq/{line}").is_dir()
        ]

    def read_interrupts(self, interface: str, cpus: str) -> Reading:
        """Read them back: the processor of each, in the order of their numbers."""
        knobs = self.interrupts(interface, cpus)
        if not knobs:
            return Reading(None, holds=False, why=f"{interface} has no interrupts of its own")
        found = [text(knob.path) for knob in knobs]
        return Reading(found, holds=found == [knob.asked for knob in knobs])

    def sysctl(self, name: str, asked: int) -> list[Knob]:
        """A kernel setting, where the kernel shows it."""
        path = self.proc / "sys" / name.replace(".", "/")
        return [] if text(path) is None else [Knob(path, str(asked))]

    def read_sysctl(self, name: str, asked: int) -> Reading:
        """Read it back."""
        knobs = self.sysctl(name, asked)
        if not knobs:
            return Reading(None, holds=False, why=f"the kernel shows no {name}")
        found = int(text(knobs[0].path) or 0)
        return Reading(found, holds=found == asked)

    def _each(self, below: str) -> list[Path]:
        folders = sorted(self.cpus.glob("cpu[0-9]*"), key=lambda path: int(path.name[3:]))
        return [folder / below for folder in folders if text(folder / below) is not None]

    def _idle_states(self) -> list[tuple[Path, int]]:
        """Each idle state of each processor that is on, and how long leaving it takes (us)."""
        online = set(self.online())
        states = [
            path
            for path in sorted(self.cpus.glob("cpu[0-9]*/cpuidle/state[0-9]*"))
            if int(path.parts[-3][3:]) in online and (path / "disable").exists()
        ]
        return [(state, int(text(state / "latency") or 0)) for state in states]
