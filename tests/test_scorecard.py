"""Means over seeds, the papers' numbers under our names, and verdicts that follow the numbers."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attn_core import causes, experiments, notebook, scorecard, scorecard_page
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.reported import FINAL_RUN, class_label, reported, value
from attn_core.runs import ATTENTIONS, ENCODERS, SEEDS, AbsentRun, Run, as_dict
from attn_core.seeds import book_seeds, over_seeds, paired_difference


def test_student_interval_by_hand():
    table = pd.DataFrame({"corpus": "sst", "seed": [1, 2, 3], "value": [1.0, 2.0, 3.0]})
    row = over_seeds(table, "corpus").iloc[0]
    assert row["mean"] == 2 and row["n_seeds"] == 3 and row["std"] == 1
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    assert row["low"] == pytest.approx(2 - half) and row["high"] == pytest.approx(2 + half)


def test_one_seed_has_no_interval():
    row = over_seeds(pd.DataFrame({"corpus": ["sst"], "value": [0.5]}), "corpus").iloc[0]
    assert row["mean"] == 0.5 and np.isnan(row["low"]) and np.isnan(row["high"])


def test_paired_difference_pairs_by_seed():
    first = pd.DataFrame({"seed": [2, 1, 3], "value": [2.0, 1.0, 9.0]})
    second = pd.DataFrame({"seed": [1, 2], "value": [0.5, 1.5]})
    found = paired_difference(first, second)
    assert found["mean"] == 0.5 and found["n_seeds"] == 2 and found["low"] == pytest.approx(0.5)


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

RULES = list(reported("tolerances").itertuples())
PUBLIC = ("sst", "imdb", "agnews", "20news", "babi_1", "babi_2", "babi_3", "snli")


def test_every_rule_resolves_to_corpus_class_model_and_measure():
    """Every statistic that a rule asks for is one that the summaries of the experiments have."""
    documents = pd.DataFrame({"doc_id": range(4), "label": 1, "predicted": [0, 1, 0, 1], "n": 5, "max_attention": [0.1, 0.3, 0.6, 0.9]})
    taus = [f"tau_{name}" for name in ("attention_gradient", "attention_loo", "gradient_loo")]
    documents = documents.assign(**dict.fromkeys([*taus, "median_change", "jsd_search@0.05", "ceiling", "ceiling_permutation"], 0.3))
    documents = documents.assign(**{tau.replace("tau_", "p_"): 0.01 for tau in taus})
    summary = experiments.summary_table(documents)
    known = set(zip(summary["statistic"], summary["measure"], strict=True)) | {("accuracy", "value"), ("macro_f1", "value")}
    bins = {label[:5] for label in summary["bin"]}
    for rule in RULES:
        assert rule.corpus in CATALOGUE
        assert rule.group == "all" or rule.group in CATALOGUE[rule.corpus].classes, rule
        assert np.isfinite(rule.reference) and (rule.tolerance >= 0 or rule.item in scorecard.CLAIM), rule
        if rule.measure in scorecard.COUNTED:
            continue
        assert set(scorecard.encoders_of(rule)) <= set(ENCODERS) and rule.attention in ATTENTIONS, rule
        wanted = scorecard.CLAIM[rule.item][0] if rule.item.startswith("claim") else scorecard.MEASURE.get(rule.statistic, rule.statistic)
        _, _, _, statistic, _, label, measure = scorecard.key_of(rule, "lstm", wanted)
        assert (statistic, measure) in known and label in bins, rule


def test_rules_hold_every_reported_number():
    """Table 1 and 2, Figures 3 to 5, the quartiles of 6 and 8 and Figure 7, of all twelve sets; a number stands once."""
    rules = reported("tolerances")
    assert not rules.duplicated(scorecard.NAMES).any() and rules["id"].is_unique
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
    assert len(bars.merge(rules, left_on=["corpus", "table", "value"], right_on=["corpus", "item", "reference"])) == len(bars)
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
    claims = reported("tolerances")
    claims = claims[claims["item"].str.startswith("claim")]
    assert set(claims["item"]) == set(scorecard.CLAIM)
    sets = claims.groupby("item")["corpus"].agg(set)
    for item in ("average above BiLSTM", "average above BiLSTM (leave-one-out)", "gradient and leave-one-out agree better"):
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


def result_of(corpus="sst", encoder="lstm", seed=10, values=None, statistics=None, attention="tanh", n_in_bin=50, **fields):
    """An archived run whose summary holds one value for every statistic, class, bin and measure.

    values: statistic -> value, or (statistic, predicted) -> value; others have 0.5.
    """
    values = values or {}
    run = Run(corpus, encoder, attention, seed, **fields)
    entry, rows = CATALOGUE[corpus], []
    labels = ("[0.00,0.25)", "[0.25,0.50)", "[0.50,0.75)", "[0.75,1.00]")
    for statistic in {*scorecard.STATISTIC.values()} - {"macro_f1"}:
        for predicted in ("all", *map(str, range(len(entry.classes)))):
            value = values.get((statistic, predicted), values.get(statistic, 0.5))
            for label in ("all", *labels):
                measures = ("mean", "std", "median", "q25", "q75", "share_significant", "share_below_0.1", "share_above_0.4")
                rows += [(statistic, predicted, label, measure, value) for measure in measures]
                rows.append((statistic, predicted, label, "n", float(n_in_bin)))
    summary = pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])
    sizes = statistics or whole(corpus)
    record = {"key": run.key, "run": as_dict(run), "accuracy": values.get("accuracy", 0.8), "statistics": sizes,
              "n_train": sizes["splits"]["train"]["documents"], "n_test": sizes["splits"]["test"]["documents"]}  # fmt: skip
    if entry.task == "text":
        record |= {"macro_f1": values.get("macro_f1", 0.8), "f1_0": 0.8, "f1_1": 0.8, "auc": 0.9}
    return Result(record=record, traces=None, documents=None, summary=summary, source="archive")


def whole(corpus: str, share: float = 1.0, **more) -> dict:
    """Data statistics of the paper's own sizes, or of a share of the training documents, with a dev split cut from them."""
    entry, sizes = CATALOGUE[corpus], scorecard.printed_sizes()[corpus]
    classes = max(len(entry.classes), 1)

    def split(n):
        n = int(n)
        return {"documents": n, "per_class": [n // classes] * (classes - 1) + [n - n // classes * (classes - 1)], "mean_length": 10.0}

    train = share * sizes["train"]
    parts = {"train": split(train)} if "dev" in entry.files else {"train": split(0.8 * train), "dev": split(train - int(0.8 * train))}
    return {"splits": {**parts, "test": split(sizes["test"])}, "classes": ["a"] * (36 if corpus.startswith("babi") else classes),
            "vocabulary": 111, "vocabulary_all_splits": 222, **more}  # fmt: skip


def seeds_of(corpus="sst", encoders=("lstm", "average"), count=5, spread=0.01, values=None, shift=0.3, **more):
    """Standard runs of several seeds around the values, the average encoder `shift` above."""
    values = values or {}
    return [
        result_of(corpus, encoder, seed, {name: v + spread * (i - (count - 1) / 2) + (shift if encoder == "average" else 0)
                                          for name, v in values.items()}, **more)
        for encoder in encoders for i, seed in enumerate(SEEDS[:count])
    ]  # fmt: skip


def row_for(rows: pd.DataFrame, **where):
    for name, wanted in where.items():
        rows = rows[rows[name] == wanted]
    assert len(rows) == 1, (where, len(rows))
    return rows.iloc[0]


def verdict_of(item: str, statistic: str, value: float, count: int = 5) -> str:
    rows = scorecard.scorecard(seeds_of(values={statistic: value}, count=count))
    return row_for(rows, item=item, corpus="sst")["verdict"]


def test_verdicts_of_claims_follow_the_numbers():
    weak = "claim: attention correlates only weakly with gradient"
    assert verdict_of(weak, "tau_attention_gradient", 0.4) == "reproduced"
    assert verdict_of(weak, "tau_attention_gradient", 0.6) == "differs"
    assert verdict_of(weak, "tau_attention_gradient", 0.495) == "differs"  # the interval crosses the threshold
    assert verdict_of(weak, "tau_attention_gradient", 0.4, count=4) == "not rerun"  # fewer than five seeds decide nothing
    assert verdict_of("claim: average above BiLSTM", "tau_attention_gradient", 0.4) == "reproduced"
    assert verdict_of("claim: average above BiLSTM (leave-one-out)", "tau_attention_loo", 0.4) == "reproduced"
    assert verdict_of("claim: permutation often changes little", "median_change", 0.3) == "differs"
    assert verdict_of("claim: adversaries are easy to find", "jsd_search@0.05", 0.9) == "reproduced"


def test_few_seeds_are_compared_in_numbers_and_decide_no_claim():
    rows = scorecard.scorecard(seeds_of("snli", values={"tau_attention_gradient": 0.4}, count=3))
    number = row_for(rows, item="Table 2", corpus="snli", group="neutral", encoder="lstm", measure="tau_gradient", statistic="mean")
    assert number["verdict"] == "reproduced" and number["n_seeds"] == 3 and number["reported"] == 0.36
    claim = row_for(rows, item="claim: average above BiLSTM", corpus="snli")
    assert (claim["verdict"], claim["unjudged"]) == ("not rerun", "few seeds") and claim["ours"] == pytest.approx(0.3)


def test_classes_are_taken_by_name():
    """SNLI: the order of our labels is neutral, contradiction, entailment."""
    values = {("jsd_search@0.05", "0"): 0.43, ("jsd_search@0.05", "1"): 0.49, ("jsd_search@0.05", "2"): 0.1}
    rows = scorecard.scorecard(seeds_of("snli", ("lstm",), values=values, count=3))
    rows = rows[(rows["item"] == "Figure 7") & (rows["corpus"] == "snli") & (rows["statistic"] == "mean_binned")].set_index("group")
    assert rows["ours"].round(2).to_dict() == {"neutral": 0.43, "contradiction": 0.49, "entailment": 0.1}
    assert rows["verdict"].to_dict() == {"neutral": "reproduced", "contradiction": "reproduced", "entailment": "differs"}


def test_questions_are_judged_by_accuracy_and_need_no_auc():
    rows = scorecard.scorecard(seeds_of("babi_1", values={"accuracy": 1.0}, count=3, spread=0.0, shift=0.0))
    assert row_for(rows, item="Table 1", corpus="babi_1", measure="test_performance")[["ours", "verdict"]].tolist() == [1, "reproduced"]
    rows = scorecard.scorecard(seeds_of("snli", values={"accuracy": 0.5}, count=3, spread=0.0, shift=0.0))
    assert row_for(rows, item="Table 1", corpus="snli", measure="test_performance")[["ours", "verdict"]].tolist() == [0.5, "differs"]
    rows = scorecard.scorecard(seeds_of("sst", values={"macro_f1": 0.7, "accuracy": 0.9}, count=3, spread=0.0, shift=0.0))
    assert row_for(rows, item="Table 1", corpus="sst", measure="test_performance")["ours"] == pytest.approx(0.7)


def test_other_encoders_and_attentions_are_kept_apart():
    runs = [*seeds_of(values={"tau_attention_gradient": 0.35}), *seeds_of(encoders=("cnn",), values={"tau_attention_gradient": 0.9}, attention="dot")]
    rows = scorecard.scorecard(runs)
    web = rows[(rows["item"] == "web appendix") & (rows["corpus"] == "sst")].set_index(["encoder", "attention"])
    assert web.loc[("lstm", "tanh"), "ours"] == pytest.approx(0.35) and web.loc[("cnn", "dot"), "ours"] == pytest.approx(0.9)
    assert web.loc[("cnn", "tanh"), "unjudged"] == "no run" and np.isnan(web.loc[("cnn", "tanh"), "ours"])
    assert web.loc[("cnn", "dot"), "page"] == "jain/appendix-correlation"


def test_bins_need_twenty_documents():
    few, enough = (scorecard.scorecard(seeds_of(encoders=("lstm",), n_in_bin=n)) for n in (19, 20))
    for item in ("Figure 6 [0.25,0.50)", "Figure 8 [0.25,0.50)"):
        place = {"item": item, "corpus": "sst", "group": "negative", "statistic": "q75"}
        assert (row_for(few, **place)["unjudged"], row_for(few, **place)["ours"]) == ("few documents", 0.5)
        assert row_for(enough, **place)["verdict"] != "not rerun"
    place = {"item": "Figure 7", "corpus": "sst", "group": "negative", "statistic": "mean_binned"}
    assert row_for(few, **place)["verdict"] != "not rerun"


def test_a_corpus_without_runs_is_not_rerun():
    rows = scorecard.scorecard([])
    assert set(rows["verdict"]) == {"not rerun"} and set(rows["data"]) == {"absent"} and rows["ours"].isna().all()
    assert len(rows) == len(RULES) and list(rows.columns) == list(scorecard.COLUMNS)


def test_variants_are_not_scored():
    runs = [*seeds_of(values={"tau_attention_gradient": 0.4}), result_of(seed=2, values={"tau_attention_gradient": 9.0}, selection="test"),
            result_of(seed=2, values={"tau_attention_gradient": 9.0}, fraction=0.5), result_of(seed=7, values={"tau_attention_gradient": 9.0})]  # fmt: skip
    row = row_for(scorecard.scorecard(runs), item="web appendix", corpus="sst", encoder="lstm", attention="tanh")
    assert row["ours"] == pytest.approx(0.4) and row["n_seeds"] == 5


# ---- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus", PUBLIC)
def test_subset_never_counts_as_same(corpus):
    assert scorecard.data_of(result_of(corpus).record) == "same"
    assert scorecard.data_of(result_of(corpus, statistics=whole(corpus, 0.9)).record) == "subset"
    assert scorecard.data_of(result_of(corpus, fraction=0.5).record) == "subset"
    rows = scorecard.scorecard([result_of(corpus, statistics=whole(corpus, 0.1))])
    rows = rows[rows["ours"].notna()]
    assert set(rows["corpus"]) == {corpus} and set(rows["data"]) == {"subset"}
    counts = scorecard_page.counts_by_verdict(rows.assign(part=rows["item"].map(scorecard_page.part_of)), [corpus])
    assert counts[["reproduced", "differs"]].to_numpy().sum() == 0


def test_generated_questions_never_count_as_same():
    for split in ("train_source", "test_source"):
        assert scorecard.data_of(result_of("babi_3", statistics=whole("babi_3", **{split: "generated"})).record) == "generated"
    assert scorecard.data_of(result_of("babi_3", statistics=whole("babi_3", train_source="en-10k")).record) == "same"
    assert scorecard.data_of(result_of("babi_3", statistics=whole("babi_3", 0.1, train_source="en")).record) == "subset"


def test_counts_of_table_1_by_hand():
    splits = {"train": {"documents": 6, "per_class": [2, 4], "mean_length": 10.0}, "dev": {"documents": 2, "per_class": [1, 1], "mean_length": 20.0},
              "test": {"documents": 3, "per_class": [1, 2], "mean_length": 7.0}}  # fmt: skip
    statistics = {"splits": splits, "classes": ["a", "b"], "vocabulary": 5, "vocabulary_all_splits": 9}

    def ours(corpus, group, measure, **more):
        record = {"run": {"corpus": corpus}, "statistics": statistics | more}
        rule = next(r for r in RULES if (r.corpus, r.group, r.measure, r.item) == (corpus, group, measure, "Table 1"))
        return scorecard.counted(rule, record)["ours"]

    assert ours("imdb", "positive", "train_size") == 5, "dev is cut from train, and the paper counts before that"
    assert ours("imdb", "all", "average_length_tokens") == 12.5
    assert ours("sst", "positive", "train_size") == 4, "SST has a dev split of its own"
    assert ours("sst", "all", "average_length_tokens") == 10 and ours("sst", "negative", "test_size") == 1
    assert ours("babi_2", "all", "train_size") == 8 and ours("babi_2", "all", "vocabulary_size", classes=["w"] * 36) == 40
    assert ours("snli", "all", "vocabulary_size") == 5 and ours("sst", "all", "vocabulary_size") == 9


def test_every_public_row_gets_a_value():
    """With all six models of all eight public sets archived, no row of theirs is without one."""
    runs = [
        result_of(corpus, encoder, seed, attention=attention)
        for corpus in PUBLIC for encoder in ("lstm", "cnn", "average") for attention in ("tanh", "dot") for seed in SEEDS[:2]
    ]  # fmt: skip
    rows = scorecard.scorecard(runs)
    assert (rows["ours"].notna() == rows["corpus"].isin(PUBLIC)).all()
    text = json.loads(rows.to_json(orient="records"))
    assert text[0]["n_train"] == result_of("sst").record["n_train"] and set(text[0]) == set(scorecard.COLUMNS)


# ---- causes ----------------------------------------------------------------------------------------------------------

PLACE = {"item": "web appendix", "corpus": "sst", "encoder": "lstm", "attention": "tanh"}  # reported 0.35, tolerance 0.10


def test_a_variant_that_explains_a_difference():
    standard_runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    variant = [result_of(seed=seed, values={"tau_attention_gradient": 0.40 + 0.01 * i}, vectors="random") for i, seed in enumerate(SEEDS[:3])]
    found = causes.causes(results=[*standard_runs, *variant])
    row = row_for(found, cause="vectors=random", **PLACE)
    assert row["shift"] == pytest.approx(0.41 - 0.59) and row["value"] == pytest.approx(0.41) and row["n_seeds"] == 3
    assert row["key"] == variant[0].key and row["within"] and f"`{variant[0].key}` and 2 more seeds" in row["sentence"]
    assert np.isclose(row["low"], row["high"]) and "which holds" in row["sentence"] and "public word vectors" in row["why"]
    seeds = row_for(found, cause="seed", **PLACE)
    assert seeds["key"] == standard_runs[0].key and not seeds["within"] and "0.58 to 0.62" in seeds["sentence"]


def test_a_variant_that_explains_nothing_says_so():
    runs = [*seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6}), result_of(values={"tau_attention_gradient": 0.9}, selection="test")]
    row = row_for(causes.causes(results=runs), cause="selection=test", **PLACE)
    assert not row["within"] and "still differs" in row["sentence"] and np.isnan(row["low"]) and row["shift"] == pytest.approx(0.32)


