"""What PowerDNS Authoritative does for the server contract; `server.py` has its verbs."""
