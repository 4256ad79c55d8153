"""The engine's way to a host without a root login: sudo, jump hosts, and their faults."""

import re
import socket
import threading
from dataclasses import replace

import pytest
from tests.plays import ansible
from tests.ssh.machines import machine, unpacked, write
from tests.waiting import HANGS_S

from leaselab.lab.checks.contact import contact
from leaselab.lab.hosts import boot
from leaselab.lab.hosts.inventory import SERVER_GROUP, InventoryHost, read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError, Outcome


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ssh")


@pytest.fixture(scope="module")
def host(folder):
    with machine("sut", folder) as made:
        yield made


@pytest.fixture(scope="module")
def gate(folder):
    with machine("gate", folder) as made:
        yield made


@pytest.fixture(scope="module")
def closed_gate(folder):
    with machine("closed", folder, "AllowTcpForwarding no") as made:
        yield made


@pytest.fixture
def root(host):
    """A connection as a user with sudo."""
    with connect(host.seen_by("operator", sudo=True)) as connection:
        yield connection


def refusal(access):
    with pytest.raises(LeaselabError) as caught:
        connect(access)
    assert caught.value.outcome is Outcome.LAB
    assert caught.value.where == access.name
    assert caught.value.todo
    return str(caught.value)


class TestSudo:
    def test_commands_run_as_root_or_as_the_login(self, root, host):
        assert root.run(["id", "-u"], timeout_s=HANGS_S).stdout == b"0\n"
        assert root.run(["id", "-u"], timeout_s=HANGS_S, as_login=True).stdout == b"1000\n"
        with connect(host.access) as without_sudo:
            assert without_sudo.run(["id", "-u"], timeout_s=HANGS_S).stdout == b"1000\n"

    @pytest.mark.parametrize("status", [0, 1, 4, 7])
    def test_a_commands_own_status_is_kept(self, root, status):
        done = root.run(["sh", "-c", f"echo failed >&2; exit {status}"], timeout_s=HANGS_S)
        assert (done.status, done.stderr) == (status, "failed\n")

    def test_a_missing_program_is_reported_as_a_shell_reports_it(self, root):
        """The engine learns from it that nothing is deployed, which is no server's fault."""
        assert root.run(["/opt/leaselab/server", "start"], timeout_s=HANGS_S).status == 127

    def test_input_and_output_pass_through_unchanged(self, root):
        sent = bytes(range(256)) * 4096
        assert root.run(["cat"], timeout_s=HANGS_S, stdin=sent).stdout == sent

    def test_a_command_that_prints_lines_is_followed_as_root(self, root):
        with root.follow(["sh", "-c", "read _; id -u; exit 3"]) as follower:
            assert follower.ask(60) == "0"
            assert follower.ask(60) is None  # it has ended
            assert follower.status == 3

    def test_a_command_that_ends_with_its_input_is_heard_to_the_end(self, root):
        """Its first line says that it has begun; the last, of any length, what came of it."""
        script = "echo begun; cat >/dev/null; sleep 0.3; head -c 2000000 /dev/zero | tr '\\0' x"
        with root.follow(["sh", "-c", f"{script}; echo"]) as follower:
            assert follower.await_line(HANGS_S) == "begun"
            assert follower.conclude(60) == 2_000_000 * "x"
            assert follower.status == 0

    def test_a_lost_connection_says_which_host_what_ran_and_what_is_known_of_it(self, root):
        with pytest.raises(LeaselabError) as caught:
            root.run(["exec", "bash", "-c", "kill -9 $PPID"], timeout_s=HANGS_S, as_login=True)
        assert re.fullmatch(
            r"sut: connection lost while running exec bash, after \d+ s: [\w ]{5,}; look at "
            r"the host; the sweep can be resumed when it is back",
            str(caught.value),
        )

    def test_a_silent_command_is_waited_for_no_longer_than_its_limit(self, root):
        with root.follow(["sleep", "1"]) as follower:
            assert follower.await_line(0.1) is None
            assert follower.conclude(0.1) is None
            assert follower.ended is None

    def test_a_user_who_may_not_use_it_gets_the_line_to_write(self, host):
        message = refusal(host.seen_by("visitor", sudo=True))
        assert message.startswith("sut: sudo refuses visitor: ")
        assert "wanted every command as root for visitor, without a password" in message
        assert "'visitor ALL=(root) NOPASSWD: ALL'" in message

    def test_one_that_wants_a_password_later_is_no_fault_of_the_command(self, root):
        rule = unpacked() / "etc/sudoers.d/operator"
        write(rule, "operator ALL=(root) ALL", "0440")
        try:
            with pytest.raises(LeaselabError) as caught:
                root.run(["/opt/leaselab/server", "start"], timeout_s=HANGS_S)
        finally:
            write(rule, "operator ALL=(root) NOPASSWD: ALL", "0440")
        assert caught.value.outcome is Outcome.LAB
        assert "sudo refuses operator: " in str(caught.value)
        assert root.run(["true"], timeout_s=HANGS_S).status == 0

    def test_contact_reports_the_uid_of_commands_and_the_address_of_the_login(self, host):
        access = host.seen_by("operator", sudo=True)
        facts = contact(InventoryHost(access=access, parts=(SERVER_GROUP,)))
        assert (facts.error, facts.uid, facts.management_address) == (None, 0, "127.0.0.1")