def test_runs_that_differ_in_two_fields_or_another_model_explain_nothing():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    runs += [result_of(vectors="random", selection="test"), result_of(encoder="cnn", vectors="random"), result_of(seed=SEEDS[6], vectors="random")]
    found = causes.causes(results=runs)
    found = found[(found["item"] == "web appendix") & (found["encoder"] == "lstm")]
    assert list(found["cause"]) == ["seed"]


def test_differences_of_encoders_need_the_variant_of_both():
    runs = seeds_of(values={"tau_attention_loo": 0.3}, shift=0.9) + [result_of(seed=10, selection="test", values={"tau_attention_loo": 0.3})]
    place = {"item": "Figure 5", "corpus": "sst"}
    assert "selection=test" not in set(causes.causes(results=runs).query("item == 'Figure 5'")["cause"])
    runs.append(result_of(encoder="average", seed=10, selection="test", values={"tau_attention_loo": 0.65}))
    row = row_for(causes.causes(results=runs), cause="selection=test", **place)
    assert row["value"] == pytest.approx(0.35) and row["within"] and row["key"] == runs[-1].key


def test_training_size_is_tested_on_another_data_set():
    runs = seeds_of("agnews", ("lstm",), values={"tau_attention_gradient": 0.9}, statistics=whole("agnews", 0.1))
    runs += [*seeds_of("imdb", ("lstm",), values={"tau_attention_gradient": 0.4}), result_of("imdb", fraction=0.25, values={"tau_attention_gradient": 0.5})]
    found = causes.causes(results=runs)
    row = row_for(found, item="web appendix", corpus="agnews", cause="fraction=0.25", encoder="lstm", attention="tanh")
    assert row["shift"] == pytest.approx(0.12) and "on the same number of imdb" in row["sentence"] and not row["within"]
    sizes = found[(found["corpus"] == "agnews") & found["sentence"].str.contains("Our training split holds")]
    assert len(sizes) and "59,998" in sizes["sentence"].iloc[0]


