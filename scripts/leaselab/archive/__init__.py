"""Results at rest: schema, write-once store, journal, derived index."""
