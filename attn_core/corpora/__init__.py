"""Data sets: catalogue, look-up and download, cleaning, arrays, word vectors, generated sets."""

from attn_core.corpora.encoding import encode
from attn_core.corpora.files import read

__all__ = ["encode", "read"]
