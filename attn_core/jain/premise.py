"""Does a model of inference read its premise? Accuracy with shuffled premises beside the standard runs', seed by seed.

Not in the paper. A model trained and tested on shuffled premises can only use the hypothesis.
"""

import numpy as np
import pandas as pd

from attn_core.across import seeds_in_words
from attn_core.archive import ENCODER_NAMES
from attn_core.jain.variants import stored
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS, Run

SHUFFLED = (("premise", "shuffled"),)


def control(corpus: str = "snli", encoders: tuple[str, ...] = ("lstm", "average"), seeds: int = 3) -> pd.DataFrame:
    """One row per encoder with stored pairs of runs: encoder, own and shuffled (mean accuracy over the shared seeds),
    difference, low, high (Student t on the pairs' differences), n_seeds, majority (share of the largest test class)."""
    rows = []
    for encoder in encoders:
        found = {}
        for name, options in (("own", ()), ("shuffled", SHUFFLED)):
            results, _ = stored(Run(corpus, encoder, seed=seed, options=options) for seed in SEEDS[:seeds])
            found[name] = {result.record["run"]["seed"]: result.record for result in results}
        shared = sorted(found["own"].keys() & found["shuffled"].keys(), key=SEEDS.index)
        if not shared:
            continue
        own, other = (np.array([found[name][seed]["accuracy"] for seed in shared]) for name in ("own", "shuffled"))
        low, high = seed_interval(own - other)
        counts = found["own"][shared[0]]["statistics"]["splits"]["test"]["per_class"]
        rows.append(
            [encoder, own.mean(), other.mean(), (own - other).mean(), low, high, len(shared), max(counts) / sum(counts)]
        )
    names = ["encoder", "own", "shuffled", "difference", "low", "high", "n_seeds", "majority"]
    return pd.DataFrame(rows, columns=names)


def told(table: pd.DataFrame) -> str:
    """What the control says, one sentence for each encoder."""
    if table.empty:
        return "Whether the premise is used was not tested: no run with shuffled premises is stored."
    sentences = []
    for row in table.itertuples():
        known = np.isfinite(row.low)
        interval = f" ({row.low:.3f} to {row.high:.3f})" if known else ""
        verdict = "one seed decides nothing"
        if known:
            verdict = "the premise is used" if row.low > 0 else "no use of the premise is shown"
        sentences.append(
            f"{ENCODER_NAMES[row.encoder]}: accuracy {row.own:.3f} with the own premise, {row.shuffled:.3f} with "
            f"another pair's (always the most frequent answer: {row.majority:.3f}), "
            f"difference {row.difference:+.3f}{interval} over {seeds_in_words(row.n_seeds)}: {verdict}."
        )
    return " ".join(sentences)
