"""Sentences of one's own in the archived model (attn_core/reader.py), and the book's interactive elements.

An element is made by `widget`; book/_static/core.js brings it to life.
"""

import base64
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import archive
from attn_core.errors import AttnError
from attn_core.reader import FOLDER, description, load
from attn_core.traces import Traces

EPSILON = 0.05


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


def read_sentence(text: str, epsilon: float = EPSILON) -> tuple[pd.DataFrame, dict]:
    """What the archived model does with a sentence.

    Returns one row per token (token, known, attention, contribution, alone: p with all the attention on it, gradient,
    leave_one_out, adversary: the exact epsilon-max-JSD attention) and a summary: p, p_adversary (under that attention),
    bias, the optimum's JSD, its ceiling, echo (share of words that alone give the decision), and a line to print.
    """
    from attn_core.experiments.adversarial import exact, expand
    from attn_core.experiments.controls import ceiling
    from attn_core.traces import positive_probability

    tokens, known, traces = sentence_traces(text)
    optimum = exact(traces, epsilon)
    alone = positive_probability(traces.contribution.astype(float) + traces.bias)
    table = pd.DataFrame({"token": tokens, "known": known, "attention": traces.attention})
    table = table.assign(contribution=traces.contribution[:, 0], alone=alone, gradient=traces.gradient,
                         leave_one_out=traces.leave_one_out, adversary=expand(traces, optimum))  # fmt: skip
    adverse = positive_probability(traces.logits_under(table["adversary"].to_numpy()))
    told = {"p": traces.p[0], "p_adversary": adverse[0], "bias": np.ravel(traces.bias)[0],
            "jsd_exact": optimum["jsd_exact"].iloc[0], "ceiling": ceiling(traces)[0],
            "echo": np.mean((alone > 0.5) == (traces.p[0] > 0.5))}  # fmt: skip
    line = (
        "p(positive) = {p:.3f}. Another attention, as far from the model's as JSD {jsd_exact:.3f} (ceiling "
        "{ceiling:.3f}), moves it to {p_adversary:.3f} (by at most {epsilon}).\n{echo:.0%} of the words alone give the "
        "decision; any attention gives {low:.3f} to {high:.3f}."
    ).format(**told, epsilon=epsilon, low=alone.min(), high=alone.max())
    return table, {name: float(value) for name, value in told.items()} | {"line": line}


def write_reader(folder: Path) -> Path:
    """The archived model as a script that book/_static/core.js loads on demand, here and from file://: about 3.5 MB.

    attn.model = {words, split: spaCy's contractions without apostrophe, arrays: name -> [rows, int8, float32 scales]}.
    """
    from spacy.symbols import ORTH

    from attn_core.corpora.text import english

    text = lambda array: base64.b64encode(array.tobytes()).decode()
    split = {word: [part[ORTH] for part in parts] for word, parts in english().rules.items() if len(parts) > 1}
    split = {word: parts for word, parts in split.items() if re.fullmatch(r"\w+", word)}
    with np.load(archive.archive_folder() / FOLDER / "model.npz") as file:
        names = sorted({name.rsplit(":", 1)[0] for name in file.files})
        arrays = {name: [len(file[f"{name}:s"]), text(file[f"{name}:q"]), text(file[f"{name}:s"])] for name in names}
    model = {"words": description(archive.archive_folder() / FOLDER)["words"], "split": split, "arrays": arrays}
    target = folder / "sst-reader.js"
    target.write_text(f"attn.model = {json.dumps(model)};\n", encoding="utf-8")
    return target


def play(texts: list[str], epsilon: float = EPSILON, own: bool = False) -> None:
    """Sentences whose attention a reader can move, own: with a line for the reader's sentence; on paper, the first."""
    widget("move", texts, epsilon=epsilon, **({"own": 1} if own else {}))


