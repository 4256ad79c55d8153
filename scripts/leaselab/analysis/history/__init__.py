"""Histories of builds: levels, anchors, changes."""
