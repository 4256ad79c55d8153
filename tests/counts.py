"""What a server has done for each transaction, made up as its contract counts it."""

from leaselab.model.observation import Counted, CountedStep, Counts, FunctionCost
from leaselab.model.procedures.cost import MORE, USUAL

LIBC, OWN = "libc.so.6", "dnsmasq"


def function(name, own, *, file=OWN, library=0, calls=0):
    shared = file == LIBC
    return FunctionCost(file, name, own, library, shared, own + library, calls)


def counts(reply=0, calls=3, writes=0):
    """What a server has done for 300 transactions: `reply` more instructions in each."""
    functions = (
        function("main", 30_000),
        function("dhcp_reply", 300 * (800 + reply), library=60_000, calls=300),
        function("malloc", 60_000, file=LIBC, calls=600),
        function("(below main)", 3_000, file=LIBC),
    )
    return {
        "valgrind": Counts(functions),
        "plain": Counts(
            system_calls={"recvmsg": 300 * calls, "poll": 299},
            written_bytes=writes,
            user_s=0.3,
            system_s=0.7,
        ),
    }


def counted(**changes):
    usual = CountedStep(300, 300, **counts(**changes))
    return Counted({USUAL: usual, MORE: CountedStep(100, 1000, **counts(**changes))})
