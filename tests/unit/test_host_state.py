"""Module host_state of role lab_host: what of a host can move a result."""

import json

import pytest
from tests.role_modules import load

host_state = load("lab_host", "host_state")
lab_host_nic = load("lab_host", "lab_host_nic")


@pytest.fixture
def sys(tmp_path):
    return tmp_path / "sys"


@pytest.fixture
def proc(tmp_path):
    return tmp_path / "proc"


def put(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def model(name):
    return {"field": "Model name:", "data": name}


def lscpu(*rows):
    return json.dumps({"lscpu": list(rows)})


CLUSTERS = [model("Cortex-A55"), model("Cortex-A76"), model("Cortex-A76")]


@pytest.mark.parametrize(
    ("listing", "name"),
    [
        (
            lscpu({"field": "Vendor ID:", "data": "ARM", "children": CLUSTERS}),
            "Cortex-A55, Cortex-A76",
        ),
        (lscpu({"field": "CPU(s):", "data": "4"}, model("Neoverse-N1")), "Neoverse-N1"),
        *((none, None) for none in ("", "{", "{}", lscpu(model("-")))),
    ],
)
def test_a_processor_of_arm_has_the_name_that_lscpu_knows(listing, name):
    """/proc/cpuinfo has none there; the facts of Ansible give a processor's number."""
    assert host_state.processor_model(listing) == name


def test_the_governor_is_that_of_every_processor(sys):
    names = ["performance"] * 3 + ["powersave"] + ["performance"] * 8
    cpus = sys / "devices/system/cpu"
    put(cpus, {f"cpu{n}/cpufreq/scaling_governor": name for n, name in enumerate(names)})
    facts = host_state.governors(cpus)
    assert facts == {"performance": "0-2,4-11", "powersave": "3"}
    assert host_state.governors(sys) == {}


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "0"}, True),
        ({"intel_pstate/no_turbo": "1", "cpufreq/boost": "1"}, False),
        ({"cpufreq/boost": "1"}, True),
        ({"cpufreq/boost": "0"}, False),
        ({}, None),
    ],
)
def test_turbo_is_recognised_by_either_driver(sys, files, turbo):
    put(sys, files)
    assert host_state.turbo(sys) is turbo


def test_microcode_is_read_where_the_kernel_shows_it(sys):
    cpuinfo = "processor\t: 0\nmicrocode\t: 0xfa\n\nprocessor\t: 1\nmicrocode\t: 0xfa\n"
    assert host_state.microcode(sys, cpuinfo) == "0xfa"
    assert host_state.microcode(sys, "CPU implementer\t: 0x41\n") is None
    put(sys, {"cpu0/microcode/version": "0xb1", "cpu1/microcode/version": "0xb0"})
    assert host_state.microcode(sys, cpuinfo) == "0xb0, 0xb1"


def test_the_command_line_names_no_place_and_no_secret():
    line = (
        "BOOT_IMAGE=/boot/vmlinuz-6.12 root=UUID=3f9a ro quiet isolcpus=nohz,domain,1-3 "
        "ip=192.0.2.11::192.0.2.1:255.255.255.0 mitigations=off rd.luks.uuid=ab12 "
        "ds=nocloud-net;s=https://me@host/ apitoken=abc -- --addr 192.0.2.11 secret"
    )
    assert host_state.command_line(line) == (
        "BOOT_IMAGE=... root=UUID=3f9a ro quiet isolcpus=nohz,domain,1-3 "
        "ip=... mitigations=off rd.luks.uuid=... ds=... apitoken=..."
    )
    assert host_state.command_line(None) is None


def test_the_test_interface_is_the_one_with_all_addresses():
    both = ["198.18.0.10", "2001:2:0:1::10"]
    four, six = ({"local": address} for address in both)
    listing = [
        {"ifname": "lo", "addr_info": [four, six]},
        {"ifname": "eth0", "addr_info": [four]},
        {"ifname": "eth1", "addr_info": [four, six]},
        {"ifname": "eth2"},
    ]
    assert host_state.interface_with(listing, both) == "eth1"
    assert host_state.interface_with(listing, both[:1]) == "eth0"
    assert host_state.interface_with(listing, ["192.0.2.1"]) == ""
    assert host_state.interface_with(listing, []) == ""


