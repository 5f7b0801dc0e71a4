"""Jain & Wallace's pages: tables, grids of models, claims, and what was tried where a number differs."""
