"""Words and names to avoid: in documents, help texts, errors, and names of the code."""