def test_what_a_host_shows_is_kept_and_all_else_is_null(sys, proc):
    facts = host_state.state(["net.core.rmem_max"], "", sys, proc)
    kept = {"cpu_model", "cpu_count", "governors", "mitigations", "sysctls"}
    assert {name for name, value in facts.items() if value is not None} == kept
    assert facts["sysctls"] == {"net.core.rmem_max": None}
    put(sys / "devices/system/cpu", {"smt/control": "on"})
    vulnerabilities = {"l1tf": "Not affected", "meltdown": "Mitigation: PTI"}
    put(sys / "devices/system/cpu/vulnerabilities", vulnerabilities)
    put(proc / "sys/net", {"core/rmem_max": "212992", "ipv4/udp_mem": "1\t2\t3"})
    put(proc, {"self/status": "Name:\tx\nCpus_allowed_list:\t0-2,8", "cmdline": "ro quiet"})
    names = ["net.core.rmem_max", "net.ipv4.udp_mem", "net.core.busy_poll"]
    facts = host_state.state(names, "", sys, proc)
    wanted = {
        "smt": "on",
        "mitigations": vulnerabilities,
        "sysctls": dict(zip(names, ["212992", "1 2 3", None], strict=True)),
        "cpus_allowed": "0-2,8",
        "processors": 4,
        "command_line": "ro quiet",
    }
    assert facts.items() >= wanted.items()


UNIT = "system.slice/kea.service"
TWO, OF_CPU = {f"{UNIT}/cpu.max": "200000 100000"}, ("cpu.cfs_quota_us", "cpu.cfs_period_us")


@pytest.mark.parametrize(
    ("files", "group", "limit"),
    [
        ({"cpu.max": "5000 10000"}, "0::/", 0.5),
        ({"cpu.max": "max 100000"}, "0::/", None),
        (TWO, f"1:name=a:/b\n0::/{UNIT}", 2.0),
        ({**TWO, "system.slice/cpu.max": "100000 100000"}, f"0::/{UNIT}", 1.0),
        ({f"cpu/{OF_CPU[0]}": "15000", f"cpu/{OF_CPU[1]}": "10000"}, "", 1.5),
        (
            {f"cpu/a/{OF_CPU[0]}": "50000", f"cpu/a/{OF_CPU[1]}": "100000"},
            *("4:cpu,cpuacct:/a", 0.5),
        ),
        ({}, "", None),
    ],
)
def test_the_least_quota_of_either_version_of_cgroups_is_read(sys, proc, files, group, limit):
    put(sys / "fs/cgroup", files)
    put(proc, {"self/cgroup": group})
    assert host_state.state([], "", sys, proc).get("cpu_limit") == limit


def test_offloads_are_those_that_are_on_or_can_be():
    names = ["on", "off", "never", "fixed on", ""] + [f"f{number}" for number in range(28)]
    first = (0b00011, 0, 0b01001, 0b01100)
    offloads = {"on": True, "off": False, "fixed on": True, "f27": True}
    assert lab_host_nic.features(names, [first, (0b1, 0, 0b1, 0)]) == offloads


def test_the_kernel_is_asked_what_the_loopback_interface_is():
    """The real requests, to the one interface that every machine has."""
    facts = lab_host_nic.nic("lo")
    assert facts["mtu"] == 65536
    assert facts["offloads"]["tx-checksum-ip-generic"] is True
    assert (facts["rings"], facts["speed_mbps"], facts["firmware"]) == (None, None, None)


def test_link_and_firmware_are_read_as_the_kernel_has_them(sys):
    device = {"speed": 10000, "duplex": "full", "mtu": 9000, "device/numa_node": 1}
    wanted = {"speed_mbps": 10000, "duplex": "full", "mtu": 9000, "numa_node": 1}
    put(sys / "class/net/eth1", device)
    assert lab_host_nic.nic("eth1", sys).items() >= wanted.items()
    put(sys / "class/net/eth1", {"speed": "-1", "duplex": "unknown", "device/numa_node": "-1"})
    unknown = dict.fromkeys(("speed_mbps", "duplex", "numa_node"))
    assert lab_host_nic.nic("eth1", sys).items() >= unknown.items()
