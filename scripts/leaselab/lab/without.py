"""A user's configuration without one of its known costs, to be measured beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from leaselab.lab.commented_json import Array, Document, as_document
from leaselab.lab.configuration import Match
from leaselab.lab.judge import Given, Judge, judges
from leaselab.lab.known_costs import Rewriting
from leaselab.lab.own import Own, own_of
from leaselab.model.errors import usage_error

_NUMBER = re.compile(r"\[[0-9]+\]")


def own_without(own: Own, name: str, given: Given) -> tuple[Own, list[str]]:
    """Return what the lab makes of a configuration without a known cost, and what differs.

    Its clients are those of `own`, so that a duel of the two has one load.  Raises a usage
    error with the reason where the lab's form does not have the cost, where it cannot be taken
    out, and where clients would get no answer then.
    """
    document = as_document({own.holder: own.server}, name)
    before = own_of(document)
    changes = _take_out(document, name, given)
    after = own_of(as_document(document.top, name))
    lost = [reason for reason in after.unserved if reason not in before.unserved]
    if lost:
        raise usage_error("without it, clients would get no answer", found=lost[0])
    other = replace(
        after,
        kinds=own.kinds,
        addresses=own.addresses,
        unserved=own.unserved,
        changes=[*own.changes, *(f"{change}, without {name}" for change in changes)],
        left_out=[*own.left_out, name],
    )
    return other, changes


def _take_out(document: Document, name: str, given: Given) -> list[str]:
    """Take a cost out of a document; return what was changed."""
    [judge] = judges(document, given)
    cost = next(cost for cost in judge.costs.costs if cost.name == name)
    seen = judge.seen(cost)
    if not seen:
        raise usage_error("the lab's form of the file does not have it")
    done = Counter(
        change for rewriting in cost.without for change in _rewrite(judge, rewriting, seen)
    )
    if not done:
        raise usage_error(cost.unmeasured)
    return [
        f"{path}: {f'{count} ' if count > 1 else ''}{what}"
        for (path, what), count in done.items()
    ]


def _rewrite(
    judge: Judge, rewriting: Rewriting, seen: Sequence[Match]
) -> Iterator[tuple[str, str]]:
    """Change a configuration in place; yield the path and what was done, of each change."""
    places = judge.configuration.at(*rewriting.at) if rewriting.at else seen
    matches = judge.meets(places, rewriting.when)
    for match in matches:
        path = _NUMBER.sub("[*]", match.path.removeprefix(judge.configuration.whole.path))
        for key, expression in rewriting.set.items():
            match.value[key] = judge.ask(expression, match, value=match.value)
            yield f"{path}.{key}".lstrip("."), "changed"
        for key in rewriting.drop:
            if match.value.pop(key, None) is not None:
                yield f"{path}.{key}".lstrip("."), "removed"
        if rewriting.remove:
            yield path.lstrip("."), "removed"
    if rewriting.remove:
        _remove(matches)


def _remove(matches: Sequence[Match]) -> None:
    """Remove elements from the lists in which they are."""
    gone = {id(match.value) for match in matches}
    for holder in {
        id(match.around[0].value): match.around[0].value for match in matches
    }.values():
        for elements in holder.values():
            if isinstance(elements, Array):
                elements[:] = [element for element in elements if id(element) not in gone]
