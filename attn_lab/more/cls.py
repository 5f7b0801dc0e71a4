"""MiniLM's [CLS] model: fine-tuned as `pretrained` says, and read for all that is asked of its word pieces.

Which rankings agree with deletion, where [CLS] looks, and what the last layer needs. Not in the three papers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from torch import Tensor

from attn_core.device import fitting
from attn_core.documents import Documents
from attn_core.experiments import draws
from attn_core.models.classifier import Tensors
from attn_core.traces import chunks, maxima, sigmoid
from attn_core.tracing.chunks import over_chunks
from attn_core.training import Arrays
from attn_lab.data.order import fixed_order
from attn_lab.more import piecewise, rankings
from attn_lab.more.explanations import DEALT, contexts_of, ranked
from attn_lab.more.first_state import FirstState, Opened, gathered, last_logit, opened

RANKED = 320
"""Documents, the first of the corpus's fixed order, whose pieces are ranked and deleted."""

OPENED = 2_000
"""Documents, likewise, of which attention by layer and the last layer are read."""

TOKENS = {"cpu": 2_048, "cuda": 8_192}
"""Kind of device -> places that are read side by side."""


def roc_auc(model: FirstState, documents: Documents) -> float:
    """Of a split."""
    from sklearn.metrics import roc_auc_score

    p = Reader(model, (), False).p(texts_of(documents))
    return float(roc_auc_score(documents.labels, p))


# ---- a test set ------------------------------------------------------------------------------------------------------


@dataclass
class Reader:
    """A [CLS] model that reads texts, each an array of ids with [CLS] and [SEP]; those of one length side by side."""

    model: FirstState
    vocabulary: tuple[str, ...]
    progress: bool

    @property
    def device(self) -> torch.device:
        return self.model.decoder.weight.device

    def over(self, texts: list[ndarray], work: Callable[[ndarray, Tensor], dict], of_pieces: bool = False) -> Arrays:
        """Arrays by name of work(rows (B,), ids (B, L)), of all texts in their order: a number a text, or a piece."""
        lengths = np.array([len(text) for text in texts])
        at_once = fitting(self.device, TOKENS[self.device.type])
        cut = [rows for rows, _ in chunks(lengths, at_once)]

        def task(rows: ndarray) -> Tensors:
            ids = np.stack([texts[row] for row in rows])
            return work(rows, torch.as_tensor(ids, dtype=torch.long, device=self.device))

        sizes = lengths - 2 if of_pieces else np.ones_like(lengths)
        return over_chunks(task, cut, lengths.astype(float), sizes, self.device, self.progress)

    def open(self, ids: Tensor) -> Opened:
        return opened(self.model, self.model.encoder.embedding(ids))

    def p(self, texts: list[ndarray]) -> ndarray:
        """Probabilities of class 1, (N,) float64."""
        logits = self.over(texts, lambda rows, ids: {"logit": self.open(ids).logit})["logit"]
        return sigmoid(logits.astype(float))


def texts_of(documents: Documents) -> list[ndarray]:
    """Ids of each document, [CLS] and [SEP] included."""
    return np.split(documents.ids, documents.offsets[1:-1])


def read_documents(reader: Reader, documents: Documents, name: str, asked: tuple[Callable, ...]) -> pd.DataFrame:
    """One row a document of a test set: all that is kept of a [CLS] model of two classes.

    Columns: `tables.IDENTITY` and p; and, where asked for, of the first documents of the corpus `name`'s fixed order
    those of `last_layer` and `against_deletion`, else NaN.
    """
    texts = texts_of(documents)
    p = reader.p(texts)
    table = pd.DataFrame(
        {
            "doc_id": documents.doc_ids,
            "label": documents.labels,
            "predicted": (p > 0.5).astype(int),
            "n": documents.lengths - 2,
            "p": p,
        }
    )
    order = fixed_order(documents.doc_ids, name)
    for columns_of in asked:
        rows = order[: OPENED if columns_of is last_layer else RANKED]
        columns = columns_of(reader, [texts[row] for row in rows], table.iloc[rows])
        table = table.join(pd.DataFrame(columns, index=rows))
    return table


def last_layer(reader: Reader, texts: list[ndarray], table: pd.DataFrame) -> Arrays:
    """Where the documents of a table, in an order by chance, look, and what other weights in the last layer change.

    Those of `looks`. flips_<how>, moved_<how>: whether the decision flips, and how far p moves, where the last layer's
    [CLS] reads one of `contexts_of`, mean over these, or 'stranger', what it reads in the next document. locked_alone:
    no piece flips it. right_zero: the decision without context is the label. median_change_<how>: of p over weights
    `dealt`.
    """
    model = reader.model
    doc_id = table["doc_id"].to_numpy()
    sign = torch.as_tensor(piecewise.signs(reader.vocabulary), device=reader.device)

    def work(rows: ndarray, ids: Tensor) -> Tensors:
        text = reader.open(ids)
        before = text.states[-2][:, :1]
        columns = looks(text.attention, sign[ids[:, 1:-1]])
        columns["before"] = before[:, 0]
        columns["context"] = gathered(text.attention[-1][:, :, :1], text.value)[:, 0]
        for how, context in contexts_of(text, doc_id[rows]).items():
            flips, moved = changes(last_logit(model, before, context), text.logit[:, None])
            if how in DEALT:
                columns[f"median_change_{how}"] = moved.quantile(0.5, dim=1)
            else:
                columns[f"flips_{how}"] = flips.mean(1)
                columns[f"moved_{how}"] = moved.mean(1)
            if how == "alone":
                columns["locked_alone"] = 1 - flips.amax(1)
        columns["logit"] = text.logit
        return columns

    columns = reader.over(texts, work)
    read = (torch.as_tensor(columns.pop(name), device=reader.device) for name in ("logit", "before", "context"))
    logit, before, context = read
    with torch.inference_mode():
        strange = last_logit(model, before[:, None], context.roll(1, 0)[:, None])
        flips, moved = changes(strange, logit[:, None])
    columns["flips_stranger"] = flips[:, 0].cpu().numpy()
    columns["moved_stranger"] = moved[:, 0].cpu().numpy()
    right = (table["predicted"] == table["label"]).to_numpy()
    columns["right_zero"] = np.where(columns["flips_zero"] > 0, ~right, right)
    return columns