def test_the_authors_other_run_and_corrected_slips():
    found = causes.causes(results=seeds_of("20news", values={"tau_attention_gradient": 0.3}, shift=0.5))
    row = row_for(found, item="Table 2", corpus="20news", group="hockey", encoder="lstm", measure="tau_gradient", statistic="mean", cause="final run")
    assert row["within"] and "has 0.21; ours lies within" in row["sentence"]
    found = causes.causes(results=[result_of("imdb")])
    slips = found[(found["item"] == "Table 1") & (found["cause"] == "corrected")]
    assert set(slips["measure"]) == {"train_size"} and slips["sentence"].str.startswith("Corrected: 10").all()


def test_every_differing_row_has_a_sentence_and_others_none():
    runs = [run for corpus in PUBLIC for run in seeds_of(corpus, values={"tau_attention_gradient": 0.9}, count=3)]
    rows = scorecard.scorecard(runs)
    told = causes.with_sentences(rows, runs)
    assert len(told) == len(rows) and ((told["tried"] != "") >= (told["verdict"] == "differs")).all()
    assert (told.loc[told["verdict"] != "differs", "tried"] == "").all()
    counts = told[(told["verdict"] == "differs") & (told["corpus"] == "sst") & (told["measure"] == "train_size")]
    assert (counts["tried"] == "Nothing was tried yet.").all() and len(counts) == 2
    measured = told[(told["verdict"] == "differs") & ~told["measure"].isin(scorecard.COUNTED)]
    assert len(measured) and measured["tried"].str.contains("`").all(), "a run key is named"


