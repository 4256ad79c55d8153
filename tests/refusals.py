"""Errors that end what the engine does, as a test expects them."""

from contextlib import contextmanager

import pytest

from leaselab.model.errors import LeaselabError, Outcome


@contextmanager
def refused(match=None, outcome=Outcome.USAGE, where=None):
    """Expect an error of this outcome with this text; `where` is its whole place."""
    with pytest.raises(LeaselabError, match=match) as caught:
        yield caught
    assert caught.value.outcome is outcome
    assert where in (None, caught.value.where)


def refusals_of(call):
    """A function that returns why `call` refuses its arguments: a usage error."""

    def refusal(*arguments, **words):
        with refused() as caught:
            call(*arguments, **words)
        return str(caught.value)

    return refusal
