"""Users' own queries and zones: read of files and captures, and the load of them."""
