"""YAML and JSON that people give, read within bounds: a stranger's file may be anything."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from leaselab.model.errors import LeaselabError, usage_error

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C where there is one: roles and families are some thousand lines."""
_DEEPEST = 100
"""Levels of lists and mappings; what is read has about six."""
_MOST_NODES = 4_000_000
"""Values of a document, with those for which aliases stand."""

_LONGEST_KEY = 1000
_WRONG_TAG = (LookupError, TypeError, AttributeError)


def parse_yaml(content: bytes | str, where: str, most: int = _MOST_NODES) -> Any:  # noqa: ANN401  (parsed YAML)
    """Parse YAML of the user, with plain keys.

    Raises a usage error for what is none, is nested more than 100 deep, stands for more than
    `most` values, or has a key twice or a list as one.
    """
    try:
        _Bounds(where, most).check(content)
        return yaml.load(content, Loader=LOADER)  # noqa: S506  # a safe one
    # Bytes that are no text are ValueErrors; `!!int ""` and the like are the others.
    except (yaml.YAMLError, ValueError, ArithmeticError, *_WRONG_TAG) as error:
        reason, mark = " ".join(str(error).split())[:300], getattr(error, "problem_mark", None)
        where = f"{where}:{mark.line + 1}" if mark else where
        raise usage_error(f"not YAML: {reason}", where=where, wanted="YAML") from error


class Lines:
    """The lines of a YAML document that `parse_yaml` takes."""

    def __init__(self, content: bytes | str) -> None:
        self._root = yaml.compose(content, Loader=LOADER)

    def of(self, path: Sequence[Any]) -> int:
        """The line, from 1, of the value at a path of keys and indices: of a key the key's own.

        Of a path that is not there, that of what it leads to.
        """
        node, line = self._root, 1
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line + 1
            elif isinstance(node, yaml.MappingNode):
                pairs = [pair for pair in node.value if _is_key(pair[0], step)]
                if not pairs:
                    break
                key, node = pairs[0]
                line = key.start_mark.line + 1
        return line


def _is_key(node: yaml.ScalarNode, step: object) -> bool:
    """Whether a key is that of a path: YAML reads `on`, numbers and dates as no text."""
    if isinstance(step, str) or node.value == "<<":
        return bool(node.value == step)
    return bool(SafeConstructor().construct_object(node) == step)


class _Bounds:
    """Refuses what the loader would take without end, before it does: it is recursive in C."""

    def __init__(self, where: str, most: int) -> None:
        self._where, self._most = where, most
        self._sizes: dict[str | None, int] = {}
        """Values for which an anchor stands; 0 while it is open."""

    def check(self, content: bytes | str) -> None:
        opened: list[tuple[str | None, int, set[str] | None]] = []
        size, keys, is_key = 0, None, False
        for event in yaml.parse(content, Loader=LOADER):
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, before, keys = opened.pop()
                if anchor:
                    self._sizes[anchor] = size - before
                is_key = keys is not None
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            if is_key and keys is not None:
                self._check_key(event, keys)
            size += 1
            if isinstance(event, yaml.AliasEvent):
                size += self._sizes.get(event.anchor, 1)
                if self._sizes.get(event.anchor) == 0:
                    raise self._refused(event, "an alias of what it is in")
            elif event.anchor:
                self._sizes[event.anchor] = int(isinstance(event, yaml.ScalarEvent))
            if size > self._most:
                raise self._refused(event, "too large", f"{self._most} values at most")
            if isinstance(event, yaml.CollectionStartEvent):
                # What is open continues with its next key once this value has ended.
                opened.append((event.anchor, size, keys))
                if len(opened) > _DEEPEST:
                    raise self._refused(
                        event, "nested too deeply", f"{_DEEPEST} levels at most"
                    )
                keys = set() if isinstance(event, yaml.MappingStartEvent) else None
                is_key = keys is not None
            else:
                is_key = keys is not None and not is_key

    def _check_key(self, event: yaml.NodeEvent, keys: set[str]) -> None:
        if isinstance(event, yaml.CollectionStartEvent):
            raise self._refused(event, "a list or mapping as a key", "a word")
        if isinstance(event, yaml.ScalarEvent) and event.value != "<<":
            if len(event.value) > _LONGEST_KEY:
                raise self._refused(event, "a long key", f"up to {_LONGEST_KEY} characters")
            if event.value in keys:
                raise self._refused(event, f"key {event.value[:40]!r} is there twice", "once")
            keys.add(event.value)

    def _refused(self, event: yaml.Event, what: str, wanted: str = "") -> LeaselabError:
        line = event.start_mark.line + 1 if event.start_mark else 0
        return usage_error(what, where=f"{self._where}:{line}", wanted=wanted)


def parse_json(content: bytes | str, where: str) -> Any:  # noqa: ANN401  (parsed JSON)
    """Parse JSON of the user; a usage error for what is none, such as NaN and 1e400."""
    try:
        document = json.loads(
            content,
            parse_constant=_no_number,
            parse_float=_finite,
            object_pairs_hook=_members,
        )
        _check_depth(document)
        json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate is no text
        return document
    except (ValueError, RecursionError) as error:
        raise usage_error(f"not JSON: {error}", where=where, wanted="JSON") from error


def _check_depth(document: object) -> None:
    level = [document]
    for _ in range(_DEEPEST):
        inner = (
            value.values() if isinstance(value, dict) else value
            for value in level
            if isinstance(value, dict | list)
        )
        level = [each for values in inner for each in values]
    if level:
        raise ValueError(f"nested more than {_DEEPEST} deep")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {twice[:40]!r} is there twice")
    return members


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:40])
