"""Why a search ended without a bracket."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leaselab.model.errors import LeaselabError, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leaselab.model.trial import Trial


class SearchReason(enum.Enum):
    """The ways a search can end without a bracket; the value is the word archived."""

    GENERATOR_LIMITED = "generator-limited"
    NOISY = "noisy"
    BELOW_MIN_RATE = "below-min-rate"
    ABOVE_MAX_RATE = "above-max-rate"
    INVALID_TRIAL = "invalid-trial"


@dataclass(eq=False)
class SearchFailure(LeaselabError):
    """An invalid measurement, with the trials that show why."""

    reason: SearchReason = SearchReason.NOISY
    trials: tuple[Trial, ...] = ()

    @classmethod
    def of(cls, reason: SearchReason, trials: Sequence[Trial]) -> SearchFailure:
        return cls(Outcome.INVALID, reason.value, reason=reason, trials=tuple(trials))
