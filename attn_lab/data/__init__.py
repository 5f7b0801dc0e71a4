"""Data sets: the catalogue, where files come from, how texts become words, arrays and word vectors."""

from attn_lab.data.encoding import encode

__all__ = ["encode"]
