"""Measuring: search, sweep, validity, generators' command lines and parsers."""
