"""SSH to the hosts of a bench; the only module that imports paramiko.

One connection per host is held for a whole sweep.  Host keys are checked
against the bench's own known_hosts file, always: an unknown or changed key is
an error, never a question.  The same holds for jump hosts, with their own file.
"""

from __future__ import annotations

import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from leaselab.lab.hosts.interrupts import held_back
from leaselab.model.bench import HostAccess
from leaselab.model.errors import LeaselabError, Outcome, lab_broken
from leaselab.model.text import last_line

if TYPE_CHECKING:
    import paramiko

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 5
_CHUNK = 1 << 16
_LAST_BREATH_S = 1.0
_OPEN_CONNECT_FAILED = 2  # RFC 4254, 5.1
_NO_SESSION = "No existing session"  # paramiko's words
# env says of a program that is not there what a shell says, and sudo does not: status 127.
_SUDO = ("sudo", "--non-interactive", "--", "env")
_SUDO_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A remote command that has ended."""

    status: int
    """Exit status; -1 when a signal ended it."""
    stdout: bytes
    stderr: str


@dataclass
class NoAnswerError(LeaselabError):
    """The host itself does not answer; one that refuses, or whose jump host is away, does."""


class Connection(AbstractContextManager["Connection"]):
    """One host, connected.  Commands run as root: of the login, or by sudo."""

    def __init__(
        self, access: HostAccess, client: paramiko.SSHClient, over: Connection | None = None
    ) -> None:
        """`over` is the connection to the jump host; it is closed with this one."""
        self.access = access
        self._client = client
        self._over = over

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection, and those to its jump hosts."""
        self._client.close()
        if self._over is not None:
            self._over.__exit__(kind, value, trace)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        as_login: bool = False,
    ) -> Completed:
        """Run a command to its end, as root or, with `as_login`, as the user of the login.

        Raises a broken-lab error when the host does not answer within
        `timeout_s` (s), the connection breaks or sudo refuses.
        """
        if as_login or not self.access.sudo:
            return self._run(argv, argv, timeout_s, stdin)
        done = self._run([*_SUDO, *argv], argv, timeout_s, stdin)
        # The status of a sudo that refuses is also a status of many a command.
        if done.status == 1:
            self.check_sudo()
        return done

    def check_sudo(self) -> None:
        """Raise a broken-lab error when sudo wants a password or refuses altogether."""
        done = self._run([*_SUDO, "true"], ["sudo"], _SUDO_TIMEOUT_S)
        if done.status != 0:
            user = self.access.user
            raise lab_broken(
                f"sudo refuses {user}: {last_line(done.stderr)}",
                where=self.access.name,
                wanted=f"every command as root for {user}, without a password",
                todo=f"write '{user} ALL=(root) NOPASSWD: ALL' to a file in /etc/sudoers.d",
            )

    def _run(
        self, argv: Sequence[str], meant: Sequence[str], timeout_s: float, stdin: bytes = b""
    ) -> Completed:
        """Run a command as it is; `meant` is what errors call it."""
        with self._faults(_program(meant)):
            channel = self._open(argv)
            channel.settimeout(timeout_s)
            try:
                channel.sendall(stdin)
                channel.shutdown_write()
            except OSError:
                # The command has ended without its input: its status says why.
                if self._is_lost():
                    raise
            errors: list[bytes] = []
            drain = threading.Thread(
                target=_drain, args=(channel.recv_stderr, errors), daemon=True
            )
            drain.start()
            output: list[bytes] = []
            while chunk := channel.recv(_CHUNK):
                output.append(chunk)
            drain.join(timeout_s)
            if not channel.status_event.wait(timeout_s):
                raise TimeoutError
            status = channel.recv_exit_status()
            channel.close()
            if status == -1 and self._is_lost():
                raise EOFError
        return Completed(status, b"".join(output), b"".join(errors).decode(errors="replace"))

    @contextmanager
    def follow(
        self, argv: Sequence[str], on_line: Callable[[str], None] | None = None
    ) -> Iterator[Follower]:
        """Run a command that prints lines until its standard input is closed.

        `on_line` is called with each line as it comes, from another thread.
        """
        with self._faults(_program(argv)):
            channel = self._open([*_SUDO, *argv] if self.access.sudo else argv)
        follower = Follower(channel, on_line)
        try:
            yield follower
        finally:
            follower.close()

    def _open(self, argv: Sequence[str]) -> paramiko.Channel:
        transport = self._client.get_transport()
        if transport is None or not transport.is_active():
            raise EOFError
        # A channel that is left half open takes the whole connection down with it, and
        # then the bench cannot be released.
        with held_back():
            channel = transport.open_session(timeout=CONNECT_TIMEOUT_S)
            channel.exec_command(shlex.join(argv))
        return channel

    def _to(self, access: HostAccess) -> paramiko.Channel:
        """Open a way from this host, a jump host, to another."""
        transport = self._client.get_transport()
        if transport is None:
            raise EOFError
        with held_back():
            return transport.open_channel(
                "direct-tcpip",
                (access.address, access.port),
                ("127.0.0.1", 0),
                timeout=CONNECT_TIMEOUT_S,
            )

    def lasts(self, seconds: float) -> bool:
        """Wait; return whether the connection is still there, or False as soon as it is not."""
        transport = self._client.get_transport()
        if transport is not None:
            transport.join(seconds)
        return transport is not None and transport.is_active()

    def _is_lost(self) -> bool:
        """Whether the host has gone: its commands end a moment before its connection."""
        return not self.lasts(_LAST_BREATH_S)

    def _why(self, error: BaseException) -> str:
        """What is known of a lost connection; never empty."""
        transport = self._client.get_transport()
        for known in (getattr(transport, "saved_exception", None), error):
            if words := getattr(known, "strerror", None) or str(known or ""):
                return str(words)
        active = transport is not None and transport.is_active()
        return f"the host closed {'the channel of the command' if active else 'it'}"

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        import paramiko  # noqa: PLC0415

        began = time.monotonic()
        try:
            yield
        except TimeoutError as error:
            raise lab_broken(
                f"{what} did not end in time",
                where=self.access.name,
                todo="see whether the host works; then resume the sweep",
            ) from error
        except (EOFError, OSError, paramiko.SSHException) as error:
            raise lab_broken(
                f"connection lost while running {what}, after "
                f"{time.monotonic() - began:.0f} s: {self._why(error)}",
                where=self.access.name,
                todo="look at the host; the sweep can be resumed when it is back",
            ) from error


