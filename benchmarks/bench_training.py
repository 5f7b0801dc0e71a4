"""One training epoch of SST size, against the authors' way of training: packed batches, every token encoded anew."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_core.corpora.documents import Documents, batches
from attn_core.models.classifier import build
from attn_core.models.encoders import BiLSTM
from attn_core.training.jain import step
from tests.plain_network import plain_encoder

VOCABULARY, DOCUMENTS, STEPS = 13_826, 6_355, 40


class Packed(nn.Module):
    """The BiLSTM as packed sequences through one bidirectional nn.LSTM: the plain twin."""

    def __init__(self, encoder: BiLSTM) -> None:
        super().__init__()
        self.embedding, self.width = encoder.embedding, encoder.width
        self.lstm = nn.LSTM(encoder.embedding.embedding_dim, encoder.width // 2, batch_first=True, bidirectional=True)

    def forward(self, ids, lengths, mask):
        packed = pack_padded_sequence(self.embedding(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=ids.shape[1])[0]


def documents(seed: int = 0) -> Documents:
    """Random texts with SST's lengths: mean 20, 8 to 49, start and end included."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(5.0, 4.1, DOCUMENTS).astype(int), 8, 49)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    share = 1 / np.arange(1, VOCABULARY - 3)  # Zipf's law: how often words come again counts here
    ids = rng.choice(np.arange(4, VOCABULARY), offsets[-1], p=share / share.sum()).astype(np.int32)
    return Documents(ids, offsets, rng.integers(0, 2, DOCUMENTS), np.arange(DOCUMENTS))


def seconds_per_epoch(name: str, plain: bool, texts: Documents) -> float:
    """Median step of STEPS steps times the steps of an epoch; the plain way with single-tensor Adam."""
    torch.manual_seed(0)
    vectors = np.random.default_rng(0).normal(0, 0.3, (VOCABULARY, 300)).astype(np.float32)
    model = build(name, "tanh", vectors)
    if plain:
        model.encoder = Packed(model.encoder) if name == "lstm" else plain_encoder(model.encoder)
    optimiser = torch.optim.Adam(
        model.parameters(), lr=1e-3, amsgrad=True, weight_decay=1e-5, fused=not plain, foreach=False if plain else None
    )
    loss = nn.BCEWithLogitsLoss(reduction="sum")
    rows = batches(texts, 32, np.random.default_rng(0))
    times = []
    for part in rows[:STEPS]:
        start = perf_counter()
        step(model, texts, part, loss, optimiser, torch.device("cpu"))
        times.append(perf_counter() - start)
    return float(np.median(times)) * len(rows)


def rows(long: bool = False) -> Iterator[dict]:
    """Rows of `make bench`. Floor of the BiLSTM: three forward passes at 490 GFLOP/s, one optimiser pass."""
    texts = documents()
    for name, told in (("lstm", "BiLSTM"), ("cnn", "CNN"), ("average", "Average")):
        fast, plain = (seconds_per_epoch(name, way, texts) for way in (False, True))
        floor = 3 * 0.94e6 * texts.offsets[-1] / 490e9 + 0.2 if name == "lstm" else None
        yield {"name": f"training epoch, {told} + tanh, 6,355 texts", "seconds": fast, "plain": plain,
               "ratio": plain / fast, "floor": floor, "distance": floor and fast / floor,
               "note": f"median of {STEPS} steps, scaled to the epoch"}  # fmt: skip
