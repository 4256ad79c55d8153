"""A database: one instance of it (`instance.py`), and as a server of another host's server."""
