"""The verdict: the tests of the three papers that can tell good attention from bad, put to the recurrent models.

A cell is a number with its 95 % interval over seeds, between what weights dealt anew among a text's items get and what
near-ideal weights get. A test that does not tell these two apart on a data set has no cell there.
"""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import yaml
from IPython.display import HTML

from attn_book.page import PARTS
from attn_book.tables import PART
from attn_book.words import SETS
from attn_core import Run, index, obtain
from attn_core.experiments import known
from attn_core.experiments.distance import against
from attn_core.experiments.known import BAD, GOOD, KINDS
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import HEADLINE_SEEDS, over_seeds
from attn_core.run import SEEDS

PAPERS = {"jain": "Jain & Wallace", "serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}

TESTS = {name: SimpleNamespace(**told) for name, told in yaml.safe_load(
    Path(__file__).with_name("verdict.yml").read_text(encoding="utf-8")).items()}  # fmt: skip
"""The papers' tests: verdict.yml, whose head says what it holds."""

told = PARTS.told
"""A cell of `cells` in words: its data set, number, interval, seeds, the number under known weights, its rates."""

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
    at = found[["low", "high", "dealt", "ideal"]].astype(float)
    least, most = (getattr(at, end)(axis=1).groupby(found["test"]).transform(end) for end in ("min", "max"))
    at = at.sub(least, axis=0).div(most - least, axis=0)
    at = 4 + 92 * at.where(found["test"].map(lambda name: TESTS[name].good == "above"), 1 - at)  # % of a cell's width
    found = found.assign(a=at[["low", "high"]].min(axis=1), b=at[["low", "high"]].max(axis=1),
                         dealt_at=at["dealt"], ideal_at=at["ideal"])  # fmt: skip
    heads = [(encoder, [name for name in SETS if name in set(found["corpus"][found["encoder"] == encoder])])
             for encoder in ("lstm", "han_rnn")]  # fmt: skip
    rows = {(row.test, row.corpus): row for row in found.itertuples()}
    return HTML(PARTS.matrix(heads, rows, TESTS, PAPERS, PART))
