"""What BIND 9 does for the server contract; `server.py` has its verbs."""
