"""A text with its attention, as HTML for a notebook: `heat_map`."""

from collections.abc import Sequence
from html import escape

from attn_core.errors import AttnError
from attn_core.traces import Traces

BLUE = "0, 90, 181"
"""Of the shades: told apart from white by everybody; text on it stays black, on half its strength at most."""

STRONGEST = 0.5
THICKEST = 8
"""Pixels of the line under a word with all the weight: the map can be read without colour."""


class HeatMap(str):
    """HTML that a notebook shows as such."""

    def _repr_html_(self) -> str:
        return str(self)


def heat_map(traces: Traces, row: int, classes: Sequence[str] = ()) -> HeatMap:
    """One text, its words shaded and underlined by their attention, below the predicted and the true class.

    Parameters
    ----------
    traces : Traces
        That know their words: of `obtain`, of `check` (its `.traces`), or of trace(..., vocabulary=…).
    row : int
        Which document, from 0.
    classes : list of str, optional
        Names of the classes 0 to K - 1; else their numbers.

    Returns
    -------
    HeatMap
        A str of HTML, which a notebook shows. Words are escaped. Under each is a line, 8 pixels thick for all the
        weight, so nothing hangs on colour; the share is printed where it is more than that of equal weights. The
        probability is that of the predicted class.

    Raises
    ------
    AttnError
        No such row; traces that do not know their words.

    Examples
    --------
    >>> import numpy as np
    >>> from attn_lab import Traces, heat_map
    >>> traces = Traces(np.array([7]), np.array([1]), np.array([0, 2]), score=np.array([0.0, -1.0]),
    ...                 contribution=np.array([[2.0], [-1.0]]), bias=np.zeros(1), spell={7: ["<good>", "film"]}.get)
    >>> print(heat_map(traces, 0, ["bad", "good"]))  # doctest: +ELLIPSIS
    <p ...><b>predicted good (0.77), true good</b><br>...&lt;good&gt; <small>73%</small>...
    """
    if not -len(traces) <= row < len(traces):
        raise AttnError(f"there is no text {row} among {len(traces)}; take a row from 0 to {len(traces) - 1}")
    document = traces.take([row])
    words = document.words(0)
    predicted = int(document.predicted[0])
    label = int(document.label[0])
    p = document.outputs.max() if document.classes > 1 else max(document.p[0], 1 - document.p[0])
    head = f"predicted {name_of(predicted, classes)} ({p:.2f})"
    if label >= 0:
        head += f", true {name_of(label, classes)}{'' if label == predicted else ': wrong'}"
    spans = [shaded(word, weight, 1 / len(words)) for word, weight in zip(words, document.attention, strict=True)]
    return HeatMap(f'<p style="line-height: 2.2; font-family: sans-serif"><b>{head}</b><br>{" ".join(spans)}</p>')


def name_of(label: int, classes: Sequence[str]) -> str:
    """The name of a class, escaped; its number where it has none."""
    return escape(str(classes[label])) if label < len(classes) else str(label)


def shaded(word: str, weight: float, even: float) -> str:
    """A word with its weight; `even` is its share under equal weights."""
    share = f" <small>{weight:.0%}</small>" if weight > even else ""
    style = (
        f"background: rgba({BLUE}, {STRONGEST * weight:.3f}); border-bottom: {THICKEST * weight:.1f}px solid "
        f"rgb({BLUE}); padding: 2px"
    )
    return f'<span style="{style}">{escape(word)}{share}</span>'
