"""Pages of docs/generated/, made from the sources."""
