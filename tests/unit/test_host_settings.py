"""Module host_settings of role host_tuning: what it sets, verifies and restores."""

import json

import pytest
from tests.role_modules import load

knobs = load("host_tuning", "host_tuning_knobs")
systemd = load("host_tuning", "host_tuning_systemd")
host_settings = load("host_tuning", "host_settings")

NOTHING = {
    "smt": "",
    "turbo": "",
    "governor": "",
    "idle_latency_us": -1,
    "interrupts": False,
    "interface": "eth1",
    "interrupt_cpus": "",
    "housekeeping_cpus": "",
    "timers": [],
    "services": [],
    "sysctls": {},
}


class Machine:
    """A host of four processors and a card with three interrupts, as files."""

    def __init__(self, root):
        self.root, self.sysctl_file = root, root / "sysctl.d" / "99.conf"
        self.host = knobs.Host(root / "sys", root / "proc")
        cpus = "sys/devices/system/cpu"
        self.put({f"{cpus}/online": "0-3", f"{cpus}/smt/control": "on"})
        self.put({f"{cpus}/intel_pstate/no_turbo": "0"})
        for cpu in range(4):
            self.put({f"{cpus}/cpu{cpu}/cpufreq/scaling_governor": "powersave"})
            for state, latency in enumerate((0, 2, 10, 133)):
                place = f"{cpus}/cpu{cpu}/cpuidle/state{state}"
                self.put({f"{place}/latency": latency, f"{place}/disable": 0})
        for line in (40, 41, 42, 9):
            self.put({f"proc/irq/{line}/smp_affinity_list": "0-3"})
        for line in (40, 41, 42):
            self.put({f"sys/class/net/eth1/device/msi_irqs/{line}": "msix"})
        self.put({"proc/sys/net/core/rmem_max": "212992"})

    def put(self, files):
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")

    def read(self):
        """Every file but the note of what was there before."""
        files = (path for part in ("sys", "proc") for path in (self.root / part).rglob("*"))
        return {
            str(path.relative_to(self.root)): path.read_text().strip()
            for path in files
            if path.is_file()
        }

    def tuning(self, *, dry=False, **asked):
        ledger = host_settings.Ledger(self.root / "run")
        asked = {**NOTHING, **asked}
        return host_settings.Tuning(self.host, asked, ledger, self.sysctl_file, dry=dry)

    def tune(self, **asked):
        tuning = self.tuning(**asked)
        tuning.present()
        return tuning

    def record(self, **asked):
        return host_settings.recorded(self.tuning(**asked).readings(), {})


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


ALL = {
    "smt": "off",
    "turbo": "off",
    "governor": "performance",
    "idle_latency_us": 20,
    "interrupts": True,
}


def changed(machine, before):
    return {name: now for name, now in machine.read().items() if before[name] != now}


def test_what_is_asked_for_is_set_and_read_back(machine):
    before = machine.read()
    tuning = machine.tune(**ALL)
    assert tuning.changed
    cpus = "sys/devices/system/cpu"
    assert changed(machine, before) == {
        f"{cpus}/smt/control": "off",
        f"{cpus}/intel_pstate/no_turbo": "1",
        **{f"{cpus}/cpu{cpu}/cpufreq/scaling_governor": "performance" for cpu in range(4)},
        **{f"{cpus}/cpu{cpu}/cpuidle/state3/disable": "1" for cpu in range(4)},
        "proc/irq/40/smp_affinity_list": "0",
        "proc/irq/41/smp_affinity_list": "1",
        "proc/irq/42/smp_affinity_list": "2",
    }
    assert machine.record(**ALL) == {
        "smt": {"asked": "off", "found": "off", "why": None},
        "turbo": {"asked": "off", "found": "off", "why": None},
        "governor": {"asked": "performance", "found": "performance", "why": None},
        "idle_latency_us": {"asked": 20, "found": 10, "why": None},
        "interrupts": {"asked": ["0", "1", "2"], "found": ["0", "1", "2"], "why": None},
    }


def test_a_governor_that_the_kernel_does_not_have_is_named_with_those_that_it_has(machine):
    cpus = "sys/devices/system/cpu"
    for cpu in range(4):
        place = f"{cpus}/cpu{cpu}/cpufreq/scaling_available_governors"
        machine.put({place: "performance powersave"})
    (result,) = machine.record(governor="schedutil").values()
    assert result["found"] == "powersave"
    assert result["why"] == (
        "the kernel has no governor schedutil here, but performance powersave"
    )
    assert machine.record(governor="powersave")["governor"]["why"] is None


