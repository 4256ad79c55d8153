"""``leaselab dev completion`` and ``dev man``: made from the parsers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from shlex import quote

from leaselab import __version__
from leaselab.cli.commands import COMMANDS, INTERRUPTED, Command, below
from leaselab.cli.parser import help_of, written
from leaselab.model.errors import Outcome

_BASH = """\
_leaselab() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' place word words
  for ((place = 1; place < COMP_CWORD; place++)); do
    word=${command:+$command }${COMP_WORDS[place]}
    [[ -n $(_leaselab_words "$word") ]] || break
    command=$word
  done
  words=$(_leaselab_values "$command $previous")
  [[ -n $words ]] || words=$(_leaselab_words "$command")
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _leaselab leaselab ./leaselab
"""
_ZSH = "#compdef leaselab\nautoload -U +X bashcompinit && bashcompinit\n"


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev completion``."""
    parser.add_argument("shell", choices=("bash", "zsh"))


def completion(args: argparse.Namespace) -> Outcome:
    """Print the completion of a shell."""
    sys.stdout.write((_ZSH if args.shell == "zsh" else "") + completion_script())
    return Outcome.OK


def completion_script() -> str:
    """The completion of bash; zsh reads it, too, with its bashcompinit."""
    return "".join(
        [
            *_function("_leaselab_words", _words()),
            *_function("_leaselab_values", _values()),
            _BASH,
        ]
    )


def _function(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    yield f"{name}() {{\n  case $1 in\n"
    for key, text in texts.items():
        yield f"    {quote(key)}) echo {quote(text)} ;;\n"
    yield "  esac\n}\n"


def _words() -> dict[str, str]:
    """By command, or the beginning of its name: what may follow."""
    words: dict[str, list[str]] = {"": ["help", "version"]}
    for command in COMMANDS:
        names = command.name.split()
        for count, name in enumerate(names):
            known = words.setdefault(" ".join(names[:count]), [])
            known += [] if name in known else [name]
        actions = command.parser().options
        options = (option for action in actions for option in action.option_strings)
        words.setdefault(command.name, []).extend(options)
    return {key: " ".join(following) for key, following in words.items()}


def _values() -> dict[str, str]:
    """By command and option: the values that the option may have."""
    return {
        f"{command.name} {option}": " ".join(map(str, action.choices))
        for command in COMMANDS
        for action in command.parser().options
        if action.choices
        for option in action.option_strings
    } | {
        command.name + " " + command.name.split()[-1]: " ".join(map(str, action.choices))
        for command in COMMANDS
        for action in command.parser().places[:1]
        if action.choices and not below(command.name.split())[1:]
    }


def add_manual(_: argparse.ArgumentParser) -> None:
    """It takes none."""


def manual(_: argparse.Namespace) -> Outcome:
    """Print the manual page."""
    sys.stdout.write(manual_page())
    return Outcome.OK


def manual_page() -> str:
    """The page, for man."""
    codes = [(str(outcome.value), outcome.meaning) for outcome in Outcome]
    lines = [
        f'.TH LEASELAB 1 "" "leaselab {__version__}" "User Commands"',
        ".SH NAME",
        "leaselab \\- a performance lab for DHCP and DNS servers",
        ".SH SYNOPSIS",
        ".B leaselab",
        "COMMAND [OPTION...]",
        ".SH COMMANDS",
        *(line for command in COMMANDS for line in _section(command)),
        ".SH EXIT STATUS",
        *(line for row in [*codes, (str(INTERRUPTED), "interrupted")] for line in _row(*row)),
    ]
    return "\n".join([*lines, ""])


def _section(command: Command) -> Iterator[str]:
    parser = command.parser()
    yield f".SS {_text(parser.shape)}"
    yield _text(parser.description or "")
    for action in parser.shown:
        if action.dest != "help":
            yield from _row(written(action), help_of(action))


def _row(term: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_text(term)}", _text(text) or "\\&")


def _text(text: str) -> str:
    """A text on one line that troff takes as it is."""
    line = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{line}" if line.startswith((".", "'")) else line
