"""Means over seeds, the papers' numbers under our names, and verdicts that follow the numbers."""

import json

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import PUBLIC, result_of, row_for, seeds_of

from attn_book import data_counts, scorecard
from attn_book.reported import FINAL_RUN, class_label, reported, value
from attn_core import experiments
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.index import over_seeds
from attn_core.runs import ATTENTIONS, ENCODERS, SEEDS
from attn_core.seeds import book_seeds, paired_difference


def test_student_interval_by_hand():
    table = pd.DataFrame({"corpus": "sst", "seed": [1, 2, 3], "value": [1.0, 2.0, 3.0]})
    row = over_seeds(table, "corpus").iloc[0]
    assert row["mean"] == 2 and row["n_seeds"] == 3 and row["std"] == 1
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    assert row["low"] == pytest.approx(2 - half) and row["high"] == pytest.approx(2 + half)


@pytest.mark.parametrize("values", [[0.5], [0.4, 0.6]])
def test_one_seed_and_two_have_no_interval(values):
    row = over_seeds(pd.DataFrame({"corpus": "sst", "value": values}), "corpus").iloc[0]
    assert row["mean"] == 0.5 and np.isnan(row["low"]) and np.isnan(row["high"])


def test_paired_difference_pairs_by_seed():
    first = pd.DataFrame({"seed": [2, 1, 3, 4], "value": [2.0, 1.0, 9.0, 4.0]})
    second = pd.DataFrame({"seed": [1, 2, 4], "value": [0.5, 1.5, 3.5]})
    found = paired_difference(first, second)
    assert found["mean"] == 0.5 and found["n_seeds"] == 3 and found["low"] == pytest.approx(0.5)


def test_generated_corpora_get_one_seed():
    assert len(book_seeds("planted", 5)) == 1 and len(book_seeds("sst", 5)) == 5
    with pytest.raises(AttnError, match="between 1 and 9"):
        book_seeds("sst", 10)


def test_the_papers_numbers_under_our_names():
    printed = value(
        "jain_table2_kendall_tau",
        corpus="20news",
        class_name="hockey",
        encoder="average",
        measure="tau_gradient",
        statistic="mean",
    )
    assert printed == 0.66  # specification, section 6.1
    assert class_label("20news", "hockey") == 1 and class_label("sst", "negative") == 0
    with pytest.raises(AttnError, match="no column 'data'"):
        reported("jain_table2_kendall_tau", data="sst")
    with pytest.raises(AttnError, match="no reported table"):
        reported("jain_table9")


# ---- rules -----------------------------------------------------------------------------------------------------------

RULES = list(reported("tolerances", paper="jain").itertuples())


def test_every_rule_resolves_to_corpus_class_model_and_measure():
    """Every statistic that a rule asks for is one that the summaries of the experiments have."""
    documents = pd.DataFrame(
        {"doc_id": range(4), "label": 1, "predicted": [0, 1, 0, 1], "n": 5, "max_attention": [0.1, 0.3, 0.6, 0.9]}
    )
    taus = [f"tau_{name}" for name in ("attention_gradient", "attention_loo", "gradient_loo")]
    documents = documents.assign(
        **dict.fromkeys([*taus, "median_change", "ceiling", "ceiling_permutation"], 0.3),
        **dict.fromkeys([f"jsd_{kind}@0.05" for kind in ("search", "exact", "lower")], 0.3),
    )
    documents = documents.assign(**{tau.replace("tau_", "p_"): 0.01 for tau in taus})
    summary = experiments.summary_table(documents)
    known = set(zip(summary["statistic"], summary["measure"], strict=True)) | {
        ("accuracy", "value"),
        ("macro_f1", "value"),
    }
    bins = {label[:5] for label in summary["bin"]}
    for rule in RULES:
        assert rule.corpus in CATALOGUE
        assert rule.group == "all" or rule.group in CATALOGUE[rule.corpus].classes, rule
        assert np.isfinite(rule.reference) and (rule.tolerance >= 0 or rule.item in scorecard.CLAIM), rule
        if rule.measure in data_counts.COUNTED:
            continue
        assert set(scorecard.encoders_of(rule)) <= set(ENCODERS) and rule.attention in ATTENTIONS, rule
        wanted = (
            scorecard.CLAIM[rule.item][0]
            if rule.item.startswith("claim")
            else scorecard.MEASURE.get(rule.statistic, rule.statistic)
        )
        _, _, _, statistic, _, label, measure = scorecard.key_of(rule, "lstm", wanted)
        assert (statistic, measure) in known and label in bins, rule


