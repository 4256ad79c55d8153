"""The ``leaselab`` command: which command, which errors, which exit code."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence

from leaselab import __version__
from leaselab.cli.commands import INTERRUPTED, below, find, overview, verbs
from leaselab.cli.terminal import guarded_streams
from leaselab.lab.hosts.interrupts import INTERRUPTS, interrupter
from leaselab.model.errors import LeaselabError, Outcome, lab_broken, usage_error

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
"""System errors that are caused neither by input nor by Leaselab's code."""
_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.E2BIG})
"""System errors caused by paths and words of the input."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the process exit code."""
    _open_streams()
    with guarded_streams():
        return _run(list(sys.argv[1:] if argv is None else argv))


def _run(arguments: list[str]) -> int:
    logging.basicConfig(
        format="leaselab: %(message)s", level=logging.WARNING, stream=sys.stderr
    )
    # The library also raises what it logs as errors, and Leaselab reports that.
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
        return error.code
    except KeyboardInterrupt as stop:
        _say("; ".join(["interrupted", *map(str, stop.args)]))
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  # Python's own exit code 1 would mean a regression
        if isinstance(error, OSError) and (kind := _kind_of(error)):
            shown = kind(error.strerror or str(error), where=str(error.filename or ""))
            _say(str(shown))
            return shown.outcome.value
        with contextlib.suppress(OSError):
            traceback.print_exc()
        _say(f"internal error: {error!r}; this is a fault of leaselab, not of your input")
        return Outcome.FAULT.value
    return code


def _open_streams() -> None:
    """Make the three standard streams accept any text.

    A closed descriptor would be reused by the next opened file, so it is opened as the null
    device; characters that a terminal's encoding lacks are written as escapes.
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
    """Discard output that a full disk or a closed pipe did not accept.

    Otherwise Python writes it again at exit and ends with its own exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _check_text(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8, as results and journals are UTF-8."""
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
    """Error class by the cause: the machine, a name of the input, or neither."""
    if error.errno in _MACHINE or isinstance(error, ConnectionError | TimeoutError):
        return lab_broken
    return usage_error if error.errno in _NAMES else None


def _hear_signals() -> None:
    """Turn every termination signal into an interrupt, as Python does for Ctrl-C only.

    The bench is then released and the server stopped; a signal that the caller ignores (nohup)
    stays ignored.
    """
    interrupt = interrupter()
    for number in INTERRUPTS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    words = [word for word in arguments if word not in ("-h", "--help")]
    if not words or arguments[0] in ("-h", "--help"):
        sys.stdout.write(overview())
        return Outcome.OK.value
    if words[0] in ("-V", "--version", "version"):
        sys.stdout.write(f"leaselab {__version__}\n")
        return Outcome.OK.value
    if len(below(words)) > 1 and words != below(words)[0].name.split():
        sys.stdout.write(verbs(words))
        return Outcome.OK.value
    command, rest = find(arguments)
    try:
        args = command.parser().parse_args(rest)
    except SystemExit as leaving:  # --help
        return int(leaving.code or 0)
    return command.run(args).value


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        named = text.startswith("leaselab ")  # with its command
        print(text if named else f"leaselab: {text}", file=sys.stderr)
