"""Whatever words a command is given, it ends with a documented code, and it ends.

Words are made from the parser of each command, from fixed seeds; the hosts are replaced by
ones that do not answer.
"""

import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.bench_document import DOCUMENT
from tests.examples import archive_result, example_result
from tests.here import LISTING
from tests.inventories import parsed
from tests.repositories import make_repository
from tests.waiting import HANGS_S

from leaselab.cli import check, lab
from leaselab.cli.commands import COMMANDS
from leaselab.cli.main import BROKEN_PIPE, main
from leaselab.lab.bench import benches, made_here
from leaselab.model.errors import Outcome, lab_broken
from leaselab.run import preparation, recovery

ROOT = Path(__file__).parents[2]
CALLS = 40
"""Calls of each command and verb."""
LONGEST_S = 60
MEMORY = 6 << 30
CODES = {outcome.value for outcome in Outcome} - {Outcome.FAULT.value}


def listed(text):
    """The words of a text."""
    return text.split()


NUMBERS = (
    *("", " ", *listed("- --1 +1 -1 0 1 2 3 65536"), "9" * 20, "-" + "9" * 20),
    *listed("1e400 -1e400 1e20 1e-400 nan inf -inf 0x10 1_0 .5 0.5 5. 1e2 ٣ 1,2 1/2"),
    *("9" * 5000, "0" * 5000),
)
TEXTS = (
    *NUMBERS,
    *("x" * 300, "x" * 70_000, "a\nb", "\x1b[31mred", "\u202e", "\ufeff", "é", "ﷺ", "😀"),
    *("{{ 7 * 7 }}", "$(id)", "`id`", "'; drop table results; --", "%s%n", "../../x", "/", "."),
    *listed(".. ^main main.. ..main a..b a...b HEAD^! HEAD~99999999999 :/x -- -x --all @ @{u}"),
    *listed("@{-1} HEAD: v4-* [ [! * ** last last~0 last~99999999999999999999"),
    *("last~" + "9" * 5000, *listed("package release build: build:x branch-point")),
    *listed("package@v4-memfile @v4-memfile v4-memfile memfile 2026-13 2026-11 0000-00-00"),
    *listed("2026-02-30 99999-01-01 20261121 a@b@c % [] {} { null"),
    *('{"rounds": 1e400}', '{"name": []}', '{"rounds": NaN}', '{"trial_s": -1}', "[" * 5000),
    *('"' * 9, *listed("\\ http://[ https://u:p@h/x file:/// git@h:x ssh:// docker")),
    *listed("rack1 debian-13 trixie debian:13"),
)


class Hang(BaseException):
    """A call that does not end; no handler of ours takes it."""


