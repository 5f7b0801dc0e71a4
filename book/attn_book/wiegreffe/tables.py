"""The tables of Wiegreffe & Pinter's pages: ours beside the paper's, for whatever runs there are.

All take `runs`, of `runs.table`, and return a DataFrame to show or to draw. The medical data sets
stay in the tables with the authors' numbers alone, 'not rerun'; other sets without runs say 'no run'.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.wiegreffe.runs import PAPER_SETS, f1_by_seed
from attn_book.words import number as shown
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import seed_interval

NOT_RERUN, NO_RUN = "not rerun", "no run"
"""Of data sets that need credentials; of all others."""

MARGIN = 0.01
"""F1 by which attention must beat uniform weights to count as needed: no gap of the three sets exceeds it that the
paper calls unfit or borderline (SST, AG News, 20 Newsgroups). The rule was committed before any uniform run."""

ANSWERS = {"needed": "attention is needed", "not needed": "attention is not needed", "undecided": "undecided"}
"""Interval of the gap above MARGIN; below it; around it. Fewer than five seeds decide nothing."""

OPEN = "open"
"""The answer while planned pairs of seeds are missing: which of them are made first must not decide."""

COLUMNS_2 = {
    "bilstm_attention_reported_by_jain_wallace_2019": "jain", "bilstm_attention_reproduced": "paper_base",
    "bilstm_uniform_frozen": "paper_uniform",
}  # fmt: skip


# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def gaps(
    runs: pd.DataFrame, corpora: Iterable[str] = PAPER_SETS, planned: dict[str, int] | None = None
) -> pd.DataFrame:
    """Base and uniform model over the seeds that both have, one row per data set and choice of checkpoint.

    planned: corpus -> pairs of seeds that ought to be there; by default as many as one of the two models has seeds.

    Columns corpus, chosen ('test' as the authors, 'dev'); jain, paper_base, paper_uniform, paper_gap (Table 2); base,
    base_low, base_high, uniform, uniform_low, uniform_high (F1 of class 1, 95 % Student t over the pairs' seeds; a
    model without any partner over its own), n_base, n_uniform (seeds of these two); gap, low, high, n_seeds
    (differences within seeds), n_planned, answer: a key of ANSWERS, OPEN while pairs are missing, '' with fewer than
    five seeds or no run.
    """
    printed = (
        reported("wiegreffe_table2_f1_uniform")
        .pivot(index="corpus", columns="model", values="value")
        .rename(columns=COLUMNS_2)
    )
    rows = []
    for corpus in corpora:
        theirs = printed.loc[corpus].to_dict() if corpus in printed.index else dict.fromkeys(COLUMNS_2.values(), np.nan)
        for chosen in ("test", "dev"):
            base, uniform = (f1_by_seed(runs, corpus, name, chosen) for name in ("base", "uniform model"))
            gap = (base - uniform).dropna()
            wanted = max((planned or {}).get(corpus, 0), len(base.index.union(uniform.index)))
            if len(gap):
                base, uniform = base[gap.index], uniform[gap.index]
            row = {
                "corpus": corpus,
                "chosen": chosen,
                **theirs,
                "paper_gap": theirs["paper_base"] - theirs["paper_uniform"],
            }
            for name, prefix, values in (
                ("base", "base_", base),
                ("uniform", "uniform_", uniform),
                ("gap", "", gap),
            ):
                low, high = seed_interval(values.to_numpy(float))
                row |= {name: values.mean(), f"{prefix}low": low, f"{prefix}high": high}
            sizes = {"n_base": len(base), "n_uniform": len(uniform)}
            rows.append(row | sizes | {"n_seeds": len(gap), "n_planned": wanted})
    found = pd.DataFrame(rows)
    decided = [answer(row.low, row.high, row.n_seeds) for row in found.itertuples()]
    return found.assign(
        answer=[
            OPEN if key and row.n_seeds < row.n_planned else key
            for key, row in zip(decided, found.itertuples(), strict=True)
        ]
    )


def answer(low: float, high: float, n_seeds: int, margin: float = MARGIN) -> str:
    """Whether a data set needs attention, by the interval of the gap over seeds; see ANSWERS."""
    if n_seeds < HEADLINE_SEEDS or not np.isfinite(low):
        return ""
    return "needed" if low > margin else "not needed" if high < margin else "undecided"


def digits(low: float, high: float, bound: float = MARGIN, form: str = ".3f") -> str:
    """The form, with four digits for three where an end of an interval would be printed as the bound it must clear."""
    same = shown(bound, form) in (shown(low, form), shown(high, form))
    return form.replace(".3f", ".4f") if same else form