class TestJumpHost:
    def test_commands_run_behind_one_and_behind_two(self, host, gate, closed_gate):
        over = host.seen_by("operator", sudo=True, jump=gate.access)
        with connect(over) as connection:
            assert connection.run(["id", "-u"], timeout_s=HANGS_S).stdout == b"0\n"
        twice = replace(over, jump=replace(gate.access, jump=gate.access))
        with connect(twice) as connection:
            assert connection.run(["id", "-u"], timeout_s=HANGS_S).stdout == b"0\n"
        beyond = replace(over, jump=replace(gate.access, jump=closed_gate.access))
        assert "the jump host opens no way to" in refusal(beyond)

    def test_one_that_passes_nothing_on_is_reported(self, host, closed_gate):
        message = refusal(replace(host.access, jump=closed_gate.access))
        way = f"127.0.0.1:{host.access.port}"
        assert message.startswith(f"sut: the jump host opens no way to {way}: ")
        assert "AllowTcpForwarding" in message

    def test_a_host_that_is_down_behind_it_is_reported(self, host, gate):
        message = refusal(replace(host.access, port=9, jump=gate.access))
        assert message.startswith("sut: the jump host opens no way to 127.0.0.1:9: ")

    def test_a_file_that_is_not_there_is_reported_with_its_variable(self, host, tmp_path):
        for name, variable in {
            "known_hosts_file": "leaselab_known_hosts",
            "key_file": "ansible_ssh_private_key_file",
        }.items():
            missing = tmp_path / name
            message = refusal(replace(host.access, **{name: str(missing)}))
            assert f"no file {missing}" in message, message
            assert f"set {variable}" in message, message

    @pytest.mark.parametrize("pinned", [False, True])
    def test_its_host_key_must_be_the_pinned_one(self, host, gate, tmp_path, pinned):
        known = tmp_path / "known_hosts"
        line = f"[127.0.0.1]:{gate.access.port} {host.host_key}\n" if pinned else ""
        known.write_text(line, encoding="utf-8")
        jump = replace(gate.access, name="jump host gate", known_hosts_file=str(known))
        message = refusal(replace(host.access, jump=jump))
        said = "has changed (found SHA256:" if pinned else "is not known (wanted a line for"
        assert message.startswith(f"sut: jump host gate: host key {said}")

    def test_the_hosts_own_key_is_checked_behind_it(self, host, gate, tmp_path):
        other = tmp_path / "known_hosts"
        other.write_text(f"[127.0.0.1]:{host.access.port} {gate.host_key}\n", encoding="utf-8")
        behind = replace(host.access, known_hosts_file=str(other), jump=gate.access)
        assert refusal(behind).startswith("sut: host key has changed (found SHA256:")

    def test_a_login_that_it_refuses_is_its_own(self, host, gate):
        jump = replace(gate.access, name="jump host gate", user="nobody")
        message = refusal(replace(host.access, jump=jump))
        assert message.startswith("sut: jump host gate: login as nobody@127.0.0.1:")


