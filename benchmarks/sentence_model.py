"""The sentence model of data/archive, made from a cached training: `attn_lab.runs.sentence` reads it."""

import json
from dataclasses import replace

import numpy as np

from attn_core.documents import SPECIALS, UNKNOWN
from attn_core.measures import classification
from attn_core.models.classifier import from_arrays
from attn_core.tracing import forward
from attn_lab.data import encode
from attn_lab.runs import sentence, store, upkeep
from attn_lab.runs.controls import word_counts
from attn_lab.runs.sentence import Quantised


def quantise(array: np.ndarray) -> Quantised:
    """The nearest array of int8 values and one scale a row."""
    rows = np.atleast_2d(array)
    rows = rows.reshape(len(rows), -1)
    scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-12).astype(np.float32) / 127
    return Quantised(np.round(rows / scale).astype(np.int8).reshape(array.shape), scale)


def export(key: str) -> None:
    """Round a cached SST training to int8, keep the words of at least two training texts, put it into the archive.

    Prints its description: test metrics before and after rounding, measured on the whole test set.
    """
    trained, _ = store.read_weights(key)
    data = encode("sst")
    test = data.splits["test"]
    counts = word_counts(data.splits["train"], len(data.vocabulary))
    texts = (counts > 0).sum(axis=0)  # (V,) in which each word stands
    texts[: len(SPECIALS)] = 2
    kept = np.flatnonzero(texts >= 2)
    arrays = dict(trained["dev"])
    arrays["encoder.embedding.weight"] = arrays["encoder.embedding.weight"][kept]
    rounded = {name: quantise(array) for name, array in arrays.items()}
    model = from_arrays("lstm", "tanh", {name: pair.array() for name, pair in rounded.items()})
    new_id = np.full(len(data.vocabulary), UNKNOWN, dtype=np.int32)
    new_id[kept] = np.arange(len(kept))
    before = forward(from_arrays("lstm", "tanh", trained["dev"]), test).p
    after = forward(model, replace(test, ids=new_id[test.ids])).p
    about = {
        "training": key,
        "words": [data.vocabulary[i] for i in kept],
        "exact": classification(test.labels, before),
        "rounded": classification(test.labels, after),
        "same_decision": float(((before >= 0.5) == (after >= 0.5)).mean()),
    }
    folder = store.archive_folder() / sentence.FOLDER
    folder.mkdir(exist_ok=True)
    values = {f"{name}:q": pair.values for name, pair in rounded.items()}
    values |= {f"{name}:s": pair.scale for name, pair in rounded.items()}
    np.savez_compressed(folder / "model.npz", **values)
    (folder / "model.json").write_text(json.dumps(about))
    upkeep.seal(folder.parent)
    print(about)
