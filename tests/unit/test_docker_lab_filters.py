"""What role docker_lab computes: free subnets and who gets which processors."""

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st
from tests.role_modules import load

filters = load("docker_lab", "docker_lab")

ROUTES = [
    {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
    {"dst": "172.31.0.0/16", "dev": "tun0"},
    {"dst": "172.30.87.9", "dev": "wg0"},
    {"dst": "198.18.0.0/24", "dev": "leaselab-test"},
    {"dst": "fe80::/64", "dev": "eth0"},
]
OWN = ["leaselab-test"]


@pytest.mark.parametrize(
    ("subnet", "servers", "taken"),
    [
        ("172.31.87.0/24", [], ["route 172.31.0.0/16 over tun0"]),
        ("172.30.87.0/24", [], ["route 172.30.87.9 over wg0"]),
        ("198.18.0.0/24", [], []),  # the default route and the lab's own routes take nothing
        ("10.255.255.0/24", ["10.255.255.53", "fe80::1%e"], ["name server 10.255.255.53"]),
    ],
)
def test_a_subnet_is_taken_by_routes_and_name_servers(subnet, servers, taken):
    assert filters.docker_lab_overlaps(subnet, ROUTES, servers, OWN) == taken


def test_the_first_free_candidate_is_chosen():
    candidates = ["172.31.87.0/24", "172.30.87.0/24", "192.168.187.0/24", "192.168.171.0/24"]
    free = filters.docker_lab_free_subnet(candidates, ROUTES, [], OWN)
    assert free == "192.168.187.0/24"
    assert filters.docker_lab_free_subnet(["172.31.87.0/24"], ROUTES, [], OWN) == ""


def test_a_cpu_list_is_read_as_the_kernel_writes_it_and_anything_else_is_none():
    for text, cpus in (("0", [0]), ("0-2,5", [0, 1, 2, 5]), ("3,1\n", [1, 3])):
        assert filters.docker_lab_cpu_list(text) == cpus
    for text in ("", "all", "0-", "1,,2"):
        with pytest.raises(AnsibleFilterError, match="not a list of processors"):
            filters.docker_lab_cpu_list(text)


PARTS = ("dhcp_server", "dhcp_partner", "dhcp_generator")


@pytest.mark.parametrize(
    ("count", "parts"),
    [
        (1, ["0", "0", "0"]),
        (2, ["0", "0", "1"]),
        (3, ["0,1", "0,1", "2"]),
        (4, ["0,1", "0,1", "2,3"]),
        (5, ["0,1,2", "0,1,2", "3,4"]),
        (6, ["0,1", "2,3", "4,5"]),
        (7, ["0,1,2", "3,4", "5,6"]),
    ],
)
def test_processors_are_shared_out_as_the_defaults_say(count, parts):
    plan = filters.docker_lab_cpu_plan(list(range(count)), {})
    assert [plan[part] for part in PARTS] == parts


@given(st.sets(st.integers(0, 255), min_size=2, max_size=64))
def test_server_and_generator_never_share_a_processor(cpus):
    plan = filters.docker_lab_cpu_plan(sorted(cpus), {})
    server, partner, generator = (
        set(filters.docker_lab_cpu_list(plan[part])) for part in PARTS
    )
    assert min(len(server), len(partner), len(generator)) > 0
    assert not (server | partner) & generator
    assert server | partner | generator == cpus


def test_a_chosen_part_is_kept_and_the_others_are_worked_out():
    plan = filters.docker_lab_cpu_plan([0, 1, 2, 3], {"dhcp_server": "0"})
    assert (plan["dhcp_server"], plan["dhcp_generator"]) == ("0", "2,3")
    with pytest.raises(AnsibleFilterError, match=r"dhcp_server.*found \[7\]"):
        filters.docker_lab_cpu_plan([0, 1], {"dhcp_server": "0,7"})
    with pytest.raises(AnsibleFilterError, match="no part dhcp_servr"):
        filters.docker_lab_cpu_plan([0, 1], {"dhcp_servr": "0"})


def test_an_address_is_found_on_its_interface_however_it_is_written():
    interfaces = [
        {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
        {"ifname": "eth1", "addr_info": [{"local": "198.18.0.10"}, {"local": "2001:2::10"}]},
        {"ifname": "down", "addr_info": [{}]},
    ]
    for address, there in (("198.18.0.10", ["eth1"]), ("2001:2:0::10", ["eth1"]), ("::1", [])):
        assert filters.docker_lab_with_address(interfaces, address) == there
