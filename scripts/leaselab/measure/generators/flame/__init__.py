"""The generator flame: its command, its output, and the trials read of it."""
