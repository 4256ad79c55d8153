"""What a generator printed, whichever it is: there, whole, and of a run that ended well."""

from __future__ import annotations

import zlib

from leaselab.model.bench import Bench
from leaselab.model.errors import LeaselabError, lab_broken
from leaselab.model.observation import UNPLACED, Generated
from leaselab.model.record import GENERATOR

WRONG = (ValueError, ArithmeticError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading JSON of another form, or with other values, may raise."""
TIMED_OUT = 124
"""Exit status of a generator that did not end in time, and was interrupted."""


def no_measurement(bench: Bench, what: str) -> LeaselabError:
    """Return the broken-lab error of a run of the bench's generator that says nothing."""
    return lab_broken(
        f"{bench.generator.path}: {what}",
        where=bench.hosts[GENERATOR].access.name,
        todo="the trial was not counted; see whether the host works, then resume the sweep",
    )


def printed(generated: Generated, bench: Bench, *data_statuses: int) -> bytes:
    """Return what a bench's generator printed, decompressed.

    Raises a broken-lab error where its exit status says that this is no measurement: one that
    is neither 0 nor one of `data_statuses`.
    """
    try:
        text = zlib.decompress(generated.output_gz, wbits=31)
    except zlib.error as error:
        if generated.status in (0, *data_statuses):
            raise no_measurement(bench, f"its output is cut short: {error}") from error
        text = b""
    if generated.status not in (0, *data_statuses):
        reason = _reason(generated.status)
        lines = (generated.error or text.decode("ascii", "replace")).strip().splitlines()
        if generated.status == UNPLACED and lines:
            raise lab_broken(
                lines[-1],
                where=bench.hosts[GENERATOR].access.name,
                todo="see the link; after a reboot deploy again: ./leaselab step deploy "
                f"{bench.scenario.name}",
            )
        raise no_measurement(bench, f"{reason}: {lines[-1]}" if lines else reason)
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
    """Return what an exit status of the generator's shell means."""
    if status == 127:
        return "not found on the host"
    if status in (TIMED_OUT, 137):
        return "was killed, or did not end in time"
    if status < 0 or status > 128:
        return f"was ended by signal {abs(status) % 128}"
    return f"failed with exit status {status}"
