"""The words and figures of a study. Here alone a sentence follows from numbers: its verdict is chosen by intervals."""

from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd

from attn_core.traces import Traces
from attn_lab.more.echo import echo
from attn_lab.study.numbers import DOES_NOT, HOLDS, OPEN, verdict
from attn_lab.study.power import ASKS, verdicts

MARGIN = 0.02
"""A share of texts, or of decisions, that is too small to matter."""

WARNINGS = {
    "model": "Nothing can be said of this attention: the model is not shown to do better than the most frequent class.",
    "power": (
        "No test of the book is shown to tell good attention from bad on these texts: a failed test means nothing."
    ),
}


class Sentence(NamedTuple):
    """A question, its verdict (yes, no, cannot be said), and the numbers that it hangs on, in words."""

    question: str
    verdict: str
    text: str


def sentences(table: pd.DataFrame, powers: pd.DataFrame) -> list[Sentence]:
    """The five sentences. Where the model is not shown to have learnt anything, no other has a verdict."""
    rows = table.set_index("number")
    words = verdicts(powers)
    telling = [ASKS[test] for test, word in words.items() if word == HOLDS]

    better = verdict(rows.low["AUC"], rows.high["AUC"], 0.5)
    if better == HOLDS and rows.low["macro F1"] <= rows.value["macro F1 of the majority"]:
        better = OPEN
    top = verdict(rows.low["top word beyond chance"], rows.high["top word beyond chance"], 0.0, MARGIN)
    if top == DOES_NOT and words.get("names") != HOLDS:
        top = OPEN  # a good attention might have failed as well
    none_tells = DOES_NOT if words and set(words.values()) == {DOES_NOT} else OPEN
    answers = [
        Sentence(
            "Does the model beat the majority?",
            better,
            f"Macro F1 is {said(rows, 'macro F1')}, that of the most frequent class alone "
            f"{rows.value['macro F1 of the majority']:.2f}; AUC is {said(rows, 'AUC')}, 0.5 is chance.",
        ),
        Sentence(
            "Are most texts locked?",
            verdict(rows.low["locked"], rows.high["locked"], 0.5),
            f"In {said(rows, 'locked')} of the texts each word, given all the weight, gives the decision: no attention "
            "could change it.",
        ),
        Sentence(
            "Is attention needed?",
            verdict(rows.low["gain over equal weights"], rows.high["gain over equal weights"], 0.0, MARGIN),
            f"Accuracy is {said(rows, 'accuracy')}, with equal weights in place of attention "
            f"{said(rows, 'accuracy, equal weights')}; the difference is {said(rows, 'gain over equal weights')}.",
        ),
        Sentence(
            "Does its top word matter?",
            top,
            "The share of texts whose most attended word is the one whose deletion moves the output most is "
            f"{said(rows, 'top word')}; for a word drawn at random it is {said(rows, 'top word by chance')}.",
        ),
        Sentence(
            "Does a test of the book tell anything here?",
            HOLDS if telling else none_tells,
            f"Tests shown to tell good attention from the same weights dealt anew: {len(telling)} of {len(words)}"
            f"{': ' if telling else ''}{'; '.join(telling)}.",
        ),
    ]
    if better == HOLDS:
        return answers
    return [answers[0], *(sentence._replace(verdict=OPEN) for sentence in answers[1:])]


def said(rows: pd.DataFrame, number: str) -> str:
    """A number with its interval, or why there is none."""
    row = rows.loc[number]
    if np.isnan(row.value):
        return f"– ({row.why})"
    return f"{row.value:.2f} ({row.low:.2f} to {row.high:.2f})".replace("-", "−")


def warning(five: list[Sentence]) -> str:
    """What a reader must know before all else; '' where there is nothing."""
    if five[0].verdict != HOLDS:
        return WARNINGS["model"]
    return WARNINGS["power"] if five[4].verdict != HOLDS else ""


