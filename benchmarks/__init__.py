"""The project's own benchmarks: each proves one claim of the documentation."""
