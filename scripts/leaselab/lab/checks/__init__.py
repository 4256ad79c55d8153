"""Whether a bench is fit to measure, and why not."""
