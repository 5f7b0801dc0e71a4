"""What choosing the checkpoint on the test set does to the base's F1 (section 3.1): paired differences, in words."""

import numpy as np
import pandas as pd

from attn_book.wiegreffe.far_off import is_far
from attn_book.words import listed, number, seeds_in_words, told, told_seeds_of
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS, side
from attn_core.measures import seed_interval
from attn_core.seeds import trained_twice


def of_one_training(stored: dict[tuple[str, str], list[Result]]) -> tuple[dict[tuple[str, str], pd.Series], str]:
    """What `moves` takes, of the seeds whose two checkpoints are of one training; and the others in words.

    stored: (corpus, 'test' or 'dev') -> base models.
    """
    f1, apart = {}, []
    for corpus in dict.fromkeys(name for name, _ in stored):
        twice = trained_twice(stored[corpus, "dev"], stored[corpus, "test"])
        apart += [told_seeds_of(corpus, twice)] if twice else []
        for chosen in ("test", "dev"):
            values = {result.record["run"]["seed"]: result.record["f1_1"] for result in stored[corpus, chosen]}
            f1[corpus, chosen] = pd.Series(values, dtype=float).drop(twice)
    return f1, listed(apart)


def moves(f1: dict[tuple[str, str], pd.Series]) -> pd.DataFrame:
    """F1 with the checkpoint chosen on the test set minus F1 with that chosen on development data, within seeds.

    f1: (corpus, 'test' or 'dev') -> seed -> F1. One row per data set with shared seeds. Columns corpus, mean, low,
    high (95 % Student t), n_seeds, far (seed far off all others, see `far_seed`; -1 for none), by (its difference),
    mean_without, low_without, high_without (of the other seeds).
    """
    rows = []
    for corpus in dict.fromkeys(name for name, _ in f1):
        gap = (f1[corpus, "test"] - f1[corpus, "dev"]).dropna()
        if len(gap):
            far = far_seed(gap)
            rest = gap.drop(far) if far != -1 else gap
            rows.append([corpus, gap.mean(), *seed_interval(gap.to_numpy(float)), len(gap), far, gap.get(far, np.nan),
                         rest.mean(), *seed_interval(rest.to_numpy(float))])  # fmt: skip
    columns = ["corpus", "mean", "low", "high", "n_seeds", "far", "by", "mean_without", "low_without", "high_without"]
    return pd.DataFrame(rows, columns=columns)


def far_seed(gap: pd.Series) -> int:
    """The seed whose difference `is_far` from the others'; -1 for none and with fewer than five seeds."""
    if len(gap) < HEADLINE_SEEDS:
        return -1
    seed = (gap - gap.median()).abs().idxmax()
    return int(seed) if is_far(gap[seed], gap.drop(seed)) else -1


def told_moves(rows: pd.DataFrame) -> list[str]:
    """Rows of `moves`, a text each: by how much, whether the test set's choice flatters, the seed that makes it."""
    parts = []
    for r in rows.itertuples():
        text = f"{r.corpus}: {told(r.mean, r.low, r.high, '+.3f')}, {seeds_in_words(r.n_seeds)}, {answer(r)}"
        if r.far != -1:
            without = told(r.mean_without, r.low_without, r.high_without, "+.4f")
            text += f" (seed {r.far} alone moves by {number(r.by, '+.3f')}; without it {without})"
        parts.append(text)
    return parts or ["no run of both"]


def answer(row) -> str:
    """Whether the interval over seeds shows that the choice on the test set flatters; row: of `moves`."""
    words = {"few": "too few seeds", "above": "flatters", "below": "scores lower"}
    return words.get(side(row, 0), "no shift shown, either way")
