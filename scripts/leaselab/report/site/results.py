"""The results that a site is made of: read once, those that are damaged kept apart."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from leaselab.analysis.comparison.cost import rounds_of
from leaselab.analysis.comparison.profile import Spent
from leaselab.archive.checksums import read_pruned
from leaselab.archive.store import Store
from leaselab.model.errors import LeaselabError
from leaselab.model.record import Record
from leaselab.model.trial import Trial

_log = logging.getLogger(__name__)


class Results:
    """The results of a store, for the pages of a folder."""

    def __init__(self, store: Store, folder: Path) -> None:
        """`folder` is that of the pages."""
        self._store = store
        self._records: dict[str, Record] = {}
        self.refused: dict[str, str] = {}
        """Results that are not to be believed, by id, and why."""
        beside = folder.resolve().is_relative_to(store.root.resolve())
        self.to_results = os.path.relpath(store.root, folder) if beside else None
        """The way from the folder to the results; None for one that lies elsewhere."""

    def light(self, ref: str) -> Record | None:
        """A result for the pages that show many: without its seconds, which are most of it.

        None for one that is not to be believed; it has a page of another kind.
        """
        if ref not in self._records and ref not in self.refused:
            try:
                self._records[ref] = _without_seconds(self._store.load(ref))
            except (LeaselabError, OSError) as error:
                self.refuse(ref, error)
        return self._records.get(ref)

    def spent(self, record: Record) -> Sequence[Spent]:
        """What its rounds were spent on; nothing where that is not to be believed."""
        try:
            return rounds_of(record, partial(self._store.read, record.id))
        except (LeaselabError, OSError, ValueError) as error:
            _log.warning("%s: its profile is left out: %s", record.id, error)
            return ()

    def refuse(self, ref: str, error: Exception) -> None:
        """Keep a result that is not to be believed apart; say why, once."""
        self._store.index.say_unreadable(ref, error)
        self.refused[ref] = str(error)

    def pruned(self, ref: str) -> str:
        """The day on which raw outputs of a result were removed; empty where they are there."""
        pruned = read_pruned(self._store.place(ref))
        return pruned.at[:10] if pruned else ""

    def raw(self, ref: str, up: str) -> str | None:
        """The way from a page to the result's folder; None for a site that lies elsewhere."""
        if self.to_results is None:
            return None
        place = self._store.place(ref).relative_to(self._store.root)
        return f"{up}{self.to_results}/{place.as_posix()}"


def _without_seconds(record: Record) -> Record:
    """The record without what its trials say of each second, but for their first and last."""
    confirmation = record.confirmation
    return replace(
        record,
        rounds=tuple(
            replace(round_, trials=tuple(map(_trial_without_seconds, round_.trials)))
            for round_ in record.rounds
        ),
        confirmation=confirmation
        and replace(
            confirmation, trials=tuple(map(_trial_without_seconds, confirmation.trials))
        ),
    )


def _trial_without_seconds(trial: Trial) -> Trial:
    samples = {role: (*taken[:1], *taken[-1:]) for role, taken in trial.samples.items()}
    return replace(trial, per_second=(), samples=samples)
