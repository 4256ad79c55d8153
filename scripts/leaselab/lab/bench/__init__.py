"""A bench as a whole: its lock, its lease, and those of this machine."""
