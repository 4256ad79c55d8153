"""Pages of docs/generated/, made from what the code says of itself."""
