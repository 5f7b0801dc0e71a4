"""The papers' tests: each is a function of traces and options that returns one row per document."""
