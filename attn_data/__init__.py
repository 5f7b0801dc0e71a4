"""From texts to what attn_core takes: data sets and word vectors from their files, a sentence of your own.

attn_core asks for it by name where a data set is made (`encoding.from_files`); what is stored is read without it.
"""

from attn_data import gated, prepare
from attn_data.tables import read

__all__ = ["PREPARE", "read"]

PREPARE = prepare.PREPARE | gated.PREPARE
"""Corpus -> function that turns its tables into `attn_core.corpora.prepare.Prepared`; its arguments are its options."""
