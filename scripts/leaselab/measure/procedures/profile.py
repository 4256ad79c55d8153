"""Profile: the trials of a round, while where the server's CPU time goes is sampled."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from leaselab.measure.ports import Ask, Server
from leaselab.measure.procedures.method import (
    CLIENTS_PER_ATTEMPT,
    Found,
    OneLoadMethod,
    is_to_repeat,
    none_counts,
)
from leaselab.model.errors import invalid_measurement
from leaselab.model.observation import Sampled
from leaselab.model.procedure import CPU
from leaselab.model.procedures.profile import (
    LATENCY_US,
    QUEUE_US,
    SAMPLED_US,
    STACKS,
    WAITS,
    Profile,
    metric_of,
)
from leaselab.model.record import Round
from leaselab.model.trial import Load, Trial

FILE = f"{STACKS}.folded.gz"
"""Name of the samples by stack: a line each, in the form that flame graphs are made from."""
WAITS_FILE = f"{WAITS}.json"
"""Name of the parts of a transaction's time (us), by cause."""


class Profiled(OneLoadMethod[Profile]):
    """One load, and samples from before it to after it, but not of a reset."""

    def measure(self, ask: Ask, server: Server, earlier: Sequence[Round]) -> Found:
        """Offer the load and sample; what a stall of the generator spoiled is made again.

        Returning clients are served once before it.  Raises an invalid-measurement error where
        no profile may be taken, or the trial does not count.
        """
        plan = self.procedure
        made, client, seconds = list[Trial](), 0, plan.duration_s
        if plan.returning:
            filling = Load(max(1, self.rate // 2), plan.filling_s, clients=plan.returning)
            ask(filling, may_abort=False, reset=False)
        while True:
            server.begin_profile()
            load = Load(self.rate, seconds, client, clients=plan.returning)
            made.append(ask(load, may_abort=False, reset=False))
            profile = server.end_profile()
            if not plan.returning:
                client += CLIENTS_PER_ATTEMPT * self.rate * seconds
            if not is_to_repeat(made):
                break
        trial = made[-1]
        if not trial.valid:
            raise none_counts(made, f"profile under {self.rate}/s")
        if not trial.completed or not profile.samples:
            raise invalid_measurement(
                "there is nothing to show where CPU time goes",
                where=f"profile under {self.rate}/s",
                found=f"{profile.samples} samples, {trial.completed} completed",
                wanted="some of both",
                todo="offer more, or for longer: --set rate=N, --set duration_s=N",
            )
        divided = parts(trial, profile)
        files = {
            FILE: gzip.compress(folded(profile.stacks).encode(), mtime=0),
            WAITS_FILE: json.dumps(divided).encode(),
        }
        shown = len(made) - 1 + bool(plan.returning)
        return Found(figures(trial, profile, divided), shown_trial=shown, files=files)


def parts(trial: Trial, profile: Sampled) -> dict[str, float]:
    """Return the parts of the mean time of a transaction, by cause (us).

    The time of all threads together over all transactions: several threads serve several at
    once.  What is left of the latency that the generator saw is no time of a thread; it is
    below 0 where threads also work while no transaction waits for them.
    """
    divided = {
        cause: 1e6 * spent_s / trial.completed for cause, spent_s in profile.waits.items()
    }
    if trial.cpu_us is not None:
        divided[CPU] = trial.cpu_us
        if (latency_us := trial.figures.get(LATENCY_US)) is not None:
            divided[QUEUE_US] = latency_us - math.fsum(divided.values())
    return divided


def figures(
    trial: Trial, profile: Sampled, divided: Mapping[str, float]
) -> dict[str, float | None]:
    """What a round comes to, by the metrics' names; the cost is that of its last trial.

    `divided` are its `parts`.
    """
    sums = defaultdict[str, float](float)
    for cause, spent_us in divided.items():
        sums[metric_of(cause)] += spent_us
    return {
        **sums,
        **trial.figures,
        CPU: trial.cpu_us,
        SAMPLED_US: 1e6 * profile.sampled_s / trial.completed,
        "samples": profile.samples,
        "lost_samples": profile.lost,
        "loss_ratio": trial.loss_ratio,
        "completed_rate": trial.completed_rate,
    }


def folded(stacks: Mapping[str, int]) -> str:
    """Return a line for each stack, with its samples."""
    return "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))
