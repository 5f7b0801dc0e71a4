"""Is attention stable under seeds (Wiegreffe & Pinter 2019, section 3.3)? A row a data set, its verdict, and words.

The measure is the paper's: JSD (nats, 0 to ln 2) between the attention of the base of seed 10 and that of the same
model trained from another seed. Ours are the interval over further seeds (95 % Student t), the rule that it lies below
a threshold with its whole length, and the overlap of the most attended words. All is given that one base.

runs: of `runs.table`; rows: of `by_set`; documents: (data set, kind) -> `curves.figure_3_documents`.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.wiegreffe.curves import MODELS_3
from attn_book.wiegreffe.runs import of_role
from attn_book.words import listed, seeds_in_words, told
from attn_core.experiments import variance
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import LN2, bootstrap_interval, seed_interval

ANSWERS = {
    "stable": "stable",
    "not stable": "not stable",
    "undecided": "undecided",
    "few": "too few further seeds",
    "none": "no further seed",
}
"""Verdict of a data set -> in words; see `verdict`."""


def verdict(low: float, high: float, n_seeds: int, threshold: float) -> str:
    """A key of ANSWERS: where the interval of the mean JSD lies; 'undecided' holds the threshold.

    n_seeds: further ones; fewer than a verdict needs are 'few' or 'none'.
    """
    if n_seeds < HEADLINE_SEEDS:
        return "few" if n_seeds else "none"
    return "stable" if high < threshold else "not stable" if low > threshold else "undecided"


def per_document(seed_tables: dict[str, dict[int, pd.DataFrame]]) -> dict[tuple[str, str], pd.DataFrame | None]:
    """(data set, 'seeds') -> `variance.per_instance` over its further seeds; None without one.

    seed_tables: data set -> `runs.seed_tables`.
    """
    return {
        (corpus, "seeds"): variance.per_instance(list(tables.values())) if tables else None
        for corpus, tables in seed_tables.items()
    }


def by_set(
    runs: pd.DataFrame,
    seed_tables: dict[str, dict[int, pd.DataFrame]],
    documents: dict[tuple[str, str], pd.DataFrame | None],
    threshold: float,
) -> pd.DataFrame:
    """One row per data set of `seed_tables`: how far its further seeds lie from the base, and the verdict.

    Columns corpus; mean, low, high, n_seeds (of one mean JSD a seed, over the whole test set), lies (`verdict`);
    n_tables (further seeds with documents), n_documents (stored of each of these), median (over the documents, of the
    median over seeds), overlap, overlap_low, overlap_high (`variance.top_overlap`: mean over documents, then seeds);
    paper (mean of its seeds on Figure 5). NaN where there is none.
    """
    theirs, rows = paper_seeds()["mean"], []
    for corpus, tables in seed_tables.items():
        means = of_role(runs, corpus, "base")["jsd"].dropna().to_numpy(float)
        low, high = seed_interval(means)
        overlaps = np.array([table["overlap"].mean() for table in tables.values()])
        overlap_low, overlap_high = seed_interval(overlaps)
        both = documents[corpus, "seeds"]
        rows.append({
            "corpus": corpus, "mean": means.mean() if len(means) else np.nan, "low": low, "high": high,
            "n_seeds": len(means), "lies": verdict(low, high, len(means), threshold), "n_tables": len(tables),
            "n_documents": 0 if both is None else len(both),
            "median": np.nan if both is None else both["median"].median(),
            "overlap": overlaps.mean() if len(overlaps) else np.nan,
            "overlap_low": overlap_low, "overlap_high": overlap_high, "paper": theirs.get(corpus, np.nan),
        })  # fmt: skip
    return pd.DataFrame(rows)


# ---- the paper's own -------------------------------------------------------------------------------------------------


def paper_seeds() -> pd.DataFrame:
    """Data set -> mean, farthest: JSD of the paper's further seeds to its base, measured on a picture of Figure 5."""
    read = reported("wiegreffe_figure5_digitised", model="random_seed", measure="JSD_attention_vs_base")
    return read.groupby("corpus")["value"].agg(mean="mean", farthest="max")


