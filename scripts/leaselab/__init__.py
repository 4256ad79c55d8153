"""Leaselab: a performance lab for DHCP and DNS servers.

The package is the engine and the command line.  Ansible brings hosts into a
state; this code measures, archives and shows.  CONTRIBUTING.md has the
rooms and which way the arrows between them point.
"""

__version__ = "0.1.0"
