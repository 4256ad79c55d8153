"""The report as a static site: pages, charts, and how they are written."""
