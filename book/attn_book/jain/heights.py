"""How high the searched JSDs of Jain & Wallace's own figures lie, for section 6."""

import pandas as pd

from attn_book import across, words
from attn_book.jain.tables import label, ordered


def authors_shares(above: float) -> pd.DataFrame:
    """The authors' share of documents with a searched JSD above a value: corpus, group (class), april, final."""
    where = {"encoder": "lstm", "attention": "tanh", "measure": "eps_max_jsd", "statistic": f"share_above_{above:g}"}
    rows = across.both_runs("jain_repo_svg_summaries", ["corpus", "class_name"], **where)
    return ordered(rows[rows["corpus"].isin(across.paper_sets())]).rename(columns={"class_name": "group"})


def authors_easy(threshold: float, above: float = 0.4) -> dict[str, object]:
    """The line of claim 7 drawn through the authors' own figures, mean of the classes, one training in each run.

    Keys above, below, split: data sets whose share exceeds the threshold in both runs, in neither, in one of them
    (names in words); told: the shares of those that are not above in both, a list; classes: classes of the final run
    that do not exceed it; final: whether the final run does, by data set.
    """
    by_class = authors_shares(above)
    sets = by_class.groupby("corpus", sort=False)[["april", "final"]].mean().dropna()
    over = sets > threshold
    missed = sets[~over.all(axis=1)]
    return {
        "above": words.listed(sets.index[over.all(axis=1)]), "below": words.listed(sets.index[~over.any(axis=1)]),
        "split": words.listed(sets.index[over["april"] != over["final"]]),
        "told": [f"{row.Index} {row.april:.2f} (April), {row.final:.2f} (final)" for row in missed.itertuples()],
        "classes": words.listed(label(by_class[by_class["final"] <= threshold])), "final": over["final"].to_dict(),
    }  # fmt: skip
