"""Statistics over runs; pure, no I/O."""
