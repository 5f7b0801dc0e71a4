"""What the function of a data set gives back: labelled token lists, before any length filter."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas

TokenLists = list[list[str]]
"""Texts as lists of words."""


class Texts(NamedTuple):
    """D texts of a split. lists: token lists. labels (D,): index or name of the class. doc_ids (D,): row in its source.

    For pairs, queries: token lists of the second texts. Where only some answers are possible, answers: one array of
    class indices per text. Of texts cut into sentences, sentences: per text the tokens of each.
    """

    lists: TokenLists
    labels: Sequence | np.ndarray | pandas.Series
    doc_ids: np.ndarray
    queries: TokenLists | None = None
    answers: list[np.ndarray] | None = None
    sentences: list[list[int]] | None = None

    def take(self, rows) -> "Texts":
        """The texts of these rows (integers or a boolean mask), in the order given."""
        rows = np.arange(len(self.lists))[rows]

        def of_rows(values):
            if values is None:
                return None
            return [values[i] for i in rows] if isinstance(values, list) else np.asarray(values)[rows]

        return Texts(*map(of_rows, self))


@dataclass(frozen=True)
class Prepared:
    """splits: 'train', 'dev', 'test' -> Texts. classes: names of the labels, empty = the catalogue's. entities: words
    that stand in the vocabulary whatever their document frequency. notes: more entries of ``Encoded.statistics``."""

    splits: dict[str, Texts]
    classes: Sequence[str] = ()
    entities: Sequence[str] = ()
    notes: dict = field(default_factory=dict)
