"""The debate's open questions, each answered in a sentence made from the matrix of verdicts.py, or marked open."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_core.across import seeds_in_words
from attn_core.archive import Result
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS, from_dict
from attn_core.scorecard import difference
from attn_core.seeds import HEADLINE_SEEDS, stored_summaries
from attn_core.verdicts import BY_NAME, STATISTICS, summary_values

# ---- sentences -------------------------------------------------------------------------------------------------------


def counted(matrix: pd.DataFrame, test: str, encoder: str | None = None) -> pd.DataFrame:
    """Rows of one test that may be counted: no generated data."""
    rows = matrix[(matrix["test"] == test) & (matrix["data"] != "generated")]
    return rows if encoder is None else rows[rows["encoder"] == encoder]


def told_cell(row) -> str:
    """'imdb 0.021 (0.015 to 0.027)', with the data's mark where it is not the paper's own."""
    form = BY_NAME[row.test].form
    mark = "" if row.data == "same" else f", {row.data}"
    if row.n_seeds < HEADLINE_SEEDS:
        return f"{row.corpus} {row.value:{form}} ({seeds_in_words(row.n_seeds)}{mark})"
    return f"{row.corpus} {row.value:{form}} ({row.low:{form}} to {row.high:{form}}{mark})"


def told(rows: pd.DataFrame, words: dict[str, str]) -> str:
    """Rows of one test by verdict, each with its numbers; words: verdict -> beginning of its part. Empty ones are left out."""
    parts = []
    for verdict, beginning in words.items():
        mine = rows[rows["verdict"] == verdict]
        if len(mine):
            parts.append(f"{beginning} {', '.join(told_cell(row) for row in mine.itertuples())}")
    absent = rows[rows["verdict"] == "no run"]["corpus"]
    if len(absent):
        parts.append(f"no run: {', '.join(absent)}")
    return "; ".join(parts)


REST = {"undecided": "undecided:", "few seeds": "too few seeds to decide:", "weak model": "model too weak to count:"}


def open_questions(matrix: pd.DataFrame, widths: pd.DataFrame | None = None) -> pd.DataFrame:
    """The debate's questions with the answers that the matrix gives: question, answer, state.

    widths: of `by_width`; None asks nothing about capacity that could be answered.

    state: 'answered' where a cell on real data decides, 'open' otherwise; the answer then says what is there.
    """
    rows = [
        ask("Which tasks need attention?", [("uniform", "lstm", {"for": "needed on", "against": "not needed on", **REST})], matrix),
        ask("What do encoders do to it?", [("context", None, {
            "against": "τ with gradients is higher without context on", "for": "it is lower without context on", **REST})], matrix),
        ask("Do transferred weights carry information?", [
            ("guide", "lstm", {"for": "guides help on", "against": "guides harm on", **REST}),
            ("tokens", "lstm", {"for": "the word under the weight matters on", "against": "permuted weights are better on", **REST}),
            ("leak", "lstm", {"against": "weights tell the label without words on", "for": "weights without words tell less than places on", **REST}),
        ], matrix),
        ask("Is attention stable from training to training?", [("seeds", "lstm", {"for": "other seeds stay near on", "against": "other seeds lie far off on", **REST})], matrix),
        ask("Are adversaries that a model must learn as cheap as edited weights?", [
            ("adversary", "lstm", {"against": "most documents have other weights for the same output on", "for": "most have none on", **REST}),
            ("imitation", "lstm", {"for": "a trained adversary changes outputs more than one that only imitates on", "against": "less than one that only imitates on", **REST}),
            ("beyond seeds", "lstm", {"for": "more than another seed does on", "against": "less than another seed does on", **REST}),
        ], matrix),
        capacity(widths),
        without_the_medical_sets(matrix),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["question", "answer", "state"])


def ask(question: str, parts: list[tuple[str, str | None, dict[str, str]]], matrix: pd.DataFrame) -> dict[str, str]:
    """One question: parts are (test, encoder, words), told one after the other."""
    answers, decided = [], False
    for test, encoder, words in parts:
        rows = counted(matrix, test, encoder)
        decided |= bool(rows["verdict"].isin(("for", "against")).any())
        text = told(rows, words)
        answers.append((capital(text) if text else "No run") + ".")
    return {"question": question, "answer": " ".join(answers), "state": "answered" if decided else "open"}


def capital(text: str) -> str:
    """The first letter large; a Greek letter is a symbol and stays."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def without_the_medical_sets(matrix: pd.DataFrame) -> dict[str, str]:
    """What Diabetes and Anemia would add: where the authors' numbers there lie beyond all that was rerun."""
    parts = []
    for test in ("uniform", "guide", "seeds"):
        rows = counted(matrix, test, "lstm")
        theirs, ours = rows[rows["reported"].notna()], rows[rows["value"].notna()]
        if not len(theirs):
            continue
        form = BY_NAME[test].form
        numbers = " and ".join(f"{row.reported:{form}} ({row.corpus})" for row in theirs.itertuples())
        if not len(ours):
            parts.append(f"{BY_NAME[test].measure}: the authors have {numbers}; nothing was rerun")
            continue
        top = ours.loc[ours["value"].idxmax()]
        beyond = theirs[theirs["reported"] > top["value"]]["corpus"].tolist()
        says = f"beyond all that was rerun on {' and '.join(beyond)}" if beyond else "within what was rerun"
        parts.append(f"{BY_NAME[test].measure}: the authors have {numbers}, {says} (largest: {top['corpus']} {top['value']:{form}})")
    text = "; ".join(parts)
    return {
        "question": "What cannot be decided without Diabetes and Anemia?",
        "answer": f"{text}. Whether such tasks need attention, and whether it varies there for want of evidence in one class, stays open.",
        "state": "open",
    }


