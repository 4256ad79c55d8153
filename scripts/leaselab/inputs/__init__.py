"""Users' configurations, leases, captures and queries, read into scenarios and loads."""
