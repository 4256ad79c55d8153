"""What is built: repositories of servers, and artifacts of their commits."""
