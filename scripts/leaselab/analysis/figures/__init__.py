"""Figures of one result, and how sure they are."""
