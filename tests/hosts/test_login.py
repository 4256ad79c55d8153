"""The engine reaches hosts as Ansible would, or refuses what it cannot do, by name."""

import getpass
import sys

import pytest
import yaml
from tests.plays import ended
from tests.processes import await_end

from leaselab.lab.hosts import logins
from leaselab.lab.hosts.inventory import (
    GENERATOR_GROUP,
    SERVER_GROUP,
    parse_inventory,
    read_inventory,
)
from leaselab.lab.hosts.power import IpmiPower
from leaselab.model.errors import LeaselabError, Outcome

REACHED = {
    "no user": ({"ansible_user": ""}, f"{getpass.getuser()}@sut:22"),
    "user of ssh's arguments": ({"ansible_ssh_args": "-o User=bob"}, "bob@sut:22"),
    "Ansible's user before common arguments": (
        {"ansible_user": "ana", "ansible_ssh_common_args": "-l bob -p 77"},
        "ana@sut:77",
    ),
    "templates": (
        {
            "gate": "192.0.2.{{ 3 }}",
            "ansible_host": "{{ gate }}",
            "ansible_port": "{{ 22 + 1 }}",
        },
        f"{getpass.getuser()}@192.0.2.3:23",
    ),
    "a lookup": ({"ansible_host": "{{ lookup('env', 'SUT_HERE') }}"}, "root@192.0.2.9:22"),
    "IPv6": ({"ansible_host": "2001:db8::1", "ansible_user": "root"}, "root@2001:db8::1:22"),
}
KEYS = {
    "its old name": ({"ansible_private_key_file": "/keys/a"}, "/keys/a"),
    "of ssh": ({"ansible_ssh_extra_args": "-o IdentityFile=/keys/c"}, "/keys/c"),
}
SUDO = {
    "none": ({"ansible_become": False}, False),
    "of root itself": ({"ansible_become": True, "ansible_user": "root"}, False),
    "flags": ({"ansible_become": True, "ansible_become_flags": "-HE"}, True),
    "alone": ({"ansible_become_method": "su", "ansible_become_user": "dhcp"}, False),
}
REFUSED = {
    "another connection": (
        {"ansible_connection": "docker"},
        "ansible_connection community.docker",
    ),
    "this machine": ({"ansible_connection": "local"}, "ansible_connection local, wanted ssh"),
    "password": ({"ansible_password": "geheim"}, "ansible_password, wanted a key file"),
    "key in a variable": ({"ansible_private_key": "geheim"}, "found ansible_private_key"),
    "smart card": ({"ansible_ssh_pkcs11_provider": "/lib/x.so"}, "ansible_ssh_pkcs11_provider"),
    "open quote": (
        {"ansible_ssh_common_args": '-o "User=x'},
        'ansible_ssh_common_args does not parse: No closing quotation (found -o "User=x',
    ),
    "no port": ({"ansible_port": "ssh"}, "found ansible_port ssh"),
    "port 0": ({"ansible_ssh_port": 0}, "ansible_ssh_port is not a port (found 0"),
    "no host": ({"ansible_host": ""}, "ansible_host is empty"),
    "a template of nothing": (
        {"ansible_host": "{{ nothing }}"},
        "'nothing' is undefined (found ansible_host {{ nothing }})",
    ),
    "a ring": ({"ansible_host": "{{ ansible_host }}"}, "found ansible_host {{ ansible_host }}"),
    "a used variable": (
        {"leaselab_test_address": "{{ nothing }}"},
        "leaselab_test_address cannot be read before a playbook: 'nothing' is undefined",
    ),
    "keys that nobody checks": (
        {"ansible_ssh_common_args": "-o StrictHostKeyChecking=no"},
        "Ansible would not check the host key (found StrictHostKeyChecking false",
    ),
    "keys by another file": (
        {"leaselab_known_hosts": "/pinned"},
        "found /pinned; ssh takes",
    ),
    "su": (
        {"ansible_become": True, "ansible_become_method": "su"},
        "ansible_become_method is not supported by the engine (found su, wanted sudo)",
    ),
    "another user": (
        {"ansible_become": True, "ansible_become_user": "dhcp"},
        "ansible_become_user is not supported by the engine (found dhcp, wanted root)",
    ),
    "flags": (
        {"ansible_become": True, "ansible_sudo_flags": "-u dhcp"},
        "ansible_sudo_flags is not supported",
    ),
    "password of sudo": (
        {"ansible_become": True, "ansible_become_password": "geheim"},
        "found ansible_become_password, wanted sudo that asks for none",
    ),
    "no option of ssh": ({"ansible_ssh_common_args": "-o No=1"}, "ssh refuses its settings"),
}
CASES = {
    f"{kind}-{name}": variables
    for kind, table in (("r", REACHED), ("k", KEYS), ("s", SUDO), ("x", REFUSED))
    for name, (variables, _) in table.items()
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What Ansible says of every case: one inventory, as each reading takes a second."""
    path = tmp_path_factory.mktemp("inventory") / "hosts.yml"
    hosts = {f"host{n}": variables for n, variables in enumerate(CASES.values())}
    groups = {"dhcp_generator": {"hosts": hosts}}
    path.write_text(yaml.safe_dump({"bench": {"children": groups}}), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUT_HERE", "192.0.2.9")
        listing, said = logins.ask_ansible(path)
    return path, dict(zip(CASES, hosts, strict=True)), listing, said


@pytest.fixture
def access(answers):
    """How the host of a case is reached."""
    path, names, listing, said = answers

    def of(case):
        alone = {"_meta": listing["_meta"], SERVER_GROUP: {"hosts": [names[case]]}}
        inventory = parse_inventory(path, {**alone, GENERATOR_GROUP: alone[SERVER_GROUP]}, said)
        return inventory.only(SERVER_GROUP).access

    return of


@pytest.mark.parametrize("case", REACHED)
def test_user_address_and_port_are_ansibles(access, answers, case):
    login = access(f"r-{case}")
    wanted = REACHED[case][1].replace("@sut:", f"@{answers[1][f'r-{case}']}:")
    if case == "a lookup":
        wanted = wanted.replace("root", getpass.getuser())
    assert f"{login.user}@{login.address}:{login.port}" == wanted


@pytest.mark.parametrize("case", KEYS)
def test_the_key_is_the_first_that_ssh_would_try(access, case):
    assert access(f"k-{case}").key_file == KEYS[case][1]


@pytest.mark.parametrize("case", SUDO)
def test_sudo_is_used_where_ansible_becomes_root_by_it(access, case):
    assert access(f"s-{case}").sudo is (SUDO[case][1] and getpass.getuser() != "root") or (
        case != "of root itself" and getpass.getuser() == "root"
    )


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_engine_cannot_do_as_ansible_is_refused_by_name(access, answers, case):
    with pytest.raises(LeaselabError) as caught:
        access(f"x-{case}")
    assert caught.value.outcome is Outcome.USAGE
    assert caught.value.where == f"{answers[0]}, host {answers[1][f'x-{case}']}"
    assert REFUSED[case][1] in str(caught.value)
    assert "geheim" not in str(caught.value)


HOSTS = """
all:
  children:
    dhcp_server: {hosts: {sut: {ansible_host: 192.0.2.11}}}
    dhcp_generator: {hosts: {gen: {ansible_host: 192.0.2.13}}}
"""


@pytest.fixture
def hosts(tmp_path):
    path = tmp_path / "rack1.yml"
    path.write_text(HOSTS, "utf-8")
    return path


def test_settings_of_the_environment_are_ansibles_too(hosts, monkeypatch):
    for name, value in (("REMOTE_USER", "ana"), ("PRIVATE_KEY_FILE", "/keys/a")):
        monkeypatch.setenv(f"ANSIBLE_{name}", value)
    access = read_inventory(hosts).only(SERVER_GROUP).access
    assert (access.user, access.key_file) == ("ana", "/keys/a")
    monkeypatch.setenv("ANSIBLE_REMOTE_PORT", "0")
    with pytest.raises(LeaselabError, match="environment variable ANSIBLE_REMOTE_PORT is not"):
        read_inventory(hosts)
    monkeypatch.setenv("ANSIBLE_TRANSPORT", "local")
    with pytest.raises(LeaselabError, match=r"wanted ssh.*transport from the environment"):
        read_inventory(hosts)


def test_power_has_its_templates_filled_in_at_every_depth(hosts):
    ipmi = '{address: "{{ bmc }}", user: lab, password_file: "{{ inventory_dir }}/pw"}'
    text = f"{HOSTS}  vars: {{bmc: 192.0.2.7, leaselab_power: {{ipmi: {ipmi}}}}}\n"
    hosts.write_text(text, "utf-8")
    power = read_inventory(hosts).only(SERVER_GROUP).power
    assert power == IpmiPower("192.0.2.7", "lab", f"{hosts.parent}/pw")


def test_what_ansible_warns_of_is_shown_once(hosts):
    """A colon is missing, so Ansible leaves the user out, and the engine does so too."""
    hosts.write_text(f"{HOSTS}  vars {{ansible_user: keeper}}\n", "utf-8")
    read = "from leaselab.cli.main import main; import sys; sys.exit(main(sys.argv[1:]))"
    words = (sys.executable, "-c", read, "lab", "status", "-i", hosts, "--bench", "none")
    done = ended(words, code=2)
    warning, refusal = done.stderr.splitlines()
    assert warning.startswith(
        f"leaselab: {hosts}: Ansible warns: Skipping key (vars {{ansible_u"
    )
    assert "no bench none" in refusal


def test_an_inventory_that_does_not_end_is_given_up(tmp_path, monkeypatch):
    """With all that its program has started."""
    program = f"import os; os.system('echo $$ >{tmp_path}/pids; sleep 60 & wait')"
    monkeypatch.setattr(logins, "READING_S", 6.0)
    with pytest.raises(LeaselabError, match="did not read this inventory within 6 s"):
        logins._run(tmp_path, tmp_path / "output", "python", "-c", program)
    pids = (tmp_path / "pids").read_text("utf-8").split()
    await_end(*pids)  # which comes after the signal, and not with it
