"""The verdict matrix in words: its cells, its tallies, and the five sentences on the front page."""

from collections.abc import Iterable

import pandas as pd

from attn_core.across import listed, number, told
from attn_core.archive import ENCODER_NAMES
from attn_core.matrix import BY_KEY, CLAIMS, CLIMB, SUMMARY, SYMBOLS, TESTS, counted, counts
from attn_core.verdict import DECIDED, UNDECIDED, WAITING, Answer
from attn_core.wiegreffe_runs import GATED
from attn_core.wiegreffe_tables import digits

DEMANDS = ("necessary", "stable", "hard to move", "guide")
"""Tests of Wiegreffe & Pinter."""

MEASURED = ("stable", "hard to move")
"""Tests whose reported values are measured on the paper's Figure 5, not printed in it."""

ASKED = {
    "tasks": "which tasks need attention", "encoders": "what encoders do to it",
    "transfer": "whether weights handed on carry information", "capacity": "whether capacity eases adversaries",
}  # fmt: skip
"""Key of `verdict.QUESTIONS` -> the question inside a sentence."""


def told_cell(row) -> str:
    """A cell as the table shows it: symbol, number, interval, seeds; what is not ours, or not judged, says so."""
    test = BY_KEY[row.test]
    if row.kind == "reported":
        return f"{number(row.mean, test.form)} ({'measured on Figure 5' if row.test in MEASURED else 'reported'})"
    seeds = f"{row.n_seeds} seed{'s' if row.n_seeds != 1 else ''}"
    mark = getattr(row, "data", "")
    if row.kind == "unread":
        return f"not readable at JSD {' or '.join(f'{jsd:g}' for jsd in CLIMB)}, {seeds}" + (
            f", {mark}" if mark not in ("", "same") else ""
        )
    marks = ([mark] if mark not in ("", "same") else []) + (["weak model"] if row.kind == "weak" else [])
    value = told(row.mean, row.low, row.high, digits(row.low, row.high, test.threshold, test.form), test.bounds)
    return f"{SYMBOLS[row.lies]} {', '.join([value, seeds, *marks])}".strip()


def tallied(cells: pd.DataFrame, own: bool = True) -> str:
    """'2 of 5 (2 fail, 1 open)' of the cells that can be judged; '' where none can."""
    count = counts(cells, own)
    fails = f"{count['fails']} fail{'s' if count['fails'] == 1 else ''}"
    return f"{count['passes']} of {count['judged']} ({fails}, {count['open']} open)" if count["judged"] else ""


def by_test(cells: pd.DataFrame, keys: Iterable[str], own: bool = True) -> str:
    """'cells passed: ' and the tally of each test; those without a judged cell together at the end."""
    keys = list(keys)
    tallies = {key: tallied(cells[cells["test"] == key], own) for key in keys}
    judged = [f"{BY_KEY[key].asks} {tally}" for key, tally in tallies.items() if tally]
    empty = [BY_KEY[key].asks for key, tally in tallies.items() if not tally]
    if not judged:
        return f"no cell has five seeds yet ({listed(empty)})"
    return f"cells passed: {'; '.join(judged)}" + (f"; no cell of five seeds yet: {listed(empty)}" if empty else "")


def sentences(cells: pd.DataFrame, answers: dict[str, Answer]) -> list[str]:
    """Five sentences on the matrix, from its numbers alone. answers: of `verdict.open_questions`."""
    own, total, others = counted(cells), counts(cells), counts(cells, own=False)
    judged = own[own["lies"].isin(["passes", "fails", "open"])]
    first = (
        f"Of the {total['judged']} cells that can be judged (one test, one data set and one model with at least five "
        f"seeds, on the papers' own data: {listed(dict.fromkeys(judged['corpus']))}), attention passes "
        f"{total['passes']}, fails {total['fails']} and leaves {total['open']} undecided; {total['few']} more have "
        f"fewer than five seeds, and {judged['test'].nunique()} of the {len(TESTS)} tests have a cell that can be "
        f"judged. On parts of the data and on stand-ins, which never count, {others['passes']} pass, "
        f"{others['fails']} fail, {others['open']} are undecided and {others['few']} have fewer than five seeds."
    )
    jain = own[own["test"].isin(SUMMARY)]
    asked = ", ".join(BY_KEY[key].asks for key in SUMMARY)
    tallies = {name: tallied(part) for name, part in jain.groupby("encoder", sort=False)}
    encoders = "; ".join(f"{ENCODER_NAMES[name]} {tally}" for name, tally in tallies.items() if tally)
    second = (
        f"Jain & Wallace's three tests ask the weights to {asked}; cells passed, by encoder: "
        f"{encoders or 'none has five seeds'}{left_out(cells, SUMMARY)}."
    )
    theirs = cells[cells["kind"] == "authors"].assign(kind="ours")
    authors = tallied(theirs)
    third = f"Wiegreffe & Pinter's four, of the BiLSTM's attention; {by_test(own, DEMANDS)}" + (
        f". With checkpoints chosen on the test set, as the authors did, {BY_KEY['necessary'].asks}: {authors}."
        if authors else "."
    )  # fmt: skip
    elsewhere = cells[(cells["kind"] == "ours") & (cells["data"] != "same")]
    sets = dict.fromkeys(elsewhere[elsewhere["test"].isin(CLAIMS)]["corpus"])
    fourth = (
        f"Serrano & Smith's two, on other data than theirs ({listed(sets)}), in no count; "
        f"{by_test(elsewhere, CLAIMS, own=False)}{left_out(cells, CLAIMS)}."
    )
    fifth = (
        f"{' and '.join(name.capitalize() for name in GATED)}, which carry much of the argument on both sides, were "
        f"not rerun; of the debate's {len(answers)} open questions {told_states(answers)}."
    )
    return [first, second, third, fourth, fifth]


def told_states(answers: dict[str, Answer]) -> str:
    """'2 are decided ... (names), 1 has numbers that decide nothing (name), none waits for runs'."""
    words = {
        DECIDED: ("is decided on some data set at least", "are decided on some data set at least"),
        UNDECIDED: ("has numbers that decide nothing", "have numbers that decide nothing"),
        WAITING: ("waits for runs", "wait for runs"),
    }
    parts = []
    for state, (one, more) in words.items():
        keys = [ASKED[key] for key, answer in answers.items() if answer.state == state]
        count = f"{len(keys)} {one if len(keys) == 1 else more}" if keys else f"none {one}"
        parts.append(count + (f" ({listed(keys)})" if keys else ""))
    return ", ".join(parts)


def left_out(cells: pd.DataFrame, tests: Iterable[str]) -> str:
    """'; left out, for they do not do their task: ...' of the weak models' cells of some tests, '' for none."""
    weak = cells[(cells["kind"] == "weak") & cells["test"].isin(list(tests))]
    names = dict.fromkeys(f"{row.corpus} {ENCODER_NAMES[row.encoder]}" for row in weak.itertuples())
    return f"; left out, for they do their task badly: {listed(names)}" if names else ""
