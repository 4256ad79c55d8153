"""Hosts of a bench: who they are, how they are reached, and how they boot."""
