"""What a server must serve, and whether it can."""
