"""The names of the keys of a named.conf, and of those that its statements use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselab.inputs.named.statements import Statement, plain


def keys_of(statements: Iterable[Statement]) -> Iterator[str]:
    """Yield the names of the keys of a file, also of those in views."""
    for one in statements:
        if one.name == "key":
            yield _in_one_form(one.value)
        elif one.name == "view":
            yield from keys_of(one.inner or ())


def names_of(keys: Statement) -> list[str]:
    """Names in a list of keys, which may have braces or not."""
    words = [held.words[0] for held in keys.inner] if keys.inner is not None else keys.words[1:]
    return [_in_one_form(plain(word)) for word in words]


def _in_one_form(word: str) -> str:
    """A name of a key in one form: capitals and a last dot do not matter."""
    return word.lower().rstrip(".")
