"""Documents as the models of Serrano & Smith read them: words end to end without START and END, cut into sentences."""

from dataclasses import dataclass

import numpy as np
import torch

from attn_core.corpora.catalogue import CATALOGUE
from attn_core.corpora.documents import Documents, take_ragged
from attn_core.errors import AttnError


@dataclass(frozen=True)
class Flat:
    """D documents of W words: words (W,) int64, word_offsets (D + 1,), labels (D,).

    Cut into sentences (for a HAN): sentence_lengths (S,) words of each, sentence_offsets (D + 1,); else None.
    """

    words: np.ndarray
    word_offsets: np.ndarray
    labels: np.ndarray
    sentence_lengths: np.ndarray | None = None
    sentence_offsets: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """(D,) words per document."""
        return np.diff(self.word_offsets)

    @property
    def offsets(self) -> np.ndarray:
        """(D + 1,) of the items attended to: sentences where there are any, else words."""
        return self.word_offsets if self.sentence_offsets is None else self.sentence_offsets

    @property
    def longest(self) -> np.ndarray:
        """(D,) words of each document's longest sentence, of the whole document where it is not cut."""
        if self.sentence_lengths is None:
            return self.lengths
        return np.maximum.reduceat(self.sentence_lengths, self.sentence_offsets[:-1])

    def inputs(self, rows: np.ndarray, device: torch.device) -> dict[str, torch.Tensor]:
        """The model's arguments for the documents in `rows`, on the device."""
        words, offsets = take_ragged(self.words, self.word_offsets, rows)
        arrays = {"words": words, "counts": np.diff(offsets)}
        if self.sentence_lengths is not None:
            lengths, offsets = take_ragged(self.sentence_lengths, self.sentence_offsets, rows)
            arrays |= {"counts": np.diff(offsets), "sentence_lengths": lengths}
        return {name: torch.as_tensor(array, device=device) for name, array in arrays.items()}


def flat(documents: Documents, sentences: bool, name: str) -> Flat:
    """The documents without START and END; with their sentences for a HAN, as whole texts for a FLAN.

    AttnError for documents without words and, for a HAN, for documents that are not cut into sentences, an empty
    sentence, or sentences that do not add up to their document. name: of the corpus and split, for the message.
    """
    if len(documents) == 0:
        raise AttnError(f"{name} holds no documents; at least one is needed")
    lengths = documents.lengths - 2
    if len(empty := np.flatnonzero(lengths < 1)):
        raise AttnError(f"{name}: document {documents.doc_ids[empty[0]]} has no words; leave empty documents out")
    offsets = documents.word_offsets
    whole = Flat(documents.ids[documents.inner].astype(np.int64), offsets, documents.labels)
    if not sentences:
        return whole
    if documents.sentence_lengths is None:
        cut = ", ".join(entry.name for entry in CATALOGUE.values() if entry.cut)
        raise AttnError(
            f"{name} is not cut into sentences, which a HAN attends to; take a FLAN, a corpus that is cut ({cut}), or "
            "planted with the options shortest_sentence=4 and longest_sentence=9"
        )
    sizes, bounds = documents.sentence_lengths.astype(np.int64), documents.sentence_offsets.astype(np.int64)
    together = np.diff(np.concatenate([[0], np.cumsum(sizes)])[bounds])  # (D,)
    if len(wrong := np.flatnonzero((together != lengths) | (np.diff(bounds) < 1))):
        row = wrong[0]
        raise AttnError(
            f"{name}: the sentences of document {documents.doc_ids[row]} have {together[row]} words together, the "
            f"document has {lengths[row]}; sentence_lengths must count every word but START and END"
        )
    if (sizes < 1).any():
        row = np.searchsorted(bounds, np.flatnonzero(sizes < 1)[0], side="right") - 1
        raise AttnError(f"{name}: document {documents.doc_ids[row]} has a sentence without words; leave such out")
    return Flat(whole.words, offsets, whole.labels, sizes, bounds)
