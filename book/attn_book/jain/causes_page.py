"""Causes tried as the pages show them: tables in boxes that open, one for each data set."""

import html
import re

import numpy as np
import pandas as pd

from attn_book.data_counts import COUNTED
from attn_book.jain.causes import causes
from attn_book.jain.causes_words import in_words, runs
from attn_book.jain.tables import closed
from attn_book.page import minus
from attn_book.scorecard import NAMES, clipped, digits_beside
from attn_book.words import ATTENTION_NAMES, ENCODER_NAMES
from attn_core.archive import Result
from attn_core.measures import INTERVAL_SEEDS
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


LEGEND = (
    "One row for each number or claim that differs, one column for each thing that was tried. A variant is a run that "
    "differs from the standard one in a single field. Its cell says by how much it moves the number, over the seeds "
    f"that both have (95 % Student t interval; none below {INTERVAL_SEEDS} seeds)."
)
"""What the cells of the tables say; MARKS: what stands in them besides."""

MARKS = (
    "✓: the row would hold with the variant and does not without it.",
    "○: it holds on these seeds without it too, so nothing is explained.",
    "✗: it still differs.",
    "On another data set: the move was measured there, over all classes, so it is a hint and no test.",
    "Blank: no such run, or one that ended with the standard checkpoint.",
    "Authors' other run, corrected value: ✓ ours lies within the tolerance of it.",
    "Our seeds: their smallest and largest value, and how many alone would hold.",
)


def told_row(row, digits: int = 2) -> dict[str, str]:
    """A row's first cells: what it is, the reported value or threshold with its tolerance, ours with its interval."""
    claim = row.item.startswith("claim")
    words = [closed(row.item), "" if row.group == "all" else row.group, model_of(row)]
    if not claim:
        words += [in_words(row.measure), in_words(row.statistic)]
    elif row.measure.startswith("tau("):
        words.append(in_words(row.measure))
    if claim and np.isfinite(row.low):
        digits = digits_beside(row.reported, row.ours, row.low, row.high)
    if row.measure in COUNTED:
        digits = 0 if row.statistic == "count" else 1
    undecided = claim and row.low <= row.reported <= row.high
    known = np.isfinite(row.low)
    interval = f" ({row.low:.{digits}f} to {row.high:.{digits}f})" if known else ""
    limit = f" ± {row.tolerance:g}" if np.isfinite(row.tolerance) and row.tolerance > 0 else ""
    return {
        "what": html.escape(", ".join(word for word in words if word)),
        "reported": minus(f"{'threshold ' if claim else ''}{row.reported:.{digits}f}{limit}"),
        "ours": minus(f"{row.ours:.{digits}f}{interval}") + (", undecided" if undecided else ""),
    }


def tried_html(rows: pd.DataFrame, results: list[Result] | None = None, by: str = "corpus") -> str:
    """The differing rows of a scorecard and what was tried for each: tables to open, one for each value of `by`.

    For a page: IPython.display.HTML(tried_html(rows of the page's items)). results: runs, standard ones and variants;
    None takes the whole archive. '' where nothing differs.
    """
    differs = rows[rows["verdict"] == "differs"]
    if differs.empty:
        return ""
    found = causes(differs, stored_summaries() if results is None else results)
    differs = clipped(differs).reset_index(drop=True)  # a share ends at 1, also in an interval
    place = found.astype({name: differs[name].dtype for name in NAMES})
    found = place.merge(differs[NAMES].assign(row=differs.index), on=NAMES, how="left")
    boxes = []
    for name, part in differs.groupby(by, sort=False):
        title = f"{name}: {len(part)} differ{'s' if len(part) == 1 else ''}"
        boxes.append(folded(title, tried_table(part, found[found["row"].isin(part.index)])))
    marks = "".join(f"<li>{mark}</li>" for mark in MARKS)
    return f"<p>{LEGEND}</p><ul>{marks}</ul>{''.join(boxes)}"


def tried_table(rows: pd.DataFrame, found: pd.DataFrame) -> str:
    """The table of one box, above it the notes that all its rows share, below it the runs."""
    notes = found[found["cause"] == ""].groupby("sentence", sort=False)["row"].nunique()
    shared = list(notes.index[notes == len(rows)]) if len(rows) > 1 else []
    lines = []
    for number, row in zip(rows.index, rows.itertuples(), strict=True):
        cells = {name: ("", text) for name, text in told_row(row).items()}
        for cause in found[(found["row"] == number) & ~found["sentence"].isin(shared)].itertuples():
            full, text = cells.get(heading(cause), ("", ""))
            cells[heading(cause)] = (f"{full} {cause.sentence}".strip(), f"{text} {html.escape(cause.phrase)}".strip())
        lines.append(cells)
    heads = list(dict.fromkeys(name for cells in lines for name in cells))
    heads.sort(key=lambda name: ORDER.get(name, 3))
    body = "".join(f"<tr>{''.join(cell(name, *cells.get(name, ('', ''))) for name in heads)}</tr>" for cells in lines)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    told = f"<p>{html.escape(' '.join(shared))}</p>" if shared else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'{told}<div style="overflow-x: auto">{table}</div>{keys_told(found)}'


ORDER = {"what": 0, "reported": 1, "ours": 2, "authors' other run": 4, "our seeds": 5, "note": 6}
"""Columns in their order; variants stand at 3."""


def heading(cause) -> str:
    """The column in which a cause stands."""
    if cause.in_words:
        return cause.in_words
    other = "authors' other run" if cause.cause.endswith(" run") else cause.cause
    return {"": "note", "seed": "our seeds", "corrected": "corrected value"}.get(cause.cause, other)


def cell(name: str, full: str, text: str) -> str:
    """A cell, wide enough for words; the whole sentence shows when the mouse rests on it."""
    wide = {"what": "11rem", "note": "14rem"}.get(name, "6.5rem")
    title = f' title="{html.escape(full)}"' if full and full != text else ""
    return f'<td style="min-width: {wide}"{title}>{text}</td>'


def keys_told(found: pd.DataFrame) -> str:
    """The first run of each comparison by its key, with the number of seeds."""
    parts = []
    for name, part in (
        found[found["key"] != ""]
        .assign(head=lambda t: [heading(r) for r in t.itertuples()])
        .groupby("head", sort=False)
    ):
        alone = name == "our seeds"
        most = part.groupby("key", sort=False)["n_seeds"].max()  # rows of one run may have it on fewer seeds
        told = [f"`{key}`" if alone else runs(key, count) for key, count in most.items()]
        parts.append(f"{'of our seeds the nearest' if alone else name}: {', '.join(told)}")
    items = "".join(f"<li><small>{keys_marked(part)}</small></li>" for part in parts)
    return f"<p><small>Runs:</small></p><ul>{items}</ul>" if parts else ""


def keys_marked(text: str) -> str:
    """Sentences as HTML, run keys between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