def told_farthest(threshold: float) -> str:
    """'imdb 0.107, sst 0.083': the paper's farthest seed of each data set, where it lies under the threshold."""
    farthest = paper_seeds()["farthest"]
    return listed(f"{corpus} {value:.3f}" for corpus, value in farthest[farthest < threshold].items())


def told_read(corpus: str, kind: str, side: str) -> str:
    """'0.41, 0.43, 0.44, 0.24': the paper's medians by bin of the largest weight, measured on a picture of Figure 3.

    kind: 'seeds' or 'search'; side: 'neg' or 'pos', the predicted class.
    """
    (model,) = (name for name, known in MODELS_3.items() if known == kind)
    read = reported("wiegreffe_figure3_digitised", corpus=corpus, statistic="median", model=model)
    return ", ".join(f"{value:.2f}" for value in read[read["measure"].str.endswith(side)]["value"])


# ---- words -----------------------------------------------------------------------------------------------------------


def told_distance(row) -> str:
    """'0.061 (0.055 to 0.067) with 9 seeds'; row: of `by_set`, as a named tuple."""
    return f"{told(row.mean, row.low, row.high, '.3f')} with {seeds_in_words(row.n_seeds)}"


def told_sets(rows: pd.DataFrame) -> list[str]:
    """'sst: stable, 0.061 (0.055 to 0.067) with 9 seeds', a text a data set."""
    return [
        f"{r.corpus}: {ANSWERS[r.lies]}" + (f", {told_distance(r)}" if r.n_seeds else "") for r in rows.itertuples()
    ]


def told_side(rows: pd.DataFrame, lies: str) -> str:
    """The data sets of one verdict with their distances, where they have any; 'none' for no set."""
    part = rows[rows["lies"] == lies]
    return listed(f"{r.corpus} {told_distance(r)}" if r.n_seeds else r.corpus for r in part.itertuples())


def told_violins(
    rows: pd.DataFrame, documents: dict[tuple[str, str], pd.DataFrame | None], corpora: Iterable[str]
) -> str:
    """'sst 9 further seeds, 500 documents of each, and 400 of the trace sample': what the violins show."""
    by_name, parts = rows.set_index("corpus"), []
    for corpus in corpora:
        row, searched = by_name.loc[corpus], documents[corpus, "search"]
        count = 0 if searched is None else len(searched)
        parts.append(
            f"{corpus} {row['n_tables']} further seeds, {row['n_documents']:,} documents of each, and {count:,} of the "
            "trace sample"
        )
    return "; ".join(parts)


def told_median(documents: pd.DataFrame | None, column: str) -> str:
    """'0.093 (0.081 to 0.104)': median JSD over documents with its 95 % bootstrap interval over these."""
    if documents is None:
        return "no run"
    values = documents[column].dropna().to_numpy(float)
    return told(np.median(values), *bootstrap_interval(values, statistic=np.median), ".3f", (0, LN2))


def told_outliers(seeds: pd.DataFrame | None, searched: pd.DataFrame | None) -> str:
    """'98% (97% to 99%) of 400 documents': those whose searched adversary lies farther away than every further seed.

    Its two adversaries' median, as the authors take them; over the documents of both, with bootstrap interval.
    """
    if seeds is None or searched is None:
        return "not computed, for want of further seeds"
    both = seeds.merge(searched, on="doc_id")
    outlier = (both["two"] > both["max"]).to_numpy(float)
    return f"{told(outlier.mean(), *bootstrap_interval(outlier), '.0%', (0, 1))} of {len(both)} documents"


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `by_set` as the page shows them, a line a data set."""
    lines = [
        {
            "data": r.corpus,
            "further seeds": r.n_seeds,
            "mean JSD": told(r.mean, r.low, r.high, ".3f", (0, LN2)),
            "paper, mean of 8": "–" if np.isnan(r.paper) else f"{r.paper:.3f}",
            "median over documents": "–" if np.isnan(r.median) else f"{r.median:.3f}",
            "overlap of top five": told(r.overlap, r.overlap_low, r.overlap_high, ".2f", (0, 1)),
            "documents of both": f"{r.n_documents:,}" if r.n_documents else "–",
            "attention under seeds": ANSWERS[r.lies],
        }
        for r in rows.itertuples()
    ]
    return pd.DataFrame(lines)
