"""Sentences in trained models: the one that the archive keeps with its weights, or any that was trained here.

The archived one: SST, BiLSTM with additive attention, seed 10, rounded to int8. It is read in NumPy, so that reading
needs no torch; its numbers are those of `tracing.trace`, to rounding.
"""

import base64
import io
import json
import zipfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import softmax
from tqdm import tqdm

from attn_core.documents import Documents, Encoded
from attn_core.errors import AttnError
from attn_core.traces import Arrays, Traces, one_logit, sigmoid, with_ties
from attn_lab.data import catalogue, encode, encoding, pieces
from attn_lab.data.arrays import to_ids
from attn_lab.data.cleaning import clean_typed, contractions, mask_digits
from attn_lab.data.files import found
from attn_lab.data.pieces import CLS, SEP
from attn_lab.runs import store
from attn_lab.runs.run import PRETRAINED, Run, from_dict

FOLDER = "sst-reader"
EPSILON = 0.05

MOST_WORD_BY_WORD = 500
"""Longer texts have no gradient and no leave-one-out: these take the square of the number of words."""
MOST_WORDS = 20_000
"""The exact adversary is sought among all pairs of words."""

ROWS = 64
"""Texts that are read at once."""

STEP = 1e-6
"""Of derivatives by differences, which err by as much."""


@dataclass(frozen=True)
class Quantised:
    """An array as int8 values and one float32 scale a row; a vector counts as one row."""

    values: ndarray
    scale: ndarray

    def array(self) -> ndarray:
        """The float32 array that they stand for."""
        rows = self.values.reshape(len(self.scale), -1)
        return (rows.astype(np.float32) * self.scale).reshape(self.values.shape)


