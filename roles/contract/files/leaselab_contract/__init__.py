"""What the contracts on a host are made of."""