def hostile_paths(folder):
    """What a path may lead to."""
    (folder / "directory").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "ring").symlink_to(folder / "ring")
    (folder / "gone").symlink_to(folder / "nowhere")
    # Links, as a fault would replace the devices themselves.
    (folder / "null").symlink_to("/dev/null")
    (folder / "full").symlink_to("/dev/full")
    (folder / "file").write_text("text", "utf-8")
    (folder / "nul").write_bytes(b"\0" * 100)
    (folder / "latin").write_bytes(b"caf\xe9")
    (folder / "deep.json").write_text("[" * 100_000, "utf-8")
    (folder / "nan.json").write_text('{"schema_version": NaN}', "utf-8")
    (folder / "bench.json").write_text(json.dumps(DOCUMENT), "utf-8")
    with (folder / "huge").open("wb") as file:
        file.truncate(80 << 20)
    (folder / "sub").mkdir()
    names = [path.name for path in folder.iterdir() if path.name != "full"]
    names += [*listed("missing missing/x file/x sub/new é -x ring/x"), "x" * 300, "a b"]
    return [*(str(folder / name) for name in names), "", ".", "-"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A checkout with an archive, a repository and hostile paths, whose hosts do not answer."""
    folder = tmp_path_factory.mktemp("hostile")
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in ("roles", "ansible", "ansible.cfg", "inventory"):
        (checkout / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "scenarios", checkout / "scenarios")
    for name in ("v4-memfile", "v6-memfile"):
        archive_result(checkout / "results", example_result(scenario=name))
    (folder / "paths").mkdir()
    paths = hostile_paths(folder / "paths")
    repository = make_repository(folder / "repository")
    hosts = {name: {"ansible_host": "127.0.0.1", "ansible_port": 9} for name in ("sut", "gen")}
    listing = {**LISTING, "_meta": {"hostvars": hosts}}

    def refuse(*_, **__):
        raise lab_broken("no playbook is played here")

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "paths")
        patch.setenv("LEASELAB_ROOT", str(checkout))
        patch.setattr(benches, "read_inventory", lambda path: parsed(path, listing))
        for module in (preparation, check, lab, recovery):
            patch.setattr(module, "run_playbook", refuse)
        patch.setattr(made_here, "LOCKS", (folder,))
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
        yield [*paths, str(repository)]


PARSERS = {
    tuple(command.name.split()): command.parser()
    for command in COMMANDS
    if not command.place.startswith("developer.")  # they start programs of developers
}


def words(action, chance, paths):
    """What an option or a place is given."""
    if action.nargs == 0:
        return [chance.choice(action.option_strings)]
    count = action.nargs if isinstance(action.nargs, int) else 1
    if action.nargs in ("*", "+"):
        count = chance.randint(0, 3)
    given = list(action.option_strings[-1:])
    for _ in range(count):
        kind = [*TEXTS, *paths]
        if action.type is Path or chance.random() < 0.1:
            kind = paths
        elif action.type is not None and chance.random() < 0.8:
            kind = NUMBERS
        elif action.choices and chance.random() < 0.7:
            kind = [str(choice) for choice in action.choices]
        given.append(chance.choice(kind))
    return given


def line(command, chance, paths):
    """A command line."""
    actions = [action for action in PARSERS[command]._actions if action.dest != "help"]
    needed = [action for action in actions if action.required or not action.option_strings]
    others = [action for action in actions if action not in needed]
    chosen = [item for item in needed if chance.random() < 0.97]
    chosen += chance.sample(others, min(len(others), chance.randint(0, 3)))
    chance.shuffle(chosen)
    return [*command, *(word for item in chosen for word in words(item, chance, paths))]


def call(arguments):
    """The code that a call ends with, and what it says; raises Hang."""

    def stop(*_):
        raise Hang

    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        with redirect_stdout(output), redirect_stderr(output):
            code = main(arguments)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    output.flush()
    return code, output.buffer.getvalue().decode(errors="replace")


@pytest.fixture
def bounded():
    """A bound for memory, which no input may reach."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("command", PARSERS, ids=" ".join)
def test_no_words_of_a_command_are_a_fault_or_without_end(command, place):
    chance = random.Random(" ".join(command))  # noqa: S311 - the same words each time
    wrong = []
    for _ in range(CALLS):
        arguments = line(command, chance, place)
        try:
            code, said = call(arguments)
        except Hang:
            code, said = "hang", ""
        if code not in CODES:
            wrong.append((code, [word[:80] for word in arguments], said[-600:]))
    assert wrong == []


def shell(script, **environment):
    """What the shell says of a command line with a real process."""
    known = {"LEASELAB": f"{sys.executable} -m leaselab", "PYTHONPATH": str(ROOT / "scripts")}
    return subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, **known, **environment},
        capture_output=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("$LEASELAB list >&-", 0),
        ("$LEASELAB list <&- >&- 2>&-", 0),
        ("$LEASELAB nothing >&- 2>&-", 2),
        ("$LEASELAB list >/dev/full", 4),
        ("$LEASELAB show nothing >/dev/full 2>/dev/full", 2),
        ("set -o pipefail; $LEASELAB list --scenarios | head -0", BROKEN_PIPE),
        ("set -o pipefail; $LEASELAB nothing 2>&1 | head -0", 2),
        ("$LEASELAB show $'\\xff'", 2),
        ("$LEASELAB compare --list HEAD --repo $'\\xff'", 2),
        ("git init -q $'\\xff' && cd $'\\xff' && $LEASELAB compare --list HEAD --repo .", 2),
        ("LEASELAB_RESULTS=$'/\\xff' $LEASELAB list", 2),
        ("$LEASELAB export --csv full", 4),
        ("$LEASELAB export --csv fifo", 2),
        ("$LEASELAB export --csv null && test -L null", 0),
        ("$LEASELAB step sweep /dev/zero", 2),
        ("$LEASELAB step sweep fifo", 2),
        ("$LEASELAB run v4-memfile --config fifo", 2),
        ("$LEASELAB run v4-memfile --clients fifo", 2),
        ("$LEASELAB run nsd-delegations-size-10000 --queries fifo", 2),
        ("$LEASELAB clients fifo", 2),
        ("$LEASELAB queries fifo", 2),
        ("$LEASELAB lab check --networks /dev/zero", 2),
        ('LEASELAB_COMMAND="\'" $LEASELAB step sweep bench.json', 2),
    ],
)
def test_streams_and_devices_do_not_change_the_code(script, code):
    assert shell(script).returncode == code


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_a_terminal_without_our_letters_gets_escapes(encoding):
    done = shell("$LEASELAB list && $LEASELAB show last", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "v4-memfile" in text
    done = shell("$LEASELAB show last --json", PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout.decode(encoding))["scenario"]["name"].startswith("v")
