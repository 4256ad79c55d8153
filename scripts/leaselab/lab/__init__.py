"""Hosts and how to reach them: transport, bench lock, samplers, bench.json."""
