"""The verdict: the tests of the three papers, put to the recurrent models of every data set, as one matrix.

A cell is a number with its 95 % interval over seeds. It lies on the side on which attention does what one would ask of
an explanation ('yes'), on the other ('no'), around the line ('part'), or is counted nowhere ('void'): a test that no
attention can pass, SNLI, whose models hardly read the text that is attended to, and fewer than five seeds.
"""

import html
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML

from attn_book import derived
from attn_book.tables import PART
from attn_book.words import ENCODERS, SETS, number
from attn_core import Run, index, obtain
from attn_core.baselines import weakness
from attn_core.index import HEADLINE_SEEDS, over_seeds, side
from attn_core.measures import bootstrap_interval
from attn_core.traces import Traces

PAPERS = {"jain": "Jain & Wallace", "serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}
LEGEND = {"yes": "does it", "no": "does not", "part": "open", "void": "counted nowhere"}


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
                  0.0, "above", "wiegreffe/03-4-guides", "+.3f"),
}  # fmt: skip
"""The papers' tests; lines as in data/reported/tolerances.csv, where they have one for the test."""

OF_JAIN = {"gradients": ("tau_attention_gradient", "mean"), "permutation": ("median_change", "share_below_0.1"),
           "adversaries": ("jsd_exact@0.05", "share_above_0.4")}  # fmt: skip
OF_SERRANO = {"statement_3b": "top item", "statement_4b": "order"}
OF_WIEGREFFE = {"f1_gap": ("necessary", ""), "jsd_seeds": ("stable", ""), "jsd_uniform": ("stable", "equal weights")}
"""Stored measure -> test and control."""

TRACED = (("sst", "lstm"), ("imdb", "lstm"), ("20news", "lstm"), ("agnews", "lstm"), ("imdb_stars", "han_rnn"),
          ("amazon", "han_rnn"))  # fmt: skip
"""Recurrent models of which the first seed keeps many documents: both papers' tests are put to them."""


def cells(tests_of: Callable[[Traces], dict], controls: Mapping[str, Callable[[Traces], Traces]]) -> pd.DataFrame:
    """Every cell: test, corpus, encoder, data, mean, low, high, n_seeds, colour (a key of LEGEND), controls.

    Standard runs of the BiLSTM and of the HAN with GRU, with additive attention; models that do not do their task are
    left out. Where a test was never put to a model by its paper, the cell is one seed's, with its interval over
    documents. controls: (name, mean) of what stands beside a cell.

    tests_of: test -> its number of each document (D,), NaN where it is not defined. controls: name -> the traces under
    other weights, None for a model that has no such weights.
    """
    by = ["test", "corpus", "encoder", "control"]
    values = asked()
    data = values.groupby("corpus")["data"].first()
    once = [traced(tests_of, name, weigh) for name, weigh in {"": lambda texts: texts, **controls}.items()]
    found = pd.concat([over_seeds(values, *by), *once], ignore_index=True).drop_duplicates(by)
    beside = found[found["control"] != ""].groupby(["test", "corpus"])
    beside = {place: list(zip(part["control"], part["mean"], strict=True)) for place, part in beside}
    found = found[found["control"] == ""].assign(data=lambda rows: rows["corpus"].map(data))
    places = zip(found["test"], found["corpus"], strict=True)
    found["colour"] = [colour(row) for row in found.itertuples()]
    return found.assign(controls=[beside.get(place, []) for place in places])


def asked() -> pd.DataFrame:
    """test, corpus, encoder, control, seed, value, data: the tests' numbers of every seed, and those of controls that
    are trained models."""
    model = {"attention": "tanh", "source": "archive"}
    rows = [index.numbers(*place, encoder="lstm", **model).assign(test=test) for test, place in OF_JAIN.items()]
    data = rows[0].groupby("corpus")["data"].first()
    plain = index.numbers(*OF_JAIN["gradients"], encoder="average", **model)
    rows.append(plain.assign(test="gradients", control="without context"))
    said = derived.statements().rename(columns={"encoder_ours": "encoder"})
    said["test"] = said["measure_ours"].map(OF_SERRANO)
    right = index.runs(encoder="han_rnn", **model).groupby("corpus")["accuracy"]
    able = [corpus for corpus, values in right if corpus != "planted" and not weakness(corpus, values)]
    rows.append(said[(said["encoder"] == "han_rnn") & said["corpus"].isin(able) & said["test"].notna()])
    corpora = [corpus for corpus, encoder in TRACED if encoder == "lstm"]
    scores = pd.concat([derived.of_classifiers([corpus]) for corpus in corpora], ignore_index=True)
    places = scores["measure"].map(OF_WIEGREFFE).where(scores["selection"] == "dev").dropna()
    scores = scores.loc[places.index].assign(test=places.str[0], control=places.str[1])
    auc = [derived.classifiers(corpora, name).set_index(["corpus", "seed"])["auc"] for name in ("tanh", "uniform")]
    scores = [scores, (auc[0] - auc[1]).rename("value").reset_index().assign(test="necessary", control="by AUC")]
    led = derived.guided_scores(corpora).pivot(index=["corpus", "seed"], columns="source", values="f1")
    for source, control in (("own", ""), ("permuted", "dealt anew")):
        gain = (led[source] - led["uniform"]).rename("value").reset_index()
        scores.append(gain.assign(test="guide", control=control))
    for corpus in corpora:  # the price of a seed, see the page; trainings that broke are no yardstick
        again, far = derived.classifiers(corpus).query("jsd.notna() and f1_1 > 0.75"), derived.adversaries(corpus)
        cheap = far[(far["tvd"] <= again["tvd"].median()) & (far["f1_1"] >= again["f1_1"].min())]
        cheap = cheap.groupby("seed")["jsd"].max().rename("value").reset_index()
        scores.append(cheap.assign(test="hard to move", corpus=corpus))
    rows += [part.assign(data=part["corpus"].map(data)) for part in scores]
    found = pd.concat(rows)[["test", "corpus", "encoder", "control", "seed", "value", "data"]]
    return found.assign(encoder=found["encoder"].replace("average", "lstm").fillna("lstm"),
                        control=found["control"].fillna("")).dropna(subset="value")  # fmt: skip


