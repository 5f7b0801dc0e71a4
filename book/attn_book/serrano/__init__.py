"""Serrano & Smith's pages: their runs, tables, figures, claims, and the hypothesis that the paper does not test."""
