"""Commands as a user gives them, run against the local lab, and what they leave behind."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import docker
from tests.processes import hear_interrupts
from tests.waiting import HANGS_S

from leaselab.lab.bench.lock import Hold, ask
from leaselab.lab.hosts.inventory import read_inventory
from leaselab.lab.hosts.transport import connect
from leaselab.model.errors import LeaselabError

ROOT = Path(__file__).parents[2]
LOCAL = ROOT / "inventory" / "docker"
KEYS = ROOT / ".leaselab" / "docker" / "keys"
SMALL = {
    "rounds": 1,
    "trim": 0,
    "wait_s": 0.5,
    "late_s": 0.25,
    "relative_width": 0.5,
    "trial_s": 1,
    "start_rate": 4000,
    "warm_up_s": 0,
    "confirm_s": 0,
}
"""The procedure of a sweep of some ten seconds: one run to a wide bracket."""
LONG_TRIALS = {"trial_s": 3}
"""What else a sweep has that a fault meets in the middle of a trial: no run ends with its
first, and the second is long enough."""
SHORT_DUEL = ("--budget=1.2", "--set=trial_s=1", "--set=warm_up_s=0")
"""Nine rounds at most, and a look after each from the fifth on."""
ENVIRONMENT = {
    **os.environ,
    "LEASELAB_ROOT": str(ROOT),
    "PYTHONPATH": str(ROOT / "scripts"),
    "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
    "ANSIBLE_NOCOLOR": "1",
    "LC_ALL": "C.UTF-8",
}


DOCKER_SOCKET = Path("/var/run/docker.sock")
SERVING = ("leaselab-server", "leaselab-partner")
NAMES = {*SERVING, "leaselab-generator", "leaselab-builder"}
"""The hosts of the local lab."""
_MINE = {"label": f"leaselab_checkout={ROOT}"}


def leaselab(*arguments, timeout_s=HANGS_S, under=(), **environment):
    """Run one command to its end, `under` another program where one is named."""
    command = [*under, sys.executable, "-m", "leaselab", *arguments]
    return _run(command, timeout_s, environment)


def lab(*arguments, root=ROOT):
    """Run `leaselab lab`; the environment names the checkout."""
    return leaselab("lab", *arguments, LEASELAB_ROOT=str(root))


def ours(engine):
    """The names of this checkout's containers and networks."""
    return {
        *(container.name for container in engine.containers.list(all=True, filters=_MINE)),
        *(network.name for network in engine.networks.list(filters=_MINE)),
    }


def playbook(names, *arguments, inventory=LOCAL, timeout_s=HANGS_S, **environment):
    """Run a playbook by hand, or several in one go."""
    program = Path(sys.executable).with_name("ansible-playbook")
    several = (names,) if isinstance(names, str) else names
    books = [ROOT / "ansible" / f"{name}.yml" for name in several]
    return _run([program, "-i", inventory, *books, *arguments], timeout_s, environment)


