"""The verdict matrix in words: its cells, its tallies, and the five sentences on the front page."""

from collections.abc import Iterable

import pandas as pd

from attn_book.debate.matrix import BY_KEY, CLAIMS, CLIMB, PAPERS, SUMMARY, SYMBOLS, TESTS, counted, counts
from attn_book.debate.verdict import DECIDED, UNDECIDED, WAITING, Answer
from attn_book.wiegreffe.runs import GATED
from attn_book.wiegreffe.tables import digits
from attn_book.words import ENCODER_NAMES, listed, number, told
from attn_core.index import HEADLINE_SEEDS

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
        return f"no curve readable at both JSD {' and '.join(f'{jsd:g}' for jsd in CLIMB)}, {seeds} tried" + (
            f", {mark}" if mark not in ("", "same") else ""
        )
    marks = ([mark] if mark not in ("", "same") else []) + (["weak model"] if row.kind == "weak" else [])
    value = told(row.mean, row.low, row.high, digits(row.low, row.high, test.threshold, test.form), test.bounds)
    return f"{SYMBOLS[row.lies]} {', '.join([value, seeds, *marks])}".strip()


def tallied(cells: pd.DataFrame, own: bool = True) -> str:
    """'2 of 5 passed, 1 undecided' of the cells that can be judged; '' where none can."""
    count = counts(cells, own)
    undecided = f", {count['open']} undecided" if count["open"] else ""
    return f"{count['passes']} of {count['judged']} passed{undecided}" if count["judged"] else ""


def by_test(cells: pd.DataFrame, keys: Iterable[str], own: bool = True) -> str:
    """What each test asks, with its tally: 'matter to the output (2 of 5 passed) and ...'."""
    parts = []
    for key in keys:
        tally = tallied(cells[cells["test"] == key], own) or "no cell can be judged yet"
        parts.append(f"{BY_KEY[key].asks} ({tally})")
    return joined(parts)


def joined(parts: Iterable[str]) -> str:
    """'a, b and c'."""
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last


def sentences(cells: pd.DataFrame, answers: dict[str, Answer]) -> list[str]:
    """Five sentences on the matrix, from its numbers alone. answers: of `verdict.open_questions`.

    What is counted, and what is left out, is told by `counting`.
    """
    own, total = counted(cells), counts(cells)
    asked = own[own["lies"].isin(["passes", "fails", "open"])]["test"].nunique()
    first = (
        f"The papers' {len(TESTS)} tests, each asked of one data set and one model at a time; {asked} have cells that "
        f"can be judged on the papers' own data: of these {total['judged']} cells attention passes {total['passes']}, "
        f"fails {total['fails']} and leaves {total['open']} undecided."
    )
    jain = own[own["test"].isin(SUMMARY)]
    tallies = {name: tallied(part) for name, part in jain.groupby("encoder", sort=False)}
    encoders = [f"{ENCODER_NAMES[name]} {tally}" for name, tally in tallies.items() if tally]
    second = (
        f"Jain & Wallace ask the weights to {joined(BY_KEY[key].asks for key in SUMMARY)}: "
        f"{'; '.join(encoders) or f'no model has {HEADLINE_SEEDS} seeds'}."
    )
    asked = joined(BY_KEY[key].asks for key in DEMANDS)
    tally = tallied(own[own["test"].isin(DEMANDS)]) or "no cell can be judged yet"
    third = f"Wiegreffe & Pinter ask the weights of the BiLSTM to {asked}: {tally}."
    elsewhere = cells[(cells["kind"] == "ours") & (cells["data"] != "same")]
    fourth = (
        f"Serrano & Smith ask the weights to {by_test(elsewhere, CLAIMS, own=False)}; here their models were trained "
        "on other data than in the paper, so they enter no total."
    )
    fifth = (
        f"{' and '.join(name.capitalize() for name in GATED)}, which carry much of the argument on both sides, were "
        f"not rerun; of the debate's {len(answers)} open questions {told_states(answers)}."
    )
    return [first, second, third, fourth, fifth]


