"""A corpus as arrays, and how its rows are put into batches."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from attn_core.corpora.text import PAD


@dataclass(frozen=True)
class Documents:
    """Ragged token ids: text d is ``ids[offsets[d]:offsets[d + 1]]``, START and END included.

    ids (T,) int32; offsets (D+1,) int64; labels (D,) int64; doc_ids (D,) int64, the row of each document in its source.
    """

    ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    doc_ids: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """(D,) tokens per text, START and END included."""
        return np.diff(self.offsets)

    def take(self, rows) -> "Documents":
        """The documents of these rows (integers or a boolean mask), in the order given."""
        rows = np.arange(len(self))[rows]
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        # Token position within the new array minus its text's new start, plus the text's old start.
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Documents(self.ids[source], offsets, self.labels[rows], self.doc_ids[rows])


@dataclass(frozen=True)
class Encoded:
    """A corpus as arrays: all that training needs.

    splits: 'train', 'dev', 'test' -> Documents. vocabulary: index -> word; 0 <pad>, 1 <unk>, 2 <s>, 3 </s>, words
    from 4 in sorted order. fingerprint: SHA-256 over all arrays and the vocabulary. statistics: counts shown on the
    data page. evidence: only for generated sets, split -> (T,) bool, True at the tokens that decide the label; else
    None.
    """

    name: str
    splits: dict[str, Documents]
    vocabulary: tuple[str, ...]
    fingerprint: str
    statistics: dict
    evidence: dict[str, np.ndarray] | None = None


def fingerprint(splits: dict[str, Documents], vocabulary) -> str:
    """SHA-256 over the arrays (little-endian, split by split in alphabetical order) and the vocabulary."""
    digest = hashlib.sha256(json.dumps(list(vocabulary), ensure_ascii=True).encode())
    for split in sorted(splits):
        digest.update(split.encode())
        for field, kind in (("ids", "<i4"), ("offsets", "<i8"), ("labels", "<i8"), ("doc_ids", "<i8")):
            array = np.ascontiguousarray(getattr(splits[split], field), dtype=kind)
            digest.update(f"{field}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


def batches(documents: Documents, size: int, rng: np.random.Generator, noise: float = 0.1) -> list[np.ndarray]:
    """One epoch of training batches as row indices: texts of like length together, batches in random order.

    J&W, authors' final code: each length L (START and END included) gets a uniform integer from floor(-noise L) to
    ceil(noise L) - 1 added; rows are sorted by the sum, cut into consecutive batches and the batches shuffled.
    Every row is in exactly one batch; only the batch that holds the tail of the order may be smaller than ``size``.
    noise=0: sorted by length, ties in document order.
    """
    lengths = documents.lengths
    low = np.floor(-noise * lengths).astype(np.int64)
    high = np.maximum(np.ceil(noise * lengths).astype(np.int64), low + 1)  # exclusive
    order = np.argsort(lengths + rng.integers(low, high), kind="stable")
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return [parts[i] for i in rng.permutation(len(parts))]


def pad(documents: Documents, rows) -> tuple[np.ndarray, np.ndarray]:
    """Rows as one rectangle: (ids (B, L) int64 filled up with PAD on the right, lengths (B,) int64); L = longest of
    the rows."""
    taken = documents.take(rows)
    lengths = taken.lengths
    filled = np.arange(lengths.max(initial=0)) < lengths[:, None]  # (B, L)
    ids = np.full(filled.shape, PAD, dtype=np.int64)
    ids[filled] = taken.ids
    return ids, lengths
