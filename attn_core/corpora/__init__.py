"""Data sets: catalogue, arrays, the generated set. The package attn_data makes those of the papers of their files."""

from attn_core.corpora.encoding import encode

__all__ = ["encode"]
