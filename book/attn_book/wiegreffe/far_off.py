"""Trainings of Wiegreffe & Pinter's section 3.2 whose F1 lies far off that of all other seeds of their model."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.wiegreffe.runs import f1_by_seed, of_role
from attn_book.wiegreffe.tables import MARGIN
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import seed_interval

FAR_OFF = 5.0
"""Standard deviations of the other seeds from which a training is told apart as far off them."""


def is_far(own: float, others: pd.Series) -> bool:
    """Whether a value lies FAR_OFF standard deviations of the others, and MARGIN, from their mean."""
    return abs(own - others.mean()) > max(MARGIN, FAR_OFF * others.std(ddof=1))


def far_off(runs: pd.DataFrame, corpora: Iterable[str]) -> pd.DataFrame:
    """Trainings of a pair's models whose F1 lies far off all others of their model.

    Far: `is_far`. One row per training and choice of checkpoint. Columns
    corpus, role, seed, chosen, f1, others (mean F1 of the other seeds), elsewhere (F1 of the same training's other
    checkpoint), auc, auc_elsewhere (on the test set), low, high (of the gap with this pair), low_without, high_without
    (of the gap without it).
    """
    rows = []
    for corpus in corpora:
        for chosen, other in (("dev", "test"), ("test", "dev")):
            f1 = {name: f1_by_seed(runs, corpus, name, chosen) for name in ("base", "uniform model")}
            gap = (f1["base"] - f1["uniform model"]).dropna()
            for name, values in f1.items():
                values = values[values.index.isin(gap.index)]
                for seed in values.index if len(values) >= HEADLINE_SEEDS else ():
                    rest, own = values.drop(seed), values[seed]
                    if not is_far(own, rest):
                        continue
                    auc = {
                        key: of_role(runs, corpus, name, key).set_index("seed")["result"].get(seed)
                        for key in (chosen, other)
                    }
                    auc = {
                        key: np.nan if result is None else result.record.get("auc", np.nan)
                        for key, result in auc.items()
                    }
                    rows.append([corpus, name, seed, chosen, own, rest.mean(),
                                 f1_by_seed(runs, corpus, name, other).get(seed, np.nan), auc[chosen], auc[other],
                                 *seed_interval(gap.to_numpy(float)),
                                 *seed_interval(gap.drop(seed).to_numpy(float))])  # fmt: skip
    columns = [
        "corpus",
        "role",
        "seed",
        "chosen",
        "f1",
        "others",
        "elsewhere",
        "auc",
        "auc_elsewhere",
        "low",
        "high",
        "low_without",
        "high_without",
    ]
    return pd.DataFrame(rows, columns=columns)


def told_far_off(rows: pd.DataFrame) -> str:
    """Rows of `far_off` in a sentence each; says so where there is none."""
    words = {"dev": "development data", "test": "the test set"}
    parts = []
    for r in rows.itertuples():
        side = "widens" if r.high - r.low > r.high_without - r.low_without else "narrows"
        text = (
            f"On {r.corpus} one training is far off the others: seed {r.seed} of the {r.role.removesuffix(' model')} "
            f"model has F1 {r.f1:.3f} with the checkpoint chosen on {words[r.chosen]}, the other seeds {r.others:.3f} "
            "on average."
        )
        if np.isfinite(r.elsewhere):
            text += f" Its checkpoint chosen on {words['test' if r.chosen == 'dev' else 'dev']} has {r.elsewhere:.3f}"
            text += (
                f" (ROC AUC on the test set {r.auc:.3f} and {r.auc_elsewhere:.3f})"
                if np.isfinite([r.auc, r.auc_elsewhere]).all()
                else ""
            )
            text += (
                ": checkpoints are chosen by ROC AUC, which takes no threshold, while F1 depends on the threshold 0.5."
            )
        parts.append(
            f"{text} It {side} the interval of the gap: {r.low:.3f} to {r.high:.3f} with it, "
            f"{r.low_without:.3f} to {r.high_without:.3f} without."
        )
    return " ".join(parts) or "No training is far off the others of its model."
