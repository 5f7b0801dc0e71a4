"""Trained adversaries in words: how long they were trained, what their curves give, where other points lie beside them.

For the page on section 4 and the table of differences in 3.1. runs: of `runs.table`; points: of
`curves.figure_5`.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.wiegreffe.pages import counted
from attn_book.wiegreffe.runs import adversaries, planned
from attn_book.words import listed, seeds_in_words, told
from attn_core.experiments import frontier
from attn_core.measures import seed_interval
from attn_core.runs import Run


def told_epochs(runs: pd.DataFrame, corpora: Iterable[str], wanted: Iterable[Run] | None = None) -> str:
    """Most epochs of each data set's adversaries, of stored ones or else of planned ones: 'sst 40, imdb 20 (planned)'.

    wanted: the planned runs; None reads them from data/sweeps.
    """
    wanted, parts = planned() if wanted is None else wanted, []
    for corpus in corpora:
        stored = {result.record["run"]["epochs"] for result in adversaries(runs, corpus)["result"]}
        asked = {run.epochs for run in wanted if run.corpus == corpus and run.divergence is not None}
        if known := sorted(epochs for epochs in stored or asked if epochs):
            parts.append(f"{corpus} {' or '.join(map(str, known))}{'' if stored else ' (planned)'}")
    return ", ".join(parts) or "none"


def told_added(runs: pd.DataFrame, corpora: Iterable[str], wanted: Iterable[Run] | None = None) -> str:
    """'sst λ 0.00065, 0.0008': the λ of stored adversaries that data/sweeps/wiegreffe-*.yml (or `wanted`) do not plan.

    Longer trainings, and λ between those planned: added after the curves had been seen.
    """
    wanted, parts = {run.key for run in (planned() if wanted is None else wanted)}, []
    for corpus in corpora:
        rows = adversaries(runs, corpus)
        added = {r.divergence for r in rows.itertuples() if r.result.key not in wanted}
        if added:
            parts.append(f"{corpus} λ {', '.join(f'{value:g}' for value in sorted(added))}")
    return "; ".join(parts) or "none"


def told_grid(adversaries: pd.DataFrame) -> str:
    """'7 λ (0, 0.0001, …), 3 seeds': the points of a data set's curves; adversaries: rows of `points`."""
    divergences = [f"{value:g}" for value in sorted(adversaries["divergence"].unique())]
    return f"{len(divergences)} λ ({', '.join(divergences)}), {seeds_in_words(adversaries['seed'].nunique())}"


def told_read(name: str, read: pd.DataFrame, seeds: int, rest_too: bool = True) -> str:
    """'sst (3 seeds, not decided): 0.026 at 0.1 (of 2 curves)': halved TVD read off a data set's curves at a mean JSD.

    read: of `frontier.read_off`. rest_too: name the JSDs at which no curve can be read, and why; else they are named
    only if all are such.
    """
    known, rest = read[np.isfinite(read["tvd"])], read[~np.isfinite(read["tvd"])]
    parts = [
        f"{r.tvd_halved:.3f} at {r.at:g}"
        + (f" (of {r.n_seeds} curve{'s' if r.n_seeds > 1 else ''})" if seeds > 1 else "")
        for r in known.itertuples()
    ]
    if rest_too or not len(known):
        parts += [
            f"not read at {', '.join(f'{at:g}' for at in part['at'])} ({why})"
            for why, part in rest.groupby("why", sort=False)
        ]
    return f"{name} ({counted(seeds)}): {', '.join(parts)}"


def told_cell(row, seeds: int) -> str:
    """A row of `frontier.read_off` in a cell: '0.026 (0.023 to 0.029)', '0.043 [1 of 3]', 'moving', 'far', '–'."""
    if not np.isfinite(row.tvd):
        return "moving" if "not converged" in row.why else "far" if "gap" in row.why else "–"
    number, low, high = (frontier.HALVED * value for value in (row.tvd, row.low, row.high))
    interval = told(number, low, high, ".3f", (0, 1)) if np.isfinite(low) else f"{number:.3f}"
    return interval if row.n_seeds == seeds else f"{interval} [{row.n_seeds} of {seeds}]"


