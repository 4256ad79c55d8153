"""The command line: arguments, exit codes, progress on a terminal."""
