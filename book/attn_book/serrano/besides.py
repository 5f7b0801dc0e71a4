"""What the authors' code computes beside the paper's experiments (specification, section 4.5), on stored documents.

Whether the gradient wins on the same documents in different models; what evenness of attention has to do with the
fraction removed; how firm the decisions are that never flip. The numbers that the authors' scripts print of these were
not found.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import entr
from scipy.stats import bootstrap, spearmanr

from attn_core.experiments.erasure import derived, removals
from attn_core.experiments.removal import NEVER
from attn_core.experiments.single import distributions
from attn_core.experiments.tables import totals
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces

RACERS = ("han_rnn", "han_conv", "flan_rnn", "flan_conv")
"""The models of which the authors compare the documents on which the gradient wins."""

RESAMPLES = 1_000


def interval(statistic, *columns: np.ndarray) -> tuple[float, float]:
    """95 % percentile bootstrap over documents of a statistic of paired columns; NaN of fewer than two documents."""
    if len(columns[0]) < 2 or any(np.ptp(column) == 0 for column in columns):
        return np.nan, np.nan
    found = bootstrap(
        columns, statistic, paired=True, vectorized=False, n_resamples=RESAMPLES, method="percentile", rng=0
    ).confidence_interval
    return float(found.low), float(found.high)


def overlaps(documents: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Documents on which the gradient order wins the race, of pairs of models of one data set: one row per pair.

    documents: encoder -> document table of one data set. Columns first, second, both (share of documents where it wins
    in both), independent (product of the two shares), difference, low, high (bootstrap over documents), n. Over the
    documents that both tables hold and that have more than one item in both; FLANs race over words, so that with a HAN
    in the pair these are documents of more than one sentence, as in the authors' code.
    """
    wins = {
        name: derived(table[table["n"] > 1]).set_index("doc_id")["gradient_first"] for name, table in documents.items()
    }
    rows = []
    for first, second in combinations([name for name in RACERS if name in wins], 2):
        pair = pd.concat([wins[first], wins[second]], axis=1, join="inner").dropna().to_numpy(float)
        if not len(pair):
            continue
        a, b = pair.T
        gap = lambda a, b: (a * b).mean() - a.mean() * b.mean()
        rows.append([first, second, (a * b).mean(), a.mean() * b.mean(), gap(a, b), *interval(gap, a, b), len(pair)])
    return pd.DataFrame(rows, columns=["first", "second", "both", "independent", "difference", "low", "high", "n"])


def unevenness(traces: Traces) -> pd.DataFrame:
    """Divergence of attention from even weights, in nats, a row per document of more than one item: doc_id, kl, js,
    fraction (of items removed under attention; NaN where the decision never flips).

    kl = ln n - H(attention).
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    weight, even = traces.attention, np.repeat(1.0 / traces.lengths, traces.lengths)
    removed = removals(traces, rankings=("attention",))["removed_attention"].to_numpy(float)
    return pd.DataFrame({
        "doc_id": traces.doc_id,
        "kl": np.maximum(np.log(traces.lengths) - totals(entr(weight), traces.offsets), 0.0),
        "js": jsd_ragged(weight, even, traces.offsets),
        "fraction": np.where(removed == NEVER, np.nan, removed / traces.lengths),
    })  # fmt: skip


def evenness_and_removal(traces: Traces) -> dict[str, float]:
    """Spearman correlation of the fraction removed under attention with KL and JS from even weights, where it flips.

    kl, kl_low, kl_high, js, js_low, js_high (bootstrap over documents), n. NaN where it is not defined.
    """
    table = unevenness(traces).dropna()
    found = {"n": len(table)}
    for name in ("kl", "js"):
        x, y = table[name].to_numpy(), table["fraction"].to_numpy()
        defined = len(table) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0
        rank = lambda x, y: spearmanr(x, y).statistic
        low, high = interval(rank, x, y) if defined else (np.nan, np.nan)
        found |= {name: float(rank(x, y)) if defined else np.nan, f"{name}_low": low, f"{name}_high": high}
    return found


def firmness(traces: Traces) -> dict[str, float]:
    """Entropy of the output, in nats, where the decision never flips under attention's order and where it flips.

    never, flips: means; never_n, flips_n: documents of more than one item; difference, low, high: never minus flips,
    bootstrap over the documents of each. Documents that never flip have the class that the bias alone gives.
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    entropy = entr(distributions(traces.logits)).sum(axis=1)
    never = (removals(traces, rankings=("attention",))["removed_attention"] == NEVER).to_numpy()
    sides = entropy[never], entropy[~never]
    low = high = np.nan
    if min(map(len, sides)) > 1:
        gap = lambda a, b: a.mean() - b.mean()
        found = bootstrap(
            sides, gap, vectorized=False, n_resamples=RESAMPLES, method="percentile", rng=0
        ).confidence_interval
        low, high = float(found.low), float(found.high)
    means = [float(side.mean()) if len(side) else np.nan for side in sides]
    counts = {"never_n": len(sides[0]), "flips_n": len(sides[1])}
    return {"never": means[0], "flips": means[1], **counts, "difference": means[0] - means[1], "low": low, "high": high}
