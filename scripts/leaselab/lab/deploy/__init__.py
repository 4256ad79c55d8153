"""Playbooks and what they leave: deployments, and the description of a bench."""
