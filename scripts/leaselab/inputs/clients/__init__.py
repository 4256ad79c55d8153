"""Users' own clients: what a capture, a lease file or a log has of them, and the load of it."""
