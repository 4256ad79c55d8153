"""Locks of benches, granted as Jenkins' lockable resources are: by label, the first first."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import simpy


class Bench:
    """A bench: whole or broken, and with its label or without."""

    def __init__(self, env: simpy.Environment, number: int) -> None:
        self.number = number
        self.labelled = True
        """Whether a job that takes any bench may get this one."""
        self.under_repair = False
        self.broke = env.event()
        self.repaired = env.event()


class Locks:
    """Holders and queues of the benches."""

    def __init__(self, env: simpy.Environment, benches: list[Bench]) -> None:
        self._env = env
        self._free = dict.fromkeys(benches)
        self._for_any: list[tuple[int, int, simpy.Event]] = []
        self._for_one: dict[Bench, deque[tuple[int, int, simpy.Event]]] = {
            bench: deque() for bench in benches
        }
        self._number = itertools.count()

    def any(self, priority: int) -> simpy.Event:
        """Ask for any bench with the label; the event's value is the bench.

        A lower priority is served first, and within one who came first.
        """
        asked = self._env.event()
        heapq.heappush(self._for_any, (priority, next(self._number), asked))
        for bench in sorted(self._free, key=lambda bench: bench.number):
            if self._grant(bench):
                break
        return asked

    def one(self, bench: Bench) -> simpy.Event:
        """Ask for this bench, with its label or without; the event's value is the bench."""
        asked = self._env.event()
        self._for_one[bench].append((0, next(self._number), asked))
        self._grant(bench)
        return asked

    def release(self, bench: Bench) -> None:
        """Release a bench to the next in its queue; raises when it is free already."""
        if bench in self._free:
            raise ValueError(f"bench {bench.number} is free already")
        self._free[bench] = None
        self._grant(bench)

    def _grant(self, bench: Bench) -> bool:
        """Give a free bench to the first job of its queues."""
        if bench not in self._free:
            return False
        queue = self._for_one[bench]
        others = self._for_any if bench.labelled else []
        if not queue and not others:
            return False
        if queue and (not others or queue[0][:2] < others[0][:2]):
            _, _, asked = queue.popleft()
        else:
            _, _, asked = heapq.heappop(others)
        del self._free[bench]
        asked.succeed(bench)
        return True
