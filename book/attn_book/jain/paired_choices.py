"""Choices compared seed by seed, and how far they move a number: the checkpoint, and the width of the encoder.

All take rows of `variants.paired`: `chosen` with the checkpoint of the test set as variant, `wide` with wide encoders.
A flip is a choice that puts a mean τ on the other side of the threshold of claim 1; flips compare means and know no
interval.
"""

import pandas as pd

from attn_book.jain import variants
from attn_book.reported import APRIL_RUN, FINAL_RUN, reported
from attn_book.words import ENCODER_NAMES, seeds_in_words, spoken, told
from attn_core.archive import Result
from attn_core.index import side

SCORES = {
    "accuracy": ("accuracy", "all", "value"),
    "ROC AUC": ("auc", "all", "value"),
    "τ gradient": ("tau_attention_gradient", "all", "mean"),
    "τ leave-one-out": ("tau_attention_loo", "all", "mean"),
    "median change": ("median_change", "all", "median"),
}
"""What is compared: heading -> (statistic, predicted, measure) of the summaries."""

WIDE = {"cnn": (("sst", "20news"), 64), "lstm": (("babi_1",), 128)}
"""Encoder -> data sets with wide runs, and `hidden` of these; the grid of data/sweeps/jain-widths.yml."""

AUTHORS_WIDTHS = {"April, wide": APRIL_RUN, "final, narrow": FINAL_RUN}


# ---- checkpoint ------------------------------------------------------------------------------------------------------


def checkpoint_table(chosen: pd.DataFrame) -> pd.DataFrame:
    """Both checkpoints' means over the seeds that have both, and their difference with its interval."""
    return pd.DataFrame(
        [
            {
                "data": r.corpus,
                "encoder": ENCODER_NAMES[r.encoder],
                "value": r.measure,
                "seeds": r.n_seeds,
                "chosen on dev": f"{r.standard:.3f}",
                "chosen on test": f"{r.variant:.3f}",
                "difference": told(r.difference, r.low, r.high, ".3f"),
            }
            for r in chosen.itertuples()
        ]
    )


def checkpoint_numbers(chosen: pd.DataFrame) -> dict[str, int | str | list[str]]:
    """What the prose quotes of them.

    n_chosen: differences; n_counted: of them those that may count among chance differences (`variants.comparable`), and
    n_apart those of these whose interval excludes zero; apart_names: a list of all such, counted or not. most: the
    largest change of a mean τ; gain: the median change of accuracy.
    """
    counted = variants.comparable(chosen)
    excludes = side(chosen, 0, fewest=0).isin(["above", "below"])
    taus, scores = taus_of(chosen), chosen.loc[chosen["measure"] == "accuracy", "difference"]
    return {
        "n_chosen": len(chosen),
        "n_counted": int(counted.sum()),
        "n_apart": int((counted & excludes).sum()),
        "apart_names": spoken(
            {
                "Counted, with an interval that excludes zero": told_apart(chosen[counted & excludes]),
                "Not counted, with such an interval": told_apart(chosen[~counted & excludes]),
            }
        ),
        "most": f"{taus['difference'].abs().max():.2f}" if len(taus) else "–",
        "gain": f"{scores.median():+.3f}" if len(chosen) else "–",
    }


def taus_of(chosen: pd.DataFrame) -> pd.DataFrame:
    """The rows about correlations."""
    return chosen[chosen["measure"].str.startswith("τ")]


def told_apart(part: pd.DataFrame) -> str:
    """Differences in words: 'sst BiLSTM, accuracy: +0.010, 5 seeds; ...'."""
    return "; ".join(
        f"{r.corpus} {ENCODER_NAMES[r.encoder]}, {r.measure}: {r.difference:+.3f}, {seeds_in_words(r.n_seeds)}"
        for r in part.itertuples()
    )


def checkpoint_flips(chosen: pd.DataFrame, weak: float) -> list[str]:
    """Correlations on the other side of `weak` with the other checkpoint."""
    return [
        f"selection on {r.corpus} {ENCODER_NAMES[r.encoder]}, {r.measure} ({r.standard:.3f} and {r.variant:.3f})"
        for r in taus_of(chosen).itertuples()
        if (r.standard < weak) != (r.variant < weak)
    ]


def covering(ours: dict[tuple[str, str], list[Result]], chosen: pd.DataFrame) -> pd.DataFrame:
    """`across.coverage` of the compared data sets, with the fewest and most seeds that have both checkpoints.

    ours: of `variants.standard`.
    """
    pairs = chosen.groupby("corpus")["n_seeds"].agg(["min", "max"])
    rows = variants.covering(ours, ("lstm", "average"))
    rows = rows[rows["corpus"].isin(pairs.index)]
    return rows.assign(n_seeds=rows["corpus"].map(pairs["min"]), most_seeds=rows["corpus"].map(pairs["max"]))


