"""A host in words: what a terminal and a sweep's page show of it."""

from msgspec.structs import replace
from tests.examples import example_result

from leaselab.model.host import Host, Nic
from leaselab.report.facts import facts, host_lines

HOST = example_result().bench.hosts["server"]


def lines(**changes):
    return dict(host_lines("server", replace(HOST, **changes)))


def test_processor_kernel_card_and_tuning_have_a_line_each():
    reported = lines()
    assert reported["server CPU"] == (
        "SMT off, turbo off, microcode 0xfa, clock source tsc, "
        "weaknesses: 1 mitigation + 1 not affected"
    )
    assert reported["server boot"] == "root=... ro quiet"
    assert reported["server NIC"] == (
        "ixgbe, firmware 0x80000528, 10000 Mbit/s, full duplex, MTU 1500, rings rx 512 tx 512, "
        "channels combined 6, rx-gro on, tx-udp-segmentation off, rmem_default 4194304"
    )
    assert reported["server tuning"] == (
        "governor performance, timers 1 on stopped, interrupts on 0 1, turbo not available"
    )
    several = lines(governors={"performance": "0-3", "powersave": "4"})["server CPU"]
    assert several.startswith("performance on 0-3, powersave on 4, SMT off")


def test_a_result_without_these_fields_has_the_first_line_alone():
    first = ("kernel", "cpu_model", "cpus_allowed", "memory_bytes", "governor", "os")
    old = Host(**{name: getattr(HOST, name) for name in first})
    assert [label for label, _ in host_lines("server", old)] == ["server host"]
    nothing = Host(nic=Nic(driver="veth"))
    assert list(host_lines("server", nothing)) == [("server NIC", "veth")]


def test_a_result_shows_them_for_each_host(tmp_path):
    labels = [label for label, _ in facts(example_result(), tmp_path)]
    assert {"server NIC", "generator NIC", "server tuning", "generator tuning"} <= set(labels)