def told_late(late: pd.DataFrame) -> str:
    """'λ 0.0008 (seed 10 by 0.0752, seed 50 by 0.0239)': rows of `curves.unconverged` of a data set."""
    parts = [
        f"λ {divergence:g} ({', '.join(f'seed {r.seed} by {r.moved:.3g}' for r in part.itertuples())})"
        for divergence, part in late.groupby("divergence")
    ]
    return listed(parts)


def side_of_curve(points: pd.DataFrame, kind: str) -> str:
    """Where the points of a kind lie beside the trained curves: their mean 'below' or 'above' them at its JSD.

    Where no curve can be read at that JSD: 'below every point' or 'above every point' of the adversaries, whatever
    their JSD, if each of the kind is; else how many of each, and why nothing is read. '' without such a point or
    adversary.
    """
    part, trained = points[points["kind"] == kind], points[points["kind"] == "adversary"]
    if not len(part) or not len(trained):
        return ""
    own, heights = part["tvd_halved"], trained["tvd_halved"]
    read = frontier.read_off(trained, (part["jsd"].mean(),)).iloc[0]
    if np.isfinite(read["tvd"]):
        return "below" if own.mean() < read["tvd_halved"] else "above"
    above, below = int((own > heights.max()).sum()), int((own < heights.min()).sum())
    if len(part) in (above, below):
        return f"{'above' if above else 'below'} every point ({read['why']} at its JSD)"
    sides = {"above every point": above, "below every point": below, "between them": len(part) - above - below}
    split = [f"{count} of {len(part)} {side}" for side, count in sides.items() if count]
    return f"{listed(split)} ({read['why']} at its JSD)"


def told_others(seeds: pd.DataFrame) -> str:
    """'0.082 and 0.042 (medians 0.078 and 0.033; 8 seeds, the farthest in TVD, seed 7, at 0.141 and 0.088)'.

    Mean JSD and halved TVD of the base's further seeds; seeds: points of kind 'seed'.
    """
    last = seeds.loc[seeds["tvd_halved"].idxmax()]
    medians = f"{seeds['jsd'].median():.3f} and {seeds['tvd_halved'].median():.3f}"
    far = f"the farthest in TVD, seed {int(last['seed'])}, at {last['jsd']:.3f} and {last['tvd_halved']:.3f}"
    return (
        f"{seeds['jsd'].mean():.3f} and {seeds['tvd_halved'].mean():.3f} (medians {medians}; "
        f"{seeds_in_words(len(seeds))}, {far})"
    )


def told_cheapest(name: str, found: pd.DataFrame, others: pd.DataFrame, seeds: int) -> str:
    """'sst (3 seeds, not decided): 0.021 (…) from JSD 0, 0.038 (…) from JSD 0.6 (2 of 3 seeds), the last below that of
    5 of 8 other seeds of the base (mean 0.042, median 0.033)'.

    found: of `curves.cheapest`, seeds: trainings a λ; others: the points of kind 'seed' of the same panel.
    """
    parts, last = [], np.nan
    for at, part in found.groupby("at"):
        values = part["tvd_halved"].to_numpy(float)
        reached = "" if len(values) == seeds else f" ({len(values)} of {seeds_in_words(seeds)})"
        last, (low, high) = values.mean(), seed_interval(values)
        number = told(last, low, high, ".3f", (0, 1)) if np.isfinite(low) else f"{last:.3f}"
        parts.append(f"{number} from JSD {at:g}{reached}")
    own = others["tvd_halved"].to_numpy(float)
    beside = (
        f", the last below that of {(own > last).sum()} of {len(own)} other seeds of the base "
        f"(mean {own.mean():.3f}, median {np.median(own):.3f})"
        if parts and len(own)
        else ""
    )
    return f"{name} ({counted(seeds)}): {listed(parts)}{beside}"


# ---- adversaries as guides -------------------------------------------------------------------------------------------
