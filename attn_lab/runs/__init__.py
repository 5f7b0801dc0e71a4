"""Runs: one training each, named by its fields; how they are made, kept, found, counted and packed into the archive."""
