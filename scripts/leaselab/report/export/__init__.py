"""Results for other programs: tables, metrics, test reports, merge requests."""
