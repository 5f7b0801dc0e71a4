"""The sentence model of data/archive, made from a cached training: `attn_core.reader` reads it."""

import json

import numpy as np

from attn_core import reader, store
from attn_core.corpora import encode
from attn_core.measures import classification
from attn_core.models.classifier import from_arrays
from attn_core.tracing import probabilities


def quantise(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and one float32 scale per row, array ~ values * scale; a vector counts as one row."""
    rows = array.reshape(1, -1) if array.ndim == 1 else array.reshape(len(array), -1)
    scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12).astype(np.float32) / 127
    return np.round(rows / scale).astype(np.int8).reshape(array.shape), scale


def export(key: str) -> dict:
    """Round a cached SST training to int8, keep the words of at least two training texts, put it into the archive.

    Returns its description: test metrics before and after rounding, measured on the whole test set.
    """
    trained, _ = store.read_weights(key)
    data = encode("sst")
    train, test = data.splits["train"], data.splits["test"]
    document = np.repeat(np.arange(len(train)), np.diff(train.offsets))
    pairs = np.unique(np.stack([train.ids, document]), axis=1)[0]
    kept = np.flatnonzero(
        (np.bincount(pairs, minlength=len(data.vocabulary)) >= 2) | (np.arange(len(data.vocabulary)) < 4)
    )
    arrays = dict(trained["dev"])
    arrays["encoder.embedding.weight"] = arrays["encoder.embedding.weight"][kept]
    rounded = {name: quantise(array) for name, array in arrays.items()}
    model = from_arrays("lstm", "tanh", {name: reader.dequantise(*pair) for name, pair in rounded.items()})
    new_id = np.full(len(data.vocabulary), 1, dtype=np.int32)  # 1: unknown
    new_id[kept] = np.arange(len(kept))
    known = type(test)(new_id[test.ids], test.offsets, test.labels, test.doc_ids)
    before = probabilities(from_arrays("lstm", "tanh", trained["dev"]), test)
    after = probabilities(model, known)
    told = {
        "training": key,
        "words": [data.vocabulary[i] for i in kept],
        "exact": classification(test.labels, before),
        "rounded": classification(test.labels, after),
        "same_decision": float(((before >= 0.5) == (after >= 0.5)).mean()),
    }
    folder = store.archive_folder() / reader.FOLDER
    folder.mkdir(exist_ok=True)
    flat = {f"{name}:{part}": array for name, pair in rounded.items() for part, array in zip("qs", pair, strict=True)}
    np.savez_compressed(folder / "model.npz", **flat)
    (folder / "model.json").write_text(json.dumps(told))
    store.reseal(folder.parent, reader.FOLDER, folder)
    return told