def test_a_second_time_changes_nothing(machine):
    machine.tune(**ALL)
    before = machine.read()
    tuning = machine.tune(**ALL)
    assert not tuning.changed
    assert machine.read() == before


def test_everything_is_restored(machine):
    before = machine.read()
    machine.tune(**ALL)
    machine.tune(**{**ALL, "governor": "schedutil"})  # what was there first is what counts
    tuning = machine.tuning()
    tuning.restore()
    assert tuning.changed
    assert machine.read() == before
    again = machine.tuning()
    again.restore()
    assert not again.changed


def test_what_is_no_longer_asked_for_is_restored(machine):
    before = machine.read()
    machine.tune(**ALL)
    machine.tune(smt="off", idle_latency_us=200)
    assert changed(machine, before) == {"sys/devices/system/cpu/smt/control": "off"}
    machine.tune()
    assert machine.read() == before


def test_what_the_kernel_refuses_to_have_back_is_restored_later(machine, monkeypatch):
    """As the governor of a processor that is off: its file is there, and busy."""
    before, path = machine.read(), knobs.Path
    write = path.write_text
    governor = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"

    def busy(place, *given, **how):
        if str(place).endswith(governor):
            raise OSError(16, "Device or resource busy")
        return write(place, *given, **how)

    machine.tune(governor="performance")
    with monkeypatch.context() as patched:
        patched.setattr(path, "write_text", busy)
        machine.tune()
    assert changed(machine, before) == {governor: "performance"}
    machine.tune()
    assert machine.read() == before


def test_check_mode_says_that_it_would_change_and_does_not(machine):
    before = machine.read()
    tuning = machine.tuning(dry=True, **ALL)
    tuning.present()
    assert tuning.changed
    assert machine.read() == before
    assert not (machine.root / "run").exists()


def test_a_host_without_a_setting_says_so_and_is_left_alone(tmp_path):
    bare = Machine.__new__(Machine)
    bare.root, bare.sysctl_file = tmp_path, tmp_path / "sysctl.d" / "99.conf"
    bare.host = knobs.Host(tmp_path / "sys", tmp_path / "proc")
    tuning = bare.tune(**ALL)
    assert not tuning.changed
    record = bare.record(**ALL, sysctls={"backlog_packets": ["net.core.netdev_max_backlog", 9]})
    assert {setting["found"] for setting in record.values()} == {None}
    assert all(setting["why"] for setting in record.values())
    assert set(record) == {*ALL, "backlog_packets"}


@pytest.mark.parametrize("control", ["forceoff", "notsupported", "notimplemented"])
def test_a_processor_without_threads_has_them_off(machine, control):
    machine.put({"sys/devices/system/cpu/smt/control": control})
    tuning = machine.tune(smt="off")
    assert not tuning.changed
    assert machine.record(smt="off")["smt"] == {"asked": "off", "found": control, "why": None}
    assert machine.record(smt="on")["smt"]["why"]


def test_processors_that_differ_are_not_as_asked(machine):
    machine.tune(governor="performance")
    machine.put({"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave"})
    _, reading = machine.tuning(governor="performance").readings()["governor"]
    assert (reading.found, reading.holds) == ("performance, powersave", False)


