"""Sentences in trained models: the one that the archive keeps with its weights, or any that was trained here.

The archived one: SST, BiLSTM with additive attention, seed 10, rounded to int8. It is read in NumPy, so that reading
needs no torch; its numbers are those of `tracing.trace`, to rounding.
"""

import base64
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import store
from attn_core.corpora import catalogue, encode
from attn_core.corpora.documents import Documents
from attn_core.corpora.text import clean_typed, contractions, mask_digits, to_ids
from attn_core.errors import AttnError
from attn_core.run import Run, from_dict, weights_key
from attn_core.traces import Traces, one_logit, positive_probability, sigmoid, with_ties

FOLDER = "sst-reader"
EPSILON = 0.05

MOST_WORDS, MOST_DELETED = 5_000, 500
"""A longer text is refused, and the words of a longer one are not left out: that takes the square of their number."""
ROWS = 64
"""Shortened texts that are read at once."""
WAYS = (("forward", 1), ("backward", -1))
"""Directions of the BiLSTM: name, and step through the text."""
LSTM = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
"""Arrays of one direction."""


def dequantise(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The float32 array that int8 values and one scale a row stand for; a vector counts as one row."""
    rows = values.reshape(1, -1) if values.ndim == 1 else values.reshape(len(values), -1)
    return (rows.astype(np.float32) * scale).reshape(values.shape)


def archived(folder: Path | None = None) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], dict]:
    """The archived model: name -> int8 values and scales, see `dequantise`; and what it is: its training, its words,
    test metrics before and after rounding. AttnError where it is missing or damaged."""
    folder = folder or store.archive_folder() / FOLDER
    data = lambda name: store.sealed(folder.parent, f"{folder.name}/{name}")
    try:
        with np.load(io.BytesIO(data("model.npz"))) as file:
            names = sorted(name.removesuffix(":q") for name in file.files if name.endswith(":q"))
            return {name: (file[f"{name}:q"], file[f"{name}:s"]) for name in names}, json.loads(data("model.json"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = f"{folder} is missing or damaged ({type(error).__name__})"
        raise AttnError(f"the sentence model in {reason}; restore it with git checkout") from error


def load(folder: Path | None = None) -> tuple[dict[str, np.ndarray], dict]:
    """Arrays as in `classifier.to_arrays`, and what it is, of the archived model."""
    pairs, told = archived(folder)
    return {name: dequantise(*pair) for name, pair in pairs.items()}, told


def lstm(arrays: dict[str, np.ndarray], way: str, e: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Of each position of B texts of one length, e (L, B, E): state h, gates i, f, g, o, cell before, tanh of the cell;
    each (B, H). As torch's LSTM."""
    outer, inner, *bias = (arrays[f"encoder.{way}_lstm.{name}_l0"] for name in LSTM)
    h = cell = np.zeros((e.shape[1], inner.shape[1]), np.float32)
    found = []
    for step in e @ outer.T + sum(bias):
        i, f, g, o = np.split(step + h @ inner.T, 4, axis=1)
        i, f, g, o, before = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o), cell
        cell = f * before + i * g
        h = o * np.tanh(cell)
        found.append((h, i, f, g, o, before, np.tanh(cell)))
    return found


def slopes(arrays: dict[str, np.ndarray], way: str, steps: list[tuple[np.ndarray, ...]], slope: np.ndarray):
    """Gradients (L, 1, E) of the word vectors from those (L, 1, H) of the states of `lstm`: back through time."""
    found, to_h, to_cell = [], 0.0, 0.0
    for (_, i, f, g, o, before, t), here in zip(reversed(steps), slope[::-1], strict=True):
        to_h = to_h + here
        to_cell = to_cell + to_h * o * (1 - t * t)
        parts = (to_cell * g * i * (1 - i), to_cell * before * f * (1 - f), to_cell * i * (1 - g * g),
                 to_h * t * o * (1 - o))  # fmt: skip
        found.append(np.concatenate(parts, axis=1))
        to_h, to_cell = found[-1] @ arrays[f"encoder.{way}_lstm.weight_hh_l0"], to_cell * f
    return np.stack(found[::-1]) @ arrays[f"encoder.{way}_lstm.weight_ih_l0"]


