"""A corpus as arrays, and how its rows are put into batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attn_core.checks import places
from attn_core.errors import AttnError

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
"""The four special tokens that every vocabulary begins with; their ids are the next four numbers."""

PAD = 0
UNKNOWN = 1
START = 2
END = 3

RAGGED = (
    ("ids", "offsets"),
    ("query_ids", "query_offsets"),
    ("answer_ids", "answer_offsets"),
    ("sentence_lengths", "sentence_offsets"),
)
"""Fields of `Documents` that hold many values a document, each with the field that says where these lie."""


@dataclass(frozen=True)
class Documents:
    """Ragged token ids of D texts, START and END included (not after `flat`).

    Parameters
    ----------
    ids : (T,) array of int32
        Text d is ids[offsets[d]:offsets[d + 1]].
    offsets : (D + 1,) array of int64
        Where each text begins.
    labels : (D,) array of int64
        The class of each document.
    doc_ids : (D,) array of int64
        Its row in its source.
    query_ids : (Q,) array of int32, optional
        The second texts of pairs: questions, hypotheses.
    query_offsets : (D + 1,) array of int64, optional
        Where each of them begins.
    answer_ids : (A,) array of int32, optional
        The possible label ids of each document, where only some are.
    answer_offsets : (D + 1,) array of int64, optional
        Where those of each document begin.
    sentence_lengths : (S,) array of int64, optional
        Words of each sentence (START and END not counted, none empty) of documents that are cut into sentences.
    sentence_offsets : (D + 1,) array of int64, optional
        Document d owns sentences sentence_offsets[d]:sentence_offsets[d + 1].
    """

    ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    doc_ids: np.ndarray
    query_ids: np.ndarray | None = None
    query_offsets: np.ndarray | None = None
    answer_ids: np.ndarray | None = None
    answer_offsets: np.ndarray | None = None
    sentence_lengths: np.ndarray | None = None
    sentence_offsets: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, values in vars(self).items():
            if values is not None:
                object.__setattr__(self, name, np.asanyarray(values))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """(D,) tokens per text."""
        return np.diff(self.offsets)

    @property
    def word_offsets(self) -> np.ndarray:
        """(D + 1,): text d owns words word_offsets[d]:word_offsets[d + 1], START and END not counted."""
        return self.offsets - 2 * np.arange(len(self.offsets))

    @property
    def inner(self) -> np.ndarray:
        """(T,) bool: which ids are words, START and END of each text left out."""
        words = np.ones(len(self.ids), dtype=bool)
        words[self.offsets[:-1]] = False  # START
        words[self.offsets[1:] - 1] = False  # END
        return words

    def take(self, rows) -> "Documents":
        """The documents of these rows (integers or a boolean mask), in the order given."""
        rows = places(rows, len(self))
        taken = {"labels": self.labels[rows], "doc_ids": self.doc_ids[rows]}
        for values, offsets in RAGGED:
            if getattr(self, values) is not None:
                taken[values], taken[offsets] = take_ragged(getattr(self, values), getattr(self, offsets), rows)
        return Documents(**taken)

    def words(self, doc_id: int, vocabulary: Sequence[str]) -> list[str]:
        """The words of the document with this doc_id, START and END left out; none where there is no such document."""
        return [vocabulary[row] for row in self.take(self.doc_ids == doc_id).ids[1:-1]]

    @property
    def queries(self) -> "Documents":
        """The second texts as documents of their own; only pairs have them."""
        return Documents(self.query_ids, self.query_offsets, self.labels, self.doc_ids)  # type: ignore[arg-type]

    def allowed(self, outputs: int) -> np.ndarray | None:
        """(D, outputs) bool, True at possible answers; None where all are possible everywhere."""
        if self.answer_ids is None or self.answer_offsets is None:
            return None
        mask = np.zeros((len(self), outputs), dtype=bool)
        document_of = np.repeat(np.arange(len(self)), np.diff(self.answer_offsets))  # (A,)
        mask[document_of, self.answer_ids] = True
        return mask

    @property
    def items(self) -> np.ndarray:
        """(D + 1,) offsets of what Serrano & Smith's models attend to: sentences where there are any, else words."""
        return self.offsets if self.sentence_offsets is None else self.sentence_offsets

    @property
    def longest(self) -> np.ndarray:
        """(D,) words of each document's longest sentence, of the whole document where it is not cut."""
        if self.sentence_lengths is None or self.sentence_offsets is None:
            return self.lengths
        return np.maximum.reduceat(self.sentence_lengths, self.sentence_offsets[:-1])

    def inputs(self, rows: np.ndarray, device) -> dict:
        """The arguments of a model of Serrano & Smith for the documents in `rows`, tensors on the device."""
        import torch

        taken = self.take(rows)
        arrays = {"words": taken.ids, "counts": np.diff(taken.items), "sentence_lengths": taken.sentence_lengths}
        return {name: torch.as_tensor(array, device=device) for name, array in arrays.items() if array is not None}


