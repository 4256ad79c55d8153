"""Module host_settings of role host_tuning; tests/hosts plays it on a host's own files."""

import pytest
from tests.role_modules import ended, load

knobs = load("host_tuning", "host_tuning_knobs")
systemd = load("host_tuning", "host_tuning_systemd")
host_settings = load("host_tuning", "host_settings")

CPUS = "sys/devices/system/cpu"
SYSTEMCTL = """#!/bin/sh
cd {0}/units; echo "$*" >> ../called
case "$1 $2" in
    "show --property=AllowedCPUs") cat "$4.cpus" 2> /dev/null || : ;;
    show*) shift 2; for unit; do
        echo LoadState=$(test -e $unit && echo loaded || echo not-found)
        echo ActiveState=$(cat $unit 2> /dev/null || echo inactive); echo
    done ;;
    set-property*) echo ${{4#AllowedCPUs=}} > "$3.cpus" ;;
    start*) shift; for unit; do echo active > $unit; done ;;
    stop*) shift; [ ! -e ../refuse ] || {{ echo Access denied >&2; exit 4; }}
        for unit; do echo inactive > $unit; done ;;
esac
"""
EACH = {f"{CPUS}/cpu{cpu}": cpu for cpu in range(4)}
ALL = {
    "smt": "off",
    "turbo": "off",
    "governor": "performance",
    "idle_latency_us": 20,
    "interrupts": True,
}
SYSCTLS = {
    "receive_buffer_max_bytes": ["net.core.rmem_max", 4194304],
    "backlog_packets": ["net.core.netdev_max_backlog", 4000],
}


class Machine:
    """A host of four processors and a card with three interrupts, as files."""

    def __init__(self, root, patch):
        self.root, self.sysctl_file = root, root / "sysctl.d" / "99.conf"
        patch.setattr(host_settings, "Host", lambda: self.host)
        patch.setenv("PATH", str(root), prepend=":")
        patch.setattr(systemd, "is_there", lambda: True)
        (root / "units").mkdir()
        (root / "systemctl").write_text(SYSTEMCTL.format(root))
        (root / "systemctl").chmod(0o755)
        self.host = knobs.Host(root / "sys", root / "proc")

    def furnish(self):
        self.put({f"{CPUS}/online": "0-3", f"{CPUS}/smt/control": "on"})
        self.put({f"{CPUS}/intel_pstate/no_turbo": "0", "proc/sys/net/core/rmem_max": "212992"})
        self.put(
            dict.fromkeys((f"{cpu}/cpufreq/scaling_governor" for cpu in EACH), "powersave")
        )
        for state, latency in enumerate((0, 2, 10, 133)):
            for cpu in EACH:
                place = f"{cpu}/cpuidle/state{state}"
                self.put({f"{place}/latency": latency, f"{place}/disable": 0})
        self.put({f"proc/irq/{line}/smp_affinity_list": "0-3" for line in (40, 41, 42, 9)})
        self.put({f"sys/class/net/eth1/device/msi_irqs/{line}": "" for line in (40, 41, 42)})
        return self

    def put(self, files):
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")

    def read(self):
        """Every file of the kernel."""
        files = (path for part in ("sys", "proc") for path in (self.root / part).rglob("*"))
        return {
            str(path.relative_to(self.root)): path.read_text().strip()
            for path in files
            if path.is_file()
        }

    def play(self, state="present", required=(), **asked):
        places = {"folder": str(self.root / "run"), "sysctl_file": str(self.sysctl_file)}
        settings = {"interface": "eth1", **asked}
        how = {"settings": settings, "required": list(required), "state": state, **places}
        return ended(host_settings, **how)

    def record(self, **asked):
        return self.play("read", **asked)["record"]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch).furnish()


def changed(machine, before):
    return {name: now for name, now in machine.read().items() if before[name] != now}


