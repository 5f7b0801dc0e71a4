"""Elements to play with: book/_static/core.js brings them to life; what stands in them before is their picture."""

import json
from collections.abc import Mapping
from functools import cache

from attn_book.page import PARTS
from attn_core.errors import AttnError
from attn_lab.runs import store


def widget(
    kind: str, texts: list[str], paper: str | None = None, misread: Mapping[str, str] | None = None, **options
) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    kind: 'move', sentences whose attention a reader can move, in three encoders (misread: text -> what a reader should
    know of it; path: with the steps guess, shuffle, switch the encoder, shuffle, why; epsilon: by how much the farthest
    attention may change p; own: with a line for the reader's own sentence), 'erase', 'strips', 'triangle' or 'tiles'.
    paper: HTML without a script and on paper, by default a picture of the first sentence.
    """
    from IPython.display import HTML, display

    sentences = [readings(text) for text in texts]
    if kind == "move":
        options["sentences"] = [{"note": (misread or {}).get(text, ""), "by": readings(text)} for text in texts]
    elif texts:
        options["sentences"] = [by["lstm"] for by in sentences]
        sentences = [{"lstm": options["sentences"][0]}]
    paper = PARTS.readings(sentences[0]) if paper is None else paper
    display(HTML(PARTS.play(kind, options, paper)))


def readings(text: str) -> dict[str, dict]:
    """A stored sentence in each encoder: words w, attention a, contributions c, bias b; `without`, the same (a, c) when
    the model reads the sentence without word t; for its picture p, `alone` and what shuffling does."""
    sentences = stored()["sentences"]
    if text not in sentences:
        raise AttnError(
            f"“{text}” is not stored; name one of {', '.join(sentences)}, or add it to benchmarks/readings.py"
        )
    return sentences[text]


@cache
def stored() -> dict:
    """data/examples/readings.json, made by `python -m benchmarks --readings`."""
    return json.load(store.read_data("examples/readings.json"))
