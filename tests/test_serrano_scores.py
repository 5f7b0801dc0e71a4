"""Serrano & Smith's shares and claims: every rule finds its number, and verdicts follow the numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attn_book import build, scorecard
from attn_book.reported import reported
from attn_book.serrano import scores as serrano_scores
from attn_core import baselines
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments import erasure
from attn_core.runs import HIERARCHICAL, SEEDS, Run, as_dict
from attn_core.traces import Traces

RULES = reported("tolerances", paper="serrano")


def made_up(seed: int, documents: int = 300, classes: int = 4) -> Traces:
    """Traces of documents with 1 to 9 items, drawn at random."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 10, documents))])
    items = int(offsets[-1])
    return Traces(
        np.arange(documents), rng.integers(0, classes, documents), offsets, 2 * rng.normal(size=items),
        2 * rng.normal(size=(items, classes)), rng.normal(size=classes), rng.normal(size=items), rng.normal(size=items),
    )  # fmt: skip


SUMMARIES = {seed: erasure.summary_table(erasure.document_table(made_up(seed))) for seed in SEEDS[:5]}


def result_of(corpus="imdb_stars", encoder="han_rnn", seed=10, accuracy=0.5, changes=None) -> Result:
    """An archived run of one of the six models; changes: (statistic, bin, measure) -> value in its summary."""
    summary = SUMMARIES[seed].copy()
    for (statistic, place, measure), value in (changes or {}).items():
        chosen = (summary["statistic"] == statistic) & (summary["bin"] == place) & (summary["measure"] == measure)
        assert chosen.sum() == 1, (statistic, place, measure)
        summary.loc[chosen, "value"] = value
    per_class = [10] * len(CATALOGUE[corpus].classes)
    statistics = {"splits": {"train": {"per_class": per_class}}, "train_share": 0.01}
    record = {
        "key": "made-up",
        "run": as_dict(Run(corpus, encoder, seed=seed)),
        "accuracy": accuracy,
        "n_train": 80,
        "statistics": statistics,
    }
    return Result(record=record, traces=None, documents=None, summary=summary, source="archive")


def six_models(count=5, **more) -> list[Result]:
    return [result_of(encoder=encoder, seed=seed, **more) for encoder in HIERARCHICAL for seed in SEEDS[:count]]


@pytest.fixture(autouse=True)
def bar(monkeypatch):
    table = pd.DataFrame([{"corpus": "imdb_stars", "majority": 0.2, "regression": 0.45}])
    monkeypatch.setattr(baselines, "stored", lambda: table)


def row_for(rows, item, encoder="han_rnn"):
    found = rows[rows["item"].str.startswith(item) & (rows["encoder"] == encoder) & (rows["corpus"] == "imdb_stars")]
    assert len(found) == 1, (item, encoder, len(found))
    return found.iloc[0]


def test_rules_hold_the_sixteen_shares_and_every_target():
    shares = RULES[RULES["item"] == "repository share"]
    printed = reported("serrano_gradient_beats_attention", statistic="fraction")
    assert len(shares) == 16 and sorted(shares["reference"]) == sorted(printed["value"])
    theirs = printed.assign(encoder=printed["model"].str.replace(r"^(han|flan)", r"\1_", regex=True))
    both = theirs.merge(shares, on=["corpus", "encoder"])
    assert len(both) == 16 and (both["value"] == both["reference"]).all()
    numbers = {serrano_scores.number_of(item) for item in RULES["item"]}
    assert numbers == set(serrano_scores.VALUES) and {name[0] for name in numbers - {"share"}} == set("12345678")


def test_rules_name_models_sides_and_pages_that_exist():
    for rule in RULES.itertuples():
        assert rule.corpus in CATALOGUE and set(rule.encoder.split("-")) <= set(HIERARCHICAL), rule
        assert not rule.item.startswith("claim") or rule.rule.startswith(("lower end", "upper end")), rule
    assert {serrano_scores.page_of(item) for item in RULES["item"]} <= set(build.pages(Path(__file__).parents[1]))
    assert RULES["reason"].str.contains("added before any run").all()