def test_declared_causes_name_known_things():
    for cause in reported("causes").itertuples():
        assert any(causes.fnmatch(name, cause.corpus) for name in CATALOGUE)
        assert any(causes.speaks_to(cause, rule) for rule in RULES), cause
        assert pd.isna(cause.field) or cause.field in {field.name for field in dataclasses.fields(Run)}
        assert pd.isna(cause.tested_on) or cause.tested_on in CATALOGUE


# ---- what the scorecard page shows -----------------------------------------------------------------------------------


def row_of(**values):
    """One scorecard row with sensible values where none are given."""
    plain = {"paper": "jain", "item": "Table 2", "corpus": "sst", "group": "negative", "encoder": "lstm", "measure": "tau_gradient", "statistic": "mean",
             "reported": 0.4, "ours": 0.4, "low": 0.3, "high": 0.5, "n_seeds": 5, "data": "same", "tolerance": 0.1, "verdict": "reproduced"}  # fmt: skip
    row = plain | values
    return pd.DataFrame([row | {"part": scorecard_page.part_of(row["item"])}])


@pytest.mark.parametrize(
    ("item", "low", "high", "side"),
    [
        ("claim: average above BiLSTM", 0.1, 0.2, "clears"),
        ("claim: average above BiLSTM", -0.1, 0.2, "contains"),
        ("claim: average above BiLSTM", 0.0, 0.2, "contains"),
        ("claim: average above BiLSTM", -0.2, -0.1, "opposite"),
        ("claim: attention correlates only weakly with gradient", -0.2, -0.1, "clears"),
        ("claim: attention correlates only weakly with gradient", 0.1, 0.2, "opposite"),
        ("claim: average above BiLSTM", np.nan, np.nan, "no interval"),
    ],
)
def test_side_of_the_threshold(item, low, high, side):
    row = next(row_of(item=item, reported=0.0, low=low, high=high).itertuples())
    assert scorecard_page.threshold_side(row) == side


