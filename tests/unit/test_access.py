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
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == "/site/rack.yml, host sut"
    return str(caught.value)


class TestJumpHost:
    def test_a_host_is_reached_directly_where_nothing_says_otherwise(self):
        assert reached(ansible_ssh_common_args="-o StrictHostKeyChecking=yes").jump is None

    @pytest.mark.parametrize(
        "variable", ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"]
    )
    @pytest.mark.parametrize(
        "option", ["-o ProxyJump=door@192.0.2.1:2222", "-J door@192.0.2.1:2222"]
    )
    def test_each_of_ansibles_variables_can_name_one(self, variable, option):
        jump = reached(**{variable: f"-F none {option}"}).jump
        assert (jump.user, jump.address, jump.port) == ("door", "192.0.2.1", 2222)
        assert (jump.name, jump.sudo, jump.jump) == ("jump host 192.0.2.1", False, None)

    def test_what_it_is_reached_with_is_of_sshs_configuration(self, config):
        jump = reached(ansible_ssh_common_args=f"{config} -o ProxyJump=gate").jump
        assert (jump.user, jump.address, jump.port) == ("door", "192.0.2.1", 2222)
        assert (jump.key_file, jump.known_hosts_file) == ("/keys/gate", "/keys/gate_hosts")

    def test_the_options_of_the_host_are_not_its_own(self, config):
        """OpenSSH passes none on but the configuration file."""
        known = "-o UserKnownHostsFile=/site/known"
        jump = reached(ansible_ssh_common_args=f"{config} {known} -o ProxyJump=gate").jump
        assert jump.known_hosts_file == "/keys/gate_hosts"

    def test_the_configuration_can_name_it_as_well(self, config):
        access = reached(ansible_host="192.0.2.77", ansible_ssh_common_args=config)
        assert access.jump.address == "192.0.2.1"
        direct = f"{config} -o ProxyJump=none"
        assert reached(ansible_host="192.0.2.77", ansible_ssh_common_args=direct).jump is None

    def test_one_has_its_own_or_those_before_it(self, config):
        jump = reached(ansible_ssh_common_args=f"{config} -J inner").jump
        assert (jump.address, jump.jump.address) == ("2001:db8::2", "192.0.2.1")
        jump = reached(ansible_ssh_common_args=f"{config} -J bob@[2001:db8::9]:77,inner").jump
        outer = jump.jump
        assert (jump.address, outer.user, outer.address, outer.port, outer.jump) == (
            "2001:db8::2",
            "bob",
            "2001:db8::9",
            77,
            None,
        )

    def test_one_that_is_reached_over_itself_is_refused(self, config):
        text = refusal(ansible_ssh_common_args=f"{config} -J loop")
        assert "jump host loop is reached over itself" in text

    def test_a_proxy_command_is_refused(self):
        text = refusal(ansible_ssh_common_args="-o ProxyCommand='ssh -W %h:%p gate'")
        assert "found ssh -W %h:%p gate, wanted ProxyJump" in text

    def test_what_ssh_refuses_is_refused_in_its_words(self):
        text = refusal(ansible_ssh_common_args="-o NoSuchOption=1")
        assert "ssh refuses its settings: " in text
        assert "nosuchoption" in text.lower()
        assert "ssh refuses its settings" in refusal(ansible_ssh_common_args="--jump gate")
        assert "cannot say what its settings are" in refusal(ansible_host="a\0b")


def test_a_name_is_followed_to_its_address(config):
    named = reached(ansible_host="named", ansible_ssh_common_args=config)
    assert named.address == "192.0.2.78"


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
    monkeypatch.setattr(benches, "read_inventory", parsed_file)
    for name, gate in (("rack1", "192.0.2.1"), ("rack2", "192.0.2.2")):
        text = BENCH.format(name=name, gate=gate)
        (tmp_path / f"{name}.yml").write_text(text, encoding="utf-8")
    assert len(read_benches(tmp_path, tmp_path / "kept")) == 2
    text = BENCH.format(name="rack2", gate="192.0.2.1")
    (tmp_path / "rack2.yml").write_text(text, encoding="utf-8")
    with pytest.raises(LeaselabError, match="port 22 is in two benches"):
        read_benches(tmp_path, tmp_path / "kept")