def erase(texts: list[str]) -> None:
    """Sentences whose words a reader erases until the decision flips; on paper, how many words each order takes."""
    from attn_book.tables import table
    from attn_core.experiments.removal import removals

    orders = {"attention": "attention", "gradient": "gradient", "product": "gradient × attention"}
    orders["optimum"] = "the fewest"
    gone = [removals(sentence_traces(text)[2]).iloc[0] for text in texts]
    lines = [(text, *(int(row[f"removed_{name}"]) for name in orders)) for text, row in zip(texts, gone, strict=True)]
    widget("erase", texts, table(["words erased", *orders.values()], lines))


ON_PAPER = {
    "BiLSTM, seed 10": ("lstm", "learned", 10), "BiLSTM, seed 50": ("lstm", "learned", 50),
    "farthest, same answer": ("lstm", "farthest", 10), "trained adversary": ("lstm", "adversary", 10),
    "no context, seed 10": ("average", "learned", 10),
}  # fmt: skip
"""Strips of one sentence that stand for the rest without a script; models that are not stored are left out."""


def stored_strips() -> dict:
    """data/examples/strips.json (data/README.md): sentences; models: encoder, kind, seed, p, weights a in 1/1000."""
    return json.loads((archive.archive_folder().parent / "examples" / "strips.json").read_text(encoding="utf-8"))


def strips(sentence: int = 2) -> None:
    """Sentences of ours in every model of `stored_strips`; on paper, one of them in five models."""
    told = stored_strips()
    found = {(model["encoder"], model["kind"], model["seed"]): model for model in told["models"]}
    lines = [strip(name, told["sentences"][sentence], np.array(model["a"][sentence]) / 1000, model["p"][sentence])
             for name, which in ON_PAPER.items() if (model := found.get(which))]  # fmt: skip
    widget("strips", [], "".join(lines), models=told)


def strip(name: str, words: Iterable[str], shares: Iterable[float], p: float) -> str:
    """Words shaded by their weights, which stand under them, below a name and the output p; words are escaped."""
    marks = (f'<span style="--w:{share}">{html.escape(word)}<small>{share:.2f}</small></span>'
             for word, share in zip(words, shares, strict=True))  # fmt: skip
    return f'<p class="attn-strip"><b>{name}: p = {p:.2f}</b><br>{" ".join(marks)}</p>'


def bars(sentence: dict) -> str:
    """A sentence's words under bars of their weights, its answer, and how many of its words alone give it."""
    c = np.array(sentence["c"]) + sentence["b"]
    z, words = float(np.dot(sentence["a"], c)), zip(sentence["w"], sentence["a"], strict=True)
    cells = (f'<div class="attn-word"><div class="slot" style="--w:{share};--own:{share}"><i></i></div>'
             f'<button disabled>{html.escape(word)}</button><small>{share:.2f}</small></div>'
             for word, share in words)  # fmt: skip
    told = f"{('negative', 'positive')[z > 0]} {1 / (1 + np.exp(-z)):.2f}; alone, {sum((c > 0) == (z > 0))} of {len(c)}"
    return f'<div class="attn-words">{"".join(cells)}</div><p class="attn-why">{told} words say so.</p>'


def widget(kind: str, texts: list[str], paper: str | None = None, **options) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    The script takes of each sentence its words w, weights a, contributions c and bias b, to four decimals. paper: HTML
    without a script and on paper, by default the `bars` of the first sentence.
    """
    from IPython.display import HTML, display

    sentences = []
    for table, told in map(read_sentence, texts):
        numbers = {"a": table["attention"].round(4).tolist(), "c": table["contribution"].round(4).tolist()}
        sentences.append({"w": table["token"].tolist(), **numbers, "b": round(told["bias"], 4)})
    options |= {"sentences": sentences} if texts else {}
    plain = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    data = "".join(f' data-{name}="{html.escape(value)}"' for name, value in plain.items())
    shown = bars(sentences[0]) if paper is None else paper
    display(HTML(f'<div class="attn-play" data-play="{kind}"{data}>{shown}</div>'))
