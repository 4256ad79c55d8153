"""An authority whose zones may be updated: a reset takes the updates back by a restart."""

import json
from pathlib import Path

from leaselab_contract import dns, restarted


class Server(restarted.Server):
    """An authority; its settings also have `made_folder` where it takes updates.

    There its zones are as they were made, and each start begins with these (`restore`).
    Where it takes none, it holds nothing.
    """

    ENTRIES = "updates"
    RESET_S = 20.0

    @property
    def takes_updates(self):
        """Whether its zones may be updated."""
        return bool(self.config.get("made_folder"))

    def restore(self):
        """Bring its zones back to what they were made as, while it does not run."""
        raise NotImplementedError

    def launch(self):
        """Start its process, with the zones as they were made where it takes updates."""
        if self.takes_updates:
            self.restore()
        return super().launch()

    def check_started(self):
        """Keep the serial numbers that its zones begin with."""
        if self.takes_updates:
            begun = json.dumps(self.serials(self.RESET_S))
            self.serials_file.write_text(begun, encoding="utf-8")
        return {}

    @property
    def serials_file(self):
        """Where they are kept, beside its lock."""
        return Path(self.config["process"]["pid_file"]).with_suffix(".serials")

    def serials(self, seconds):
        """Return the serial number of each zone that is updated, by name."""
        zone = self.config["known_name"]
        return {zone: dns.serial(self.config["address"], zone, seconds=seconds)}

    def reset(self):
        """Restart it without the updates, where it takes some."""
        if not self.takes_updates:
            return {"held": None, "was": None}
        return super().reset()

    def entries(self):
        """Return how many updates its zones have."""
        return self.updated(self.RESET_S)

    def updated(self, seconds):
        """Return by how much the serial numbers of its zones have been raised."""
        begun = json.loads(self.serials_file.read_text(encoding="utf-8"))
        now = self.serials(seconds)
        return sum((now[zone] - begun[zone]) % (1 << 32) for zone in begun)

    def held(self):
        """Return the same for a sample: None where it takes none, or is too busy to say."""
        try:
            return self.updated(self.ANSWER_S) if self.takes_updates else None
        except (OSError, ValueError):
            return None