def box(read: str, five: list[Sentence], warned: str) -> str:
    """What was read, the warning and the sentences as HTML."""
    lines = [
        f"<li><b>{escape(sentence.question)} {sentence.verdict.capitalize()}.</b> {escape(sentence.text)}</li>"
        for sentence in five
    ]
    head = f"<p><b>{escape(warned)}</b></p>" if warned else ""
    return f'<p>{escape(read)}</p><div class="admonition">{head}<ol>{"".join(lines)}</ol></div>'


# ---- figures ---------------------------------------------------------------------------------------------------------


def panels(table: pd.DataFrame, models: list[Traces], names: tuple[str, ...] = ()):
    """A figure of the panels asked for, one below the other; its label is the message of the last."""
    import matplotlib.pyplot as plt

    names = names or tuple(PANELS)
    figure, axes = plt.subplots(len(names), figsize=(4.8, 3.0 * len(names)), squeeze=False, layout="constrained")
    for name, ax in zip(names, axes[:, 0], strict=True):
        figure.set_label(PANELS[name](ax, table.set_index("number"), models))
        if len(names) > 1:
            ax.set_title(figure.get_label(), loc="left", wrap=True)
    return figure


def draw_alone(ax, rows: pd.DataFrame, models: list[Traces]) -> str:
    """How many words of a text alone give its decision: a histogram over texts, all seeds."""
    shares = np.concatenate([echo(traces)["echo"] for traces in models])
    ax.hist(shares, np.linspace(0, 1, 21), weights=np.full(len(shares), 1 / len(shares)))
    ax.set(xlabel="share of words that alone decide as their text", ylabel="share of texts", xlim=(0, 1))
    return f"In {rows.value['locked']:.0%} of the texts every word alone decides"


def draw_bars(ax, rows: pd.DataFrame, labels: dict[str, str], axis: str) -> None:
    """Numbers with their intervals, one line each, a dash's reason in the place of a number."""
    for place, number in enumerate(labels):
        row = rows.loc[number]
        if np.isnan(row.value):
            ax.text(0, place, f" – {row.why}", va="center")
            continue
        ax.plot([row.low, row.high], [place, place], linewidth=3, color="C0")
        ax.plot(row.value, place, "o", color="C0", markersize=8)
        ax.annotate(f"{row.value:.2f}", (row.high, place), (6, 0), textcoords="offset points", va="center")
    ax.margins(x=0.2)  # for the numbers
    ax.set(
        yticks=range(len(labels)),
        yticklabels=labels.values(),
        ylim=(len(labels) - 0.5, -0.5),
        xlabel=axis,
        xlim=(0, None),
    )


def draw_top(ax, rows: pd.DataFrame, _: list[Traces]) -> str:
    """How often the top word is the one whose deletion matters most."""
    labels = {"top word": "attention", "top word of gradients": "gradients", "top word by chance": "chance"}
    draw_bars(ax, rows, labels, "share of texts whose top word is deletion's")
    top = rows.value["top word"]
    chance = rows.value["top word by chance"]
    return "" if np.isnan(top) else f"Attention's top word is deletion's in {top:.0%}, a random word in {chance:.0%}"


def draw_twin(ax, rows: pd.DataFrame, _: list[Traces]) -> str:
    """How far other weights with nearly the same output lie."""
    labels = {
        "ceiling": "any weights",
        "farthest twin": "same output",
        "farthest, dealt anew": "… of dealt weights",
        "another seed": "another seed",
    }
    draw_bars(ax, rows, labels, "distance to own weights (JSD, ≤ 0.69)")
    farthest = rows.value["farthest twin"]
    return f"Weights with the same output lie {farthest:.2f} away, any at most {rows.value['ceiling']:.2f}"


PANELS = {"alone": draw_alone, "top word": draw_top, "twin": draw_twin}
"""Figure -> function that draws it and gives its message."""
