"""What can be measured: scenarios, what roles declare, and where both are kept."""