def colour(row) -> str:
    """The key of LEGEND of a cell."""
    test, void = TESTS[row.test], row.test == "adversaries" or row.corpus == "snli"
    lies = side(row, test.line, fewest=HEADLINE_SEEDS)
    return "void" if void or lies == "few" else "part" if lies == "around" else "yes" if lies == test.good else "no"


def traced(tests_of: Callable[[Traces], dict], control: str, weigh: Callable[[Traces], Traces]) -> pd.DataFrame:
    """Tests on the traces of TRACED, seed 10, under some weights: test, corpus, encoder, mean, low, high, control.

    Intervals: 95 % bootstrap over the documents of several items for which the test is defined.
    """
    rows = []
    for corpus, encoder in TRACED:
        traces = obtain(Run(corpus, encoder)).traces
        traces = weigh(traces.take(np.flatnonzero(traces.lengths > 1)))
        for test, values in tests_of(traces).items() if traces else ():
            known = np.asarray(values, float)
            known = known[np.isfinite(known)]
            rows.append([test, corpus, encoder, known.mean(), *bootstrap_interval(known)])
    table = pd.DataFrame(rows, columns=["test", "corpus", "encoder", "mean", "low", "high"])
    return table.assign(control=control, n_seeds=1)


def matrix(found: pd.DataFrame) -> HTML:
    """Cells as a table: each a number over the bar of its interval about the test's line, to the right of it where
    attention does what is asked, with a link to the test's page; what else is known of a cell is its title.

    found: of `cells`. book/_static/rows.js shows the titles under the table, on hover, focus and tap.
    """
    data, at = found.groupby("corpus")["data"].first(), {(row.test, row.corpus): row for row in found.itertuples()}
    here = {encoder: set(part["corpus"]) for encoder, part in found.groupby("encoder")}
    names = [name for encoder in ("lstm", "han_rnn") for name in SETS if name in here.get(encoder, ())]
    over = "".join(f'<th colspan="{len(part)}">{ENCODERS[encoder]}</th>' for encoder, part in reversed(here.items()))
    head = "".join(f'<th scope="col">{SETS[name]} <small>{PART.get(data[name], "")}</small></th>' for name in names)
    body, paper = "", ""
    for key, test in TESTS.items():
        if paper != test.paper:
            paper = test.paper
            title = f"<span>{html.escape(PAPERS[paper])}</span>"
            body += f'<tr class="{paper}"><th colspan="{1 + len(names)}">{title}</th></tr>'
        mine = found[found["test"] == key]
        reach = mine[["low", "high", "mean"]].sub(test.line).abs().max(axis=None)
        row = "".join(drawn(at[key, name], reach) if (key, name) in at else "<td></td>" for name in names)
        small = f"<small>line {test.line:{'.0%' if '%' in test.form else 'g'}}</small>"
        body += f'<tr><th scope="row">{test.asks}{small}</th>{row}</tr>'
    keys = " ".join(f'<span class="side-{side}">{text}</span>' for side, text in LEGEND.items())
    head = f"<thead><tr><td></td>{over}</tr><tr><td>Does attention …</td>{head}</tr></thead>"
    table = f"<table>{head}<tbody>{body}</tbody></table>"
    return HTML(f'<div class="attn-grid"><p class="attn-keys-of">{keys}</p><div class="attn-window">{table}</div>'
                '<p class="attn-detail" aria-live="polite"></p></div>')  # fmt: skip


def drawn(row, reach: float) -> str:
    """One cell of `matrix`; reach: how far the intervals of its line of cells go from the test's line."""
    test = TESTS[row.test]
    scale = (48 if test.good == "above" else -48) / reach
    ends = (row.low, row.high) if np.isfinite(row.low) else (row.mean, row.mean)
    a, b = sorted(50 + scale * (end - test.line) for end in ends)
    return (f'<td class="side-{row.colour}"><a href="{test.page}.html" title="{html.escape(told(row))}">'
            f'{number(row.mean, test.form).replace("-", "−")}<i style="--a: {a:.0f}%; --b: {b:.0f}%"></i>'
            f'<span class="visually-hidden">{LEGEND[row.colour]}</span></a></td>')  # fmt: skip


def told(row) -> str:
    """A cell's data set, number, interval, seeds, colour, why it is counted nowhere, controls."""
    form = TESTS[row.test].form
    ends = (0, 1) if form == ".0%" else (-np.inf, np.inf)
    seeds = f"{row.n_seeds} seeds" if row.n_seeds > 1 else "one seed, over texts"
    why = {"adversaries": "no attention could pass"}.get(row.test, "hardly reads this text" * (row.corpus == "snli"))
    low, high = (number(np.clip(end, *ends), form) for end in (row.low, row.high))
    interval = f"{low} to {high}" if np.isfinite(row.low) else "no interval"
    what = f"{SETS[row.corpus]}, {TESTS[row.test].number}: {number(row.mean, form)} ({interval})"
    parts = [what, seeds, LEGEND[row.colour], why]
    parts += [f"{name} {number(value, form)}" for name, value in row.controls]
    return "; ".join(filter(None, parts)).replace("-", "−")
