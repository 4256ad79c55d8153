"""Duels of two servers: when they end, what they say, and which commit is the culprit."""
