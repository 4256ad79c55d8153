"""Reads this repository's declarative Jenkinsfiles: calls with arguments and blocks.

Their Groovy has no logic, so this grammar is all of it: a statement is a name, or a call with
arguments in brackets or on its line, and a block of statements.
Of an assignment only the value is read.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"(?P<skip>[ \t]+|//[^\n]*)|(?P<end>[\n;])|(?P<number>\d+)"
    r"|(?P<text>'(?:\\.|[^'\\\n])*')|(?P<filled>\"(?:\\.|[^\"\\\n])*\")"
    r"|(?P<name>[A-Za-z_$][\w$]*(?:\.[A-Za-z_]\w*)*)|(?P<sign>[{}()\[\],:=])"
)


class MalformedError(ValueError):
    """A file that is not in this grammar."""


@dataclass(frozen=True)
class Name:
    """A name as a value: `none`, `scm`, `params.REPO`, `env.BENCH`."""

    path: str


@dataclass(frozen=True)
class Filled:
    """A text in double quotes: its parts, which are texts and names."""

    parts: tuple


@dataclass
class Call:
    """NAME(args, key: value) { body }; without a block, `body` is None."""

    name: str
    line: int = 0
    args: list = field(default_factory=list)
    named: dict = field(default_factory=dict)
    body: list | None = None

    def calls(self):
        """The calls in the block."""
        return [each for each in self.body or [] if isinstance(each, Call)]

    def child(self, name):
        """The call of this name in the block, or None."""
        return next((each for each in self.calls() if each.name == name), None)

    def walk(self):
        """This call, and all in its arguments and its block."""
        yield self
        yield from _calls_in([*self.args, *self.named.values(), *(self.body or [])])


def _calls_in(values):
    for value in values:
        if isinstance(value, Call):
            yield from value.walk()
        elif isinstance(value, list | dict):
            yield from _calls_in(value.values() if isinstance(value, dict) else value)


def read(path):
    """The call `pipeline { ... }` of a file."""
    (pipeline,) = _Reader(path.read_text(encoding="utf-8")).statements("")
    return pipeline


class _Reader:
    def __init__(self, text):
        self.tokens = []
        place = 0
        while place < len(text):
            line = text.count("\n", 0, place) + 1
            match = _TOKEN.match(text, place)
            if match is None:
                raise MalformedError(f"line {line}: found {text[place : place + 20]!r}")
            if match.lastgroup != "skip":
                self.tokens.append((match.lastgroup, match[0], line))
            place = match.end()
        self.tokens.append(("", "", text.count("\n") + 1))
        self.next = 0

    @property
    def kind(self):
        return self.tokens[self.next][0]

    @property
    def text(self):
        return self.tokens[self.next][1]

    def take(self, wanted=None):
        kind, text, line = self.tokens[self.next]
        if wanted not in (None, kind, text):
            raise MalformedError(f"line {line}: found {text!r}, wanted {wanted}")
        self.next += 1
        return kind, text, line

    def skip_lines(self):
        while self.kind == "end":
            self.take()

    def statements(self, end):
        """All up to a closing sign, or the end of the file."""
        result = []
        self.skip_lines()
        while self.text != end:
            result.append(self.statement())
            self.skip_lines()
        self.take()
        return result

    def statement(self):
        _, name, line = self.take("name")
        call = Call(name, line)
        if self.text == "=":
            self.take()
            return self.value()
        if self.text == "(":
            self.take()
            self.arguments(call, ")")
        elif self.kind not in {"end", ""} and self.text not in {"{", "}"}:
            self.arguments(call, None)
        if self.text == "{":
            self.take()
            call.body = self.statements("}")
        return Name(name) if "." in name and call == Call(name, line) else call

    def arguments(self, call, end):
        """Up to and with the closing sign, or (None) to the end of the line."""
        while True:
            self.skip_lines()
            if self.text == end:
                break
            if self.kind == "name" and self.tokens[self.next + 1][1] == ":":
                _, key, _ = self.take()
                self.take(":")
                call.named[key] = self.value()
            else:
                call.args.append(self.value())
            if end:
                self.skip_lines()
            if self.text != ",":
                break
            self.take()
        if end:
            self.take(end)

    def value(self):
        kind, text, line = self.take()
        if kind == "name" and self.text == "(":
            self.next -= 1
            return self.statement()
        if text == "[":
            call = Call("")
            self.arguments(call, "]")
            return call.named or call.args
        if kind == "filled":
            pieces = re.split(r"\$\{([\w.]+)\}", text[1:-1])
            return Filled(tuple(Name(p) if i % 2 else p for i, p in enumerate(pieces)))
        if kind not in {"name", "text", "number"}:
            raise MalformedError(f"line {line}: found {text!r}, wanted a value")
        plain = {"number": int, "text": lambda text: text[1:-1], "name": Name}[kind](text)
        return {Name("true"): True, Name("false"): False}.get(plain, plain)
