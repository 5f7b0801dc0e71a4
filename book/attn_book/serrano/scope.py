"""Which class does the most attended item speak for? What tests that watch the decision alone cannot see (section 6).

Numbers of `experiments.support` over models, as a table and in words. Ours, not in Serrano and Smith 2019: one seed a
model, so intervals are over documents and nothing here decides a claim.
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from attn_book import words
from attn_book.serrano.intervals import over_documents
from attn_book.serrano.tables import counts
from attn_book.words import ENCODER_NAMES
from attn_core.archive import Result
from attn_core.experiments.support import base_rate, support
from attn_core.traces import Traces

NO_MODEL = "no model that counts"

FEWEST_DOCUMENTS = 100
"""Documents below which a value is shown but enters no finding. Set on 2026-11-22, after the results were seen: models
of 20 documents had been counted like others."""


def shares(traces: Traces) -> pd.DataFrame:
    """Whom the top item speaks for, over a model's documents of more than one item: columns what, mean, low, high, n.

    A row per number. other: share of documents whose top item speaks for another class than the predicted one; rises:
    whose predicted class becomes *more* probable without it; by chance: base rate of other, by another item drawn at
    random; beyond: other minus by chance. Of the documents where it speaks for another class: tvd, median total
    variation by which the output moves without it; stays, share whose decision stays. low, high: 95 % over documents,
    NaN for by chance, tvd and stays, which have none. n: documents; without any the mean is NaN.
    """
    several = traces.lengths > 1
    table, chance = support(traces)[several], base_rate(traces)[several]
    other, rises = table["other"].to_numpy(float), (table["fall_own"] < 0).to_numpy(float)
    elsewhere, none = table[table["other"]], (np.nan, np.nan)
    numbers = {
        "other": (other, over_documents(other, share=True)),
        "rises": (rises, over_documents(rises, share=True)),
        "by chance": (chance, none),
        "beyond": (other - chance, over_documents(other - chance)),
        "tvd": (elsewhere["tvd"].to_numpy(), none),
        "stays": (~elsewhere["flips"].to_numpy(bool), none),
    }
    rows = []
    for what, (values, interval) in numbers.items():
        statistic = np.median if what == "tvd" else np.mean
        rows.append([what, float(statistic(values)) if len(values) else np.nan, *interval, len(values)])
    return pd.DataFrame(rows, columns=["what", "mean", "low", "high", "n"])


def of_models(models: Mapping[tuple[str, str], Traces], weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """`shares` of several models, (corpus, encoder) -> traces: also columns corpus, encoder, n_seeds, counts.

    n_seeds: 1. counts: whether the model may enter a finding, neither generated nor weak (`pages.weak`).
    """
    parts = [
        shares(traces).assign(corpus=corpus, encoder=encoder, n_seeds=1, counts=counts(corpus, encoder, weak))
        for (corpus, encoder), traces in models.items()
    ]
    columns = ["what", "mean", "low", "high", "n", "corpus", "encoder", "n_seeds", "counts"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def entering(rows: pd.DataFrame, fewest: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of `other` of models that count: those of at least `fewest` documents, the others."""
    mine = rows[(rows["what"] == "other") & rows["counts"].astype(bool)]
    return mine[mine["n"] >= fewest], mine[mine["n"] < fewest]


def sampled(firsts: Mapping[str, Mapping[str, Result]], reasons: dict[tuple[str, str], str]) -> dict[str, Traces]:
    """Stored documents of models by `label`; firsts: encoder -> data set -> result. Results without traces are left
    out; what counts are documents of more than one item."""
    found = ((corpus, encoder, run.traces) for encoder, runs in firsts.items() for corpus, run in runs.items())
    return {
        label(corpus, encoder, reasons, int((traces.lengths > 1).sum())): traces
        for corpus, encoder, traces in found
        if traces is not None
    }


def label(corpus: str, encoder: str, reasons: dict[tuple[str, str], str], documents: int = FEWEST_DOCUMENTS) -> str:
    """'amazon HANrnn', with an asterisk where the model enters no finding: generated, weak or of too few documents."""
    may = counts(corpus, encoder, reasons) and documents >= FEWEST_DOCUMENTS
    return f"{corpus} {ENCODER_NAMES[encoder]}" + " *" * (not may)


# ---- in words --------------------------------------------------------------------------------------------------------


def named(row) -> str:
    """'amazon HANrnn', with an asterisk where the model does not count."""
    return f"{row.corpus} {ENCODER_NAMES[row.encoder]}{'' if row.counts else ' *'}"


def share_of(row) -> str:
    """'12% (10% to 14%) of 980'."""
    return f"{words.told(row.mean, row.low, row.high, '.0%', (0, 1))} of {row.n:,}"


def told(may: pd.DataFrame) -> str:
    """The shares of some models in one line."""
    return "; ".join(f"{named(row)} {share_of(row)}" for row in may.itertuples()) or NO_MODEL


def told_few(few: pd.DataFrame) -> str:
    """Models of too few documents."""
    return ", ".join(f"{named(row)} (n = {row.n})" for row in few.itertuples()) or "none"


def beside(rows: pd.DataFrame, may: pd.DataFrame) -> list[str]:
    """Base rate and difference of some models, for a list."""
    return [f"{named(row)}: {chance_of(rows, row)}" for row in may.itertuples()] or [NO_MODEL]


def findings(rows: pd.DataFrame, may: pd.DataFrame) -> list[str]:
    """Share, base rate and difference of some models, for a list."""
    return [f"{named(row)}: {share_of(row)}; {chance_of(rows, row)}" for row in may.itertuples()] or [NO_MODEL]


def chance_of(rows: pd.DataFrame, row) -> str:
    """'9% by chance, difference +3 (+1 to +5) points' of the model of a row."""
    chance, beyond = (number_of(rows, what, row) for what in ("by chance", "beyond"))
    points = (100 * value for value in (beyond.mean, beyond.low, beyond.high))
    return f"{chance.mean:.0%} by chance, difference {words.told(*points, '+.0f')} points"


def number_of(rows: pd.DataFrame, what: str, row):
    """Another number of the model of a row."""
    mine = (rows["corpus"] == row.corpus) & (rows["encoder"] == row.encoder)
    return next(rows[mine & (rows["what"] == what)].itertuples())


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`of_models` as a table to show; the last three columns are of the documents where it speaks for another class."""
    columns = [
        "model", "documents", "speaks for another class", "predicted class rises", "documents where it speaks so",
        "change of output", "decision stays",
    ]  # fmt: skip
    lines = []
    for row in rows[rows["what"] == "other"].itertuples():
        rises, tvd, stays = (number_of(rows, what, row) for what in ("rises", "tvd", "stays"))
        of_documents = [words.told(own.mean, own.low, own.high, ".0%", (0, 1)) for own in (row, rises)]
        of_those = [f"{own.mean:{form}}" if own.n else "–" for own, form in ((tvd, ".3f"), (stays, ".0%"))]
        lines.append([named(row), f"{row.n:,}", *of_documents, f"{tvd.n:,}", *of_those])
    return pd.DataFrame(lines, columns=columns)
