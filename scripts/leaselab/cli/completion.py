"""``leaselab dev completion``: what a shell completes, made from the parsers."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING

from leaselab.cli.commands import COMMANDS, below
from leaselab.model.errors import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

HELP = "Print the completion of a shell: source it, or save it where the shell looks for it."
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``dev completion``."""
    parser.add_argument("shell", choices=("bash", "zsh"))


def run(args: argparse.Namespace) -> Outcome:
    """Print it."""
    sys.stdout.write((_ZSH if args.shell == "zsh" else "") + completion())
    return Outcome.OK


def completion() -> str:
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
    found: dict[str, list[str]] = {"": ["help", "version"]}
    for command in COMMANDS:
        names = command.name.split()
        for count, name in enumerate(names):
            known = found.setdefault(" ".join(names[:count]), [])
            known += [] if name in known else [name]
        options = (option for one in command.parser().options for option in one.option_strings)
        found.setdefault(command.name, []).extend(options)
    return {key: " ".join(words) for key, words in found.items()}


def _values() -> dict[str, str]:
    """By command and option: the values that the option may have."""
    return {
        f"{command.name} {option}": " ".join(map(str, one.choices))
        for command in COMMANDS
        for one in command.parser().options
        if one.choices
        for option in one.option_strings
    } | {
        command.name + " " + command.name.split()[-1]: " ".join(map(str, one.choices))
        for command in COMMANDS
        for one in command.parser().places[:1]
        if one.choices and not below(command.name.split())[1:]
    }
