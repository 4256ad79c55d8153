"""A parser of arguments whose errors say where, what was wanted, and what to do."""

from __future__ import annotations

import argparse
import ast
import re
import textwrap
from typing import Any, NoReturn

from leaselab.model.errors import near, unknown, usage_error

_NO_CHOICE = re.compile(r"invalid choice: (.*) \(choose from", re.DOTALL)
_NO_VALUE = re.compile(r"invalid .*? value: (.*)", re.DOTALL)
_MISSING = "the following arguments are required: "
_SURPLUS = "unrecognized arguments: "
_IGNORED = "ignored explicit argument "


class _Help(argparse.HelpFormatter):
    """Help whose lines end between words: a name with hyphens stays whole."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.indent("\n".join(self._split_lines(text, width)), indent)


class Parser(argparse.ArgumentParser):
    """One command's parser: errors are LeaselabErrors, in one line, with exit code 2.

    What it parses has `given`: the options that the user named, by their long names.
    """

    appendix: str = ""
    """What help ends with."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=_Help,
            exit_on_error=False,  # it raises, instead of calling `error` with a text
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  # as argparse has it
        """Parse, and raise a usage error for what does not fit."""
        try:
            return super().parse_args(args, namespace)
        except argparse.ArgumentError as error:
            raise self._refusal(error) from None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401, ARG002  # as argparse has it
        """Parse, and note the given options: those with a value before defaults are set."""
        self.usage = self.shape.replace("%", "%%")
        options = [action for action in self.options if action.dest != "help"]
        unset = argparse.Namespace(**{option.dest: None for option in options})
        parsed, rest = super().parse_known_args(args, unset)
        given = [option for option in options if getattr(parsed, option.dest) is not None]
        parsed.given = frozenset(_given_word(option, parsed) for option in given)
        for option in options:
            if option not in given:
                setattr(parsed, option.dest, option.default)
        return parsed, rest

    def format_help(self) -> str:
        """Help, with the appendix."""
        return super().format_help() + self.appendix

    @property
    def shape(self) -> str:
        """The command with its positional arguments: ``leaselab show [ID] [OPTION...]``."""
        return " ".join([self.prog, *map(_place, self.places), "[OPTION...]"])

    @property
    def places(self) -> list[argparse.Action]:
        """Its positional arguments."""
        return [action for action in self._actions if not action.option_strings]

    @property
    def options(self) -> list[argparse.Action]:
        """Its options."""
        return [action for action in self._actions if action.option_strings]

    def error(self, message: str) -> NoReturn:
        """Raise usage_error instead of printing the usage and leaving."""
        if message.startswith(_MISSING):
            names = message.removeprefix(_MISSING)
            what = f"{names} {'are' if ', ' in names else 'is'} missing"
            options = [self._wanted(name) for name in names.split(", ") if name[0] == "-"]
            raise usage_error(what, wanted=", ".join(options) or self.shape, todo=self._see)
        if message.startswith(_SURPLUS):
            raise self._surplus(message.removeprefix(_SURPLUS).split(" ")[0])
        raise usage_error(message, wanted=self.shape, todo=self._see)

    def _surplus(self, word: str) -> Exception:
        name = word.partition("=")[0]
        if not name.startswith("-"):
            return usage_error(
                "one argument too many", found=repr(word), wanted=self.shape, todo=self._see
            )
        for place in self.places:
            if _word(name) in _metavar(place).lower().split("|"):
                todo = f"it needs none: `{self.prog} {_metavar(place).partition('|')[0]}`"
                return usage_error(f"no option {name!r}", where=self.prog, todo=todo)
        names = near(name, [text for option in self.options for text in option.option_strings])
        todo = f"did you mean {' or '.join(names)}?" if names else self._see
        return usage_error(f"no option {name!r}", where=self.prog, todo=todo)

    @property
    def _see(self) -> str:
        return f"see `{self.prog} --help`"

    def _wanted(self, name: str) -> str:
        for action in self._actions:
            if name in action.option_strings:
                return f"{name} {_metavar(action)}" if action.nargs != 0 else name
        return self.shape

    def _refusal(self, error: argparse.ArgumentError) -> Exception:
        """The usage error for a value that argparse refused."""
        if error.argument_name is None:
            self.error(error.message)
        (action,) = (one for one in self._actions if error.argument_name == _named(one))
        if choice := _NO_CHOICE.match(error.message):
            names = [str(one) for one in action.choices or ()]
            refused = unknown("value", ast.literal_eval(choice[1]), names, _name(action))
            refused.wanted, refused.todo = (
                f"one of {', '.join(names)}",
                refused.todo or self._see,
            )
            return refused
        if value := _NO_VALUE.match(error.message):
            return usage_error(
                f"not {getattr(action.type, 'wanted', f'a value of {_metavar(action)}')}",
                where=_name(action),
                found=repr(ast.literal_eval(value[1])[:40]),
                todo=self._see,
            )
        what, found = error.message, ""
        if what.startswith(_IGNORED):
            what, found = "it takes no value", what.removeprefix(_IGNORED)
        wanted = "" if found else self._wanted(_name(action))
        return usage_error(
            what, where=_name(action), found=found, wanted=wanted, todo=self._see
        )


def written(action: argparse.Action) -> str:
    """How an argument or an option is written: ``-i INVENTORY, --inventory INVENTORY``."""
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return ", ".join(f"{word}{value}" for word in action.option_strings) or _metavar(action)


def help_of(action: argparse.Action) -> str:
    """Its help in full."""
    return action.help % vars(action) if action.help else ""


def _word(option: str) -> str:
    return option.lstrip("-").lower()


def _name(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else _metavar(action)


def _named(action: argparse.Action) -> str:
    """How argparse calls it in its errors."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def _given_word(action: argparse.Action, parsed: argparse.Namespace) -> str:
    """The long name of an option that was given; of ``--x`` and ``--no-x`` the last of them."""
    paired = isinstance(action, argparse.BooleanOptionalAction)
    return action.option_strings[0 if paired and getattr(parsed, action.dest) else -1]


def _metavar(action: argparse.Action) -> str:
    shown = action.metavar or (action.choices and "|".join(map(str, action.choices)))
    if isinstance(shown, tuple):
        return " ".join(shown)
    return str(shown or action.dest.upper())


def _place(action: argparse.Action) -> str:
    """A positional argument as usage shows it."""
    name = _metavar(action)
    forms = {"?": f"[{name}]", "*": f"[{name}...]", "+": f"{name}...", "...": "..."}
    return forms.get(str(action.nargs), name)
