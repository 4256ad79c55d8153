"""Frozen values that every other room speaks in: no I/O, no other room imported."""
