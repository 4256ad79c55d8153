"""Lease safety: what clients saw of their leases, and whether any was lost or given twice."""
