"""Wiegreffe & Pinter's pages: their runs, tables, curves, figures and targets."""
