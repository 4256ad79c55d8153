"""What `leaselab-dns-data` is made of: zones, the names asked for, and files with a hash."""
