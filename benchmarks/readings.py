"""The sentences of the front page's element in a model without context and in a transformer, for data/examples.

Both have the settings of archived runs of seed 10. Without context a word's score and contribution are the same in
every sentence, so two numbers a word hold the whole model. A transformer's sentences are stored whole, and again
without each of their pieces.
"""

import json
from pathlib import Path

import numpy as np

from attn_core.compute import inputs_of
from attn_core.corpora.text import CLS, SEP
from attn_core.run import Run
from attn_core.traces import Traces
from attn_core.training import piecewise
from attn_data import sentence

WORDS = Run("sst", "average", "tanh", 10, vectors="indomain-300")
PIECES = Run("sst", "minilm", "tanh", 10)
SENTENCES = (
    piecewise.SENTENCE,
    "a warm and funny film about a terrible war",
    "the film is dull and the plot goes nowhere",
    "a funny and warm film with a weak ending",
    "the plot is dull but the cast is wonderful",
    "film was not good",
    "this is not a good film",
    "not one dull moment",
)


def make_readings(examples: Path) -> Path:
    """Write readings.json: of `average` the bias and, in the order of the sentence model's words, scores and
    contributions in thousandths; of `minilm` the sentences. Weights that are not cached are trained."""
    readings = {"average": every_word(), "minilm": {"key": PIECES.key, "sentences": {}}}
    for text in SENTENCES:
        words, _, traces = sentence.sentence_traces(text, PIECES)
        without = []
        for gone in range(len(words)):
            shorter = " ".join(words[:gone] + words[gone + 1 :])
            without.append(numbers(sentence.sentence_traces(shorter, PIECES)[2]))
        readings["minilm"]["sentences"][text] = {"w": words, **numbers(traces), "without": without}
    target = examples / "readings.json"
    target.write_text(json.dumps(readings, separators=(",", ":")) + "\n", encoding="utf-8")
    return target


def every_word() -> dict:
    """The model without context as it reads all words of the sentence model in one text."""
    _, about = sentence.load()
    data, _, _ = inputs_of(WORDS)
    rows = {word: row for row, word in enumerate(data.vocabulary)}
    ids = np.array([CLS, *(rows[word] for word in about["words"]), SEP], np.int32)
    traces = sentence.read_by(WORDS, data, ids, np.array([0, len(ids)]))
    return {
        "key": WORDS.key,
        "b": round(float(traces.bias[0]), 4),
        "score": np.rint(1000 * traces.score).astype(int).tolist(),
        "c": np.rint(1000 * traces.contribution[:, 0]).astype(int).tolist(),
    }


def numbers(traces: Traces) -> dict:
    """Attention, contributions and bias of one text."""
    return {
        "a": traces.attention.round(4).tolist(),
        "c": traces.contribution[:, 0].astype(float).round(4).tolist(),
        "b": round(float(traces.bias[0]), 4),
    }
