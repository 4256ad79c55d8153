"""Debian's own sshd and sudo on a loopback port: a host with users, and no root login.

Its files are unpacked into a folder once for a checkout; this machine gets no user, no
package and no service.
"""

import contextlib
import socket
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from tests.tools import AS_ROOT, TOOLS, extract, made_once
from tests.waiting import HANGS_S

from leaselab.model.bench import HostAccess

SUITE = "trixie"
PACKAGES = ("bash", "coreutils", "dash", "openssh-server", "openssh-client", "sudo")
USERS = {"root": 0, "sshd": 100, "operator": 1000, "visitor": 1001}
"""`operator` may use sudo without a password; `visitor` may not use it at all."""
START_S = 60.0


def run(*argv, **options):
    """Run a command of this machine as root; return what it prints."""
    done = subprocess.run(
        [*AS_ROOT, *map(str, argv)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unpacked():
    """The root of a machine, without any key; made once for a checkout."""
    place = TOOLS / f"ssh-{SUITE}"
    with made_once(place) as fresh:
        if fresh:
            extract(SUITE, fresh, PACKAGES)
            _have_users(fresh)
    return place


def _have_users(place):
    run("mkdir", "-p", place / "run/sshd", *(place / "home" / user for user in USERS))
    passwd = [f"{user}:x:{uid}:{uid}::/home/{user}:/bin/sh" for user, uid in USERS.items()]
    write(place / "etc/passwd", "\n".join(passwd))
    write(place / "etc/group", "\n".join(f"{u}:x:{uid}:" for u, uid in USERS.items()))
    write(place / "etc/shadow", "\n".join(f"{u}:*:20000::::::" for u in USERS))
    write(place / "etc/sudoers.d/operator", "operator ALL=(root) NOPASSWD: ALL", "0440")
    # Packages that are only unpacked have no common settings of PAM to include.
    allowed = [f"{kind} required pam_permit.so" for kind in ("auth", "account", "session")]
    for service in ("sudo", "other"):
        write(place / "etc/pam.d" / service, "\n".join(allowed))


def write(path, text, mode="0644"):
    """Write a file of root's."""
    run("install", "-D", "-m", mode, "/dev/stdin", path, input=f"{text}\n")


@dataclass(frozen=True)
class Machine:
    """One sshd that runs."""

    access: HostAccess
    """As `operator` reaches it, without sudo."""
    host_key: str
    """Public."""
    process: subprocess.Popen
    """That of sshd, or of the sudo before it."""

    def seen_by(self, user, **changes):
        """How another user reaches it, or it is reached otherwise."""
        return replace(self.access, user=user, **changes)


@contextlib.contextmanager
def machine(name, folder, *settings):
    """Start an sshd with a host key of its own and these settings; ended at leaving."""
    place, own = unpacked(), folder / name
    own.mkdir()
    for key in ("client", "host"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", own / key]
        subprocess.run(argv, check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    inside = f"/etc/ssh/{name}-{port}"
    write(f"{place}/etc/hosts", f"127.0.0.1 localhost {socket.gethostname()}")
    write(f"{place}{inside}/authorized_keys", (own / "client.pub").read_text("utf-8"))
    write(f"{place}{inside}/host", (own / "host").read_text("utf-8").strip(), "0600")
    lines = [
        f"ListenAddress 127.0.0.1:{port}",
        f"HostKey {inside}/host",
        f"AuthorizedKeysFile {inside}/authorized_keys",
        "PermitRootLogin no",
        "PasswordAuthentication no",
        "PidFile none",
        *settings,
    ]
    write(f"{place}{inside}/sshd_config", "\n".join(lines))
    argv = ["chroot", place, "/usr/sbin/sshd", "-D", "-e", "-f", f"{inside}/sshd_config"]
    with (own / "log").open("wb") as log:
        process = subprocess.Popen([*AS_ROOT, *map(str, argv)], stderr=log)
    try:
        _wait_for(port, own / "log")
        host_key = (own / "host.pub").read_text("utf-8").strip()
        known_hosts = own / "known_hosts"
        known_hosts.write_text(f"[127.0.0.1]:{port} {host_key}\n", encoding="utf-8")
        yield Machine(
            HostAccess(
                name=name,
                address="127.0.0.1",
                user="operator",
                key_file=str(own / "client"),
                known_hosts_file=str(known_hosts),
                port=port,
            ),
            host_key,
            process,
        )
    finally:
        process.terminate()
        process.wait(HANGS_S)
        run("rm", "-r", f"{place}{inside}")


def _wait_for(port, log):
    deadline = time.monotonic() + START_S
    while True:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        assert time.monotonic() < deadline, Path(log).read_text("utf-8")
        time.sleep(0.05)
