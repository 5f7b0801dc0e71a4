"""Your own sentence through the one model kept in the archive: SST, BiLSTM with additive attention, seed 10, int8."""

import html
import json
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import archive, weights
from attn_core.errors import AttnError
from attn_core.traces import Traces

FOLDER = "sst-reader"
EPSILON = 0.05


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


def sentence_traces(text: str) -> tuple[list[str], list[bool], Traces]:
    """Tokens of a sentence, whether the archived model knows each, and the traces of this one document."""
    from attn_core.corpora.batches import Documents
    from attn_core.corpora.text import END, START, UNKNOWN, clean_sst
    from attn_core.tracing import trace

    tokens = clean_sst(text)
    if not tokens:
        raise AttnError("the sentence holds no word; type English words, such as: a quiet and moving film")
    model, told = load()
    index = {word: i for i, word in enumerate(told["words"])}
    ids = np.array([START, *(index.get(token, UNKNOWN) for token in tokens), END], dtype=np.int32)
    document = Documents(ids, np.array([0, len(ids)]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    return tokens, [token in index for token in tokens], trace(model, document, progress=False)


def searched_adversary(traces: Traces, epsilon: float = EPSILON, k: int = 5, steps: int = 500, seed: int = 0) -> dict:
    """What the paper's search keeps for one document: weights (T,), jsd, p (the output there).

    The model's own attention with JSD 0 where nothing else keeps the output within epsilon.
    """
    from attn_core.experiments.search import search, select
    from attn_core.traces import positive_probability

    found = search(traces, k=k, steps=steps, seed=seed, progress=False)
    chosen = select(traces, found, epsilon).iloc[0]
    weights = traces.attention if chosen["adversary"] < 0 else found[int(chosen["adversary"])]
    p = positive_probability(traces.logits_under(weights))[0]
    return {"weights": weights, "jsd": float(chosen["jsd"]), "p": float(p)}


def read_sentence(text: str, epsilon: float = EPSILON) -> tuple[pd.DataFrame, dict]:
    """What the archived model does with a sentence.

    Returns one row per token (token, known, attention, contribution, alone: p with all the attention on it, gradient,
    leave_one_out, adversary: the exact epsilon-max-JSD attention) and a summary with p, p_adversary (the output under
    that attention), the optimum's JSD, its yardsticks (ceiling, jsd_shuffled and jsd_permutation, see `controls`),
    echo (share of words that alone give the decision), p_lowest and p_highest (the ends of all that any attention can
    give) and lines to print.
    """
    from attn_core.experiments.adversarial import controls, exact, expand
    from attn_core.traces import positive_probability

    tokens, known, traces = sentence_traces(text)
    optimum = exact(traces, epsilon)
    held = controls(traces, epsilon).iloc[0]
    ceiling, adversary = float(held["ceiling"]), expand(traces, optimum)
    p_adversary = float(positive_probability(traces.logits_under(adversary))[0])
    alone = positive_probability(traces.contribution.astype(float) + traces.bias)
    table = pd.DataFrame(
        {
            "token": tokens,
            "known": known,
            "attention": traces.attention,
            "contribution": traces.contribution[:, 0],
            "alone": alone,
            "gradient": traces.gradient,
            "leave_one_out": traces.leave_one_out,
            "adversary": adversary,
        }
    )
    same = (alone > 0.5) == (traces.p[0] > 0.5)
    p, jsd = float(traces.p[0]), float(optimum["jsd_exact"].iloc[0])
    line = (
        f"p(positive) = {p:.3f}. Another attention, as far from the model's as JSD {jsd:.3f} (ceiling {ceiling:.3f}), "
        f"moves it to {p_adversary:.3f} (by at most {epsilon}).\n"
        f"{same.sum()} of {len(same)} words alone give the decision; any attention gives {alone.min():.3f} to "
        f"{alone.max():.3f}" + (", so none can change it." if same.all() else ".")
    )
    summary = {
        "p": p,
        "p_adversary": p_adversary,
        "epsilon": epsilon,
        "jsd_exact": jsd,
        "ceiling": ceiling,
        "echo": float(same.mean()),
        "p_lowest": float(alone.min()),
        "p_highest": float(alone.max()),
        "line": line,
        "bias": float(np.ravel(traces.bias)[0]),
    }
    summary |= {name: float(held[name]) for name in ("jsd_shuffled", "jsd_permutation")}
    return table, summary


def play(texts: list[str], epsilon: float = EPSILON) -> None:
    """Sentences whose attention a reader can move; without JavaScript, their words and weights as a table.

    The page's script (book/_static/attn-play.js) reads them from the element; words are escaped.
    """
    from IPython.display import HTML, display

    sentences = []
    for text in texts:
        table, told = read_sentence(text, epsilon)
        numbers = {"a": table["attention"].round(4).tolist(), "c": table["contribution"].round(4).tolist()}
        sentences.append({"w": table["token"].tolist(), **numbers, "b": round(told["bias"], 4)})
    first = sentences[0]
    cells = "".join(
        f"<td>{html.escape(word)}<br>{weight:.2f}</td>" for word, weight in zip(first["w"], first["a"], strict=True)
    )
    data = html.escape(json.dumps(sentences), quote=True)
    display(HTML(
        f'<div class="attn-play" data-epsilon="{epsilon}" data-sentences="{data}"><table><tr>{cells}</tr></table></div>'
    ))  # fmt: skip