# ---- width -----------------------------------------------------------------------------------------------------------


def widths(corpora: list[str], seeds: int) -> tuple[pd.DataFrame, list[str]]:
    """Wide runs (WIDE) beside standard ones, mean τ with gradients and accuracy; a line for each absent width."""
    measures, parts, lines = {name: SCORES[name] for name in ("τ gradient", "accuracy")}, [], []
    for encoder, (wide, hidden) in WIDE.items():
        names = [name for name in corpora if name in wide]
        part, missing = variants.paired(names, [encoder], seeds, measures, hidden=hidden)
        parts, lines = [*parts, part], [*lines, *missing]
    return pd.concat(parts), lines


def by_corpus(wide: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One measure of `widths`, indexed by data set; each has one encoder."""
    return wide[wide["measure"] == measure].set_index("corpus")


def authors_by_width(corpus: str, encoder: str) -> dict[str, float]:
    """The authors' mean τ with gradients, mean of their class means, in their wide and their narrow run."""
    rows = reported(
        "jain_repo_correlations", measure="tau_gradient", statistic="mean", attention="tanh", corpus=corpus,
        encoder=encoder,
    )  # fmt: skip
    named = rows[rows["class_name"].notna()]  # beside classes by name, 'Overall' is an extra of the final run
    rows = named if len(named) else rows
    return {word: rows.loc[rows["snapshot"] == run, "value"].mean() for word, run in AUTHORS_WIDTHS.items()}


def width_table(corpora: list[str], wide: pd.DataFrame) -> pd.DataFrame:
    """The authors' τ at both widths and ours where they are archived, a data set a row; '–' where there is none."""
    taus, scores, rows = by_corpus(wide, "τ gradient"), by_corpus(wide, "accuracy"), []
    for name in corpora:
        encoder = "lstm" if name.startswith("babi") else "cnn"
        theirs = authors_by_width(name, encoder)
        row = {"data": name, "model": encoder} | {f"authors, {word}": f"{value:.2f}" for word, value in theirs.items()}
        if name in taus.index:
            tau, score = taus.loc[name], scores.loc[name]
            row |= {
                "seeds of ours": str(tau["n_seeds"]),
                "ours, wide": f"{tau['variant']:.2f}",
                "ours, narrow": f"{tau['standard']:.2f}",
                "wide minus narrow": told(tau["difference"], tau["low"], tau["high"]),
                "accuracy, wide": f"{score['variant']:.2f}",
                "accuracy, narrow": f"{score['standard']:.2f}",
            }
        rows.append(row)
    return pd.DataFrame(rows).fillna("–")


def width_flips(wide: pd.DataFrame, weak: float) -> list[str]:
    """Data sets whose mean τ lies on the other side of `weak` with a wide encoder."""
    return [
        f"width on {name} ({r.standard:.2f} and {r.variant:.2f})"
        for name, r in by_corpus(wide, "τ gradient").iterrows()
        if (r.standard < weak) != (r.variant < weak)
    ]


def told_widths(wide: pd.DataFrame) -> list[str]:
    """Wide minus narrow, with the accuracy of both; a data set an item."""
    scores = by_corpus(wide, "accuracy")
    return [
        f"{name} {ENCODER_NAMES[r.encoder]}: {told(r.difference, r.low, r.high)}, {r.n_seeds} seeds, accuracy "
        f"{scores.loc[name, 'standard']:.2f} narrow and {scores.loc[name, 'variant']:.2f} wide"
        for name, r in by_corpus(wide, "τ gradient").iterrows()
    ]


def told_farthest(chosen: pd.DataFrame, wide: pd.DataFrame) -> str:
    """The largest move of a mean τ by one of the two choices, and where; 'none' where nothing was compared."""
    model = lambda r: f"{r.corpus} {ENCODER_NAMES[r.encoder]}"
    moves = {f"width, {model(r)}, {seeds_in_words(r.n_seeds)}": r.difference for r in taus_of(wide).itertuples()} | {
        f"checkpoint, {model(r)}, {r.measure}, {seeds_in_words(r.n_seeds)}": r.difference
        for r in taus_of(chosen).itertuples()
    }
    farthest = max(moves, key=lambda place: abs(moves[place]), default=None)
    return f"{moves[farthest]:+.2f} ({farthest})" if farthest else "none"