def by_tests(cells: pd.DataFrame) -> str:
    """The tallies test by test, as a Markdown table with links: the papers' own data, and other data beside."""
    lines = ["| The weights should … | ✓ | ✗ | ○ | other data: ✓ | ✗ | ○ |", "| --- " + "| ---: " * 6 + "|"]
    for paper, title in PAPERS.items():
        lines.append(f"| **{title}** " + "| " * 6 + "|")
        for test in (test for test in TESTS if test.paper == paper):
            part, numbers = cells[cells["test"] == test.key], []
            for own in (True, False):
                count = counts(part, own)
                numbers += [str(count[name]) if count["judged"] else "–" for name in ("passes", "fails", "open")]
            lines.append(f"| {{ref}}`{test.asks} <{test.page}>` | {' | '.join(numbers)} |")
    return "\n".join(lines)


def paper_tables(cells: pd.DataFrame, paper: str, sets: Iterable[str]) -> str:
    """Each test of one paper as Markdown: what it asks and when it passes, then data sets by models, a link a cell."""
    blocks = [f"**{PAPERS[paper]}**\n"]
    for test in (test for test in TESTS if test.paper == paper):
        part = cells[cells["test"] == test.key]
        side = "above" if test.good == "above" else "below"
        blocks.append(
            f"*Weights should {test.asks}*: {test.number}, passes {side} {test.threshold:g}. {{ref}}`Page "
            f"<{test.page}>`.\n"
        )
        if not len(part):
            blocks.append("No run yet.\n")
            continue
        names = {name: ENCODER_NAMES.get(name, name) for name in dict.fromkeys(part["encoder"])}
        blocks += [f"| data | {' | '.join(names.values())} |", "| --- " * (len(names) + 1) + "|"]
        told_of = {(r.corpus, r.encoder): linked(r, test.page) for r in part.itertuples()}
        for name in (name for name in sets if name in set(part["corpus"])):
            blocks.append(f"| {name} | " + " | ".join(told_of.get((name, key), "–") for key in names) + " |")
        blocks.append("")
    return "\n".join(blocks)


def linked(row, page: str) -> str:
    """A cell with a link to its page; generated documents have their own."""
    return f"{{ref}}`{told_cell(row)} <{'verdict-diabetes' if row.kind == 'planted' else page}>`"


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


def counting(cells: pd.DataFrame) -> list[str]:
    """What the five sentences count, and what they leave out, a text each."""
    own, total, others = counted(cells), counts(cells), counts(cells, own=False)
    judged = own[own["lies"].isin(["passes", "fails", "open"])]
    elsewhere = cells[(cells["kind"] == "ours") & (cells["data"] != "same") & cells["test"].isin(CLAIMS)]
    return [
        f"A cell is one test, one data set and one model. It can be judged where at least {HEADLINE_SEEDS} seeds "
        "(for the need for the score all that are planned) were trained on the papers' own data.",
        f"So judged, on the papers' own data ({listed(dict.fromkeys(judged['corpus']))}): {total['judged']} cells of "
        f"{judged['test'].nunique()} tests; {total['few']} more wait for seeds.",
        f"On parts of the data and on stand-ins, which enter no total, {others['passes']} pass, {others['fails']} "
        f"fail, {others['open']} are undecided and {others['few']} wait for seeds; Serrano & Smith's are all of this "
        f"kind ({listed(dict.fromkeys(elsewhere['corpus']))}).",
        f"Models that do their task badly enter nothing: {left_out(cells)}.",
    ]


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


def left_out(cells: pd.DataFrame) -> str:
    """'sst Average and CNN; amazon FLANrnn': the weak models by data set; 'none' where there is none."""
    weak = cells[cells["kind"] == "weak"].drop_duplicates(["corpus", "encoder"])
    names = weak["encoder"].map(ENCODER_NAMES).groupby(weak["corpus"], sort=False)
    return "; ".join(f"{corpus} {joined(part)}" for corpus, part in names) or "none"
