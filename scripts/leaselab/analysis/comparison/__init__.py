"""Comparing results: ratio, verdict, and what must be alike."""