def test_what_is_asked_for_is_set_read_back_and_restored(machine):
    before = machine.read()
    assert machine.play(**ALL)["changed"]
    assert changed(machine, before) == {
        f"{CPUS}/smt/control": "off",
        f"{CPUS}/intel_pstate/no_turbo": "1",
        **{f"{cpu}/cpufreq/scaling_governor": "performance" for cpu in EACH},
        **{f"{cpu}/cpuidle/state3/disable": "1" for cpu in EACH},
        **{f"proc/irq/4{number}/smp_affinity_list": str(number) for number in range(3)},
    }
    there = {**ALL, "idle_latency_us": 10, "interrupts": ["0", "1", "2"]}
    record = machine.record(**ALL)
    assert {name: item["found"] for name, item in record.items()} == there
    assert {item["why"] for item in record.values()} == {None}
    machine.play(**{**ALL, "governor": "schedutil"})  # what was there first is what counts
    machine.play(smt="off", idle_latency_us=200)
    assert changed(machine, before) == {f"{CPUS}/smt/control": "off"}
    assert machine.play("restored") == {"changed": True}
    assert machine.read() == before
    assert machine.play("restored") == {"changed": False}
    assert not (machine.root / "run").exists()


def test_what_the_kernel_refuses_to_have_back_is_restored_later(machine, monkeypatch):
    """As the governor of a processor that is off: its file is there, and busy."""
    before, write = machine.read(), knobs.Path.write_text
    governor = f"{CPUS}/cpu1/cpufreq/scaling_governor"
    busy = []

    def written(place, *given, **how):
        if busy and str(place).endswith(governor):
            raise OSError(16, "Device or resource busy")
        return write(place, *given, **how)

    monkeypatch.setattr(knobs.Path, "write_text", written)
    busy.append(governor)
    machine.play(governor="performance")
    why = machine.record(governor="performance")["governor"]["why"]
    assert "resource busy" in why
    busy.clear()
    machine.play(governor="performance")
    busy.append(governor)
    machine.play()
    assert changed(machine, before) == {governor: "performance"}
    busy.clear()
    machine.play()
    assert machine.read() == before


def test_a_host_without_a_setting_says_so_and_is_left_alone(tmp_path, monkeypatch):
    bare = Machine(tmp_path, monkeypatch)
    assert not bare.play(**ALL, sysctls=SYSCTLS)["changed"]
    record = bare.record(**ALL, sysctls=SYSCTLS)
    assert {name: item["found"] for name, item in record.items()} == dict.fromkeys(
        ALL | SYSCTLS
    )
    assert all(item["why"] for item in record.values())


def smt(word, asked, why=""):
    return {f"{CPUS}/smt/control": word}, {"smt": asked}, word, why


@pytest.mark.parametrize(
    ("files", "asked", "there", "why"),
    [
        *(smt(word, "off") for word in ("forceoff", "notsupported", "notimplemented")),
        smt("notsupported", "on", "one thread a core"),
        (
            {f"{cpu}/cpufreq/scaling_available_governors": "performance" for cpu in EACH},
            *({"governor": "schedutil"}, "powersave", "but performance"),
        ),
        (
            {f"{CPUS}/cpu2/cpufreq/scaling_governor": "performance"},
            *({"governor": "performance"}, "performance, powersave", ""),
        ),
    ],
)
def test_a_setting_is_recorded_as_it_is(machine, files, asked, there, why):
    machine.put(files)
    said = machine.play("read", **asked)
    (record,) = said["record"].values()
    assert (record["found"], bool(record["why"])) == (there, bool(why))
    assert why in (record["why"] or "")
    assert said["missed"] == (["governor"] if there == "performance, powersave" else [])
    lacking = machine.play(required=list(asked), **asked)["lacking"]
    assert lacking == (list(asked) if why else [])


def test_turbo_of_another_driver_and_interrupts_of_processors_near_the_card(machine):
    """Of those that are on."""
    (machine.root / CPUS / "intel_pstate/no_turbo").unlink()
    machine.put({f"{CPUS}/cpufreq/boost": "1"})
    machine.play(turbo="off")
    assert machine.read()[f"{CPUS}/cpufreq/boost"] == "0"
    machine.put({"sys/class/net/eth1/device/local_cpulist": "2-7"})
    for chosen, asked in (("", ["2", "3", "2"]), ("1", ["1", "1", "1"])):
        assert [knob.asked for knob in machine.host.interrupts("eth1", chosen)] == asked


def test_what_is_required_and_not_there_keeps_all_as_it_was_and_what_is_lost_is_missed(machine):
    before = machine.read()
    said = machine.play(required=["interrupts"], **{**ALL, "interface": "eth7"})
    assert (said["lacking"], said["changed"]) == (["interrupts"], False)
    assert machine.read() == before
    machine.play(governor="performance", smt="off")
    machine.put({f"{CPUS}/smt/control": "on"})
    said = machine.play("read", governor="performance", smt="off")
    assert (said["missed"], said["changed"]) == (["smt"], False)


