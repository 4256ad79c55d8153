"""What role guest_lab computes, and what its program writes for a machine."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from tests.role_modules import ROLES, load, load_file
from tests.waiting import until

filters = load("guest_lab", "guest_lab")
program = load_file("guest_lab_program", ROLES / "guest_lab/files/guest_lab")


ADDRESSES = [f"leaselab_test_address{which}" for which in ("", "6", "_2", "6_2")]


def host(name, part, *addresses):
    """A host of a lab: its addresses, and those of its second place."""
    return {
        "inventory_hostname": name,
        "group_names": ["bench", part],
        "ansible_host": "127.0.0.1",
        "ansible_port": 22051,
        "leaselab_test_subnet": "198.18.0.0/24",
        "leaselab_test_subnet6": "2001:2:0:1::/64",
        **dict(zip(ADDRESSES, addresses, strict=False)),
    }


SERVER = ("198.18.0.10", "2001:2:0:1::10", "198.18.0.11", "2001:2:0:1::11")
HOSTS = [
    host("a-builder", "builder"),
    host("b-generator", "dhcp_generator", "198.18.0.30", "2001:2:0:1::30"),
    host("c-server", "dhcp_server", *SERVER),
]


def machines(cpus="0-3", chosen=None):
    made = filters.guest_lab_machines(HOSTS, "172.31.88.0/24", "/keys", cpus, chosen or {})
    return {row["name"]: row for row in made}


def test_only_what_is_measured_is_on_the_test_network():
    made = machines()
    assert made["a-builder"]["networks"] == {"management": ["172.31.88.11/24"]}
    assert made["c-server"]["networks"] == {
        "management": ["172.31.88.13/24"],
        # A second place is no address of this one: role lab_host makes its device.
        "test": ["198.18.0.10/24", "2001:2:0:1::10/64"],
    }


@pytest.mark.parametrize(("cpus", "every"), [("0-1", "0,1"), ("0-2", "0,1,2"), ("2,5", "2,5")])
def test_the_generator_shares_its_processor_with_no_server_and_a_builder_has_all(cpus, every):
    made = machines(cpus)
    assert made["b-generator"]["cpus"] == every[-1]
    assert made["c-server"]["cpus"] == every[0]
    assert made["a-builder"]["cpus"] == every


def test_one_processor_is_everybodys_and_a_chosen_one_is_taken():
    assert {machine["cpus"] for machine in machines("0").values()} == {"0"}
    assert machines(chosen={"dhcp_server": "0-1"})["c-server"]["cpus"] == "0-1"
    with pytest.raises(AnsibleFilterError, match="no part server"):
        machines(chosen={"server": "0"})


@pytest.fixture(params=program.KINDS)
def lab(request):
    """A lab of each kind."""
    return program.KINDS[request.param](request.param)


def identity_of(lab, folder):
    """The files that make the server of a lab, by path: mode and content."""
    server = {**machines()["c-server"], "host_key": str(folder / "host")}
    (folder / "host").write_text("private", encoding="utf-8")
    spec = {"client_key": "public\n", "name_server": "172.31.88.3", "gateway": "172.31.88.2"}
    with tarfile.open(fileobj=io.BytesIO(lab.identity(spec, server))) as tar:
        return {
            member.name: (member.mode, tar.extractfile(member).read().decode())
            for member in tar
        }


def test_a_guest_finds_its_name_and_keys_in_a_tar(lab, tmp_path):
    by_name = identity_of(lab, tmp_path)
    assert by_name["etc/hostname"] == (0o644, "c-server\n")
    assert by_name[lab.host_key] == (0o600, "private")
    assert by_name[lab.client_keys] == (0o644, "public\n")


def test_a_machine_finds_its_addresses_in_a_tar(tmp_path):
    by_name = identity_of(program.Machines("vm"), tmp_path)
    test = by_name["etc/systemd/network/test.network"][1]
    assert "Address=198.18.0.10/24\n" in test
    assert "Address=2001:2:0:1::10/64\n" in test
    assert "\n[Network]\nIPv6AcceptRA=no\n" in test
    assert not [word for word in ("Gateway", "DHCP", "Route") if word in test]
    assert "Gateway=172.31.88.2\n" in by_name["etc/systemd/network/management.network"][1]


def test_no_two_kinds_share_a_place_and_no_two_interfaces_an_address_or_a_port():
    labs = [kind(name) for name, kind in program.KINDS.items()]
    for part in ("run", "state", "namespace"):
        assert len({str(getattr(lab, part)) for lab in labs}) == len(labs)
    pairs = [
        (program.mac_of(machine, network), program.port_of(machine, network))
        for machine in machines().values()
        for network in machine["networks"]
    ]
    assert len({mac for mac, _ in pairs}) == len({port for _, port in pairs}) == len(pairs)
    assert all(len(port) < 16 for _, port in pairs)


def test_a_management_network_that_hides_one_of_this_machine_is_refused(monkeypatch):
    routes = [{"dst": "default", "dev": "eth0"}, {"dst": "172.31.0.0/16", "dev": "tun0"}]
    monkeypatch.setattr(program, "run", lambda *_: json.dumps(routes))
    program.refuse_taken("192.168.187.0/24")
    with pytest.raises(program.BrokenError, match=r"172\.31\.0\.0/16 over tun0"):
        program.refuse_taken("172.31.88.0/24")


def test_only_a_process_that_is_still_the_same_is_ended(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as asleep:
        (tmp_path / "pid").write_text(str(asleep.pid), encoding="ascii")
        until(
            lambda: program.read_pid(tmp_path / "pid", "sleep"), lambda pid: pid == asleep.pid
        )
        assert program.read_pid(tmp_path / "pid", "umid=server") is None
        program.kill(asleep.pid)
    assert program.read_pid(tmp_path / "none", "sleep") is None


def test_a_process_that_executes_other_programs_is_known_all_the_time(tmp_path):
    script = 'test "$1" = 0 && exec sleep 60; exec bash -c "$0" "$0" $(($1 - 1)) umid=server'
    with subprocess.Popen(["bash", "-c", script, script, "300", "umid=server"]) as running:
        (tmp_path / "pid").write_text(str(running.pid), encoding="ascii")
        comm, known = Path(f"/proc/{running.pid}/comm"), []
        while running.poll() is None and comm.read_text(encoding="ascii") != "sleep\n":
            known.append(program.read_pid(tmp_path / "pid", "umid=server"))
        running.kill()
    # The last one may be of sleep, which has another argument.
    assert set(known[:-1]) == {running.pid}
