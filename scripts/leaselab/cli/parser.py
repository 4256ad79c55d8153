"""A parser of arguments whose errors say where, what was wanted, and what to do."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Mapping
from typing import Any, NoReturn

from leaselab.model.errors import near, unknown, usage_error

_OF_ARGUMENT = re.compile(r"argument (\S+?)(?:/\S+)?: (.*)", re.DOTALL)
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

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog, description=description, allow_abbrev=False, formatter_class=_Help
        )
        self._given: set[argparse.Action] = set()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  # as argparse has it
        """Parse, and note which options were given."""
        self._given.clear()
        self.usage = self.shape.replace("%", "%%")
        parsed, rest = super().parse_known_args(args, namespace)
        parsed.given = frozenset(_given_word(action, parsed) for action in self._given)
        return parsed, rest

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
        """Its options, also those that help shows only once another one was given."""
        return [action for action in self._actions if action.option_strings]

    @property
    def shown(self) -> list[argparse.Action]:
        """Its arguments and options, as far as help shows them."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    @property
    def conditional(self) -> list[tuple[argparse.Action, str, str, str]]:
        """Options that help shows once another was given.

        Each with that one's name, its value (`ANY`: any), and the help text.
        """
        return [
            (action, dest, value, text)
            for action in self._actions
            for dest, helps in getattr(action, "helps", {}).items()
            for value, text in helps.items()
        ]

    def error(self, message: str) -> NoReturn:
        """Raise usage_error instead of printing the usage and leaving."""
        if message.startswith(_MISSING):
            names = message.removeprefix(_MISSING)
            what = f"{names} {'are' if ', ' in names else 'is'} missing"
            options = [self._wanted(name) for name in names.split(", ") if name[0] == "-"]
            raise usage_error(what, wanted=", ".join(options) or self.shape, todo=self._see)
        if message.startswith(_SURPLUS):
            raise self._surplus(message.removeprefix(_SURPLUS).split(" ")[0])
        about = _OF_ARGUMENT.fullmatch(message)
        where, what = about.groups() if about else ("", message)
        if what.startswith(_IGNORED):
            found = what.removeprefix(_IGNORED)
            raise usage_error("it takes no value", where=where, found=found, todo=self._see)
        raise usage_error(what, where=where, wanted=self._wanted(where), todo=self._see)

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
        # Also those of other procedures, which help does not show.
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

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:  # noqa: ANN401  # as argparse has it
        """Note the option; argparse takes the values of each that it meets by this."""
        if action.option_strings:
            self._given.add(action)
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401  # as argparse has it
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            raise usage_error(
                f"not {getattr(action.type, 'wanted', f'a value of {_metavar(action)}')}",
                where=_name(action),
                found=repr(arg_string[:40]),
                todo=self._see,
            ) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  # as argparse has it
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            error = unknown("value", str(value), names, _name(action))
            error.wanted, error.todo = f"one of {', '.join(names)}", error.todo or self._see
            raise error


ANY = "*"
"""Stands for any value of an option that shows others."""


class Choosing(argparse.Action):
    """An option whose value says which others help shows, of those that are `hidden`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        _option: str | None = None,
    ) -> None:
        """Keep the value; show what belongs to it."""
        setattr(namespace, self.dest, values)
        for action in parser._actions:
            if self.dest in (helps := getattr(action, "helps", {})):
                shown = helps[self.dest]
                action.help = shown.get(str(values), shown.get(ANY, argparse.SUPPRESS))


def hidden(action: argparse.Action, dest: str, helps: Mapping[str, str]) -> argparse.Action:
    """Hide an option until another, a `Choosing` one with this `dest`, has a value of `helps`.

    It is taken all the same, and may be hidden for several others.
    """
    action.help = argparse.SUPPRESS
    action.helps = {**getattr(action, "helps", {}), dest: helps}  # type: ignore[attr-defined]
    return action


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


def _given_word(action: argparse.Action, parsed: argparse.Namespace) -> str:
    """The long name of an option that was given; of ``--x`` and ``--no-x`` the last of them."""
    paired = isinstance(action, argparse.BooleanOptionalAction)
    return action.option_strings[0 if paired and getattr(parsed, action.dest) else -1]


def _metavar(action: argparse.Action) -> str:
    shown = action.metavar or (action.choices and "|".join(map(str, action.choices)))
    if isinstance(shown, tuple):
        return " ".join(shown)
    if isinstance(shown, tuple):
        return " ".join(shown)
    return str(shown or action.dest.upper())


def _place(action: argparse.Action) -> str:
    """A positional argument as usage shows it."""
    name = _metavar(action)
    forms = {"?": f"[{name}]", "*": f"[{name}...]", "+": f"{name}...", "...": "..."}
    return forms.get(str(action.nargs), name)
