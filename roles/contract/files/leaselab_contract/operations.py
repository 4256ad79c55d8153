"""Operations: what an operator does to a running server, one at a time.

An operation is a method of a server that is a generator.  What it does before its first
`yield` prepares it and is not timed.  From there on it yields whether its effect was seen, as
often as it looks; what follows that is its end.  Its docstring says what it does, `seen` how
its effect is seen.
"""

import select
import sys
import time

from leaselab_contract.errors import ContractError
from leaselab_contract.verbs import emit

LIMIT_S = 60.0
"""How long an effect is waited for."""
POLL_S = 0.005


def operation(name, seen, has=lambda _server: True, link_changes=0):
    """Mark a method as the operation of this name, of the servers for which `has` is true.

    `link_changes` is how often it has the link of the test interface come or go.
    """

    def marked(method):
        method.operation = name, seen, has
        method.link_changes = link_changes
        return method

    return marked


def known(server):
    """Return the operations of a server: each method by its name, in the order of the names."""
    methods = (getattr(server, name) for name in dir(type(server)))
    marked = {
        method.operation[0]: method
        for method in methods
        if hasattr(method, "operation") and method.operation[2](server)
    }
    return dict(sorted(marked.items()))


def described(server):
    """Return what each of them does and how its effect is seen, by its name."""
    return {
        "operations": {
            name: {"does": " ".join(method.__doc__.split()), "seen": method.operation[1]}
            for name, method in known(server).items()
        }
    }


def follow(server):
    """Carry out the operation that each line on standard input names, until that is closed.

    Prints first what `described` returns, so that nothing is prepared any more when the first
    line comes, and then one object for each line.
    """
    methods = known(server)
    emit(described(server))
    for line in iter(sys.stdin.readline, ""):
        name = line.strip()
        if name not in methods:
            raise ContractError(f"no operation {name!r} (wanted {', '.join(methods)})")
        method = methods[name]
        emit({"name": name, "link_changes": method.link_changes, **carried_out(method())})


def prepared(steps):
    """Carry out what another operation needs; raise ContractError where it has no effect."""
    done = carried_out(steps)
    if done["effect"] is None:
        raise ContractError(done["why"])


def carried_out(steps, limit_s=LIMIT_S):
    """Carry out an operation; return when it was asked for, began, took effect and ended.

    Times are in s since 1970.  Between the first two it was prepared.  `effect` is None where
    it took none, and `why` says the reason.
    """
    asked = begun = time.time()
    effect, why = None, ""
    try:
        next(steps)
        begun, deadline = time.time(), time.monotonic() + limit_s
        for is_seen in steps:
            now = time.time()
            effect = effect or (now if is_seen else None)
            if time.monotonic() > deadline:
                why = f"no {'end' if effect else 'effect'} was seen within {limit_s:g} s"
                break
            if not effect:
                select.select([], [], [], POLL_S)
    except (ContractError, OSError, ValueError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
    finally:
        steps.close()
    if effect is None and not why:
        why = "it ended without an effect"
    times = {"asked": asked, "begun": begun, "effect": effect, "ended": time.time()}
    return {**times, "why": why}
