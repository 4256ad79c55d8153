"""What procedures have that ask nothing of a trial: what it lost is part of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaselab.model.procedure import Procedure

if TYPE_CHECKING:
    from leaselab.model.trial import Trial


class Unjudged(Procedure, frozen=True, kw_only=True):
    """A procedure whose trials count whatever they lost."""

    @property
    def loss_goal(self) -> None:
        """Nothing is asked of a trial."""

    def counts(self, trial: Trial) -> bool:
        """Whether a trial is valid, whatever it lost."""
        return trial.valid
