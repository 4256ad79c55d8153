"""What changed in an archive, for terminal, pages, Markdown and JSON."""
