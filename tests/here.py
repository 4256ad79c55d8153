"""A bench whose hosts are this machine: connections run commands here, the lock is real."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from leaselab.lab.bench import lock
from leaselab.lab.hosts.transport import Completed, NoAnswerError
from leaselab.model.errors import Outcome

PROGRAM = Path(__file__).parents[1] / "roles" / "bench_lock" / "files" / "bench-lock"
LISTING = {
    "_meta": {"hostvars": {"sut": {"leaselab_bench": "rack1"}, "gen": {}}},
    "dhcp_server": {"hosts": ["sut"]},
    "dhcp_generator": {"hosts": ["gen"]},
}
"""What `ansible-inventory` says of it."""


class Here:
    """Connects to hosts by name, unless they are dead; each is this machine."""

    def __init__(self, folder, monkeypatch, *modules):
        """Keep the lock below `folder`; have `modules` connect by this."""
        self.dead = set()
        self.folder = folder
        self.connections = 0
        folder.mkdir(exist_ok=True)
        program = folder / "bench-lock"
        shutil.copy(PROGRAM, program)
        program.chmod(0o755)
        monkeypatch.setattr(lock, "PROGRAM", str(program))
        monkeypatch.setenv("LEASELAB_LOCK_DIR", str(folder / "run"))
        monkeypatch.setenv("LEASELAB_LASTING_DIR", str(folder / "lasting"))
        for module in modules:
            monkeypatch.setattr(module, "connect", self)

    def __call__(self, access):
        self.connections += 1
        if access.name in self.dead:
            raise NoAnswerError(Outcome.LAB, "cannot be reached", where=access.name)
        return ConnectionHere(access)


class ConnectionHere:
    """A connection to this machine."""

    def __init__(self, access=None):
        self.access = access or SimpleNamespace(name="here")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def run(self, argv, *, timeout_s, stdin=b"", as_login=False):  # noqa: ARG002
        try:
            done = subprocess.run(
                argv, input=stdin, capture_output=True, check=False, timeout=timeout_s
            )
        except FileNotFoundError:
            return Completed(127, b"", f"{argv[0]}: not found")
        return Completed(done.returncode, done.stdout, done.stderr.decode())


def request(name, token="theirs", lease_s=60):  # noqa: S107  # made up
    """What the lock's program is asked with."""
    return {"name": name, "purpose": "a test", "token": token, "lease_s": lease_s}


class LockProgram:
    """The program of the bench lock as on one host, asked by the token of the caller."""

    def __init__(self, folder):
        self.folder = folder

    def call(self, verb, token="mine", lease_s=60, *, text=None, **more):  # noqa: S107  # made up
        asked = {**request(f"owner of {token}", token, lease_s), **more}
        places = {"LOCK": self.folder, "LASTING": self.folder / "lasting"}
        return subprocess.run(
            [sys.executable, str(PROGRAM), verb],
            input=json.dumps(asked) if text is None else text,
            env={
                **os.environ,
                **{f"LEASELAB_{name}_DIR": str(at) for name, at in places.items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def pass_time(self, seconds):
        """Move all times of the lock back by so much, as if that had passed (s)."""
        path = self.folder / "lock.json"
        held = json.loads(path.read_text(encoding="utf-8"))
        for part in filter(None, (held, held["hold"])):
            part["since"] -= seconds
            part["expires_at"] -= seconds
        path.write_text(json.dumps(held), encoding="utf-8")
