"""The generator leaseload: its command, its output, and the trials read of it."""
