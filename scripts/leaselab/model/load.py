"""What a generator is asked to offer."""

from __future__ import annotations

from dataclasses import dataclass

SHARES = {
    "renew": "renewals",
    "release": "releases",
    "rapid": "rapids",
    "rebind": "rebinds",
    "reboot": "reboots",
    "inform": "informs",
    "decline": "declines",
}
"""Keys of a load of clients that are shares of its exchanges, by what leaseload calls them.

What is left begins with nothing.
"""


@dataclass(frozen=True, slots=True)
class Load:
    """A constant rate for a fixed time, clients that all begin at once, or a flood."""

    rate: int
    """Offered load (transactions begun per second); 0 where clients begin at once, and of a
    flood."""
    duration_s: int
    """Length of the traffic period (whole seconds: perfdhcp counts in those); of clients that
    begin at once the longest time for which they go on trying."""
    first_client: int = 0
    """Number of the first client, so that loads one after the other have clients of their
    own."""
    clients: int = 0
    """How many clients there are, which come back in turn; 0: each of them is a new one."""
    at_once: int = 0
    """Clients that all begin at once and send again until they are served; 0 for a rate."""
    flood: bool = False
    """Begin transactions as fast as the generator can, with its own limit of those that wait
    for an answer; no rate is asked for."""

    proof: bool = False
    """It confirms what a search found: a generator without latency has another one offer it."""

    @property
    def words(self) -> str:
        """What is offered, in words."""
        if self.at_once:
            return f"{self.at_once} clients at once, for {self.duration_s} s at most"
        if self.flood:
            return f"flood for {self.duration_s} s"
        return f"{self.rate}/s for {self.duration_s} s"
