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
OURS = [row.name for row in COMMANDS if row.place != "developer.launched"]


@pytest.mark.parametrize("term", ["dumb", "", None])
@pytest.mark.parametrize("words", ["list", "show last", "list --scenarios", "list --table"])
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


def run_python(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "leaselab", *arguments],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )


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


def test_help_has_the_options_of_a_command(capsys):
    assert main(["help", "show"]) == main(["show", "--help"]) == 0
    out = capsys.readouterr().out
    assert out == out[: len(out) // 2] * 2
    assert "--all" in out
    assert main(["help", "shwo"]) == 2


def test_help_breaks_no_name_at_its_hyphens(capsys, monkeypatch):
    """One that is cut cannot be found, or pasted."""
    for columns in range(80, 120, 5):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["compare", "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert not [line for line in lines if re.search(r"\w-$", line)]


@pytest.mark.parametrize("word", ["--version", "version"])
def test_version(capsys, word):
    assert main([word]) == 0
    assert capsys.readouterr().out == f"leaselab {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["lst"],
            "leaselab: no command 'lst'; did you mean `leaselab list`?",
        ),
        (
            ["check"],
            "leaselab: no command 'check'; did you mean `leaselab lab check`?",
        ),
        (
            ["dev", "tst"],
            "leaselab: no command 'dev tst'; did you mean `leaselab dev test`?",
        ),
        (
            ["xyzzy"],
            "leaselab: no command 'xyzzy'; all commands: `leaselab --help`",
        ),
        (
            ["dev", "xyzzy"],
            "leaselab: no command 'dev xyzzy' (wanted archive, bench, lint, test); "
            "all commands: `leaselab dev --help`",
        ),
        (
            ["kea"],
            "leaselab: no command 'kea'; to measure it: `leaselab run v4-memfile`; all "
            "commands: `leaselab --help`",
        ),
        (
            ["--json", "list"],
            "leaselab: options follow the command (found --json, wanted leaselab COMMAND "
            "--json); see `leaselab --help`",
        ),
        (
            ["show", "--josn"],
            "leaselab show: no option '--josn'; did you mean --json?",
        ),
        (
            ["rerun", "--quick"],
            "leaselab rerun: no option '--quick'; see `leaselab rerun --help`",
        ),
        (["run", "--QUICK"], "leaselab run: no option '--QUICK'; did you mean --quick?"),
        (
            ["run", "--scenario", "v4-memfile"],
            "leaselab run: no option '--scenario'; it needs none: `leaselab run SCENARIO`",
        ),
        (
            ["run", "--quick=yes"],
            "leaselab: --quick: it takes no value (found 'yes'); see `leaselab run --help`",
        ),
        (
            ["list", "--limit", "x"],
            "leaselab: --limit: not a whole number from 0 to 1000000 (found 'x'); "
            "see `leaselab list --help`",
        ),
        (
            ["step", "deploy"],
            "leaselab: SCENARIO is missing (wanted leaselab step deploy SCENARIO [OPTION...]); "
            "see `leaselab step deploy --help`",
        ),
        (
            ["show", "one", ""],
            "leaselab: one argument too many (found '', wanted leaselab show "
            "[ID|PATH|SCENARIO|last] [OPTION...]); see `leaselab show --help`",
        ),
        (
            ["show", "one", "two"],
            "leaselab: one argument too many (found 'two', wanted leaselab show "
            "[ID|PATH|SCENARIO|last] [OPTION...]); see `leaselab show --help`",
        ),
    ],
)
def test_bad_input_is_one_line_on_stderr(capsys, arguments, message):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"{message}\n"


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


def test_an_interrupt_ends_with_130(command, capsys):
    command.run = raising(KeyboardInterrupt())
    assert main(["show"]) == 130
    assert capsys.readouterr().err == "leaselab: interrupted\n"


def test_a_failure_of_the_system_is_a_broken_lab(command, capsys):
    command.run = raising(PermissionError(13, "Permission denied", "/results"))
    assert main(["show"]) == 4
    assert capsys.readouterr().err == "leaselab: /results: Permission denied\n"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError(errno.ENOSPC, "no space left"), Outcome.LAB),
        (ConnectionResetError("gone"), Outcome.LAB),
        (FileNotFoundError(errno.ENOENT, "no such file", "/nowhere"), Outcome.FAULT),
    ],
)
def test_what_the_system_refuses_is_the_labs_and_what_we_forgot_is_ours(
    command, error, outcome
):
    """Only the lab's takes a bench out of use."""
    command.run = raising(error)
    assert main(["show"]) == outcome.value


def test_a_place_that_cannot_be_written_to_is_bad_input(tmp_path):
    results = tmp_path / "results"
    archive_result(results)
    for words in (["export", "--csv"], ["report", "-o"]):
        place = tmp_path / "file"
        place.write_text("in the way")
        assert main([*words, str(place / "inside"), "--results", str(results)]) == 2


def test_a_fault_of_leaselab_never_reads_as_a_regression(command, capsys):
    command.run = raising(ZeroDivisionError("oops"))
    assert main(["show"]) == Outcome.FAULT.value == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "leaselab: internal error: ZeroDivisionError('oops')" in err


def test_a_reader_that_leaves_early_is_no_fault(tmp_path):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = run_python("list", "--results", str(tmp_path), stdout=write_end)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("name", OURS)
def test_a_command_module_has_what_the_frame_asks(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: leaselab {name}")


def test_names_of_commands_are_unique():
    names = [row.name for row in COMMANDS]
    assert len(names) == len(set(names))


HEAVY = {"rich", "scipy", "numpy", "jsonschema", "paramiko", "docker", "sqlite3"}


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], HEAVY),
        (["compare", "--help"], {"paramiko"}),
        (["run", "--help"], {"paramiko"}),
    ],
    ids=lambda item: " ".join(sorted(item)),
)
def test_help_imports_no_more_than_it_needs(words, heavy):
    code = (
        "import sys; from leaselab.cli.main import main; main(sys.argv[1:]);"
        f"print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert done.stderr == "[]\n"


def test_warnings_go_to_stderr_and_leave_stdout_whole(tmp_path):
    (tmp_path / "index.sqlite").write_text("rubbish")
    done = run_python("list", "--json", "--results", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert done.stderr == (
        f"leaselab: {tmp_path / 'index.sqlite'}: file is not a database: "
        "making it again from the results\n"
    )


def test_a_library_that_logs_what_it_raises_is_not_heard(command, caplog):
    """paramiko logs tracebacks of connections that end in the middle of their beginning."""

    def run(_):
        logging.getLogger("paramiko.transport").error("Exception (client): no banner")
        return Outcome.OK

    command.run = run
    assert main(["show"]) == 0
    assert caplog.records == []