def test_rules_hold_every_reported_number():
    """Table 1 and 2, Figures 3 to 5, the quartiles of 6 and 8 and Figure 7, of all twelve sets, each once."""
    rules = reported("tolerances")
    assert not rules.duplicated(scorecard.NAMES).any() and rules["id"].is_unique
    rules = rules[rules["paper"] == "jain"]
    for name, item in (("jain_table1_datasets", "Table 1"), ("jain_table2_kendall_tau", "Table 2")):
        printed = reported(name)
        mine = rules[rules["item"] == item]
        keys = ["corpus", "measure", "statistic", "value"]
        group = printed["class_name"].fillna("all")
        theirs = printed.assign(group=group, encoder=printed["encoder"].fillna("-"))[[*keys, "group", "encoder"]]
        ours = mine.rename(columns={"reference": "value"}).assign(encoder=mine["encoder"].fillna("-"))
        assert len(theirs.merge(ours, on=[*keys, "group", "encoder"])) == len(theirs) == len(mine), item
    bars = reported("jain_fig3_4_5_bars")
    bars = bars[bars["corpus"].isin(CATALOGUE)]
    assert len(
        bars.merge(rules, left_on=["corpus", "table", "value"], right_on=["corpus", "item", "reference"])
    ) == len(bars)
    read = reported("jain_repo_svg_summaries", snapshot=FINAL_RUN, encoder="lstm", attention="tanh")
    read = read[read["corpus"].isin(CATALOGUE) & read["max_attention_bin"].notna()]
    figure = read["table"].map({"repo svg Permutation_MAvDY": "Figure 6", "repo svg eMaxJDS_Scatter": "Figure 8"})
    read = read.assign(item=figure + " " + read["max_attention_bin"], group=read["class_name"].fillna("all"))
    found = read.merge(rules, on=["item", "corpus", "group", "statistic"])
    assert len(found) == len(read) and (found["value"] == found["reference"]).all()
    assert set(rules[rules["item"] == "web appendix"].groupby(["encoder", "attention"]).groups) == {
        (encoder, attention) for encoder in ("lstm", "cnn", "average") for attention in ("tanh", "dot")
    }


def test_claims_are_decided_on_every_data_set():
    claims = reported("tolerances", paper="jain")
    claims = claims[claims["item"].str.startswith("claim")]
    assert set(claims["item"]) == set(scorecard.CLAIM)
    sets = claims.groupby("item")["corpus"].agg(set)
    for item in (
        "average above BiLSTM",
        "average above BiLSTM (leave-one-out)",
        "gradient and leave-one-out agree better",
    ):
        assert len(sets[f"claim: {item}"]) == 12
    for item, side in zip(claims["item"], claims["rule"], strict=True):
        assert side.startswith("lower end" if scorecard.CLAIM[item][1] == "above" else "upper end"), (item, side)


def test_later_rules_carry_a_date_and_a_reason():
    rules = reported("tolerances")
    first = rules["date"].min()
    later = rules[rules["date"] != first]
    assert len(rules[rules["date"] == first]) == 488 and rules.loc[rules["date"] == first, "reason"].isna().all()
    assert later["reason"].str.contains("added").all()


# ---- verdicts --------------------------------------------------------------------------------------------------------


def verdict_of(item: str, statistic: str, value: float, count: int = 5) -> str:
    rows = scorecard.scorecard(seeds_of(values={statistic: value}, count=count))
    return row_for(rows, item=item, corpus="sst")["verdict"]


def test_verdicts_of_claims_follow_the_numbers():
    weak = "claim: attention correlates only weakly with gradient"
    assert verdict_of(weak, "tau_attention_gradient", 0.4) == "reproduced"
    assert verdict_of(weak, "tau_attention_gradient", 0.6) == "differs"
    assert verdict_of(weak, "tau_attention_gradient", 0.495) == "differs"  # the interval crosses the threshold
    assert (
        verdict_of(weak, "tau_attention_gradient", 0.4, count=4) == "not rerun"
    )  # fewer than five seeds decide nothing
    assert verdict_of("claim: average above BiLSTM", "tau_attention_gradient", 0.4) == "reproduced"
    assert verdict_of("claim: average above BiLSTM (leave-one-out)", "tau_attention_loo", 0.4) == "reproduced"
    assert verdict_of("claim: permutation often changes little", "median_change", 0.3) == "differs"
    assert verdict_of("claim: adversaries are easy to find", "jsd_search@0.05", 0.9) == "reproduced"


def test_few_seeds_are_compared_in_numbers_and_decide_no_claim():
    rows = scorecard.scorecard(seeds_of("snli", values={"tau_attention_gradient": 0.4}, count=3))
    number = row_for(
        rows, item="Table 2", corpus="snli", group="neutral", encoder="lstm", measure="tau_gradient", statistic="mean"
    )
    assert number["verdict"] == "reproduced" and number["n_seeds"] == 3 and number["reported"] == 0.36
    claim = row_for(rows, item="claim: average above BiLSTM", corpus="snli")
    assert (claim["verdict"], claim["unjudged"]) == ("not rerun", "few seeds") and claim["ours"] == pytest.approx(0.3)


