"""Made-up archived runs of Wiegreffe & Pinter's tests: records with scores and distances."""

from dataclasses import replace

from scorecard_runs import record_of

from attn_lab.runs.rows import number_rows
from attn_lab.runs.run import SEEDS, Run
from attn_lab.runs.store import Result

CURVE = {0.0: (0.03, 0.04), 1e-4: (0.05, 0.05), 3e-4: (0.25, 0.06), 5e-4: (0.45, 0.06), 2e-3: (0.65, 0.08)}
"""divergence -> (JSD, TVD, unhalved)."""


def result_of(run: Run, f1: float = 0.8, jsd: float | None = None, tvd: float | None = None) -> Result:
    """An archived run by its record; jsd and tvd: means beside the run it is compared with."""
    record = record_of(run, accuracy=f1, f1_1=f1, history=[{"test_jsd": jsd}] * 3)
    if jsd is not None:
        record["against"] = {"base": "base", "jsd": jsd, "tvd": tvd}
    return Result(record=record, numbers=number_rows(record, None), source="archive")


def adversary_of(seed: int, divergence: float) -> Run:
    """An adversary of SST."""
    return Run("sst", seed=seed, base=Run("sst", rounding=1), divergence=divergence, epochs=40)


def curve(count: int = 3) -> list[Result]:
    """Trained adversaries of several seeds, their base and the book's; F1 falls a little with the divergence."""
    bases = [result_of(Run("sst", rounding=number), 0.831) for number in (0, 1)]
    return bases + [
        result_of(adversary_of(seed, divergence), 0.831 - 5 * divergence, jsd, tvd)
        for seed in SEEDS[:count]
        for divergence, (jsd, tvd) in CURVE.items()
    ]


def classifiers(corpus: str = "sst", gap: float = 0.002) -> list[Result]:
    """Base and uniform model of five seeds, both checkpoints, so far apart in F1, up to 0.001 more or less."""
    made = []
    for place, seed in enumerate(SEEDS[:5]):
        f1 = 0.827 + 0.002 * place
        off = 0.0005 * (place**2 % 5 - 2)
        for chosen in ("dev", "test"):
            base = Run(corpus, seed=seed, selection=chosen)
            beside = (0.06, 0.08) if place else ()
            uniform = replace(base, attention="uniform")
            made.append(result_of(base, f1, *beside))
            made.append(result_of(uniform, f1 - gap + off, 0.11, 0.06))
    return made


def led(divergence: float, jsd: float, f1: float, epochs: int = 40, count: int = 1) -> list[Result]:
    """An adversary so far from its base, and networks of several seeds that it guides to this F1."""
    base = Run("sst", seed=10, base=Run("sst", rounding=2), divergence=divergence, epochs=epochs)
    adversary = result_of(base, 0.8, jsd, 0.06)
    adversary.record["history"] *= epochs
    networks = (Run("sst", "average", "given", seed=seed, guide="own", base=base) for seed in SEEDS[:count])
    return [adversary, *(result_of(network, f1) for network in networks)]
