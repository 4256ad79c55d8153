"""The generator dnsperf: its command, its output, and the trials read of it."""