def test_classes_are_taken_by_name():
    """SNLI: the order of our labels is neutral, contradiction, entailment."""
    values = {("jsd_search@0.05", "0"): 0.43, ("jsd_search@0.05", "1"): 0.49, ("jsd_search@0.05", "2"): 0.1}
    rows = scorecard.scorecard(seeds_of("snli", ("lstm",), values=values, count=3))
    rows = rows[
        (rows["item"] == "Figure 7") & (rows["corpus"] == "snli") & (rows["statistic"] == "mean_binned")
    ].set_index("group")
    assert rows["ours"].round(2).to_dict() == {"neutral": 0.43, "contradiction": 0.49, "entailment": 0.1}
    assert rows["verdict"].to_dict() == {
        "neutral": "reproduced",
        "contradiction": "reproduced",
        "entailment": "differs",
    }


def test_questions_are_judged_by_accuracy_and_need_no_auc():
    rows = scorecard.scorecard(seeds_of("babi_1", values={"accuracy": 1.0}, count=3, spread=0.0, shift=0.0))
    assert row_for(rows, item="Table 1", corpus="babi_1", measure="test_performance")[["ours", "verdict"]].tolist() == [
        1,
        "reproduced",
    ]
    rows = scorecard.scorecard(seeds_of("snli", values={"accuracy": 0.5}, count=3, spread=0.0, shift=0.0))
    assert row_for(rows, item="Table 1", corpus="snli", measure="test_performance")[["ours", "verdict"]].tolist() == [
        0.5,
        "differs",
    ]
    rows = scorecard.scorecard(
        seeds_of("sst", values={"macro_f1": 0.7, "accuracy": 0.9}, count=3, spread=0.0, shift=0.0)
    )
    assert row_for(rows, item="Table 1", corpus="sst", measure="test_performance")["ours"] == pytest.approx(0.7)


def test_other_encoders_and_attentions_are_kept_apart():
    runs = [
        *seeds_of(values={"tau_attention_gradient": 0.35}),
        *seeds_of(encoders=("cnn",), values={"tau_attention_gradient": 0.9}, attention="dot"),
    ]
    rows = scorecard.scorecard(runs)
    web = rows[(rows["item"] == "web appendix") & (rows["corpus"] == "sst")].set_index(["encoder", "attention"])
    assert web.loc[("lstm", "tanh"), "ours"] == pytest.approx(0.35) and web.loc[
        ("cnn", "dot"), "ours"
    ] == pytest.approx(0.9)
    assert web.loc[("cnn", "tanh"), "unjudged"] == "no run" and np.isnan(web.loc[("cnn", "tanh"), "ours"])
    assert web.loc[("cnn", "dot"), "page"] == "jain/gallery"


def test_a_corpus_without_runs_is_not_rerun():
    rows = scorecard.scorecard([])
    assert set(rows["verdict"]) == {"not rerun"} and set(rows["data"]) == {"absent"} and rows["ours"].isna().all()
    assert len(rows) == len(reported("tolerances")) and list(rows.columns) == list(scorecard.COLUMNS)


def test_variants_are_not_scored():
    runs = [
        *seeds_of(values={"tau_attention_gradient": 0.4}),
        result_of(seed=2, values={"tau_attention_gradient": 9.0}, selection="test"),
        result_of(seed=2, values={"tau_attention_gradient": 9.0}, fraction=0.5),
        result_of(seed=7, values={"tau_attention_gradient": 9.0}),
    ]
    row = row_for(scorecard.scorecard(runs), item="web appendix", corpus="sst", encoder="lstm", attention="tanh")
    assert row["ours"] == pytest.approx(0.4) and row["n_seeds"] == 5


def test_every_public_row_gets_a_value():
    """With all six models of all eight public sets archived, no row of theirs is without one."""
    runs = [
        result_of(corpus, encoder, seed, attention=attention)
        for corpus in PUBLIC
        for encoder in ("lstm", "cnn", "average")
        for attention in ("tanh", "dot")
        for seed in SEEDS[:2]
    ]
    rows = scorecard.scorecard(runs)
    mine = rows[rows["paper"] == "jain"]
    assert (mine["ours"].notna() == mine["corpus"].isin(PUBLIC)).all()
    text = json.loads(rows.to_json(orient="records"))
    assert text[0]["n_train"] == result_of("sst").record["n_train"] and set(text[0]) == set(scorecard.COLUMNS)