def test_intervals_end_where_the_statistic_does():
    cases = [("Table 2", "sig_frac", 1.2, 1), ("Figure 6 [0.00,0.25)", "median", 1.2, 1), ("Figure 7", "mean_binned", 0.9, np.log(2)),
             ("claim: permutation often changes little", "BiLSTM+tanh, share", 1.2, 1), ("claim: average above BiLSTM", "difference", 1.2, 1.2)]  # fmt: skip
    for item, statistic, high, expected in cases:
        cut = scorecard_page.clipped(row_of(item=item, statistic=statistic, low=-0.0, high=high)).iloc[0]
        assert cut["high"] == pytest.approx(expected) and cut["cut"] == (expected != high), item
    low = scorecard_page.clipped(row_of(statistic="median", low=-0.01)).iloc[0]
    assert low["low"] == 0 and low["cut"]
    count = scorecard_page.clipped(row_of(statistic="count", low=np.nan, high=np.nan)).iloc[0]
    assert np.isnan(count["low"]) and not count["cut"]


def test_units_of_the_tolerance_by_hand():
    rows = pd.concat([
        row_of(item="Figure 7", statistic="mean_binned", ours=0.5, low=0.4, high=0.6),
        row_of(corpus="20news", ours=0.2, low=0.1, high=0.35), row_of(ours=0.45), row_of(statistic="std"),
        row_of(item="Table 1", measure="train_size", statistic="count", tolerance=0.0), row_of(item="Table 1", measure="average_length_tokens", tolerance=0.5),
        row_of(item="claim: average above BiLSTM", tolerance=np.nan),
    ])  # fmt: skip
    lines = scorecard_page.in_tolerances(rows)
    assert list(lines["part"]) == ["Figure 7, means", "Table 2, means", "Table 2, means", "Table 2, std"]
    assert list(lines["corpus"]) == ["sst", "sst", "20news", "sst"], "one data set after the other within a part"
    assert list(lines["mean"]) == pytest.approx([1, 0.5, -2, 0])
    assert lines.iloc[2][["low", "high"]].tolist() == pytest.approx([-3, -0.5])
    assert list(lines["y"]) == [0, 2.5, 3.5, 6]


