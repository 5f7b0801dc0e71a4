"""Sentences in trained models: the one that the archive keeps with its weights, or any that was trained here.

The archived one: SST, BiLSTM with additive attention, seed 10, rounded to int8. It is read in NumPy, so that reading
needs no torch; its numbers are those of `tracing.trace`, to rounding.
"""

import base64
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import store
from attn_core.corpora import catalogue, encode
from attn_core.corpora.documents import Documents
from attn_core.corpora.text import clean_typed, contractions, mask_digits, to_ids
from attn_core.errors import AttnError
from attn_core.run import Run, from_dict
from attn_core.traces import Traces, one_logit, sigmoid, with_ties

FOLDER = "sst-reader"
EPSILON = 0.05

MOST_DELETED = 500
"""Of longer texts the words are not left out: that takes the square of their number."""
ROWS = 64
"""Shortened texts that are read at once."""


def dequantise(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The float32 array that int8 values and one scale a row stand for; a vector counts as one row."""
    rows = values.reshape(1, -1) if values.ndim == 1 else values.reshape(len(values), -1)
    return (rows.astype(np.float32) * scale).reshape(values.shape)


def archived() -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], dict]:
    """The archived model: name -> int8 values and scales, see `dequantise`; and what it is: its training, its words,
    test metrics before and after rounding. AttnError where it is missing or damaged."""
    folder = store.archive_folder()
    try:
        with np.load(io.BytesIO(store.sealed(folder, f"{FOLDER}/model.npz"))) as file:
            pairs = {name[:-2]: (file[name], file[f"{name[:-2]}:s"]) for name in sorted(file) if name.endswith(":q")}
        return pairs, json.loads(store.sealed(folder, f"{FOLDER}/model.json"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = f"{folder / FOLDER} is missing or damaged ({type(error).__name__})"
        raise AttnError(f"the sentence model in {reason}; restore it with git checkout") from error


def load() -> tuple[dict[str, np.ndarray], dict]:
    """Arrays as in `classifier.to_arrays`, and what it is, of the archived model."""
    pairs, told = archived()
    return {name: dequantise(*pair) for name, pair in pairs.items()}, told


def lstm(arrays: dict[str, np.ndarray], way: str, e: np.ndarray) -> tuple[np.ndarray, Callable]:
    """States (L, B, H) of torch's LSTM, forward or backward through B texts of one length, e (L, B, E); and the
    function from slopes (L, B, H) of these states to those of e: back through time."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    outer, inner, *bias = (arrays[f"encoder.{way}_lstm.{name}_l0"] for name in names)
    step = 1 if way == "forward" else -1
    h = cell = np.zeros((e.shape[1], inner.shape[1]), np.float32)
    states, gates = [], []
    for here in e[::step] @ outer.T + sum(bias):
        i, f, g, o = np.split(here + h @ inner.T, 4, axis=1)
        i, f, g, o, before = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o), cell
        cell = f * before + i * g
        h = o * np.tanh(cell)
        states.append(h)
        gates.append((i, f, g, o, before, np.tanh(cell)))

    def back(slope: np.ndarray) -> np.ndarray:
        found, to_h, to_cell = [], 0.0, 0.0
        for (i, f, g, o, before, t), here in zip(reversed(gates), slope[::-step], strict=True):
            to_h = to_h + here
            to_cell = to_cell + to_h * o * (1 - t * t)
            parts = (to_cell * g * i * (1 - i), to_cell * before * f * (1 - f), to_cell * i * (1 - g * g),
                     to_h * t * o * (1 - o))  # fmt: skip
            found.append(np.concatenate(parts, axis=1))
            to_h, to_cell = found[-1] @ inner, to_cell * f
        return (np.stack(found[::-1]) @ outer)[::step]

    return np.stack(states)[::step], back


def forward(arrays: dict[str, np.ndarray], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Callable]]:
    """Scores and contributions (n, B) of the words of B texts of one length, ids (n + 2, B); and both ways back."""
    e = arrays["encoder.embedding.weight"][ids]
    (ahead, *first), (behind, *second) = (lstm(arrays, way, e) for way in ("forward", "backward"))
    h = np.concatenate([ahead, behind], axis=-1)[1:-1]
    hidden = np.tanh(h @ arrays["attention.project.weight"].T + arrays["attention.project.bias"])
    return hidden @ arrays["attention.v.weight"][0], h @ arrays["decoder.weight"][0], [*first, *second]


def traced(arrays: dict[str, np.ndarray], ids: np.ndarray) -> Traces:
    """`tracing.trace` of the text ids (n + 2,), start and end included; without leave-one-out beyond MOST_DELETED."""
    n = len(ids) - 2
    score, contribution, ways = forward(arrays, ids[:, None])
    traces = Traces(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([0, n]), score[:, 0] - score.max(),
                    contribution, arrays["decoder.bias"])  # fmt: skip
    p = traces.p[0]
    slope = np.outer(np.pad(traces.attention, 1), p * (1 - p) * arrays["decoder.weight"][0])[:, None]
    to_e = sum(back(half) for back, half in zip(ways, np.split(slope, 2, axis=-1), strict=True))
    gradient = (to_e * arrays["encoder.embedding.weight"][ids[:, None]]).sum((1, 2))[1:-1]
    traces = replace(traces, gradient=gradient.astype(np.float32))
    if n > MOST_DELETED:
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
    if run is None:
        arrays, told = load()
        words, traces = told["words"], traced(arrays, to_ids([tokens], told["words"])[0])
    else:
        from attn_core.compute import FAMILIES, weights_of

        if run.family not in ("text", "adversary"):
            raise AttnError(f"{run.key} does not read single texts with an attention of its own; name another run")
        tokens, none, data = mask_digits(tokens), np.zeros(1, np.int64), encode(run.corpus, **dict(run.options))
        words, documents = data.vocabulary, Documents(*to_ids([tokens], data.vocabulary), none, none)
        data = replace(data, splits={"test": documents})
        traces = FAMILIES[run.family].read(run, weights_of(run), data, False)
    known = set(words)
    return tokens, [token in known for token in tokens], traces


def trained_here(key: str) -> Run:
    """The cached run of that key; AttnError for none."""
    folder = store.cache_store()
    if not store.has(folder, key):
        raise AttnError(f"run {key} is not in the cache; `python -m attn_core run …` trains one and prints its key")
    return from_dict(store.read_record(folder, key)["run"])


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
    alone = sigmoid(contribution + bias)
    left_out = np.nan if traces.leave_one_out is None else traces.leave_one_out
    table = pd.DataFrame({
        "token": tokens, "known": known, "attention": traces.attention, "contribution": contribution, "alone": alone,
        "gradient": traces.gradient, "leave_one_out": left_out, "adversary": expand(traces, optimum),
    })  # fmt: skip
    p_adversary = sigmoid(bias + contribution @ table["adversary"])
    told = {"p": traces.p[0], "p_adversary": p_adversary, "bias": bias, "jsd_exact": optimum["jsd_exact"].iloc[0],
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
