"""Measuring: search, sweep, validity, generators' command lines and parsers.

Hosts are reached through the protocols of `ports`, which `lab` fills: nothing
here opens a connection or a file.
"""