# ---- capacity --------------------------------------------------------------------------------------------------------


def capacity(widths: pd.DataFrame | None) -> dict[str, str]:
    """How width eases adversaries, by `by_width`."""
    question = "Does capacity ease adversaries?"
    if widths is None or not len(widths):
        return {"question": question, "answer": "No width but the default was run.", "state": "open"}
    cells = [
        f"{row.corpus}, {row.encoder} of width {row.hidden}: {row.value:+.0%}"
        + (f" ({row.low:+.0%} to {row.high:+.0%})" if row.n_seeds >= HEADLINE_SEEDS else f" ({seeds_in_words(row.n_seeds)})") + f", {row.verdict}"
        for row in widths.itertuples()
    ]  # fmt: skip
    decided = widths["verdict"].isin(("eases", "hinders")).any()
    answer = f"Share of documents with other weights for the same output, against the default width: {'; '.join(cells)}."
    return {"question": question, "answer": answer, "state": "answered" if decided else "open"}


def by_width(results: Iterable[Result] | None = None) -> pd.DataFrame:
    """Adversaries by width: what another width of the same model does to the share of documents with JSD above 0.4.

    Columns corpus, encoder, hidden, value (that width minus the default, within seeds), low, high, n_seeds, verdict: 'eases',
    'hinders', 'undecided' or 'few seeds'. Empty where no width but the default was run; the question then stays open.
    """
    plain, wide = {}, {}
    for result in stored_summaries() if results is None else results:
        run = from_dict(result.record["run"])
        changes = dict(difference(run))
        value = summary_values(result).get(STATISTICS["adversary"], np.nan)
        if run.seed in SEEDS and run.attention == "tanh" and set(changes) <= {"hidden"} and np.isfinite(value):
            where = wide if changes else plain
            where[(run.corpus, run.encoder, run.hidden if changes else None, run.seed)] = value
    rows = []
    for place in dict.fromkeys(key[:3] for key in wide):
        gaps = [wide[key] - plain[(*key[:2], None, key[3])] for key in wide if key[:3] == place and (*key[:2], None, key[3]) in plain]
        if gaps:
            low, high = seed_interval(np.array(gaps))
            verdict = "few seeds" if len(gaps) < HEADLINE_SEEDS else "eases" if low > 0 else "hinders" if high < 0 else "undecided"
            rows.append([*place, float(np.mean(gaps)), low, high, len(gaps), verdict])
    return pd.DataFrame(rows, columns=["corpus", "encoder", "hidden", "value", "low", "high", "n_seeds", "verdict"])
