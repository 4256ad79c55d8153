"""The generator perfdhcp: its command, its output, and the trials read of it."""
