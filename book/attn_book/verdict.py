"""The tests of the three papers, put to attention of known quality in recurrent models: which tell good from bad."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from attn_core import Run, obtain
from attn_core.experiments.distance import against
from attn_core.experiments.known import BAD, GOOD, KINDS, of_texts, passing
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import HEADLINE_SEEDS, over_seeds
from attn_core.run import SEEDS, first_vectors
from attn_core.traces import Traces

PAPERS = {
    "jain": "Jain & Wallace",
    "serrano": "Serrano & Smith",
    "wiegreffe": "Wiegreffe & Pinter",
}


@dataclass
class Test:
    """A test of one of the papers, as verdict.yml has it; its head says what the fields hold."""

    paper: str
    asks: str
    number: str
    line: float
    good: str
    page: str
    form: str


_FILE = Path(__file__).with_name("verdict.yml")
TESTS = {name: Test(**fields) for name, fields in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()}

TRACED = (
    ("sst", "lstm"),
    ("imdb", "lstm"),
    ("20news", "lstm"),
    ("agnews", "lstm"),
    ("imdb_stars", "han_rnn"),
    ("amazon", "han_rnn"),
)
"""Recurrent models of which five seeds keep documents."""

PLANTED = {
    "evidence": 1,
    "longest": 60,
    "n_dev": 100,
    "n_test": 200,
    "n_train": 600,
    "shortest": 30,
}
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""


def planted(seed: int, encoder: str = "average", n_train: int = 600, **fields: Any) -> Run:
    """A run on texts in which one word decides; with a guide or a divergence its base is the trained one."""
    options = PLANTED | {"n_train": n_train}
    if fields.keys() & {"guide", "divergence"}:
        fields.setdefault("base", planted(seed))
    fields.setdefault("attention", "given" if "guide" in fields else "tanh")
    return Run("planted", encoder, seed=seed, options=tuple(options.items()), **fields)


@cache
def tested() -> pd.DataFrame:
    """Tests under KINDS of weights: test, corpus, encoder, seed, kind, number (the test's), rate (share of texts that
    pass its line; of the two tests of scores, on planted texts, 1 where a seed does: there trained weights, which lie
    on the word that decides, are the good ones)."""
    rows = of_planted()
    for corpus, encoder in TRACED:
        models = {}
        for seed in SEEDS[:HEADLINE_SEEDS]:
            traces = obtain(Run(corpus, encoder, seed=seed, vectors=first_vectors(corpus))).traces
            assert traces is not None  # asked for
            models[seed] = traces
        for kind in KINDS:
            found = under(models, kind, seeds_compared=encoder == "lstm")
            rows += [(test, corpus, encoder, seed, kind, number, rate) for test, seed, number, rate in found]
    return pd.DataFrame(rows, columns=["test", "corpus", "encoder", "seed", "kind", "number", "rate"])


def under(models: dict[int, Traces], kind: str, seeds_compared: bool) -> list[tuple[str, int, float, float]]:
    """Test, seed, number and rate of one model's seeds under a kind of weights."""
    weigh = KINDS[kind]
    rows = []
    first = weigh(models[SEEDS[0]])
    for seed, traces in models.items():
        texts = of_texts(weigh(traces))
        for test, rate in passing(texts).items():
            rows.append((test, seed, number_of(test, texts, rate), rate))
        if seeds_compared and seed != SEEDS[0]:
            other = weigh(traces)
            if "dealt" in kind:  # the deal of the first seed's weights must not be this one's
                other = weights_dealt_anew(other, seed)
            jsd = against(first, other)["jsd"]
            rows.append(("stable", seed, jsd.mean(), (jsd < TESTS["stable"].line).mean()))
    return rows


def number_of(test: str, texts: pd.DataFrame, rate: float) -> float:
    """What the verdict tells of a test: two count texts that pass; of the order, what gradients erase less."""
    if test in ("permutation", "adversaries"):
        return rate
    mean = texts[test].mean()
    return -mean if test == "order" else mean


def of_planted() -> list[tuple]:
    """Rows of `tested` for the two tests of scores: F1 with good and with bad weights minus F1 with equal ones."""
    rows = []
    for seed in SEEDS[:HEADLINE_SEEDS]:
        runs = {
            "trained": planted(seed),
            "even": planted(seed, attention="uniform"),
            "permuted": planted(seed, guide="permuted"),
            "own": planted(seed, guide="own"),
        }
        f1 = {name: obtain(run, traces=False).record["f1_1"] for name, run in runs.items()}
        for test, good in (("necessary", "trained"), ("guide", "own")):
            for kind, weights in ((GOOD, good), (BAD, "permuted")):
                gain = f1[weights] - f1["even"]
                rows.append(
                    (
                        test,
                        "planted",
                        "average",
                        seed,
                        kind,
                        gain,
                        float(gain > TESTS[test].line),
                    )
                )
    return rows


def rates() -> pd.DataFrame:
    """By test, corpus, encoder: hit and false, the mean rates under GOOD and BAD weights; power, whether most good
    weights pass, most of the same dealt anew do not, and the two intervals lie apart."""
    model = ["test", "corpus", "encoder"]
    wide = over_seeds(tested().rename(columns={"rate": "value"}), *model, "kind")
    wide = wide.pivot(index=model, columns="kind", values=["mean", "low", "high"])
    table = pd.DataFrame({"hit": wide["mean", GOOD], "false": wide["mean", BAD]})
    apart = wide["low", GOOD] > wide["high", BAD]
    table["power"] = apart & (table["hit"] > 0.5) & (table["false"] < 0.5)
    return table.dropna().reset_index()