def changes(logit: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Whether logits (B, S) decide otherwise than those before (B, 1), and how far p has moved, float64."""
    flips = (logit > 0) != (before > 0)
    moved = logit.double().sigmoid() - before.double().sigmoid()
    return flips.double(), moved.abs()


def looks(attention: list[Tensor], signs: Tensor) -> Tensors:
    """looks_<kind>@<layer>: where the attention of [CLS] goes, mean over heads, kinds as `rankings.by_kind`, layers
    from 1; looks_<kind>@even: the same of equal weights. signs (B, n): which pieces are signs."""
    rows = {str(layer): weights.mean(1)[:, 0] for layer, weights in enumerate(attention, 1)}
    rows["even"] = torch.full_like(rows["1"], 1 / rows["1"].shape[1])
    columns = {}
    for layer, row in rows.items():
        for kind, share in rankings.by_kind(row, signs).items():
            columns[f"looks_{kind}@{layer}"] = share
    return columns


def against_deletion(reader: Reader, texts: list[ndarray], table: pd.DataFrame) -> Arrays:
    """How each of RANKINGS and NEIGHBOURS agrees with deletion in the documents of a table.

    Deletion: |p(text without the piece) - p(text)|, the shortened text read anew; of a whole word all its pieces at
    once, a ranking's values summed over them. deletion_signed: how far p of the predicted class falls.
    top_deletion_<r>, tau_deletion_<r>: `rankings.agreement`; top_word_<r>, tau_word_<r>: the same of words.
    comprehensiveness_<r>@<share>, erased_flips_<r>@<share>: fall of p of the predicted class, and whether the decision
    flips, without that share of the pieces, the largest of r (DeYoung et al. 2020, section 4.2). whole_input: the
    largest of `ranked`, as a share of the largest gradient_x_input. NaN for texts of one piece.
    """
    offsets = np.cumsum([0, *table["n"]])
    p = table["p"].to_numpy()
    towards = np.where(p > 0.5, 1, -1)
    several = np.where(table["n"] > 1, 1, np.nan)
    values = ranking_values(reader, texts)
    values["chance"] = draws.uniforms(0, "random scores", table["doc_id"].to_numpy(), offsets)[0]
    pieces_of_all = np.concatenate([text[1:-1] for text in texts])
    begins = piecewise.begins_word(reader.vocabulary)[pieces_of_all]
    begins[offsets[:-1]] = True  # a text may begin within a word
    starts = np.flatnonzero(begins)

    def deletion(starts: ndarray) -> ndarray:
        document = np.searchsorted(offsets, starts, side="right") - 1
        q = reader.p(rankings.without_each(texts, offsets, starts))
        return towards[document] * (p[document] - q)

    values["deletion_signed"] = deletion(np.arange(offsets[-1]))
    values["deletion"] = np.abs(values["deletion_signed"])
    of_word = np.abs(deletion(starts))
    word_offsets = np.searchsorted(starts, offsets)

    whole = maxima(values["whole_input"], offsets)
    columns = {"whole_input": whole / maxima(values["gradient_x_input"], offsets)}
    for name in (*rankings.RANKINGS, *rankings.NEIGHBOURS):
        value = values[name]
        top, tau = rankings.agreement(value, values["deletion"], offsets)
        columns[f"top_deletion_{name}"] = top
        columns[f"tau_deletion_{name}"] = tau
        top, tau = rankings.agreement(np.add.reduceat(value, starts), of_word, word_offsets)
        columns[f"top_word_{name}"] = top
        columns[f"tau_word_{name}"] = tau
        for share in rankings.SHARES:
            q = reader.p(rankings.without_largest(texts, value, offsets, share))
            columns[f"comprehensiveness_{name}@{share}"] = several * towards * (p - q)
            columns[f"erased_flips_{name}@{share}"] = several * ((q > 0.5) != (p > 0.5))
    return columns


def ranking_values(reader: Reader, texts: list[ndarray]) -> Arrays:
    """Those of `ranked`, of all pieces (T,)."""
    mask = reader.vocabulary.index("[MASK]")
    shape = reader.model.encoder.embedding.weight.shape
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(shape, generator=generator, device="cpu").to(reader.device)

    def work(rows: ndarray, ids: Tensor) -> Tensors:
        with torch.inference_mode(False), torch.enable_grad():
            values = ranked(reader.model, ids.clone(), directions, mask)
        return {name: value.flatten() for name, value in values.items()}

    return reader.over(texts, work, of_pieces=True)