def forward(arrays: dict[str, np.ndarray], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, list]:
    """Scores and contributions (n, B) of the words of B texts of one length, ids (n + 2, B), and both ways' steps."""
    e = arrays["encoder.embedding.weight"][ids]
    steps = [lstm(arrays, way, e[::step]) for way, step in WAYS]
    h = [np.stack([first[0] for first in found])[::step] for found, (_, step) in zip(steps, WAYS, strict=True)]
    h = np.concatenate(h, axis=-1)[1:-1]
    hidden = np.tanh(h @ arrays["attention.project.weight"].T + arrays["attention.project.bias"])
    return hidden @ arrays["attention.v.weight"][0], h @ arrays["decoder.weight"][0], steps


def traced(arrays: dict[str, np.ndarray], ids: np.ndarray, deleted: bool = True) -> Traces:
    """`tracing.trace` of the text ids (n + 2,), start and end included; deleted: with leave-one-out."""
    n = len(ids) - 2
    score, contribution, steps = forward(arrays, ids[:, None])
    traces = Traces(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([0, n]), score[:, 0] - score.max(),
                    contribution, arrays["decoder.bias"])  # fmt: skip
    p = traces.p[0]
    slope = np.outer(np.pad(traces.attention, 1), p * (1 - p) * arrays["decoder.weight"][0])[:, None]
    found = 0.0
    for (way, step), part, of_way in zip(WAYS, steps, np.split(slope, 2, axis=-1), strict=True):
        found = found + slopes(arrays, way, part, of_way[::step])[::step]
    gradient = (found * arrays["encoder.embedding.weight"][ids[:, None]]).sum((1, 2))[1:-1]
    traces = replace(traces, gradient=gradient.astype(np.float32))
    if not deleted:
        return traces
    change = np.full(n, np.nan)
    for rows in np.array_split(np.arange(n), -(-n // ROWS)) if n > 1 else ():
        score, contribution, _ = forward(arrays, np.stack([np.delete(ids, row + 1) for row in rows], axis=1))
        weight = np.exp(score - score.max(axis=0))
        logits = (weight * contribution).sum(axis=0) / weight.sum(axis=0) + arrays["decoder.bias"]
        change[rows] = sigmoid(logits.astype(float)) - p
    return with_ties(replace(traces, leave_one_out=change.astype(np.float32)), ids[1:-1])


def sentence_traces(text: str, run: Run | None = None) -> tuple[list[str], list[bool], Traces]:
    """Tokens of a sentence, whether the model knows each, and the traces of this one document.

    run: a model of single texts in place of the archived one; its weights come from the cache, or it is trained.
    """
    tokens = clean_typed(text)
    if not tokens:
        raise AttnError("the sentence holds no word; type English words, such as: a quiet and moving film")
    if len(tokens) > MOST_WORDS:
        raise AttnError(f"the text has {len(tokens):,} words, and at most {MOST_WORDS:,} are read; take a part of it")
    if run is not None:
        return traces_by(run, mask_digits(tokens))
    arrays, told = load()
    ids, known = to_ids([tokens], told["words"])[0], set(told["words"])
    return tokens, [token in known for token in tokens], traced(arrays, ids, len(tokens) <= MOST_DELETED)


def traces_by(run: Run, tokens: list[str]) -> tuple[list[str], list[bool], Traces]:
    """`sentence_traces` of a model that was trained here."""
    from attn_core.compute import FAMILIES, weights_of

    if run.family not in ("text", "adversary"):
        raise AttnError(f"{run.key} is no model that reads single texts with an attention of its own; name another run")
    data, none = encode(run.corpus, **dict(run.options)), np.zeros(1, np.int64)
    data = replace(data, splits={"test": Documents(*to_ids([tokens], data.vocabulary), none, none)})
    known = set(data.vocabulary)
    traces = FAMILIES[run.family].read(run, weights_of(run), data, "cpu", False)
    return tokens, [word in known for word in tokens], traces


def trained_here(key: str = "", corpus: str = "") -> Run:
    """The cached run of that key, or the first of a data set whose weights are cached. AttnError for none."""
    folder = store.cache_store()
    if key and store.has(folder, key):
        return from_dict(store.read_record(folder, key)["run"])
    if key:
        raise AttnError(f"run {key} is not in the cache; `python -m attn_core run …` trains one and prints its key")
    catalogue.corpus(corpus)
    stored = (store.read_record(folder, name)["run"] for name in store.keys(folder))
    for run in (from_dict(fields) for fields in stored if fields["corpus"] == corpus):
        if run.family == "text" and store.weights_file(weights_key(run)).is_file():
            return run
    raise AttnError(f"no trained model of '{corpus}' is in the cache: python -m attn_core run --corpus {corpus}")


def read_sentence(text: str, epsilon: float = EPSILON, run: Run | None = None) -> tuple[pd.DataFrame, dict]:
    """What the archived model, or the model of a run (`sentence_traces`), does with a sentence.

    Returns one row per token (token, known, attention, contribution, alone: p with all the attention on it, gradient,
    leave_one_out: NaN for a text of one word or more than MOST_DELETED, adversary: the exact epsilon-max-JSD attention)
    and a summary: p, p_adversary (under that attention), bias, the optimum's JSD, its ceiling, echo (share of words
    that alone give the decision), and a line to print.
    """
    from attn_core.experiments.adversarial import ceiling, exact, expand

    tokens, known, traces = sentence_traces(text, run)
    optimum = exact(traces, epsilon)
    contribution, bias = one_logit(traces)
    alone = positive_probability(traces.contribution.astype(float) + traces.bias)
    left_out = np.nan if traces.leave_one_out is None else traces.leave_one_out
    table = pd.DataFrame({
        "token": tokens, "known": known, "attention": traces.attention, "contribution": contribution, "alone": alone,
        "gradient": traces.gradient, "leave_one_out": left_out, "adversary": expand(traces, optimum),
    })  # fmt: skip
    adverse = positive_probability(traces.logits_under(table["adversary"].to_numpy()))
    told = {"p": traces.p[0], "p_adversary": adverse[0], "bias": bias, "jsd_exact": optimum["jsd_exact"].iloc[0],
            "ceiling": ceiling(traces)[0], "echo": np.mean((alone > 0.5) == (traces.p[0] > 0.5))}  # fmt: skip
    name = catalogue.corpus(run.corpus if run else "sst").classes[1]
    line = (
        "p({name}) = {p:.3f}. Another attention, as far from the model's as JSD {jsd_exact:.3f} (ceiling "
        "{ceiling:.3f}), moves it to {p_adversary:.3f} (by at most {epsilon}).\n{echo:.0%} of the words alone give the "
        "decision; any attention gives {low:.3f} to {high:.3f}."
    ).format(**told, epsilon=epsilon, name=name, low=alone.min(), high=alone.max())
    return table, {name: float(value) for name, value in told.items()} | {"line": line}


def write_reader(folder: Path) -> Path:
    """The archived model as a script that book/_static/core.js loads on demand, here and from file://: about 3.5 MB.

    attn.model = {words, split: spaCy's contractions without apostrophe, arrays: name -> [rows, int8, float32 scales]}.
    """
    (pairs, told), text = archived(), lambda array: base64.b64encode(array.tobytes()).decode()
    arrays = {name: [len(scales), text(values), text(scales)] for name, (values, scales) in pairs.items()}
    model = {"words": told["words"], "arrays": arrays, "split": contractions()}
    target = folder / "sst-reader.js"
    target.write_text(f"attn.model = {json.dumps(model)};\n", encoding="utf-8")
    return target