def test_kernel_settings_are_set_and_in_a_file_until_they_are_no_longer_asked_for(machine):
    """Of those that this kernel has."""
    for _ in range(2):
        assert machine.play(sysctls=SYSCTLS)["changed"]
        assert machine.read()["proc/sys/net/core/rmem_max"] == "4194304"
        assert machine.sysctl_file.read_text() == "net.core.rmem_max=4194304\n"
        assert machine.sysctl_file.stat().st_mode & 0o777 == 0o644
        assert not machine.play(sysctls=SYSCTLS)["changed"]
        machine.sysctl_file.unlink()
    machine.play(sysctls=SYSCTLS)
    assert machine.play()["changed"]
    assert machine.read()["proc/sys/net/core/rmem_max"] == "212992"
    assert not machine.sysctl_file.exists()


def test_a_kernel_setting_of_the_machine_below_is_no_failure(machine, monkeypatch):
    """Known also where it is only read: `--tags verify` sets nothing."""
    monkeypatch.setattr(host_settings.os, "access", lambda *_: False)
    before = machine.read()
    asked = {"sysctls": {"receive_buffer_max_bytes": SYSCTLS["receive_buffer_max_bytes"]}}
    assert machine.play("read", **asked)["missed"] == [*asked["sysctls"]]
    assert not machine.play(**asked)["changed"]
    assert machine.read() == before
    assert not machine.sysctl_file.exists()
    said = machine.play("read", **asked)
    assert said["missed"] == []
    assert "net/core/rmem_max" in said["record"]["receive_buffer_max_bytes"]["why"]


def test_units_that_run_are_stopped_once_and_started_again(machine):
    machine.put({"units/a.timer": "active", "units/b.timer": "failed"})
    asked = {"timers": ["a.timer", "b.timer"], "services": ["c.service"]}
    read = machine.record(**asked)
    assert read["timers"]["found"] == {"a.timer": "running", "b.timer": "stopped"}
    assert read["services"]["found"] == {"c.service": None}
    assert machine.play("read", **asked)["missed"] == ["timers"]
    assert machine.play(**asked)["changed"]
    assert not machine.play(**asked)["changed"]
    machine.play(timers=["b.timer"])
    machine.put({"units/b.timer": "active", "refuse": ""})
    said = machine.play(timers=["b.timer"])
    assert (said["failed"], "Access denied" in said["msg"]) == (True, True)
    machine.play("restored")
    called = (machine.root / "called").read_text().splitlines()
    acts = [line for line in called if not line.startswith("show")]
    assert acts == ["stop a.timer", "start a.timer", "stop b.timer", "start b.timer"]


@pytest.mark.parametrize(
    ("housekeeping", "online", "parts"),
    [
        ("0", 4, ("0", "1,2,3")),
        ("0-1,5", 4, ("0,1", "2,3")),
        *((cpus, online, None) for cpus, online in (("0-3", 4), ("7", 2))),
    ],
)
def test_sessions_get_the_processors_that_the_system_does_not(housekeeping, online, parts):
    system, user = parts or ("", "")
    wanted = {"init.scope": system, "system.slice": system, "user.slice": user}
    made = systemd.slices(housekeeping, [*range(online)])
    assert made == (wanted if parts else {})


def test_slices_are_set_once_and_restored(machine, monkeypatch):
    units = ("init.scope", "system.slice", "user.slice")
    machine.put({"units/system.slice.cpus": "0-3"})

    def now(*_):
        return [systemd.allowed_cpus(unit) for unit in units]

    def read_slices(cpus, online):
        return knobs.Reading(now(), now() == [*systemd.slices(cpus, online).values()])

    monkeypatch.setattr(systemd, "read_slices", read_slices)
    machine.play(housekeeping_cpus="0")
    assert now() == ["0", "0", "1,2,3"]
    assert not machine.play(housekeeping_cpus="0")["changed"]
    machine.play("restored")
    assert now() == ["", "0-3", ""]


def test_a_host_without_systemd_has_neither_units_nor_slices(monkeypatch):
    monkeypatch.setattr(systemd, "is_there", lambda: False)
    assert systemd.read_units(["a.timer"]).found is None
    assert systemd.read_slices("0", [0, 1]).why
    assert systemd.unit_states(["a.timer"]) == {"a.timer": None}