def test_turbo_of_another_driver(machine):
    (machine.root / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    machine.put({"sys/devices/system/cpu/cpufreq/boost": "1"})
    machine.tune(turbo="off")
    assert machine.read()["sys/devices/system/cpu/cpufreq/boost"] == "0"


def test_interrupts_stay_near_their_card_and_on_processors_that_are_on(machine):
    machine.put({"sys/class/net/eth1/device/local_cpulist": "2-7"})
    assert [knob.asked for knob in machine.host.interrupts("eth1", "")] == ["2", "3", "2"]
    assert [knob.asked for knob in machine.host.interrupts("eth1", "1")] == ["1", "1", "1"]


def test_a_refusal_of_the_kernel_is_noted_and_nothing_is_to_be_restored(machine, monkeypatch):
    def refuse(*_, **__):
        raise OSError(5, "Input/output error")

    path = knobs.Path
    monkeypatch.setattr(path, "write_text", refuse)
    tuning = machine.tuning(interrupts=True)
    monkeypatch.setattr(host_settings.Ledger, "write", lambda _: None)
    tuning.present()
    assert tuning.refused["interrupts"].startswith("the kernel refuses 2 in ")
    assert not tuning.changed
    record = host_settings.recorded(tuning.readings(), tuning.refused)["interrupts"]
    assert record["found"] == ["0-3"] * 3
    assert "Input/output error" in record["why"]


SYSCTLS = {
    "receive_buffer_max_bytes": ["net.core.rmem_max", 4194304],
    "backlog_packets": ["net.core.netdev_max_backlog", 4000],
}


def test_kernel_settings_are_set_and_in_a_file_until_they_are_no_longer_asked_for(machine):
    """Of those that this kernel has."""
    machine.tune(sysctls=SYSCTLS)
    assert machine.read()["proc/sys/net/core/rmem_max"] == "4194304"
    assert machine.sysctl_file.read_text() == "net.core.rmem_max=4194304\n"
    assert machine.sysctl_file.stat().st_mode & 0o777 == 0o644
    assert not machine.tune(sysctls=SYSCTLS).changed
    assert machine.tune().changed
    assert machine.read()["proc/sys/net/core/rmem_max"] == "212992"
    assert not machine.sysctl_file.exists()


def test_a_file_of_kernel_settings_that_was_lost_is_written_again(machine):
    machine.tune(sysctls=SYSCTLS)
    machine.sysctl_file.unlink()
    assert machine.tune(sysctls=SYSCTLS).changed
    assert machine.sysctl_file.exists()
    machine.tuning(dry=True, sysctls=SYSCTLS).restore()
    assert machine.sysctl_file.exists()
    machine.tuning().restore()
    assert not machine.sysctl_file.exists()


def test_a_kernel_setting_of_the_machine_below_is_no_failure(machine, monkeypatch):
    monkeypatch.setattr(host_settings.os, "access", lambda *_: False)
    before = machine.read()
    tuning = machine.tune(sysctls=SYSCTLS)
    assert machine.read() == before
    assert not tuning.changed
    assert not machine.sysctl_file.exists()
    assert "net/core/rmem_max" in tuning.refused["receive_buffer_max_bytes"]


def test_units_that_run_are_stopped_once_and_started_again(machine, monkeypatch):
    states = {"a.timer": "active", "b.timer": "inactive", "c.service": None}
    done = []

    def change(verb, units):
        done.append((verb, units))
        states.update(dict.fromkeys(units, {"start": "active", "stop": "inactive"}[verb]))

    monkeypatch.setattr(systemd, "change_units", change)
    monkeypatch.setattr(
        systemd, "unit_states", lambda units: {unit: states[unit] for unit in units}
    )
    asked = {"timers": ["a.timer", "b.timer"], "services": ["c.service"]}
    dry = machine.tuning(dry=True, **asked)
    dry.present()
    assert (dry.changed, done) == (True, [])
    assert machine.tune(**asked).changed
    assert not machine.tune(**asked).changed
    machine.tune(timers=["b.timer"])
    states["b.timer"] = "active"
    machine.tune(timers=["b.timer"])
    machine.tuning().restore()
    assert done == [
        ("stop", ["a.timer"]),
        ("start", ["a.timer"]),
        ("stop", ["b.timer"]),
        ("start", ["b.timer"]),
    ]


def test_a_unit_that_does_not_stop_is_named_and_known_to_the_next_restore(
    machine, monkeypatch, tmp_path
):
    """The program is one that notes its arguments and refuses to stop."""
    program = tmp_path / "systemctl"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >>{tmp_path}/called\n'
        "case $1 in show) echo LoadState=loaded; echo ActiveState=active ;;\n"
        "  stop) echo Access denied >&2; exit 4 ;; esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(systemd, "is_there", lambda: True)
    with pytest.raises(OSError, match=r"systemctl stop a\.timer: Access denied"):
        machine.tune(timers=["a.timer"])
    machine.tuning().restore()
    assert (tmp_path / "called").read_text().splitlines()[-1] == "start a.timer"


def test_states_of_units_are_read_in_the_order_in_which_they_were_asked_for():
    listing = """\
LoadState=loaded
ActiveState=active

LoadState=not-found
ActiveState=inactive

LoadState=loaded
ActiveState=failed
"""
    assert systemd.parse_units(["a.timer", "b.timer", "c.service"], listing) == {
        "a.timer": "active",
        "b.timer": None,
        "c.service": "failed",
    }


def test_units_that_may_work_at_any_moment_are_running(monkeypatch):
    states = {"a.timer": "active", "b.timer": "failed", "c.service": None}
    monkeypatch.setattr(systemd, "is_there", lambda: True)
    monkeypatch.setattr(systemd, "unit_states", lambda _: states)
    reading = systemd.read_units(list(states))
    assert reading.found == {"a.timer": "running", "b.timer": "stopped", "c.service": None}
    assert not reading.holds
    states["a.timer"] = "inactive"
    assert systemd.read_units(list(states)).holds


@pytest.mark.parametrize(
    ("housekeeping", "online", "parts"),
    [
        ("0", [0, 1, 2, 3], ("0", "1,2,3")),
        ("0-1,5", [0, 1, 2, 3], ("0,1", "2,3")),
        ("0-3", [0, 1, 2, 3], None),
        ("7", [0, 1], None),
    ],
)
def test_sessions_get_the_processors_that_the_system_does_not(housekeeping, online, parts):
    result = systemd.slices(housekeeping, online)
    if parts is None:
        assert result == {}
    else:
        system, user = parts
        assert result == {"init.scope": system, "system.slice": system, "user.slice": user}


def test_slices_are_set_once_and_restored(machine, monkeypatch):
    allowed = {"init.scope": "", "system.slice": "0-3", "user.slice": ""}
    now = dict(allowed)
    monkeypatch.setattr(systemd, "allowed_cpus", now.__getitem__)
    monkeypatch.setattr(systemd, "allow_cpus", now.__setitem__)
    monkeypatch.setattr(
        systemd,
        "read_slices",
        lambda cpus, online: knobs.Reading(now, now == systemd.slices(cpus, online)),
    )
    machine.tune(housekeeping_cpus="0")
    assert now == {"init.scope": "0", "system.slice": "0", "user.slice": "1,2,3"}
    tuning = machine.tune(housekeeping_cpus="0")
    assert not tuning.changed
    machine.tuning().restore()
    assert now == allowed


def test_a_host_without_systemd_has_neither_units_nor_slices(monkeypatch):
    monkeypatch.setattr(systemd, "is_there", lambda: False)
    assert systemd.read_units(["a.timer"]).found is None
    assert systemd.read_slices("0", [0, 1]).why == "the host is not managed by systemd"
    assert systemd.unit_states(["a.timer"]) == {"a.timer": None}


@pytest.fixture
def module(monkeypatch, tmp_path):
    """Run the whole module as Ansible would; return what it says."""
    machine = Machine(tmp_path)
    monkeypatch.setattr(host_settings, "Host", lambda: machine.host)

    def run(**parameters):
        class Ended(Exception):  # noqa: N818  # how a module ends
            pass

        class Module:
            check_mode = False

            def __init__(self, argument_spec, supports_check_mode):
                assert supports_check_mode
                defaults = {name: spec.get("default") for name, spec in argument_spec.items()}
                places = {
                    "folder": str(tmp_path / "run"),
                    "sysctl_file": str(machine.sysctl_file),
                }
                self.params = {**defaults, **places, **json.loads(json.dumps(parameters))}

            def exit_json(self, **result):
                raise Ended(result)

            def fail_json(self, msg):
                raise AssertionError(msg)

        monkeypatch.setattr(host_settings, "AnsibleModule", Module)
        with pytest.raises(Ended) as ended:
            host_settings.main()
        return machine, ended.value.args[0]

    return run


def test_what_is_required_and_not_there_is_said_before_anything_is_changed(module):
    settings = {**NOTHING, "governor": "performance", "interrupts": True, "interface": "eth7"}
    machine, said = module(state="present", settings=settings, required=["interrupts"])
    assert said["lacking"] == ["interrupts"]
    assert not said["changed"]
    assert "powersave" in machine.read()["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"]


def test_what_the_kernel_refused_is_known_where_it_is_only_read(module, monkeypatch):
    """A verb may be played by itself: `--tags verify` sets nothing."""
    monkeypatch.setattr(host_settings.os, "access", lambda *_: False)
    asked = {"receive_buffer_max_bytes": ["net.core.rmem_max", 4194304]}
    settings = {**NOTHING, "sysctls": asked}
    _, said = module(state="read", settings=settings)
    assert said["missed"] == ["receive_buffer_max_bytes"]
    module(state="present", settings=settings)
    _, said = module(state="read", settings=settings)
    assert said["missed"] == []
    assert "net/core/rmem_max" in said["record"]["receive_buffer_max_bytes"]["why"]


def test_what_the_host_has_and_does_not_keep_is_missed(module):
    settings = {**NOTHING, "governor": "performance", "smt": "off"}
    module(state="present", settings=settings)
    machine, said = module(state="read", settings=settings)
    assert said["missed"] == []
    machine.put({"sys/devices/system/cpu/smt/control": "on"})
    _, said = module(state="read", settings=settings)
    assert (said["missed"], said["changed"]) == (["smt"], False)
    _, said = module(state="restored")
    assert said == {"changed": True}
    assert not (machine.root / "run").exists()
    _, said = module(state="restored")
    assert said == {"changed": False}