def take_ragged(values: np.ndarray, offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a ragged array, in the order given: (values, offsets)."""
    tokens, new_offsets = ragged(offsets, rows)
    return values[tokens], new_offsets


def ragged(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the values of some rows lie, and the offsets of these rows alone."""
    lengths = np.diff(offsets)[rows]
    new_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    shift = np.repeat(offsets[rows] - new_offsets[:-1], lengths)  # from a text's new start to its old one
    return np.arange(new_offsets[-1]) + shift, new_offsets


def flat(documents: Documents, sentences: bool, name: str) -> Documents:
    """The documents as the models of Serrano & Smith read them: ids int64, words end to end without START and END; with
    their sentences for a HAN, as whole texts for a FLAN.

    AttnError for documents without words and, for a HAN, for documents that are not cut into sentences, or whose
    sentences are empty or do not add up to them. name: of the corpus and split, for the message.
    """
    if len(documents) == 0:
        raise AttnError(f"{name} holds no documents; at least one is needed")
    lengths = documents.lengths - 2
    if lengths.min() < 1:
        raise AttnError(
            f"{name}: document {documents.doc_ids[lengths.argmin()]} has no words; leave empty documents out"
        )
    words = documents.ids[documents.inner].astype(np.int64)
    whole = Documents(words, documents.word_offsets, documents.labels, documents.doc_ids)
    if not sentences:
        return whole
    if documents.sentence_lengths is None or documents.sentence_offsets is None:
        raise AttnError(
            f"{name} is not cut into sentences, which a HAN attends to; take a FLAN, or planted with the options "
            "shortest_sentence=4 and longest_sentence=9"
        )
    sizes = documents.sentence_lengths.astype(np.int64)
    offsets = documents.sentence_offsets.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)])  # (S + 1,) words before each sentence
    if sizes.min(initial=1) < 1 or not np.array_equal(np.diff(ends[offsets]), lengths):
        raise AttnError(f"{name}: sentence_lengths must count every word but START and END, and none may be empty")
    return replace(whole, sentence_lengths=sizes, sentence_offsets=offsets)


@dataclass(frozen=True)
class Encoded:
    """A corpus as arrays. splits: 'train', 'dev', 'test' -> Documents. vocabulary: index -> word; 0 <pad>, 1 <unk>,
    2 <s>, 3 </s>, words from 4 in sorted order. fingerprint: see `fingerprint`. statistics: shown on the data page."""

    name: str
    splits: dict[str, Documents]
    vocabulary: tuple[str, ...]
    fingerprint: str
    statistics: dict


def batches(documents: Documents, size: int, rng: np.random.Generator, noise: float = 0.1) -> list[np.ndarray]:
    """One epoch of training batches as row indices: texts of like length together, batches in random order.

    J&W, authors' final code: each length L (START and END included) gets a uniform integer from floor(-noise L) to
    ceil(noise L) - 1 added; rows are sorted by the sum (ties in document order), cut into consecutive batches, of which
    the last may be smaller, and the batches shuffled.
    """
    lengths = documents.lengths
    low = np.floor(-noise * lengths).astype(np.int64)
    high = np.maximum(np.ceil(noise * lengths).astype(np.int64), low + 1)  # exclusive
    order = np.argsort(lengths + rng.integers(low, high), kind="stable")
    cut = [order[start : start + size] for start in range(0, len(order), size)]
    return [cut[i] for i in rng.permutation(len(cut))]


def pad(documents: Documents, rows) -> tuple[np.ndarray, np.ndarray]:
    """Rows as one rectangle, filled up with PAD on the right.

    Parameters
    ----------
    documents : Documents
        Ragged texts.
    rows : (B,) array of int
        Which of them.

    Returns
    -------
    ids : (B, L) array of int64
        L is the longest of these texts.
    lengths : (B,) array of int64
        Of each text.
    """
    taken = documents.take(rows)
    filled = np.arange(taken.lengths.max(initial=0)) < taken.lengths[:, None]  # (B, L)
    ids = np.full(filled.shape, PAD, dtype=np.int64)
    ids[filled] = taken.ids
    return ids, taken.lengths