def begin_playbook(name):
    """Start a playbook by hand; return its process."""
    program = Path(sys.executable).with_name("ansible-playbook")
    return subprocess.Popen(
        [program, "-i", LOCAL, ROOT / "ansible" / f"{name}.yml"],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _run(command, timeout_s, environment):
    return subprocess.run(
        [str(word) for word in command],
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
    )


def hold_back_servers(*, held=True):
    """Give a server half of its processor, as `docker_lab_cpu_limit` does.

    Loads are smaller then, and what else runs on the machine disturbs them less.  On a new
    machine there is no lab to free, nor Docker: the first deployment installs it.
    """
    if not held and not DOCKER_SOCKET.exists():
        return
    for container in docker.from_env().containers.list(filters=_MINE):
        if container.name in SERVING:
            container.update(cpu_period=10_000, cpu_quota=5_000 if held else -1)


def reached(group, timeout_s=HANGS_S):
    """Wait until a host answers again, after its container was started."""
    access = read_inventory(LOCAL).only(group).access
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with connect(access):
                return
        except LeaselabError:
            assert time.monotonic() < deadline, access.name
            time.sleep(0.2)


@contextmanager
def held_by_another(keeper):
    """Have another user hold the bench of a generator."""
    hold = Hold("ana@laptop", "a test", "token", 120)
    ask(keeper, "acquire", hold)
    try:
        yield
    finally:
        ask(keeper, "release", hold)


def files_with(secret, results):
    """The files of results, and of what commands keep, that have a secret in them."""
    kept = [ROOT / ".leaselab" / item for item in ("logs", "deployments", "benches")]
    done = subprocess.run(
        ["grep", "-rlF", "--file=-", str(results), *map(str, kept)],
        input=secret,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def pinned_keys():
    """The lab's host keys as they are pinned: type and key by port."""
    lines = (KEYS / "known_hosts").read_text(encoding="utf-8").splitlines()
    places = (line.partition(" ") for line in lines)
    return {place.rpartition(":")[2]: key for place, _, key in places}


def copy_inventory(folder, keys, *changes):
    """Write the lab's inventory into a folder, with other pinned keys and changed texts.

    It is that of machines which are there: `run` does not bring them up.
    """
    known_hosts = folder / "known_hosts.txt"
    known_hosts.write_text(
        "".join(f"[127.0.0.1]:{port} {key}\n" for port, key in keys.items()), encoding="utf-8"
    )
    text = (LOCAL / "hosts.yml").read_text(encoding="utf-8")
    place = "{{ inventory_dir }}/../../.leaselab/docker/keys"
    for old, new in (
        (f"{place}/client", f"{KEYS}/client"),
        (f"{place}/known_hosts", str(known_hosts)),
        ("leaselab_lab: docker", 'leaselab_lab: ""'),
        *changes,
    ):
        assert old in text
        text = text.replace(old, new)
    path = folder / "hosts.yml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(done):
    """The one line that says what went wrong: the last, and not a traceback's."""
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("leaselab: ")
    return last


def changed(done):
    """Number of changes a playbook that ended well reports, over all hosts."""
    assert done.returncode == 0, done.stdout[-2000:]
    return sum(int(number) for number in re.findall(r"\bchanged=(\d+)", done.stdout))


class Engine:
    """A command that runs in the background; its standard error is read line by line."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leaselab", *map(str, arguments)],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_interrupts,  # noqa: PLW1509
        )
        self.lines = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self.lines.append("")
            self._news.notify_all()

    def saw(self, pattern, timeout_s=HANGS_S):
        """Wait until a line matches."""

        def printed():
            return any(re.search(pattern, line) for line in self.lines)

        with self._news:
            self._news.wait_for(lambda: printed() or self.lines[-1:] == [""], timeout_s)
        assert printed(), self.lines

    def end(self, timeout_s=HANGS_S):
        """Wait for its end; return its exit code and its last words."""
        code = self.process.wait(timeout_s)
        self._reader.join(HANGS_S)
        return code, next((line for line in reversed(self.lines) if line), "")


def journaled_trials(results):
    """The trials in the journal of the one unfinished sweep, oldest first."""
    (journal,) = results.glob(".running/*/journal.jsonl")
    events = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return [event["data"]["trial"] for event in events if event["event"] == "trial"]


def trials_of(document):
    """The trials of a result's rounds, in order."""
    return [trial for round_ in document["rounds"] for trial in round_["trials"]]


def stopped(results, *words):
    """Begin a sweep, or go on with the unfinished one, under a fault; return its complaint.

    Without words it goes on.  What was measured before stays, and it says how to go on.
    """
    before = journaled_trials(results) if not words else []
    done = leaselab(*(words or ("resume",)), "--results", results)
    assert done.returncode == 4, done.stderr
    assert journaled_trials(results)[: len(before)] == before
    (running,) = results.glob(".running/*/")
    last = complaint(done)
    assert last.endswith(f"go on with: ./leaselab resume {running.name}")
    return last


def resumed(results):
    """Go on with the unfinished sweep; return its result, which has all journaled trials."""
    before = journaled_trials(results)
    (running,) = results.glob(".running/*/")
    raw = {path.name: path.read_bytes() for path in running.glob("raw/*")}
    done = leaselab("resume", "--results", results, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["id"] == running.name
    assert trials_of(document)[: len(before)] == before
    (sealed,) = results.glob(f"*/*/{running.name}")
    for trial in before:
        name = Path(trial["raw_file"]).name
        assert (sealed / "raw" / name).read_bytes() == raw[name]
    assert not running.exists()
    return document