def test_counts_by_verdict():
    rows = pd.concat([
        row_of(), row_of(verdict="differs"), row_of(data="subset"), row_of(verdict="not rerun", data="absent"), row_of(corpus="imdb"),
        row_of(item="claim: average above BiLSTM"),
    ])  # fmt: skip
    counts = scorecard_page.counts_by_verdict(rows, ["sst"])
    assert counts.loc["Table 2"].to_dict() == {
        "reproduced": 1,
        "differs": 1,
        "not judged": 1,
        "other data": 1,
        "other data sets": 1,
    }
    assert counts.loc["claims", "reproduced"] == 1 and counts.to_numpy().sum() == 6


def test_words_of_the_scorecard():
    assert [scorecard_page.source_of(item) for item in ("Table 1", "Figure 8", "claim: x")] == [
        "printed", "read off the authors' figures or files", "threshold of the rule",
    ]  # fmt: skip
    words = [
        scorecard_page.seeds_in_words(next(row_of(**fields).itertuples()))
        for fields in ({}, {"n_seeds": 4}, {"measure": "train_size", "n_seeds": 1})
    ]
    assert words == ["5", "4 (few)", "–"]


def test_rows_link_to_pages_that_exist():
    known = notebook.pages(Path(__file__).parents[1])
    assert {scorecard.page_of(item) for item in reported("tolerances")["item"]} <= set(known)


def test_a_scorecard_without_runs_is_a_gap(monkeypatch):
    rows = row_of(verdict="not rerun", rule="")
    monkeypatch.setattr(scorecard_page, "scorecard", lambda: rows.drop(columns="part"))
    with pytest.raises(AbsentRun, match="no archived run of sst"):
        scorecard_page.paper_rows("jain", ["sst"])
    with pytest.raises(AttnError, match="paper takes: jain"):
        scorecard_page.paper_rows("jane", ["sst"])
