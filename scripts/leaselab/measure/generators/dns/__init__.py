"""What generators of DNS have in common."""
