"""What was computed is kept: a score cache on disk, keyed by who computed and what from."""