def test_every_rule_of_a_run_set_gets_its_number_by_hand():
    rows = serrano_scores.scored(six_models())
    mine = rows[rows["corpus"] == "imdb_stars"]
    assert mine["ours"].notna().all() and rows.loc[rows["corpus"] != "imdb_stars", "ours"].isna().all()
    shares = []
    for seed in SEEDS[:5]:
        documents = erasure.document_table(made_up(seed))
        documents = documents[documents["n"] > 1]
        first, second = (
            documents[f"removed_{name}"].replace(erasure.NEVER, 10**6) for name in ("gradient", "attention")
        )
        shares.append(float((first < second).mean()))
    assert row_for(rows, "repository share")["ours"] == pytest.approx(np.mean(shares))
    negative = np.mean(
        [(erasure.document_table(made_up(seed))["delta_js@coded"].dropna() < 0).mean() for seed in SEEDS[:5]]
    )
    assert (
        row_for(rows, "claim: 2a")["ours"]
        == pytest.approx(negative)
        == pytest.approx(1 - row_for(rows, "claim: 1a")["ours"])
    )
    assert row_for(rows, "claim: 8", "flan_rnn-han_rnn")["ours"] == 0, "the same summaries under two names"


def test_verdicts_follow_the_numbers():
    key = ("gradient_first", "all", "mean")
    near, far = (serrano_scores.scored(six_models(changes={key: value})) for value in (0.46, 0.9))
    assert row_for(near, "repository share")[["verdict", "n_seeds", "data"]].tolist() == [
        "reproduced",
        5,
        "other classes",
    ]
    assert row_for(far, "repository share")["verdict"] == "differs"
    cells = {
        ("flips_attention@coded", "all", name): value
        for name, value in (("only_top", 9.0), ("only_random", 2.0), ("neither", 89.0))
    }
    rows = serrano_scores.scored(six_models(changes=cells))
    assert [row_for(rows, f"claim: 3{letter}")["verdict"] for letter in "abc"] == ["reproduced"] * 3
    assert row_for(rows, "claim: 3b")["ours"] == pytest.approx(0.07)
    assert (
        row_for(
            serrano_scores.scored(six_models(changes=cells | {("flips_attention@coded", "all", "only_random"): 9.5})),
            "claim: 3b",
        )["verdict"]
        == "differs"
    )


def test_few_seeds_and_weak_models_decide_nothing():
    rows = serrano_scores.scored(six_models(count=4))
    assert (
        row_for(rows, "claim: 3a")["unjudged"] == "few seeds"
        and row_for(rows, "repository share")["verdict"] != "not rerun"
    )
    rows = serrano_scores.scored([*six_models(), *(result_of(seed=seed, accuracy=0.41) for seed in SEEDS[:5])])
    assert row_for(rows, "claim: 3a")["unjudged"] == "weak model", "4 points below the regression"
    assert row_for(rows, "claim: 8", "flan_rnn-han_rnn")["unjudged"] == "weak model", "one of the two is"
    assert row_for(rows, "claim: 8", "flan_conv-han_conv")["unjudged"] == ""


def test_no_data_of_this_edition_is_the_papers_own():
    for corpus, data in (("imdb_stars", "other classes"), ("amazon", "subset"), ("20news_all", "other data")):
        assert serrano_scores.data_of(result_of(corpus).record) == data
    whole = result_of("amazon").record
    whole["statistics"]["train_share"] = 1.0
    assert serrano_scores.data_of(whole) == "same"
    whole["statistics"]["splits"]["train"]["per_class"][0] = 0
    assert serrano_scores.data_of(whole) == "other classes"


def test_the_scorecard_holds_these_rows():
    rows = scorecard.scorecard(six_models())
    mine = rows[rows["paper"] == "serrano"]
    assert len(mine) == len(RULES) and row_for(mine, "claim: 1a")["ours"] > 0
