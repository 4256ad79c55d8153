"""What measuring needs from the outside; `lab`, `archive` and `run` fill these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from leaselab.leases.history import History
from leaselab.measure.stalls import Binned
from leaselab.model.journal import AnyEntry, Entry, LiveEntry
from leaselab.model.observation import (
    Counts,
    Foreign,
    Generated,
    HostReading,
    Operated,
    OperationKind,
    Sampled,
    ServerStarted,
)
from leaselab.model.trial import Load, Sample, Trial

RELOAD = "reload"
"""The capability of a server that can read its data again while it serves."""


class Server(Protocol):
    """The server under test, through its contract; several that serve as one look like one."""

    def start(self) -> ServerStarted:
        """Start clean, as deployed; return when it is ready, several when all are.

        Raises a server-broken error when it does not start, a broken-lab error
        when it is not what was deployed or a service that it depends on fails.
        """

    def trouble(self) -> str:
        """How several servers differ from the state asked for, empty when they do not."""

    def settle(self) -> None:
        """Wait until several are in the state asked for; raises a broken-lab error."""

    def reset(self) -> Mapping[str, int]:
        """Empty the servers; return how many leases or records each held, by role.

        A role that stores none has no entry.
        """

    def stop(self) -> None:
        """Stop; succeeds when already stopped."""

    def clear(self) -> None:
        """Stop every server on its hosts, also those that a killed measurement has left."""

    def sample_now(self) -> Sample:
        """Return a sample of the server under test taken now.

        Raises an invalid-measurement error when the server has died.
        """

    def samples(self) -> Mapping[str, Sequence[Sample]]:
        """Return the samples that came in since the last call by role, oldest first."""

    def reload(self) -> float:
        """Make the server under test read its data again; return how long it took (s).

        Only where the kind declares it; raises a server-broken error where it fails.
        """

    def brake(self, share: float) -> None:
        """Brake the server under test for a share of the time (0..1), once it runs.

        From its next start on, for as long as it is used.
        """

    def begin_profile(self) -> None:
        """Begin to sample where the CPU time of the server under test goes.

        Raises an invalid-measurement error with the reason where that may not be.
        """

    def end_profile(self) -> Sampled:
        """Return what was sampled since `begin_profile`; raises as that does."""

    def counting(self, by: str) -> AbstractContextManager[Counter]:
        """Run the server under test while it is counted.

        `by` is of `measure.counting`.  It is started for that, and stopped at
        the end of the context.  Raises an invalid-measurement error where it cannot be counted.
        """

    def crash(self, roles: Sequence[str]) -> None:
        """End servers as a crash would, by role; only where the kind declares it."""

    def restart(self, roles: Sequence[str]) -> None:
        """Start them again with what they hold; as `crash`.

        Raises a server-broken error where one does not start.
        """

    def cut(self) -> str:
        """Cut several servers off from each other; return the mode in which they serve then.

        One of `leases.modes`.  Only where the kind declares it.
        """

    def rejoin(self) -> None:
        """Let them reach each other again."""

    def listing(self) -> Mapping[str, Mapping[str, str]]:
        """Return what each server that can say so holds by role, such as clients by address."""

    def operations(self) -> Mapping[str, OperationKind]:
        """Return what can be done to the server under test while it serves, by name."""

    def operating(self) -> AbstractContextManager[Callable[[str], Operated]]:
        """Get ready to operate the server under test; the function does so by a name.

        Raises an invalid-measurement error where its contract ends meanwhile.
        """


class Counter(Protocol):
    """A running server that is counted; all raise an invalid-measurement error if it dies."""

    def settle(self) -> None:
        """Return once all of its threads sleep."""

    def begin(self) -> None:
        """Begin to count what is not to be counted yet."""

    def zero(self) -> None:
        """Forget what was counted so far."""

    def take(self) -> Counts:
        """Return what was counted since, and count nothing further."""

    def held(self) -> int | None:
        """Return how many entries the server holds; None where it holds none, or is silent."""


class Loads(Protocol):
    """A running generator that is given loads one after the other."""

    def offer(self, load: str, step: Callable[[], None] | None = None) -> Mapping[str, Any]:
        """Offer a load, by the generator's words for it; return its report.

        With a `step`, that is called before each message.  Raises a broken-lab error where the
        generator refuses the load or ends.
        """


class GeneratorHost(Protocol):
    """The host that runs the traffic generator."""

    def serving(
        self, argv: Sequence[str], environment: Mapping[str, str]
    ) -> AbstractContextManager[Loads]:
        """Run a command that takes loads line by line, for the context."""

    def generate(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
    ) -> Generated:
        """Run one bounded command and return its output."""

    def clock_ahead_s(self) -> float:
        """Return its clock less the engine's (s)."""

    def unreached(self, address: str) -> str:
        """Return what is known of an address for which no host answers; empty if one does."""


class Host(Protocol):
    """A host that is watched from trial to trial."""

    def read(self, link_changes: int = 0) -> HostReading:
        """Read it now; raises a broken-lab error when it does not answer.

        `link_changes`: how often its link was made to come or go since it was read last.
        """


class Watch(Protocol):
    """A watch for foreign servers and clients on the test network."""

    def foreign(self) -> Sequence[Foreign]:
        """Return the foreign traffic since the last call; raises a broken-lab error."""


class Hold(Protocol):
    """The bench lock, held."""

    def renew(self, busy_s: float = 0.0) -> None:
        """Prolong it, by more for what takes `busy_s`; a broken-lab error when it was lost."""


class Recorder(Protocol):
    """Where an unfinished point is kept, so that a killed one can go on."""

    def record(self, entry: Entry) -> object:
        """Append one event to the journal; it is on the disk when this returns."""

    def write_bytes(self, name: str, content: bytes) -> str:
        """Keep a file beside the journal; return its name."""


class Listener(Protocol):
    """An observer of the measurement."""

    def __call__(self, entry: AnyEntry | LiveEntry, *, replayed: bool = False) -> None:
        """Something happened; returns quickly.

        A trial that is `replayed` was found in the journal.
        """


class Ask(Protocol):
    """How a procedure asks for the trials of a round."""

    def __call__(
        self,
        load: Load,
        *,
        may_abort: bool = True,
        reset: bool = True,
        during: During | None = None,
    ) -> Trial:
        """Make a trial, or find it in the journal.

        It may be ended early unless not `may_abort`; the server is reset after it unless not
        `reset`; `during` happens while the load is offered.
        """


class During(Protocol):
    """Something that happens under a load."""

    @property
    def ends_server(self) -> bool:
        """Whether the server under test can neither be read nor reset after it."""

    @property
    def link_changes(self) -> int:
        """How often the link of the server's host was made to come or go in it."""

    def happen(self, until: Callable[[float], None]) -> None:
        """Do it; `until` waits until a time since the generator was started (s)."""

    def fields(
        self, answers: Answers, began_at: float, samples: Sequence[Sample]
    ) -> Mapping[str, Any]:
        """Return what came of it as fields of the trial, once the load has ended.

        `began_at` is when the load began by the engine's clock (s since 1970), `samples` are
        those of the server under test.
        """


class Answers(Protocol):
    """When a load was answered."""

    @property
    def answered_at(self) -> Any:  # noqa: ANN401  # numpy's array
        """When each transaction's last reply came (s since the start, shape (answered,))."""

    @property
    def binned(self) -> Binned:
        """The transactions by short times."""

    @property
    def history(self) -> History | None:
        """What clients saw of their leases; None where the generator does not say it."""


Clock = Callable[[], float]
