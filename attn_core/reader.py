"""The one model kept in the archive with its weights: SST, BiLSTM with additive attention, seed 10, rounded to int8."""

import json
from pathlib import Path

import numpy as np

from attn_core import archive, weights
from attn_core.errors import AttnError

FOLDER = "sst-reader"


def quantise(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and one float32 scale per row, array ~ values * scale; a vector counts as one row."""
    rows = array.reshape(1, -1) if array.ndim == 1 else array.reshape(len(array), -1)
    scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12).astype(np.float32) / 127
    return np.round(rows / scale).astype(np.int8).reshape(array.shape), scale


def dequantise(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The float32 array that `quantise` stands for."""
    rows = values.reshape(1, -1) if values.ndim == 1 else values.reshape(len(values), -1)
    return (rows.astype(np.float32) * scale).reshape(values.shape)


def export(key: str) -> dict:
    """Round a cached SST training to int8, keep the words of at least two training texts, put it into the archive.

    Returns its description: test metrics before and after rounding, measured on the whole test set.
    """
    from attn_core.corpora import encode
    from attn_core.measures import classification
    from attn_core.models.classifier import from_arrays
    from attn_core.tracing import probabilities

    trained, _ = weights.read_weights(archive.cache_store(), key)
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
    model = from_arrays("lstm", "tanh", {name: dequantise(*pair) for name, pair in rounded.items()})
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
    folder = archive.archive_folder() / FOLDER
    folder.mkdir(exist_ok=True)
    flat = {f"{name}:{part}": array for name, pair in rounded.items() for part, array in zip("qs", pair, strict=True)}
    np.savez_compressed(folder / "model.npz", **flat)
    (folder / "model.json").write_text(json.dumps(told))
    return told


def description(folder: Path) -> dict:
    """What the archived model is: its training, its words, test metrics before and after rounding."""
    try:
        return json.loads((folder / "model.json").read_text())
    except (OSError, ValueError) as error:
        raise damaged(folder, error) from error


def damaged(folder: Path, error: Exception) -> AttnError:
    return AttnError(
        f"the sentence model in {folder} is missing or damaged ({type(error).__name__}); restore it with git checkout"
    )


def load(folder: Path | None = None) -> tuple[object, dict]:
    """(classifier, description) of the archived model."""
    from attn_core.models.classifier import from_arrays

    folder = folder or archive.archive_folder() / FOLDER
    told = description(folder)
    try:
        with np.load(folder / "model.npz") as file:
            names = sorted({name.rsplit(":", 1)[0] for name in file.files})
            arrays = {name: dequantise(file[f"{name}:q"], file[f"{name}:s"]) for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise damaged(folder, error) from error
    return from_arrays("lstm", "tanh", arrays), told
