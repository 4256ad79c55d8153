"""Experiments from bench documents to sealed records: the one runner of every procedure."""
