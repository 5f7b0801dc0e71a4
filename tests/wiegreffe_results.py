"""Made-up archived runs of Wiegreffe & Pinter's tests: records with scores and distances, tables where needed."""

import numpy as np
import pandas as pd
from scorecard_runs import whole

from attn_lab.runs.rows import number_rows
from attn_lab.runs.run import SEEDS, Run, as_dict
from attn_lab.runs.store import Result

BASE_F1 = {"sst": 0.831, "imdb": 0.902, "agnews": 0.964, "20news": 0.942}
GAPS = {"sst": 0.002, "imdb": 0.030, "agnews": 0.001, "20news": 0.003}


def result_of(run: Run, f1: float = 0.8, jsd: float | None = None, tvd: float | None = None, **more) -> Result:
    """An archived run by its record; jsd and tvd: means beside the run it is compared with."""
    sizes = whole(run.corpus)
    record = {
        "key": run.key,
        "run": as_dict(run),
        "accuracy": f1,
        "f1_1": f1,
        "statistics": sizes,
        "history": [{}] * 3,
        "n_train": sizes["splits"]["train"]["documents"],
        "n_test": sizes["splits"]["test"]["documents"],
        "n_dev": 0,
    }
    if jsd is not None:
        record["history"] = [{"test_jsd": jsd}] * 3
        record["against"] = {"base": "base", "jsd": jsd, "tvd": tvd}
    return Result(record=record, numbers=number_rows(record, None), source="archive", **more)


def spread(i: int, count: int, size: float = 0.002) -> float:
    """A seed's distance from the mean: evenly spaced, summing to 0."""
    return size * (i - (count - 1) / 2)


def beside_table(jsd: float, n: int = 200, seed: int = 0) -> pd.DataFrame:
    """A table of `distance.against` whose JSD is constant: both classes and all four bins have n / 8 documents."""
    index = np.arange(n)
    return pd.DataFrame(
        {
            "doc_id": index,
            "predicted": index % 2,
            "max_attention": (index // 2 % 4) / 4 + 0.1,
            "jsd": jsd,
            "tvd": 0.05,
        }
    )


def uniform_test(
    corpus="sst", count=5, f1=None, gap=None, seeds_jsd=0.06, seeds_tvd=0.08, uniform=(0.11, 0.06)
) -> list[Result]:
    """Base and uniform models of several seeds, both checkpoints; the further seeds have tables beside seed 10."""
    f1, gap, found = f1 or BASE_F1[corpus], GAPS[corpus] if gap is None else gap, []
    for i, seed in enumerate(SEEDS[:count]):
        for chosen in ("dev", "test"):
            own = f1 + spread(i, count)
            base = (
                {}
                if i == 0
                else {"jsd": seeds_jsd, "tvd": seeds_tvd, "against": beside_table(seeds_jsd + spread(i, count))}
            )
            found.append(result_of(Run(corpus, seed=seed, selection=chosen), own, **base))
            twin = Run(corpus, attention="uniform", seed=seed, selection=chosen)
            found.append(
                result_of(
                    twin, own - gap + spread(i * i % count, count, 0.0005), *uniform, against=beside_table(uniform[0])
                )
            )
    return found


CURVE = {0.0: (0.03, 0.04), 1e-4: (0.05, 0.05), 3e-4: (0.25, 0.06), 5e-4: (0.45, 0.06), 2e-3: (0.65, 0.08)}
"""divergence -> (JSD, TVD, unhalved)."""


def adversary_of(corpus: str, seed: int, divergence: float, **more) -> Run:
    return Run(corpus, seed=seed, base=Run(corpus, rounding=1), divergence=divergence, epochs=40, **more)


def older_of(corpus: str, seed: int, divergence: float, **more) -> Run:
    """An adversary that guides."""
    return Run(corpus, seed=seed, base=Run(corpus, rounding=2), divergence=divergence, epochs=40, **more)


def curve(corpus="sst", count=3, points=None, f1=None) -> list[Result]:
    """Trained adversaries of several seeds, and their base; F1 falls a little with the divergence."""
    points, f1 = points or CURVE, f1 or BASE_F1[corpus]
    return [result_of(Run(corpus, rounding=1), f1)] + [
        result_of(adversary_of(corpus, seed, divergence), f1 - 5 * divergence, jsd, tvd + spread(i, count, 0.001))
        for i, seed in enumerate(SEEDS[:count])
        for divergence, (jsd, tvd) in points.items()
    ]


def older_curve(corpus="sst", count=5) -> list[Result]:
    """The adversaries that guide."""
    return [
        result_of(older_of(corpus, seed, divergence), 0.8, jsd, tvd)
        for seed in SEEDS[:count]
        for divergence, (jsd, tvd) in CURVE.items()
    ]


GUIDE_F1 = {
    "uniform": 0.81,
    "trained": 0.817,
    "own": 0.826,
    "permuted": 0.80,
    "swapped": 0.82,
    "untrained": 0.80,
    "searched": 0.7,
    "adversary": 0.6,
    "own, position": 0.56,
    "own, rank": 0.55,
    "uniform, position": 0.55,
}


def guide_run(corpus: str, source: str, seed: int, divergence: float = 5e-4) -> Run:
    """The guided run of a source."""
    name, _, words = source.partition(", ")
    own = {"encoder": "average", "seed": seed, "words": words or "text"}
    if name in ("uniform", "trained"):
        return Run(corpus, attention={"uniform": "uniform", "trained": "tanh"}[name], **own)
    if name == "adversary":
        base = older_of(corpus, seed, divergence)
        return Run(corpus, attention="given", guide="own", base=base, **own)
    return Run(corpus, attention="given", guide=name, base=Run(corpus, seed=seed), **own)


def guided(corpus="sst", count=5, **levels) -> list[Result]:
    """Guided networks of all sources; levels change or drop (None) some."""
    rng = np.random.default_rng(1)
    found = []
    for source, level in (GUIDE_F1 | levels).items():
        noise = 0.001 * rng.normal(size=count)
        if level is not None:
            found += [
                result_of(guide_run(corpus, source, seed), level + e) for seed, e in zip(SEEDS, noise, strict=False)
            ]
    return found
