"""The verdict: the tests of the three papers that can tell good attention from bad, put to the recurrent models.

A cell is a number with its 95 % interval over seeds, between what weights dealt anew among a text's items get and what
near-ideal weights get. A test that does not tell these two apart on a data set has no cell there.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book.page import PARTS
from attn_book.tables import PART
from attn_book.words import ENCODERS, SETS, number
from attn_core import Run, index, obtain
from attn_core.experiments import known
from attn_core.experiments.distance import against
from attn_core.experiments.known import BAD, GOOD, KINDS
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import HEADLINE_SEEDS, over_seeds
from attn_core.run import SEEDS

PAPERS = {"jain": "Jain & Wallace", "serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}


class Test(NamedTuple):
    """What attention is asked, as a question's end and as a number; the line, and its side on which attention does."""

    paper: str
    asks: str
    number: str
    line: float
    good: str
    page: str
    form: str = ".2f"


TESTS = {
    "gradients": Test("jain", "rank words like gradients", "mean τ with gradients", 0.5, "above",
                      "jain/04-1-correlation"),
    "permutation": Test("jain", "matter to the output", "share of texts that shuffling moves by less than 0.1", 0.5,
                        "below", "jain/04-2-1-permutation", ".0%"),
    "adversaries": Test("jain", "have no far twin", "share of texts with a twin at a JSD over 0.4",
                        0.7, "below", "jain/04-2-2-adversarial", ".0%"),
    "top item": Test("serrano", "put first what flips the decision",
                     "share flipped by the top item only minus by a random one only", 0.0, "above",
                     "serrano/04-2-decision-flips", "+.2f"),
    "order": Test("serrano", "flip with fewer items than gradients",
                  "share of items removed by attention minus by gradient", 0.0, "below", "serrano/05-sets-of-weights",
                  "+.2f"),
    "necessary": Test("wiegreffe", "improve the score", "F1 minus F1 with equal weights", 0.01, "above",
                      "wiegreffe/03-2-uniform", "+.3f"),
    "stable": Test("wiegreffe", "return with another seed", "mean JSD of further seeds to the first", 0.11,
                   "below", "wiegreffe/03-3-variance"),
    "hard to move": Test("wiegreffe", "cost predictions to be led elsewhere",
                         "farthest JSD of a trained adversary that changes outputs no more than another seed", 0.4,
                         "below", "wiegreffe/04-adversaries"),
    "guide": Test("wiegreffe", "help a network of single words", "F1 with its weights minus with equal ones",
                  0.01, "above", "wiegreffe/03-4-guides", "+.3f"),
}  # fmt: skip
"""The papers' tests; lines as in data/reported/tolerances.csv, where they have one for the test."""

TRACED = (("sst", "lstm"), ("imdb", "lstm"), ("20news", "lstm"), ("agnews", "lstm"), ("imdb_stars", "han_rnn"),
          ("amazon", "han_rnn"))  # fmt: skip
"""Recurrent models of which five seeds keep documents."""

PLANTED = (("evidence", 1), ("longest", 60), ("n_dev", 100), ("n_test", 200), ("n_train", 600), ("shortest", 30))
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""


def planted(seed: int, **fields: object) -> Run:
    """A run on texts in which one word decides; with a guide or a divergence its base is the trained one."""
    base = {"base": planted(seed)} if {"guide", "divergence"} & set(fields) else {}
    fields = {"attention": "given" if "guide" in fields else "tanh"} | base | fields
    return Run("planted", "average", seed=seed, options=PLANTED, **fields)


@cache
def tested() -> pd.DataFrame:
    """Tests under KINDS of weights: test, corpus, encoder, seed, kind, number (the test's), rate.

    rate: share of texts that pass the test's line; of the two tests of scores, on planted texts, 1 where a seed does.
    There trained weights, which lie on the word that decides, are the good ones.
    """
    rows = []
    for corpus, encoder in TRACED:
        models = {seed: obtain(Run(corpus, encoder, seed=seed)).traces for seed in SEEDS[:HEADLINE_SEEDS]}
        for kind, weigh in KINDS.items():
            first = weigh(models[SEEDS[0]])
            for seed, traces in models.items():
                place, texts = (corpus, encoder, seed, kind), known.of_texts(weigh(traces))
                numbers, rates = known.averages(texts), known.passing(texts)
                rows += [(test, *place, numbers[test], rate) for test, rate in rates.items()]
                if encoder == "lstm" and seed != SEEDS[0]:
                    other = weights_dealt_anew(weigh(traces), seed) if "dealt" in kind else weigh(traces)
                    jsd = against(first, other)["jsd"]
                    rows.append(("stable", *place, jsd.mean(), (jsd < TESTS["stable"].line).mean()))
    for seed in SEEDS[:HEADLINE_SEEDS]:
        kinds = {"uniform": {"attention": "uniform"}, "necessary": {}, "guide": {"guide": "own"},
                 BAD: {"guide": "permuted"}}  # fmt: skip
        f1 = {kind: obtain(planted(seed, **fields), traces=False).record["f1_1"] for kind, fields in kinds.items()}
        for test in ("necessary", "guide"):
            for kind, score in ((GOOD, f1[test]), (BAD, f1[BAD])):
                gain = score - f1["uniform"]
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