class TestSilence:
    """Only the power of a host that is itself away may be cycled."""

    def silent(self, access):
        return boot.silent([InventoryHost(access, (SERVER_GROUP,))], sleep=lambda _: None) != []

    def test_a_host_that_is_away_is_silent_also_behind_a_jump_host(self, host, gate):
        assert self.silent(replace(host.access, port=9))
        assert self.silent(replace(host.access, port=9, jump=gate.access))

    def test_one_that_takes_the_connection_and_says_nothing_is_silent(self, host):
        """As a port that is forwarded to a machine without power."""
        with socket.create_server(("127.0.0.1", 0)) as door:

            def close():
                for _ in range(2):
                    door.accept()[0].close()

            closing = threading.Thread(target=close)
            closing.start()
            assert self.silent(replace(host.access, port=door.getsockname()[1]))
            closing.join(HANGS_S)

    def test_one_that_refuses_or_cannot_be_asked_is_not(
        self, host, gate, closed_gate, tmp_path
    ):
        alive = host.access
        away = replace(gate.access, port=9)
        (tmp_path / "key").write_text("no key", encoding="utf-8")
        for access in (
            alive,
            replace(alive, user="nobody"),
            host.seen_by("visitor", sudo=True),
            replace(alive, known_hosts_file=gate.access.known_hosts_file),
            replace(alive, key_file="/no/such/key"),
            replace(alive, known_hosts_file="/no/such/file", port=9),
            replace(alive, key_file=str(tmp_path / "key")),
            replace(alive, address="no-such-name.invalid"),
            replace(alive, jump=away),
            replace(alive, jump=closed_gate.access),
        ):
            assert not self.silent(access), access


def test_ansible_and_the_engine_go_the_same_way(host, gate, tmp_path):
    """A user with sudo behind a jump host, as docs/reference/inventory.md shows it."""
    (tmp_path / "ssh_config.txt").write_text(
        "Host gate\n"
        f"  HostName 127.0.0.1\n  Port {gate.access.port}\n  User operator\n"
        f"  IdentityFile {gate.access.key_file}\n"
        f"  UserKnownHostsFile {gate.access.known_hosts_file}\n"
        "  StrictHostKeyChecking yes\n",
        encoding="utf-8",
    )
    (tmp_path / "hosts.yml").write_text(
        f"""
bench:
  children:
    dhcp_server: {{hosts: {{sut: }}}}
    dhcp_generator: {{hosts: {{sut: }}}}
  vars:
    ansible_host: 127.0.0.1
    ansible_port: {host.access.port}
    ansible_user: operator
    ansible_become: true
    ansible_ssh_private_key_file: {host.access.key_file}
    leaselab_known_hosts: {host.access.known_hosts_file}
    ansible_ssh_common_args: >-
      -F "{{{{ inventory_dir }}}}/ssh_config.txt"
      -o ProxyJump=gate
      -o UserKnownHostsFile="{{{{ leaselab_known_hosts }}}}"
      -o StrictHostKeyChecking=yes
""",
        encoding="utf-8",
    )
    access = read_inventory(tmp_path / "hosts.yml").only(SERVER_GROUP).access
    assert access == host.seen_by(
        "operator", sudo=True, jump=replace(gate.access, name="jump host 127.0.0.1")
    )
    with connect(access) as connection:
        assert connection.run(["id", "-u"], timeout_s=HANGS_S).stdout == b"0\n"
    # Raw, as there is no Python; without a terminal, as there are no devices.
    words = ("-m", "raw", "-a", "id -u", "-e", "ansible_ssh_use_tty=false")
    done = ansible(
        "ansible",
        *("-i", tmp_path / "hosts.yml", "sut", *words),
        ANSIBLE_SSH_ARGS="-o ControlMaster=no",  # nothing stays open
    )
    assert done.splitlines()[1] == "0"
