"""Causes tried as the pages show them: boxes that open, one for each data set."""

import html
import re

import numpy as np
import pandas as pd

from attn_core.archive import ATTENTION_NAMES, ENCODER_NAMES, Result
from attn_core.causes import with_sentences
from attn_core.causes_words import in_words
from attn_core.data_counts import COUNTED
from attn_core.jain_tables import closed
from attn_core.scorecard import clipped, digits_beside
from attn_core.seeds import stored_summaries


def model_of(row) -> str:
    """Encoder and attention of a row in words; '' for counts of the data."""
    if not isinstance(row.encoder, str):
        return ""
    names = [ENCODER_NAMES[name] for name in row.encoder.split("-")]
    return f"{' − '.join(names)}, {ATTENTION_NAMES[row.attention]}"


def folded(title: str, body: str) -> str:
    """A box that opens on a click."""
    return f"<details><summary>{html.escape(title)}</summary>{body}</details>"


def told_row(row, digits: int = 2) -> str:
    """A row in one line: what it is, the reported value, ours, the tolerance."""
    words = [closed(row.item), "" if row.group == "all" else row.group, model_of(row)]
    if not row.item.startswith("claim"):
        words += [in_words(row.measure), in_words(row.statistic)]
    elif row.measure.startswith("tau("):
        words.append(in_words(row.measure))
    undecided = ""
    if row.item.startswith("claim") and np.isfinite(row.low):
        digits = digits_beside(row.reported, row.ours, row.low, row.high)
        undecided = (
            "; its interval contains the threshold and decides nothing" if row.low <= row.reported <= row.high else ""
        )
    if row.measure in COUNTED:
        digits = 0 if row.statistic == "count" else 1
    interval = f" ({row.low:.{digits}f} to {row.high:.{digits}f})" if np.isfinite(row.low) else ""
    kind = "threshold" if row.item.startswith("claim") else "reported"
    limit = f", tolerance {row.tolerance:g}" if np.isfinite(row.tolerance) and row.tolerance > 0 else ""
    name = html.escape(", ".join(word for word in words if word))
    return f"<b>{name}</b>: {kind} {row.reported:.{digits}f}, ours {row.ours:.{digits}f}{interval}{limit}{undecided}."


def tried_html(rows: pd.DataFrame, results: list[Result] | None = None, by: str = "corpus") -> str:
    """The differing rows of a scorecard and what was tried for each, as boxes to open, one for each value of `by`.

    For a page: IPython.display.HTML(tried_html(rows of the page's items)). results: runs, standard ones and variants;
    None takes the whole archive. '' where nothing differs.
    """
    differs = rows[rows["verdict"] == "differs"]
    if differs.empty:
        return ""
    differs = clipped(differs)  # a share ends at 1, also in an interval
    told = with_sentences(differs, stored_summaries() if results is None else results)
    boxes = []
    for name, part in told.groupby(by, sort=False):
        lines = [f"<p>{told_row(row)} {keys_marked(row.tried)}</p>" for row in part.itertuples()]
        boxes.append(folded(f"{name}: {len(part)} differ{'s' if len(part) == 1 else ''}", "".join(lines)))
    return "".join(boxes)


def keys_marked(text: str) -> str:
    """Sentences as HTML, run keys between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
