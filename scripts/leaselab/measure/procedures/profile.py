"""Profile: the trials of a round, while where the server's CPU time goes is sampled."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence

from leaselab.measure.generators.adapter import GENERATOR_STALLED
from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.fixed_load import CLIENTS_PER_ATTEMPT
from leaselab.measure.procedures.method import Found, Method, none_counts
from leaselab.model.errors import invalid_measurement
from leaselab.model.load import Load
from leaselab.model.observation import Sampled
from leaselab.model.procedure import STALLED_LIMIT
from leaselab.model.procedures.profile import SAMPLED_US, STACKS, Profile
from leaselab.model.record import Round
from leaselab.model.trial import Trial

FILE = f"{STACKS}.folded.gz"
"""Name of the samples by stack: a line each, in the form that flame graphs are made from."""


class Profiled(Method[Profile]):
    """One load, and samples from before it to after it, but not of a reset."""

    unbroken = True

    def first_load(self, earlier: Sequence[Round]) -> int:
        """The load itself (transactions/s)."""
        return self._rate

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the load and sample; what a stall of the generator spoiled is made again.

        Raises an invalid-measurement error where no profile may be taken, or the trial does
        not count.
        """
        made, client, seconds = list[Trial](), 0, self.procedure.duration_s
        while True:
            server.begin_profile()
            made.append(ask(Load(self._rate, seconds, client), may_abort=False, reset=False))
            profile = server.end_profile()
            client += CLIENTS_PER_ATTEMPT * self._rate * seconds
            if made[-1].reason != GENERATOR_STALLED or len(made) > STALLED_LIMIT:
                break
        trial = made[-1]
        if not trial.valid:
            raise none_counts(made, f"profile under {self._rate}/s")
        if not trial.completed or not profile.samples:
            raise invalid_measurement(
                "there is nothing to show where CPU time goes",
                where=f"profile under {self._rate}/s",
                found=f"{profile.samples} samples, {trial.completed} completed",
                wanted="some of both",
                todo="offer more, or for longer: --rate, --duration-s",
            )
        files = {FILE: gzip.compress(folded(profile.stacks).encode(), mtime=0)}
        return Found(figures(trial, profile), shown_trial=len(made) - 1, files=files)

    @property
    def _rate(self) -> int:
        if self.procedure.rate is None:
            raise AssertionError("the load is known before a point is measured")
        return self.procedure.rate


def figures(trial: Trial, profile: Sampled) -> dict[str, float | None]:
    """What a round comes to, by the metrics' names; the cost is that of its last trial."""
    return {
        "cpu_us": trial.cpu_us,
        SAMPLED_US: 1e6 * profile.sampled_s / trial.completed,
        "samples": profile.samples,
        "lost_samples": profile.lost,
        "loss_ratio": trial.loss_ratio,
        "completed_rate": trial.completed / trial.traffic_s,
    }


def folded(stacks: Mapping[str, int]) -> str:
    """Return a line for each stack, with its samples."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))
