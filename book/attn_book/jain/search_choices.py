"""Choices about adversaries and how far they move a number: the ε of the selection, and the search itself.

ε: archived seed summaries, one model per data set; a table by seed comes from `by_epsilon`. Search: documents of one
run under each of `variants.SEARCHES`, searched live. A flip is a choice that puts a mean or share on the other side of
the threshold of its claim; flips compare means and know no interval.
"""

import pandas as pd

from attn_book.jain import variants
from attn_book.words import bounds, told
from attn_core.archive import Result
from attn_core.measures import bootstrap_interval, seed_interval

EPSILONS = ("0.05", "0.01")
"""The authors' code, and the paper's text for classification; as summaries write them."""

CODE = variants.SEARCHES["jsd", "code"]
"""The search that the others are held against."""

MINUS = "minus the code's"

YARDSTICKS = {
    "jsd_exact": "exact optimum",
    "jsd_lower": "best found",
    "ceiling": "ceiling",
    "jsd_shuffled": "shuffled",
    "jsd_permutation": "permuted",
}
"""Columns of `adversarial` beside the searches, in words."""


# ---- ε ---------------------------------------------------------------------------------------------------------------


def at(epsilon: str) -> dict[str, tuple[str, str, str]]:
    """The statistics at one ε, as `variants.values` takes them: heading -> (statistic, predicted, measure)."""
    return {
        "searched": (f"jsd_search@{epsilon}", "all", "mean"),
        "above 0.4": (f"jsd_search@{epsilon}", "all", "share_above_0.4"),
        "exact": (f"jsd_exact@{epsilon}", "all", "mean"),
        "best found": (f"jsd_lower@{epsilon}", "all", "mean"),
        "ceiling": ("ceiling", "all", "mean"),
        "exact / ceiling": (f"ratio_exact@{epsilon}", "all", "mean"),
        "best / ceiling": (f"ratio_lower@{epsilon}", "all", "mean"),
        "shuffled": (f"jsd_shuffled@{epsilon}", "all", "mean"),
        "permuted": (f"jsd_permutation@{epsilon}", "all", "mean"),
    }


def by_epsilon(found: list[Result]) -> dict[str, pd.DataFrame]:
    """ε -> one row per seed, a column for each heading of `at` that the runs have. found: runs of one model."""
    return {e: variants.values(found, at(e)).pivot(index="seed", columns="measure", values="value") for e in EPSILONS}


def epsilon_table(sets: dict[str, dict[str, pd.DataFrame]]) -> pd.DataFrame:
    """Means over seeds with their intervals, a row for each data set and ε. sets: corpus -> `by_epsilon`."""
    rows = [
        {"data": name, "ε": e}
        | {
            column: told(part[column].mean(), *seed_interval(part[column].to_numpy()), bounds=bounds(*place[::2]))
            for column, place in at(e).items()
            if column in part
        }
        for name, both in sets.items()
        for e, part in both.items()
    ]
    table = pd.DataFrame(rows, columns=["data", "ε", *at(EPSILONS[0])])
    return table.dropna(axis="columns", how="all").fillna("–")


def told_moved(sets: dict[str, dict[str, pd.DataFrame]]) -> list[str]:
    """How far the mean searched JSD moves when ε is raised from 0.01 to 0.05, seed by seed; a data set an item."""
    moved = {name: (both["0.05"]["searched"] - both["0.01"]["searched"]).to_numpy() for name, both in sets.items()}
    return [f"{name}: {told(change.mean(), *seed_interval(change), '.3f')}" for name, change in moved.items()]


def epsilon_flips(sets: dict[str, dict[str, pd.DataFrame]], easy: float) -> list[str]:
    """Data sets whose mean share of documents above a JSD of 0.4 lies on another side of `easy` at the other ε."""
    shares = {name: [both[e]["above 0.4"].mean() for e in EPSILONS] for name, both in sets.items()}
    return [
        f"ε on {name} (share {first:.2f} at 0.05, {second:.2f} at 0.01)"
        for name, (first, second) in shares.items()
        if (first > easy) != (second > easy)
    ]


# ---- search ----------------------------------------------------------------------------------------------------------


def search_table(found: pd.DataFrame, held: pd.DataFrame) -> pd.DataFrame:
    """Each search, then its yardsticks: mean JSD over documents, the difference to the code's search, share above 0.4.

    found: of `variants.searches`; held: of `adversarial` on the same documents. Intervals over documents (bootstrap).
    """
    columns = {title: found[title, "jsd"].to_numpy() for title in variants.SEARCHES.values()}
    against = {title: jsd - columns[CODE] for title, jsd in columns.items() if title != CODE}
    columns |= {
        title: held[column].dropna().to_numpy()
        for column, title in YARDSTICKS.items()
        if column in held and held[column].notna().any()
    }
    with_interval = lambda values: told(values.mean(), *bootstrap_interval(values), ".3f")
    return pd.DataFrame(
        [
            {
                "search": title,
                "mean JSD": with_interval(jsd),
                MINUS: with_interval(against[title]) if title in against else "–",
                "above 0.4": f"{(jsd > 0.4).mean():.0%}",
            }
            for title, jsd in columns.items()
        ]
    )


def told_versus(table: pd.DataFrame) -> list[str]:
    """The other searches' differences to the code's, a search an item; table: of `search_table`."""
    others = table[table["search"].isin(variants.SEARCHES.values()) & (table["search"] != CODE)]
    return [f"{title}: {text}" for title, text in zip(others["search"], others[MINUS], strict=True)]


def told_optimum(table: pd.DataFrame) -> str:
    """The optimum's mean JSD, or its lower end."""
    known = table.loc[table["search"].isin(("exact optimum", "best found")), "mean JSD"]
    return known.iloc[0] if len(known) else "not known"


def search_flips(found: pd.DataFrame, corpus: str, easy: float) -> list[str]:
    """Searches whose share of documents above a JSD of 0.4 lies on another side of `easy` than the code's."""
    shares = {title: float((found[title, "jsd"] > 0.4).mean()) for title in variants.SEARCHES.values()}
    return [
        f"search on {corpus}: {title} (share {share:.0%}, code's search {shares[CODE]:.0%})"
        for title, share in shares.items()
        if (share > easy) != (shares[CODE] > easy)
    ]