class Follower:
    """Lines of a running remote command, collected in the background."""

    def __init__(
        self, channel: paramiko.Channel, on_line: Callable[[str], None] | None = None
    ) -> None:
        self._channel = channel
        self._on_line = on_line
        self._lines: list[str] = []
        self._errors: list[bytes] = []
        self._changed = threading.Condition()
        self._over = False
        self._drain = threading.Thread(
            target=_drain, args=(channel.recv_stderr, self._errors), daemon=True
        )
        self._drain.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, timeout_s: float) -> str | None:
        """Send it an empty line and return the next line it prints; as `say`."""
        return self.say("", timeout_s)

    def say(self, line: str, timeout_s: float) -> str | None:
        """Send it a line and return the next line it prints.

        None when it has ended, or printed nothing within `timeout_s` (s).
        """
        with self._changed:
            seen = len(self._lines)
            try:
                self._channel.sendall(f"{line}\n".encode())
            except OSError:
                self._changed.wait_for(lambda: self._over, timeout_s)
                return None  # it has ended; `ended` says how
            self._changed.wait_for(lambda: len(self._lines) > seen or self._over, timeout_s)
            return self._lines[-1] if len(self._lines) > seen else None

    def lines(self) -> list[str]:
        """Return the lines that came since the last call."""
        with self._changed:
            taken, self._lines = self._lines, []
        return taken

    @property
    def ended(self) -> str | None:
        """None while it runs, else its standard error."""
        if not self._over:
            return None
        self._drain.join(2.0)
        return b"".join(self._errors).decode(errors="replace").strip()

    @property
    def status(self) -> int | None:
        """Its exit status once it has ended; None while it runs, or when the host went away."""
        if not self._over or not self._channel.status_event.wait(2.0):
            return None
        return self._channel.exit_status

    def await_line(self, timeout_s: float) -> str | None:
        """Return the first line that was not taken yet, once there is one; it stays.

        None when it has ended, or printed nothing within `timeout_s` (s).
        """
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines) or self._over, timeout_s)
            return self._lines[0] if self._lines else None

    def conclude(self, timeout_s: float) -> str | None:
        """Close its standard input, and return the last line that it prints until it ends.

        None when it has not ended within `timeout_s` (s), or printed nothing more.
        """
        with suppress(OSError):
            self._channel.shutdown_write()
        with self._changed:
            self._changed.wait_for(lambda: self._over, timeout_s)
            return self._lines[-1] if self._over and self._lines else None

    def close(self) -> None:
        """End it by closing its standard input."""
        try:
            self._channel.shutdown_write()
            self._reader.join(2.0)
        except OSError:
            pass  # the connection is gone, and with it the command's input
        self._channel.close()

    def _read(self) -> None:
        rest = b""
        try:
            while chunk := self._channel.recv(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                lines = [line.decode(errors="replace") for line in whole]
                with self._changed:
                    self._lines += lines
                    self._changed.notify_all()
                if self._on_line is not None:
                    for line in lines:
                        self._on_line(line)
        except OSError:
            pass  # the connection is gone; `ended` reports that below
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()


def connect(access: HostAccess) -> Connection:
    """Open the connection to one host, over its jump hosts, and see that sudo is granted.

    Raises a broken-lab error that distinguishes an unreachable host, a changed or
    unknown host key, a refused login and a refused sudo, and that names the
    jump host where it is one.
    """
    with ExitStack() as opened:
        connection = _connect(access, opened)
        if access.sudo:
            connection.check_sudo()
        opened.pop_all()
    return connection


def _connect(access: HostAccess, opened: ExitStack) -> Connection:
    import paramiko  # noqa: PLC0415  # half of a command's start

    over = None
    if access.jump is not None:
        try:
            over = _connect(access.jump, opened)
        except LeaselabError as error:
            # It is the bench's host that lacks a connection, whichever step of it fails; what
            # does not answer is another one, so the error is no longer a NoAnswerError.
            raise LeaselabError(
                error.outcome,
                f"{access.jump.name}: {error.what}",
                where=access.name,
                found=error.found,
                wanted=error.wanted,
                todo=error.todo,
            ) from error
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    try:
        client.load_host_keys(access.known_hosts_file)
        client.connect(
            access.address,
            port=access.port,
            username=access.user,
            key_filename=access.key_file,
            allow_agent=False,
            look_for_keys=False,
            timeout=CONNECT_TIMEOUT_S,
            banner_timeout=CONNECT_TIMEOUT_S,
            auth_timeout=CONNECT_TIMEOUT_S,
            sock=over._to(access) if over is not None else None,
        )
    except Exception as error:
        client.close()
        raise _connect_error(access, error) from error
    transport = client.get_transport()
    assert transport is not None  # noqa: S101  (connect() has just made it)
    transport.set_keepalive(KEEPALIVE_S)
    return opened.enter_context(Connection(access, client, over))


def _connect_error(access: HostAccess, error: Exception) -> LeaselabError:
    import paramiko  # noqa: PLC0415

    if isinstance(error, paramiko.BadHostKeyException):
        return lab_broken(
            "host key has changed",
            where=access.name,
            found=error.key.fingerprint,
            wanted=f"{error.expected_key.fingerprint} of {access.known_hosts_file}",
            todo="if the host was reinstalled, replace its line there; if not, do not "
            "connect: it may be another machine",
        )
    if isinstance(error, paramiko.AuthenticationException):
        return lab_broken(
            f"login as {access.at} refused: {error}",
            where=access.name,
            todo=f"install the public key of {access.key_file} on the host",
        )
    if isinstance(error, FileNotFoundError):
        missing = error.filename or access.key_file
        of_hosts = str(missing) == str(access.known_hosts_file)
        variable = "leaselab_known_hosts" if of_hosts else "ansible_ssh_private_key_file"
        return lab_broken(
            f"no file {missing}",
            where=access.name,
            wanted=f"a file of {'pinned host keys' if of_hosts else 'the private key'}",
            todo=f"set {variable} in the inventory; `lab up` makes the files of a local lab",
        )
    if isinstance(error, paramiko.SSHException) and "known_hosts" in str(error):
        return lab_broken(
            "host key is not known",
            where=access.name,
            wanted=f"a line for {access.address} in {Path(access.known_hosts_file)}",
            todo="get the key from the host's console and add it",
        )
    if isinstance(error, paramiko.ChannelException):
        # The jump host refuses (1), or got no answer itself (2).
        kind = NoAnswerError if error.code == _OPEN_CONNECT_FAILED else LeaselabError
        return kind(
            Outcome.LAB,
            f"the jump host opens no way to {access.address}:{access.port}: {error.text}",
            where=access.name,
            todo="check that the host is up, its address right as the jump host sees it, and "
            "that the jump host's sshd has AllowTcpForwarding",
        )
    # paramiko's own OSErrors have words and no number, which str() shows as "[Errno None]".
    words = getattr(error, "strerror", None) or str(error)
    if isinstance(error, socket.gaierror):
        words = "name not found"
    elif _NO_SESSION in words:
        words = "it closed the connection before the login; it may be shutting down or starting"
    return (NoAnswerError if _is_silence(error) else LeaselabError)(
        Outcome.LAB,
        f"cannot be reached at {access.at}: {words or type(error).__name__}",
        where=access.name,
        todo="check that the host is up and its address right in the inventory",
    )


def _is_silence(error: Exception) -> bool:
    """Whether it is the host that is away, and nothing of this machine or its network."""
    import paramiko  # noqa: PLC0415

    kinds = (
        TimeoutError,
        ConnectionError,
        EOFError,
        paramiko.ssh_exception.NoValidConnectionsError,
    )
    return isinstance(error, kinds) or (
        isinstance(error, paramiko.SSHException)
        and any(words in str(error) for words in ("protocol banner", _NO_SESSION))
    )


def _program(argv: Sequence[str]) -> str:
    """What errors call a command: its program, and its verb where it has one."""
    if tuple(argv[:2]) == ("bash", "-c") and len(argv) > 3:  # a script, and its name
        return f"script {argv[3]}"
    verb = [word for word in argv[1:2] if word.isidentifier()]
    return shlex.join([*argv[:1], *verb])


def _drain(receive: Callable[[int], bytes], into: list[bytes]) -> None:
    try:
        while chunk := receive(_CHUNK):
            into.append(chunk)
    except OSError:
        return  # the connection is gone; what came before is kept
