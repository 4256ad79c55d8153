"""The contract of a server under test, called on its host."""
