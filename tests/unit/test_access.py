"""How a host is reached by the command that Ansible would use; jump hosts."""

import pytest
from tests.inventories import login, parsed_file

from leaselab.lab.bench import benches
from leaselab.lab.bench.benches import read_benches
from leaselab.lab.hosts.access import host_access
from leaselab.model.errors import LeaselabError, Outcome

GATE = """
Host gate
  HostName 192.0.2.1
  Port 2222
  User door
  IdentityFile /keys/gate
  UserKnownHostsFile /keys/gate_hosts /keys/other_hosts
Host inner
  HostName 2001:db8::2
  ProxyJump gate
Host ring
  ProxyJump loop
Host loop
  ProxyJump ring
Host 192.0.2.77
  ProxyJump gate
Host named
  HostName 192.0.2.78
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "ssh_config.txt"
    path.write_text(GATE, encoding="utf-8")
    return f"-F {path}"


def reached(**variables):
    answer = login("sut", **{"ansible_host": "192.0.2.11", **variables})
    return host_access("sut", answer, "/site/rack.yml")


def refusal(**variables):
    with pytest.raises(LeaselabError) as caught:
        reached(**variables)
    where = "/site/rack.yml, host sut"
    assert (caught.value.outcome, caught.value.where) == (Outcome.USAGE, where)
    return str(caught.value)


def jump_of(arguments, **variables):
    return reached(ansible_ssh_common_args=arguments, **variables).jump


def test_a_host_is_reached_directly_where_nothing_says_otherwise(config):
    assert jump_of("-o StrictHostKeyChecking=yes") is None
    named = reached(ansible_host="named", ansible_ssh_common_args=config)
    assert (named.jump, named.address) == (None, "192.0.2.78"), "a name is followed"


@pytest.mark.parametrize(
    "variable", ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"]
)
@pytest.mark.parametrize(
    "option", ["-o ProxyJump=door@192.0.2.1:2222", "-J door@192.0.2.1:2222"]
)
def test_each_of_ansibles_variables_can_name_a_jump_host(variable, option):
    jump = reached(**{variable: f"-F none {option}"}).jump
    assert (jump.user, jump.address, jump.port) == ("door", "192.0.2.1", 2222)
    assert (jump.name, jump.sudo, jump.jump) == ("jump host 192.0.2.1", False, None)


def test_what_it_is_reached_with_is_of_sshs_configuration(config):
    """OpenSSH passes on none of the host's options but the configuration file."""
    known = "-o UserKnownHostsFile=/site/known"
    jump = jump_of(f"{config} {known} -o ProxyJump=gate")
    assert (jump.user, jump.address, jump.port) == ("door", "192.0.2.1", 2222)
    assert (jump.key_file, jump.known_hosts_file) == ("/keys/gate", "/keys/gate_hosts")
    assert jump_of(config, ansible_host="192.0.2.77").address == "192.0.2.1"
    assert jump_of(f"{config} -o ProxyJump=none", ansible_host="192.0.2.77") is None


def test_a_jump_host_has_its_own_or_those_before_it(config):
    jump = jump_of(f"{config} -J inner")
    assert (jump.address, jump.jump.address) == ("2001:db8::2", "192.0.2.1")
    jump = jump_of(f"{config} -J bob@[2001:db8::9]:77,inner")
    assert (jump.address, jump.jump.jump) == ("2001:db8::2", None)
    assert (jump.jump.user, jump.jump.address, jump.jump.port) == ("bob", "2001:db8::9", 77)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("CONFIG -J loop", "jump host loop is reached over itself"),
        ("-o ProxyCommand='ssh -W %h:%p gate'", "found ssh -W %h:%p gate, wanted ProxyJump"),
        ("-o NoSuchOption=1", "ssh refuses its settings: "),
        ("--jump gate", "ssh refuses its settings"),
    ],
)
def test_what_cannot_be_a_jump_host_is_refused(config, arguments, said):
    assert said in refusal(ansible_ssh_common_args=arguments.replace("CONFIG", config))
    assert "cannot say what its settings are" in refusal(ansible_host="a\0b")


BENCH = """
bench:
  children:
    dhcp_server: {{hosts: {{{name}-sut: {{ansible_host: 192.0.2.11}}}}}}
    dhcp_generator: {{hosts: {{{name}-gen: {{ansible_host: 192.0.2.12}}}}}}
  vars:
    leaselab_bench: {name}
    ansible_ssh_common_args: -F none -J {gate}
"""


def test_the_same_address_behind_another_jump_host_is_another_machine(tmp_path, monkeypatch):
    def write(name, gate):
        (tmp_path / f"{name}.yml").write_text(BENCH.format(name=name, gate=gate))

    monkeypatch.setattr(benches, "read_inventory", parsed_file)
    write("rack1", "192.0.2.1")
    write("rack2", "192.0.2.2")
    assert len(read_benches(tmp_path, tmp_path / "kept")) == 2
    write("rack2", "192.0.2.1")
    with pytest.raises(LeaselabError, match="port 22 is in two benches"):
        read_benches(tmp_path, tmp_path / "kept")
