"""The fixed order of a corpus's documents: which are kept, and which a share of the training texts takes first."""

import hashlib

import numpy as np


def fixed_order(doc_ids: np.ndarray, corpus: str) -> np.ndarray:
    """Row numbers sorted by a hash of corpus and doc_id, (D,): the same for every run of a corpus."""
    ranks = [hashlib.sha256(f"{corpus}/{doc_id}".encode()).digest() for doc_id in doc_ids]
    return np.array(sorted(range(len(doc_ids)), key=ranks.__getitem__))
