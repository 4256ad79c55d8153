"""The ``leaselab`` command: which command, which errors, which exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import logging
import os
import signal
import sys
import textwrap
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from leaselab import __version__
from leaselab.cli.terminal import guarded_streams
from leaselab.lab.interrupts import INTERRUPTS, interrupter
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INTERRUPTED = 130
BROKEN_PIPE = 141
_MACHINE = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EIO,
        errno.EACCES,
        errno.EPERM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
    }
)
"""Errors of the system that no input and no code of ours is to blame for."""
_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.E2BIG})
"""Those of names and words, which are the input's."""


class CommandModule(Protocol):
    """What the module of a command holds."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own options."""

    def run(self, args: argparse.Namespace) -> Outcome:
        """Do it.  Raises LeaselabError."""


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table: modules are imported only when their command is called."""

    name: str
    module: str
    help: str


GROUPS = {
    "Measure": (
        Command(
            "run", "run", "set up the lab, measure scenarios, archive and show the results"
        ),
        Command("resume", "resume", "go on with a sweep that was interrupted"),
        Command("rerun", "rerun", "measure again what a result measured"),
        Command(
            "failover", "failover", "kill the server of a pair under load, see what is lost"
        ),
    ),
    "Compare": (
        Command("compare", "compare", "say whether one result is slower than another"),
        Command("bisect", "bisect", "find the commit that made a server slower"),
        Command("review", "review", "detect performance changes in the archive"),
        Command("calibrate", "calibrate", "measure the false-alarm rate and power of a bench"),
        Command("commits", "commits", "show which commits a name or a range means"),
    ),
    "Look": (
        Command("show", "show", "show one result"),
        Command("list", "list_", "list the results"),
        Command("table", "table", "show the newest result of each scenario side by side"),
        Command("report", "report", "write results as pages that open from a disk"),
        Command("watch", "watch", "follow a sweep second by second while it runs"),
        Command(
            "export", "export", "write results for other programs: CSV, Parquet, OpenMetrics"
        ),
    ),
    "Lab": (
        Command("lab", "lab", "manage a lab: up, down, lock, power, status"),
        Command("check", "check", "inspect a lab before anything touches it"),
    ),
    "Plan": (
        Command("scenarios", "scenarios", "list the scenarios, or show one as it would be run"),
        Command("plan", "plan", "plan what to measure on which commit, within a budget"),
        Command("capacity", "capacity", "say which configurations carry so many clients"),
        Command("advise", "advise", "check a Kea configuration for known costs"),
    ),
    "Steps": (
        Command("provision", "provision", "prepare the hosts of a bench"),
        Command("build", "build", "build one commit of a server on the builder"),
        Command("deploy", "deploy", "install a scenario's server and prove that it serves"),
        Command("tune", "tune", "tune hosts and database for a scenario; write bench.json"),
        Command("sweep", "sweep", "run the sweep that a bench.json describes"),
    ),
    "Keep": (
        Command("archive", "archive_", "verify results against their checksums, find them"),
        Command("prune", "prune", "remove old raw outputs, and builds that no result names"),
    ),
    "Develop": (
        Command("bench", "bench", "run one of the project's own benchmarks"),
        Command("test", "developer", "run the project's tests, the real lab included"),
        Command("lint", "developer", "run every linter"),
    ),
}
"""The commands, by what they are for."""
COMMANDS = tuple(command for group in GROUPS.values() for command in group)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are LeaselabErrors: one line, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise usage_error instead of printing the usage and leaving."""
        raise usage_error(message, todo=f"see `{self.prog} --help`")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the process exit code."""
    _open_streams()
    with guarded_streams():
        return _run(list(sys.argv[1:] if argv is None else argv))


def _run(arguments: list[str]) -> int:
    logging.basicConfig(
        format="leaselab: %(message)s", level=logging.WARNING, stream=sys.stderr
    )
    # What it logs as an error it raises as well, and that is told in our words.
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    try:
        return _outcome(arguments)
    finally:
        _drop_output()


def _outcome(arguments: list[str]) -> int:
    try:
        _hear_signals()
        _check_text(arguments)
        code = _dispatch(arguments)
        sys.stdout.flush()
    except LeaselabError as error:
        _say(str(error))
        return error.outcome.value
    except KeyboardInterrupt as stop:
        _say("; ".join(["interrupted", *map(str, stop.args)]))
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  # Python's own exit code 1 would mean a regression
        if isinstance(error, OSError) and (kind := _kind_of(error)):
            told = kind(error.strerror or str(error), where=str(error.filename or ""))
            _say(str(told))
            return told.outcome.value
        with contextlib.suppress(OSError):
            traceback.print_exc()
        _say(f"internal error: {error!r}; this is a fault of leaselab, not of your input")
        return Outcome.FAULT.value
    return code


def _open_streams() -> None:
    """Make whatever we were started with three streams that take any text.

    A descriptor that was closed would become that of the next file we open, so it leads
    nowhere; what a terminal's encoding lacks is written as an escape.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115, PTH123
        if number and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Have what a full disk or a reader that left did not take go nowhere.

    Python writes it again as it ends, and would end with a code of its own.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse what is no text: it would end in results and journals, which are UTF-8."""
    given = {f"argument {place}": text for place, text in enumerate(arguments, 1)}
    given |= {name: text for name, text in os.environ.items() if name.startswith("LEASELAB_")}
    for where, text in given.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise usage_error(
                "not UTF-8 text",
                where=where,
                found=str(os.fsencode(text))[:80],
                todo="rename the file, or use another word",
            ) from error


def _kind_of(error: OSError) -> Callable[..., LeaselabError] | None:
    """What is to blame for it: the machine, a name of the input, or neither."""
    if error.errno in _MACHINE or isinstance(error, ConnectionError | TimeoutError):
        return lab_broken
    return usage_error if error.errno in _NAMES else None


def _hear_signals() -> None:
    """Let every way of ending us interrupt us, as Python has it for Ctrl-C alone.

    The bench is then freed and the server stopped; a signal that the caller
    has us ignore (nohup) stays ignored.
    """
    interrupt = interrupter()
    for number in INTERRUPTS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        sys.stdout.write(_overview())
        return Outcome.OK.value
    if name in ("-V", "--version", "version"):
        sys.stdout.write(f"leaselab {__version__}\n")
        return Outcome.OK.value
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        raise _unknown(name)
    module = cast("CommandModule", importlib.import_module(f"leaselab.cli.{command.module}"))
    parser = Parser(prog=f"leaselab {name}", description=module.HELP, allow_abbrev=False)
    module.add_arguments(parser)
    try:
        args = parser.parse_args(arguments[1:])
    except SystemExit as leaving:  # --help
        return int(leaving.code or 0)
    return module.run(args).value


def _unknown(name: str) -> LeaselabError:
    if name.startswith("-"):
        return usage_error(
            f"options follow the command: leaselab COMMAND {name}", todo="see `leaselab --help`"
        )
    near = get_close_matches(name, [command.name for command in COMMANDS], 1, 0.5)
    return usage_error(
        f"unknown command {name!r}",
        todo=f"did you mean `leaselab {near[0]}`?" if near else "see `leaselab --help`",
    )


def _overview() -> str:
    width = max(len(command.name) for command in COMMANDS)
    rows = "".join(
        f"{group}\n" + "".join(f"  {one.name:{width}}  {one.help}\n" for one in commands)
        for group, commands in GROUPS.items()
    )
    return (
        "usage: leaselab COMMAND [OPTION...]\n\n"
        "A performance lab for DHCP and DNS servers: "
        "from a commit to a number that can be trusted.\n\n"
        f"{rows}\n"
        "`leaselab COMMAND --help` has the options of a command.\n\n"
        f"{textwrap.fill(f'exit codes: {_exit_codes()}', 80)}\n"
    )


def _exit_codes() -> str:
    return ", ".join(
        [*(f"{one.value} {one.meaning}" for one in Outcome), f"{INTERRUPTED} interrupted"]
    )


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"leaselab: {text}", file=sys.stderr)