def cells(whole: pd.DataFrame) -> pd.DataFrame:
    """Every cell: test, corpus, encoder, data, mean, low, high, n_seeds; dealt, ideal: the number under such weights;
    hit, false, power (see `rates`; of planted texts where a set itself has none).

    whole: numbers of whole test sets, by test, corpus, encoder, control ('' or 'dealt anew', trained so) and seed; for
    the other tests those of `tested` stand. Of the models of TRACED, which do their task and read what they attend to.
    dealt and ideal are the first seed's, which keeps most documents.
    """
    place, by = ["test", "corpus"], ["test", "corpus", "encoder", "control"]
    own = tested().query("kind == ''").rename(columns={"number": "value"}).assign(control="")
    found = pd.concat([over_seeds(whole, *by), over_seeds(own, *by)], ignore_index=True).drop_duplicates(by)
    first = tested()[(tested()["seed"] == SEEDS[0]) | (tested()["test"] == "stable")]
    beside = found.rename(columns={"control": "kind", "mean": "number"})
    beside = pd.concat([beside, first]).pivot_table(index=place, columns="kind", values="number")
    found = found[found["control"] == ""].drop(columns="control").reset_index(drop=True)
    at, able = pd.MultiIndex.from_frame(found[place]), rates().set_index(place).drop(columns="encoder")
    grown = pd.MultiIndex.from_arrays([found["test"], ["planted"] * len(found)])
    able = able.reindex(at).reset_index(drop=True).fillna(able.reindex(grown).reset_index(drop=True))
    kinds = index.runs(corpus=[name for name, _ in TRACED], source="archive").groupby("corpus")["data"].first()
    beside = beside.reindex(at)[["dealt anew", GOOD]].set_axis(["dealt", "ideal"], axis=1)
    found = pd.concat([found, beside.reset_index(drop=True), able], axis=1)
    return found.assign(data=found["corpus"].map(kinds), power=found["power"].eq(True))


def matrix(found: pd.DataFrame) -> HTML:
    """Cells of tests with power as a table: each a number over the bar of its interval, which moves to the right
    towards what one would ask; a ring marks weights dealt anew, a dot near-ideal ones. A cell leads to its test's page.

    found: of `cells`. book/_static/rows.js shows the titles under the table, on hover, focus and tap.
    """
    found = found[found["power"]]
    data, at = found.groupby("corpus")["data"].first(), {(row.test, row.corpus): row for row in found.itertuples()}
    here = {encoder: set(found["corpus"][found["encoder"] == encoder]) for encoder in ("lstm", "han_rnn")}
    names = [name for part in here.values() for name in SETS if name in part]
    heads = [(ENCODERS[encoder], [(SETS[name], PART.get(data[name], "")) for name in names if name in part])
             for encoder, part in here.items() if part]  # fmt: skip
    lines = {}
    for key, test in ((key, test) for key, test in TESTS.items() if key in set(found["test"])):
        numbers = found.loc[found["test"] == key, ["low", "high", "dealt", "ideal"]].to_numpy(float)
        ends = np.nanmin(numbers), np.nanmax(numbers)
        row = [drawn(at[key, name], *ends) if (key, name) in at else None for name in names]
        lines.setdefault(test.paper, []).append((test.asks, row))
    return HTML(PARTS.matrix(heads, [(paper, PAPERS[paper], tests) for paper, tests in lines.items()]))


def drawn(row, least: float, most: float) -> dict:
    """One cell of `matrix`, places in % of its width; least, most: ends of the scale of its line of cells."""
    test = TESTS[row.test]
    share = lambda value: (value - least if test.good == "above" else most - value) / (most - least)
    place = lambda value: f"{4 + 92 * share(value):.0f}"
    a, b = map(place, sorted((row.low, row.high), key=share))
    marks = [(name, place(getattr(row, name))) for name in ("dealt", "ideal") if np.isfinite(getattr(row, name))]
    return {"page": test.page, "told": told(row), "mean": number(row.mean, test.form), "a": a, "b": b,
            "marks": marks}  # fmt: skip


def told(row) -> str:
    """A cell's data set, number, interval, seeds, the number under known weights, how many of these pass."""
    form = TESTS[row.test].form
    ends = (0, 1) if form == ".0%" else (-np.inf, np.inf)
    low, high = (number(np.clip(end, *ends), form) for end in (row.low, row.high))
    parts = [f"{SETS[row.corpus]}, {TESTS[row.test].number}: {number(row.mean, form)} ({low} to {high})",
             f"{row.n_seeds} seeds"]  # fmt: skip
    beside = (("dealt anew", row.dealt), ("near-ideal", row.ideal))
    parts += [f"{name} {number(value, form)}" for name, value in beside if np.isfinite(value)]
    where = " on planted texts" * (row.test in ("necessary", "guide"))
    parts += [f"{row.hit:.0%} of good weights pass{where}, {row.false:.0%} of bad ones"] * bool(np.isfinite(row.hit))
    return "; ".join([*parts, *["no power"] * (not row.power)])
