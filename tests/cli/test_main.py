"""The frame of the command line: dispatch, errors, exit codes."""

import errno
import logging
import os
import pty
import re
import subprocess
import sys
import types
from contextlib import suppress
from pathlib import Path

import pytest
from tests.examples import archive_result

from leaselab import __version__
from leaselab.cli import commands
from leaselab.cli.commands import COMMANDS, GROUPS
from leaselab.cli.main import main
from leaselab.model.errors import (
    Outcome,
    invalid_measurement,
    lab_broken,
    server_broken,
    usage_error,
)

SOURCES = str(Path(__file__).parents[2] / "scripts")


@pytest.mark.parametrize(
    ("words", "term"), [("list", "dumb"), ("show last", ""), ("list --table", None)]
)
def test_a_terminal_that_knows_no_codes_gets_plain_lines(tmp_path, words, term):
    """Also without a home, in the language of C and on a few columns."""
    archive_result(tmp_path)
    known = {"LEASELAB_RESULTS": str(tmp_path), "PYTHONPATH": SOURCES, "LANG": "C"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "leaselab", *words.split()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**known, "COLUMNS": "20"} | ({} if term is None else {"TERM": term}),
    ) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # nobody writes any more
            while part := os.read(ours, 1 << 16):
                seen += part
    os.close(ours)
    assert process.returncode == 0, seen
    assert b"v4-memfile" in seen
    assert b"\x1b" not in seen


def run_python(*arguments):
    known = {**os.environ, "PYTHONPATH": SOURCES}
    words = [sys.executable, *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=known)


@pytest.fixture
def command(monkeypatch):
    """Stand in for the module of ``show``; set `run` to what it does."""
    module = types.SimpleNamespace(
        NAME="show", add_arguments=lambda _: None, run=lambda _: Outcome.OK
    )
    monkeypatch.setattr(commands.importlib, "import_module", lambda _: module)
    return module


def raising(error):
    def run(_):
        raise error

    return run


@pytest.mark.parametrize("words", [[], ["--help"], ["help"]])
def test_help_names_every_command(capsys, words):
    assert main(words) == 0
    out = capsys.readouterr().out
    for title, rows in GROUPS.items():
        assert f"\n{title}\n" in out
        for row in rows:
            first, _, verb = row.name.partition(" ")
            words = verb.split()[0] if verb else f"  {first:9}  {row.short}\n"
            assert words in out
    assert all(len(line) <= 90 for line in out.splitlines())
    assert main(["--version"]) == main(["version"]) == 0
    assert capsys.readouterr().out == f"leaselab {__version__}\n" * 2


def test_help_breaks_no_name_at_its_hyphens(capsys, monkeypatch):
    """One that is cut cannot be found, or pasted."""
    for columns in range(80, 120, 5):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["compare", "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert not [line for line in lines if re.search(r"\w-$", line)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lst", "no command 'lst'; did you mean `leaselab list`?"),
        ("status", "no command 'status'; did you mean `leaselab lab status`?"),
        ("dev tst", "no command 'dev tst'; did you mean `leaselab dev test`?"),
        ("xyzzy", "no command 'xyzzy'; all commands: `leaselab --help`"),
        ("dev xyzzy", "no command 'dev xyzzy' (wanted archive, bench, lint, test); "),
        ("kea", "no command 'kea'; to measure it: `leaselab run v4-memfile`; all commands"),
        ("--json list", "options follow the command (found --json, wanted leaselab COMMAND "),
        ("show --josn", "show: no option '--josn'; did you mean --json?"),
        ("rerun --quick", "rerun: no option '--quick'; see `leaselab rerun --help`"),
        ("run --QUICK", "run: no option '--QUICK'; did you mean --quick?"),
        ("run --scenario v4", "no option '--scenario'; it needs none: `leaselab run SCENARIO`"),
        ("run --quick=yes", "--quick: it takes no value (found 'yes'); see `leaselab run --h"),
        ("list --limit x", "--limit: not a whole number from 0 to 1000000 (found 'x'); see"),
        ("step deploy", "SCENARIO is missing (wanted leaselab step deploy SCENARIO [OPTION..."),
        ("show one two", "one argument too many (found 'two', wanted leaselab show [ID|PATH|"),
    ],
)
def test_bad_input_is_one_line_on_stderr(capsys, arguments, message):
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert message in captured.err


@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_exit_code_is_that_of_the_outcome(command, outcome):
    command.run = lambda _: outcome
    assert main(["show"]) == outcome.value


@pytest.mark.parametrize(
    ("make", "code"),
    [(usage_error, 2), (invalid_measurement, 3), (lab_broken, 4), (server_broken, 5)],
)
def test_an_error_is_one_line_and_its_exit_code(command, capsys, make, code):
    command.run = raising(make("it broke", where="here", found="1", wanted="2", todo="mend it"))
    assert main(["show"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "leaselab: here: it broke (found 1, wanted 2); mend it\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "/results"), 4, "/results: Permission de"),
        (OSError(errno.ENOSPC, "no space left"), 4, "no space left"),
        (ConnectionResetError("gone"), 4, "gone"),
        (FileNotFoundError(errno.ENOENT, "no such file", "/nowhere"), 70, "fault of leaselab"),
        (ZeroDivisionError("oops"), 70, "internal error: ZeroDivisionError('oops')"),
    ],
)
def test_what_the_system_refuses_is_the_labs_and_what_we_forgot_is_ours(
    command, capsys, error, code, said
):
    """Only the lab's takes a bench out of use, and neither reads as a regression."""
    command.run = raising(error)
    assert main(["show"]) == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("leaselab: ")
    assert said in last


def test_every_command_has_help_of_its_own(capsys):
    names = [row.name for row in COMMANDS if row.place != "developer.launched"]
    assert len(names) == len(set(names))
    for name in names:
        assert main([*name.split(), "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: leaselab {name}")


HEAVY = {"rich", "scipy", "numpy", "jsonschema", "paramiko", "docker", "sqlite3"}


@pytest.mark.parametrize(
    ("words", "heavy"), [("", HEAVY), ("compare", {"paramiko"}), ("run", {"paramiko"})]
)
def test_help_imports_no_more_than_it_needs(words, heavy):
    code = (
        "import sys; from leaselab.cli.main import main; main(sys.argv[1:]);"
        f"print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = run_python("-c", code, *words.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_warnings_go_to_stderr_and_leave_stdout_whole(tmp_path):
    (tmp_path / "index.sqlite").write_text("rubbish")
    done = run_python("-m", "leaselab", "list", "--json", "--results", tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert done.stderr.startswith(f"leaselab: {tmp_path / 'index.sqlite'}: file is not a data")
    assert done.stderr.count("\n") == 1


def test_a_library_that_logs_what_it_raises_is_not_heard(command, caplog):
    """paramiko logs tracebacks of connections that end in the middle of their beginning."""

    def run(_):
        logging.getLogger("paramiko.transport").error("Exception (client): no banner")
        return Outcome.OK

    command.run = run
    assert main(["show"]) == 0
    assert caplog.records == []
