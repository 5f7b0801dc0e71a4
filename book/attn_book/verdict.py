"""The tests of the three papers, put to attention of known quality in recurrent models: which tell good from bad."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import yaml

from attn_core import Run, obtain
from attn_core.experiments.distance import against
from attn_core.experiments.known import BAD, GOOD, KINDS, of_texts, passing
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import HEADLINE_SEEDS, over_seeds
from attn_core.run import SEEDS, first_vectors

PAPERS = {"jain": "Jain & Wallace", "serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}

TESTS = {name: SimpleNamespace(**told) for name, told in yaml.safe_load(
    Path(__file__).with_name("verdict.yml").read_text(encoding="utf-8")).items()}  # fmt: skip
"""The papers' tests: verdict.yml, whose head says what it holds."""

TRACED = (("sst", "lstm"), ("imdb", "lstm"), ("20news", "lstm"), ("agnews", "lstm"), ("imdb_stars", "han_rnn"),
          ("amazon", "han_rnn"))  # fmt: skip
"""Recurrent models of which five seeds keep documents."""

PLANTED = {"evidence": 1, "longest": 60, "n_dev": 100, "n_test": 200, "n_train": 600, "shortest": 30}
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""


def planted(seed: int, encoder: str = "average", n_train: int = 600, **fields: object) -> Run:
    """A run on texts in which one word decides; with a guide or a divergence its base is the trained one."""
    base = {"base": planted(seed)} if {"guide", "divergence"} & set(fields) else {}
    fields = {"attention": "given" if "guide" in fields else "tanh"} | base | fields
    return Run("planted", encoder, seed=seed, options=PLANTED | {"n_train": n_train}, **fields)


@cache
def tested() -> pd.DataFrame:
    """Tests under KINDS of weights: test, corpus, encoder, seed, kind, number (the test's), rate (share of texts that
    pass its line; of the two tests of scores, on planted texts, 1 where a seed does: there trained weights, which lie
    on the word that decides, are the good ones)."""
    rows = []
    for corpus, encoder in TRACED:
        models = {seed: obtain(Run(corpus, encoder, seed=seed, vectors=first_vectors(corpus))).traces
                  for seed in SEEDS[:HEADLINE_SEEDS]}
        for kind, weigh in KINDS.items():
            first = weigh(models[SEEDS[0]])
            for seed, traces in models.items():
                place, texts = (corpus, encoder, seed, kind), of_texts(weigh(traces))
                for test, rate in passing(texts).items():
                    number = 1 - rate if test in ("permutation", "adversaries") else texts[test].mean()
                    rows.append((test, *place, number, rate))
                if encoder == "lstm" and seed != SEEDS[0]:
                    other = weights_dealt_anew(weigh(traces), seed) if "dealt" in kind else weigh(traces)
                    jsd = against(first, other)["jsd"]
                    rows.append(("stable", *place, jsd.mean(), (jsd < TESTS["stable"].line).mean()))
    for seed in SEEDS[:HEADLINE_SEEDS]:
        score = lambda seed=seed, **fields: obtain(planted(seed, **fields), traces=False).record["f1_1"]
        even, bad = score(attention="uniform"), score(guide="permuted")
        for test, good in (("necessary", score()), ("guide", score(guide="own"))):
            for kind, gain in ((GOOD, good - even), (BAD, bad - even)):
                rows.append((test, "planted", "average", seed, kind, gain, float(gain > TESTS[test].line)))
    return pd.DataFrame(rows, columns=["test", "corpus", "encoder", "seed", "kind", "number", "rate"])


def rates() -> pd.DataFrame:
    """By test, corpus, encoder: hit and false, the mean rates under GOOD and BAD weights; power, whether most good
    weights pass, most of the same dealt anew do not, and the two intervals lie apart."""
    place = ["test", "corpus", "encoder"]
    wide = over_seeds(tested().rename(columns={"rate": "value"}), *place, "kind")
    wide = wide.pivot(index=place, columns="kind", values=["mean", "low", "high"])
    hit, false, apart = wide["mean", GOOD], wide["mean", BAD], wide["low", GOOD] > wide["high", BAD]
    found = pd.DataFrame({"hit": hit, "false": false, "power": apart & (hit > 0.5) & (false < 0.5)})
    return found.dropna().reset_index()
