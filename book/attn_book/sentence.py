"""The book's interactive elements: `widget` makes one of sentences as the archived model reads them (attn_core.reader).

book/_static/core.js brings it to life.
"""

import numpy as np

from attn_book.page import PARTS
from attn_core.reader import read_sentence, sentence_traces  # noqa: F401  (for pages)

strip = PARTS.strip
"""HTML of a name, words, their weights and the output p: words shaded by their weights, which stand under them."""


def widget(kind: str, texts: list[str], paper: str | None = None, **options) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    kind: 'move', sentences whose attention a reader can move (epsilon: by how much the farthest one may change p, 0.05;
    own: with a line for the reader's own sentence), 'erase', 'strips', 'triangle' or 'dial'. The script takes of each
    sentence its words w, weights a, contributions c and bias b, to four decimals. paper: HTML without a script and on
    paper, by default the first sentence under bars of its weights, its answer, and how many words alone give it.
    """
    from IPython.display import HTML, display

    sentences = []
    for table, told in map(read_sentence, texts):
        numbers = {"a": table["attention"].round(4).tolist(), "c": table["contribution"].round(4).tolist()}
        sentences.append({"w": table["token"].tolist(), **numbers, "b": round(told["bias"], 4)})
    options |= {"sentences": sentences} if texts else {}
    if paper is None:
        first, c = sentences[0], np.array(sentences[0]["c"]) + sentences[0]["b"]
        z = float(np.dot(first["a"], c))
        paper = PARTS.bars(first["w"], first["a"], z > 0, 1 / (1 + np.exp(-z)), sum((c > 0) == (z > 0)))
    display(HTML(PARTS.play(kind, options, paper)))
