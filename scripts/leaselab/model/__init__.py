"""Frozen values that all other rooms use: no I/O, no other room imported."""
