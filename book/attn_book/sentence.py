"""The book's interactive elements: `widget` makes one of sentences as the archived model reads them (attn_core.reader).

book/_static/core.js brings it to life.
"""

import html
import json
from collections.abc import Iterable

import numpy as np

from attn_book.words import ENCODERS
from attn_core import store
from attn_core.reader import EPSILON, read_sentence, sentence_traces


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


def stored_strips() -> dict:
    """data/examples/strips.json (data/README.md): sentences; models: encoder, kind, seed, p, weights a in 1/1000."""
    return json.loads((store.archive_folder().parent / "examples" / "strips.json").read_text(encoding="utf-8"))


def strips(sentence: int = 2) -> None:
    """Sentences of ours in every model of `stored_strips`; on paper, one of them in the models of the first seed."""
    told = stored_strips()
    lines = [strip(f"{ENCODERS[model['encoder']]}, {model['kind']}", told["sentences"][sentence],
                   np.array(model["a"][sentence]) / 1000, model["p"][sentence])
             for model in told["models"] if model["seed"] == told["models"][0]["seed"]]  # fmt: skip
    widget("strips", [], "".join(lines), models=told)


def strip(name: str, words: Iterable[str], shares: Iterable[float], p: float) -> str:
    """Words shaded by their weights, which stand under them, below a name and the output p; words are escaped."""
    marks = (f'<span style="--w:{share}">{html.escape(word)}<small>{share:.2f}</small></span>'
             for word, share in zip(words, shares, strict=True))  # fmt: skip
    return f'<p class="attn-strip"><b>{html.escape(name)}: p = {p:.2f}</b><br>{" ".join(marks)}</p>'


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
