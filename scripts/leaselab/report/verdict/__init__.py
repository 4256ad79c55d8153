"""What is said of comparisons, for terminal, pages, Markdown, JSON and JUnit."""
