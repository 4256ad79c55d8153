"""What YADIFA does for the server contract; `server.py` has its verbs."""
