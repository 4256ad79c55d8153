"""The load that a generator is to offer."""

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
"""Keys of a load of clients that are shares of its exchanges, by leaseload's names for them.
The remaining clients begin without a lease.
"""


@dataclass(frozen=True, slots=True)
class Load:
    """A constant rate for a fixed time, clients that all begin at once, or a flood."""

    rate: int
    """Offered load (transactions begun per second); 0 where clients begin at once, and of a
    flood."""
    duration_s: int
    """Length of the traffic period (whole seconds, as perfdhcp requires); for clients that
    begin at once, the longest time for which they retry."""
    first_client: int = 0
    """Number of the first client, so that successive loads have different clients."""
    clients: int = 0
    """Number of clients, which return in turn; 0: each client is new."""
    at_once: int = 0
    """Clients that all begin at once and send again until they are served; 0 for a rate."""
    flood: bool = False
    """Begin transactions as fast as the generator can, up to its own limit of unanswered ones;
    no rate is set."""

    proof: bool = False
    """It confirms the result of a search: a generator without latency uses another one for
    it."""

    @property
    def words(self) -> str:
        """Words for the offered load."""
        if self.at_once:
            return f"{self.at_once} clients at once, for {self.duration_s} s at most"
        if self.flood:
            return f"flood for {self.duration_s} s"
        return f"{self.rate}/s for {self.duration_s} s"