def archived() -> tuple[dict[str, Quantised], dict]:
    """The archived model's arrays by name; and what it is: its training, its words, test metrics before and after
    rounding. AttnError where it is missing or damaged."""
    folder = store.archive_folder()
    try:
        with np.load(io.BytesIO(store.sealed(folder, f"{FOLDER}/model.npz"))) as file:
            names = [name.removesuffix(":q") for name in sorted(file) if name.endswith(":q")]
            arrays = {name: Quantised(file[f"{name}:q"], file[f"{name}:s"]) for name in names}
        return arrays, json.loads(store.sealed(folder, f"{FOLDER}/model.json"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        reason = f"{folder / FOLDER} is missing or damaged ({type(error).__name__})"
        raise AttnError(f"the sentence model in {reason}; restore it with git checkout") from error


def load() -> tuple[Arrays, dict]:
    """Arrays as in `classifier.to_arrays`, and what it is, of the archived model."""
    quantised, about = archived()
    return {name: pair.array() for name, pair in quantised.items()}, about


def lstm(arrays: Arrays, direction: str, e: ndarray) -> ndarray:
    """torch's LSTM in one direction: states (L, B, H) of the word vectors e (L, B, E) of B texts of one length."""
    layer = f"encoder.{direction}_lstm"
    recurrent = arrays[f"{layer}.weight_hh_l0"].T  # (H, 4H), gates i, f, g, o
    bias = arrays[f"{layer}.bias_ih_l0"] + arrays[f"{layer}.bias_hh_l0"]
    step = 1 if direction == "forward" else -1
    h = cell = np.zeros((e.shape[1], len(recurrent)), np.float32)
    states = []
    for products in e[::step] @ arrays[f"{layer}.weight_ih_l0"].T + bias:
        i, f, g, o = np.split(products + h @ recurrent, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(cell)
        states.append(h)
    return np.stack(states)[::step]


class Reading:
    """The words of B texts of one length n, ids (n + 2, B), read by a BiLSTM with additive attention and one logit.

    scale (n + 2, B, 1): what the words' vectors are multiplied with. states h (n, B, 2H), scores and contributions
    (n, B).
    """

    def __init__(self, arrays: Arrays, ids: ndarray, scale: ndarray | float = 1) -> None:
        e = arrays["encoder.embedding.weight"][ids] * scale  # (n + 2, B, E)
        halves = [lstm(arrays, direction, e) for direction in ("forward", "backward")]
        self.h = np.concatenate(halves, axis=-1)[1:-1]
        hidden = np.tanh(self.h @ arrays["attention.project.weight"].T + arrays["attention.project.bias"])
        self.scores = hidden @ arrays["attention.v.weight"][0]
        self.contributions = self.h @ arrays["decoder.weight"][0]


class Reader:
    """The archived model as `attn_lab.check` takes one: three functions, without torch."""

    tokens = staticmethod(clean_typed)

    def __init__(self) -> None:
        self.arrays, about = load()
        self.vocabulary = about["words"]

    def reading(self, texts: list[list[str]]) -> Reading:
        """Of B texts with the same number n of words."""
        return Reading(self.arrays, np.stack([to_ids([words], self.vocabulary)[0] for words in texts], axis=1))

    def read(self, texts: list[list[str]]) -> tuple[ndarray, ndarray]:
        """Attention (B, n) and logits (B, 1)."""
        attention = softmax(self.reading(texts).scores.T, axis=1)
        return attention, self.give(texts, attention)

    def give(self, texts: list[list[str]], attention: ndarray) -> ndarray:
        """Logits (B, 1) under given attention (B, n)."""
        contributions = self.reading(texts).contributions.T
        return (np.asarray(attention) * contributions).sum(axis=1, keepdims=True) + self.arrays["decoder.bias"]


def traced(arrays: Arrays, ids: ndarray) -> Traces:
    """`tracing.trace` of the text ids (n + 2,), start and end included; beyond MOST_WORD_BY_WORD without gradient and
    leave-one-out."""
    n = len(ids) - 2
    reading = Reading(arrays, ids[:, None])
    zero = np.zeros(1, np.int64)
    bias = arrays["decoder.bias"]
    traces = Traces(zero, zero, np.array([0, n]), reading.scores[:, 0], reading.contributions, bias)
    if n > MOST_WORD_BY_WORD:
        return traces
    gradient = np.empty(n, np.float32)
    change = np.full(n, np.nan, np.float32)
    for words in tqdm(np.array_split(np.arange(n), -(-n // ROWS)), desc="word by word", delay=2, leave=False):
        gradient[words] = gradients(arrays, ids, traces.attention, words)
        if n > 1:
            shortened = Reading(arrays, np.stack([np.delete(ids, word + 1) for word in words], axis=1))
            context = (softmax(shortened.scores, axis=0) * shortened.contributions).sum(axis=0)
            change[words] = sigmoid((context + bias).astype(float)) - traces.p
    return with_ties(replace(traces, gradient=gradient, leave_one_out=change), ids[1:-1])


def gradients(arrays: Arrays, ids: ndarray, attention: ndarray, words: ndarray) -> ndarray:
    """<e_t, dp/de_t>, (B,), of B words of a text, with its attention (n,) held constant: how p moves with the length of
    e_t, by a difference in double precision."""
    scale = np.ones((len(ids), len(words) + 1, 1))  # of the last text nothing is scaled
    scale[words + 1, np.arange(len(words))] += STEP
    context = attention @ Reading(arrays, np.tile(ids[:, None], len(words) + 1), scale).contributions
    p = sigmoid(context + arrays["decoder.bias"])
    return (p[:-1] - p[-1]) / STEP


def sentence_traces(text: str, run: Run | None = None) -> tuple[list[str], list[bool], Traces]:
    """Tokens of a sentence, whether the model knows each, and the traces of this one document.

    run: a model of single texts in place of the archived one; its weights come from the cache, or it is trained. Tokens
    of a pretrained encoder are word pieces.
    """
    tokens = clean_typed(text)
    if not tokens:
        raise AttnError("the sentence holds no word; type English words, such as: a quiet and moving film")
    if len(tokens) > MOST_WORDS:
        raise AttnError(f"the text has {len(tokens):,} words; at most {MOST_WORDS:,} are read: take a part of it")
    if run is None:
        arrays, about = load()
        words = set(about["words"])
        traces = traced(arrays, to_ids([tokens], about["words"])[0])
    else:
        in_pieces = run.family == "pretrained" and run.layer < 0
        if run.family not in ("text", "adversary") and not in_pieces:
            raise AttnError(f"{run.key} does not read single texts with an attention of its own; name another run")
        data = encode(run.corpus, **dict(run.options))
        if in_pieces:
            rows = pieces.pieces([text])[0]
            tokens = [pieces.tokenizer().id_to_token(row) for row in rows]
            words = {*tokens} - {"[UNK]"}
            ids = np.array([CLS, *rows, SEP], np.int32)
        else:
            tokens = mask_digits(tokens)
            words = set(data.vocabulary)
            ids, _ = to_ids([tokens], data.vocabulary)
        traces = read_by(run, data, ids, np.array([0, len(ids)]))
    return tokens, [token in words for token in tokens], traces


def read_by(run: Run, data: Encoded, ids: ndarray, offsets: ndarray) -> Traces:
    """Traces of one text by a run's model. data: what the run was trained on."""
    from attn_lab.runs.compute import FAMILIES, weights_of

    zero = np.zeros(1, np.int64)
    data = replace(data, splits={"test": Documents(ids, offsets, zero, zero)})
    return FAMILIES[run.family].read(run, weights_of(run), data, False)


def words_of(run: Run, fingerprints: dict[str, str], doc_id: int) -> list[str]:
    """The words of a test document as a run has read them. fingerprints: of what it was trained on.

    AttnError where the texts are not on this machine, or are others: nothing is downloaded.
    """
    data = data_of(run, run.key)
    if data is None or data.fingerprint not in fingerprints.values():
        raise AttnError(
            f"the texts of '{run.corpus}' that run {run.key} has read are not at hand; set ATTN_DATA to the folder "
            "that holds them (data/README.md)"
        )
    return data.splits["test"].words(doc_id, data.vocabulary)


@lru_cache(maxsize=4)
def data_of(run: Run, _: str) -> Encoded | None:
    """The texts of a run, None where they are not at hand; its key tells versions of a user's apart."""
    arrays = encoding.Arrays(run.corpus, dict(run.options))
    without_texts = arrays.stem.with_name(f"{arrays.stem.name}.npz")  # see `files.cached`
    if arrays.kept and not found(arrays.entry) and not without_texts.is_file():
        return None
    return pieces.as_pieces(arrays.read()) if run.encoder in PRETRAINED else arrays.read()


def trained_here(key: str) -> Run:
    """The cached run of that key; AttnError for none."""
    folder = store.cache_store()
    if not store.has(folder, key):
        raise AttnError(f"run {key} is not in the cache; `python -m attn_core run …` trains one and prints its key")
    return from_dict(store.read_record(folder, key)["run"])


def read_sentence(text: str, epsilon: float = EPSILON, run: Run | None = None) -> tuple[pd.DataFrame, dict]:
    """What the archived model, or the model of a run (`sentence_traces`), does with a sentence.

    Returns one row per token (token, known, attention, contribution, alone: p with all the attention on it, gradient,
    leave_one_out: NaN for a text of one word; both for one of more than MOST_WORD_BY_WORD, adversary: the exact
    epsilon-max-JSD attention) and a summary: p, p_adversary (under that attention), bias, the optimum's JSD, its
    ceiling, single_state_agreement (share of words that alone give the decision), and a line to print.
    """
    from attn_core.experiments.adversarial import ceiling
    from attn_core.experiments.optimum import exact, expand

    tokens, is_known, traces = sentence_traces(text, run)
    optimum = exact(traces, epsilon)
    contribution, bias = one_logit(traces)
    alone = sigmoid(contribution + bias)
    table = pd.DataFrame(
        {
            "token": tokens,
            "known": is_known,
            "attention": traces.attention,
            "contribution": contribution,
            "alone": alone,
            "gradient": traces.gradient,
            "leave_one_out": traces.leave_one_out,
            "adversary": expand(traces, optimum),
        }
    ).astype({"gradient": float, "leave_one_out": float})  # NaN where there are none
    summary = {
        "p": float(traces.p[0]),
        "p_adversary": float(sigmoid(bias + contribution @ table["adversary"])),
        "bias": float(bias),
        "jsd_exact": float(optimum["jsd_exact"].iloc[0]),
        "ceiling": float(ceiling(traces)[0]),
        "single_state_agreement": float(np.mean((alone > 0.5) == (traces.p[0] > 0.5))),
    }
    name = catalogue.corpus(run.corpus if run else "sst").classes[1]
    line = (
        "p({name}) = {p:.3f}. Another attention, as far from the model's as JSD {jsd_exact:.3f} (ceiling "
        "{ceiling:.3f}), moves it to {p_adversary:.3f} (by at most {epsilon}).\n{single_state_agreement:.0%} of the "
        "states, given all the weight, give the decision; any attention gives {low:.3f} to {high:.3f}."
    ).format(**summary, epsilon=epsilon, name=name, low=alone.min(), high=alone.max())
    return table, {**summary, "line": line}


def write_reader(folder: Path) -> Path:
    """The archived model as a script that book/_static/core.js loads on demand, here and from file://: about 3.5 MB.

    attn.model = {words, split: spaCy's contractions without apostrophe, arrays: name -> [rows, int8, float32 scales]}.
    """
    quantised, about = archived()
    arrays = {
        name: [len(pair.scale), *(base64.b64encode(part.tobytes()).decode() for part in (pair.values, pair.scale))]
        for name, pair in quantised.items()
    }
    model = {"words": about["words"], "arrays": arrays, "split": contractions()}
    target = folder / "sst-reader.js"
    target.write_text(f"attn.model = {json.dumps(model)};\n", encoding="utf-8")
    return target
