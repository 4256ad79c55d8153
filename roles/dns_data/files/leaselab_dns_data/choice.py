"""Which name each query asks for: a list of numbers, the same for the same arguments.

Only integers and products of doubles are computed, which are the same on every machine; powers
and logarithms are not.
"""

import bisect
import itertools
import random
from array import array
from collections.abc import Iterator
from fractions import Fraction

_SEED = 17
_WHOLE = 1 << 52
"""Weight of the most popular name; 1/k of it is that of the name at rank k."""

POPULAR, FRESH_EACH = 10, 5
"""Of `mixed`: how many names are asked for again and again, and of how many queries one asks
for a name that was not asked for before."""


def uniform(size: int, count: int) -> Iterator[int]:
    """Yield `count` numbers of 1 to `size`: shuffled, each as often as any other.

    No number comes twice before each came once, so that a file of at most `size` lines asks
    for no name twice.
    """
    dealt = random.Random(_SEED)  # noqa: S311  # the same in every lab, and no secret
    while count > 0:
        yield from itertools.islice(_shuffled(size, dealt), count)
        count -= size


def _shuffled(size: int, dealt: random.Random) -> array:
    order = array("I", range(1, size + 1))
    for last in range(size - 1, 0, -1):
        other = int(dealt.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def zipf(size: int, count: int) -> Iterator[int]:
    """Yield `count` numbers of 1 to `size`, the k-th most popular as often as 1/k.

    Popular names are spread over the zones as names are in `uniform`.
    """
    dealt = random.Random(_SEED)  # noqa: S311  # as above
    order = _shuffled(size, dealt)
    sums = array("Q", itertools.accumulate(_WHOLE // rank for rank in range(1, size + 1)))
    for _ in range(count):
        yield order[bisect.bisect_right(sums, dealt.getrandbits(64) % sums[-1])]


def mixed(size: int, count: int) -> Iterator[int]:
    """Yield `count` numbers of 1 to `size`: each fifth for the first time, else one of ten.

    So a cache that is empty at first has four of five names after some dozen queries, however
    many follow and however fast.  Beyond five times the size no number is new any more.
    """
    dealt = random.Random(_SEED)  # noqa: S311  # as above
    order = _shuffled(size, dealt)
    popular, others = order[:POPULAR], itertools.cycle(order[POPULAR:] or order)
    for number in range(count):
        if number % FRESH_EACH == 0:
            yield next(others)
        else:
            yield popular[int(dealt.random() * len(popular))]


def listed(size: int, count: int) -> Iterator[int]:
    """Yield `count` numbers of 1 to `size` in their order, over and over."""
    return (number % size + 1 for number in range(count))


LISTED = "listed"
NAMES = {LISTED: listed, "mixed": mixed, "uniform": uniform, "zipf": zipf}


def shared(count: int, share: Fraction) -> Iterator[bool]:
    """Yield for each query whether it is of a `share`, which any part of the file has."""
    before = 0
    for one in range(1, count + 1):
        now = one * share.numerator // share.denominator
        yield now > before
        before = now
