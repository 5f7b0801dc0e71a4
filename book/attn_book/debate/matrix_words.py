"""Cells of the verdict matrix as text, for the page of Wiegreffe & Pinter's conclusion."""

from collections.abc import Iterable

import pandas as pd

from attn_book.debate.matrix import BY_KEY, CLIMB, SYMBOLS
from attn_book.wiegreffe.tables import digits
from attn_book.words import listed, number, told

DEMANDS = ("necessary", "stable", "hard to move", "guide")
"""Tests of Wiegreffe & Pinter."""

MEASURED = ("stable", "hard to move")
"""Tests whose reported values are measured on the paper's Figure 5, not printed in it."""

def told_cell(row) -> str:
    """A cell as the table shows it: symbol, number, interval, seeds; what is not ours, or not judged, says so."""
    test = BY_KEY[row.test]
    if row.kind == "reported":
        return f"{number(row.mean, test.form)} ({'measured on Figure 5' if row.test in MEASURED else 'reported'})"
    seeds = f"{row.n_seeds} seed{'s' if row.n_seeds != 1 else ''}"
    mark = getattr(row, "data", "")
    if row.kind == "unread":
        return f"no curve readable at both JSD {' and '.join(f'{jsd:g}' for jsd in CLIMB)}, {seeds} tried" + (
            f", {mark}" if mark not in ("", "same") else ""
        )
    marks = ([mark] if mark not in ("", "same") else []) + (["weak model"] if row.kind == "weak" else [])
    value = told(row.mean, row.low, row.high, digits(row.low, row.high, test.threshold, test.form), test.bounds)
    return f"{SYMBOLS[row.lies]} {', '.join([value, seeds, *marks])}".strip()


def data_table(cells: pd.DataFrame, tests: Iterable[str], corpora: Iterable[str]) -> str:
    """Data sets by tests as Markdown, each test with a link to its page; cells of one model alone."""
    tests = list(tests)
    lines = [
        "| data | " + " | ".join(f"{{ref}}`{key} <{BY_KEY[key].page}>`" for key in tests) + " |",
        "| --- " * (len(tests) + 1) + "|",
    ]
    told_of = {(r.corpus, r.test): told_cell(r) for r in cells.itertuples()}
    for name in corpora:
        lines.append(f"| {name} | " + " | ".join(told_of.get((name, key), "–") for key in tests) + " |")
    return "\n".join(lines)


def by_verdict(cells: pd.DataFrame, words: dict[str, str]) -> list[str]:
    """'Passed: sst (stable).' for each verdict of `words`, its key in SYMBOLS -> how it is called."""
    return [
        f"{word}: {listed(f'{r.corpus} ({r.test})' for r in cells[cells['lies'] == lies].itertuples())}."
        for lies, word in words.items()
    ]
