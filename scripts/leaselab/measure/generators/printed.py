"""What a generator printed, whichever it is: there, whole, and of a run that ended well."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass

from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.load import Load
from leaselab.model.observation import Generated
from leaselab.model.procedure import Procedure


@dataclass(frozen=True)
class PrintedReading:
    """What a tool printed of one load, whichever it is; parsed when it is first asked for."""

    bench: Bench
    procedure: Procedure
    load: Load
    argv: tuple[str, ...]
    generated: Generated

    @property
    def output_gz(self) -> bytes:
        """What the tool printed, to be kept."""
        return self.generated.output_gz


def no_measurement(tool: str, where: str, what: str) -> LeaselabError:
    """Return the broken-lab error of a run that says nothing; `tool` is a path."""
    return lab_broken(
        f"{tool}: {what}",
        where=where,
        todo="the trial was not counted; the sweep can be resumed when the host is well",
    )


def printed(
    generated: Generated, tool: str, where: str, data_statuses: Collection[int] = (0,)
) -> bytes:
    """Return what a tool printed, decompressed; `tool` is its path, `where` its host's name.

    Raises a broken-lab error where its exit status says that this is no measurement: one that
    is none of `data_statuses`.
    """
    try:
        text = zlib.decompress(generated.output_gz, wbits=31)
    except zlib.error as error:
        if generated.status in data_statuses:
            found = f"its output is cut short: {error}"
            raise no_measurement(tool, where, found) from error
        text = b""
    if generated.status not in data_statuses:
        reason = _reason(generated.status)
        lines = (generated.error or text.decode("ascii", "replace")).strip().splitlines()
        raise no_measurement(tool, where, f"{reason}: {lines[-1]}" if lines else reason)
    return text


def unreadable(name: str, what: str, text: bytes) -> LeaselabError:
    """Return the broken-lab error of output that does not parse: it is never a loss.

    `name` is that of the tool, `what` is wrong with the output `text`.
    """
    tail = text[-80:].decode("ascii", "replace").strip()
    return lab_broken(
        f"{name}'s output does not parse: {what}",
        where="generator",
        found=f"{len(text)} bytes ending in {tail!r}" if text else "nothing",
        todo="see the raw output kept with the sweep; the trial was not counted",
    )


def _reason(status: int) -> str:
    """Say what an exit status of the generator's shell means."""
    if status == 127:
        return "not found on the host"
    if status in (124, 137):
        return "was killed, or did not end in time"
    if status < 0 or status > 128:
        return f"was ended by signal {abs(status) % 128}"
    return f"failed with exit status {status}"
