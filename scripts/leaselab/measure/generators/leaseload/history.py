"""The lines of leaseload's ``--history``: what its clients saw of their leases."""

from __future__ import annotations

from collections.abc import Iterable

from leaselab.leases.history import NEVER, History, Kind, Recorder
from leaselab.measure.generators.printed import unreadable

_KINDS = {kind.name.lower(): kind for kind in Kind}
_NONE = "-"


def history_of(lines: Iterable[bytes]) -> History:
    """Read them; raises a broken-lab error for a line of another form."""
    recorder = Recorder()
    for line in lines:
        try:
            kind, client, address, asked, *times, valid_s, server = line.decode().split()
            sent, answered, resent = (NEVER if at == _NONE else int(at) for at in times)
            recorder.add(
                _KINDS[kind],
                client,
                "" if address == _NONE else address,
                sent,
                answered,
                asked="" if asked == _NONE else asked,
                resent=resent,
                valid_s=int(valid_s),
                server=server,
            )
        except (ValueError, KeyError, OverflowError) as error:
            raise unreadable("leaseload", f"no line of a history: {error}", line) from error
    return recorder.history()
