"""The papers' numbers under our names, what a rule asks for, and verdicts that follow the numbers."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import refused
from scorecard_runs import result_of, row_for, seeds_of, whole

from attn_book import scorecard
from attn_book.derived import COUNTED, statements_of
from attn_book.scorecard import reported
from attn_lab.data.catalogue import CATALOGUE

# ---- rules -----------------------------------------------------------------------------------------------------------


def test_rules_are_whole():
    """One sense, one place, one side: of all three papers."""
    rules = reported("tolerances")
    names = ["paper", "item", "corpus", "group", "encoder", "attention", "measure", "statistic"]
    near = rules["kind"].isin(["number", "range"])
    claims = rules[rules["kind"] == "claim"]
    assert not rules.duplicated(names).any()
    assert rules["id"].is_unique
    assert set(rules["kind"]) == {"number", "range", "claim", "band"}
    assert set(rules["late"]) == {"", "yes"}
    assert ((rules["side"] == "") == near).all()
    assert np.isfinite(rules["reference"]).all()
    assert rules.loc[~near, "tolerance"].isna().all(), "a threshold has no tolerance"
    assert (rules["kind"] == "claim").equals(rules["item"].str.startswith("claim"))
    assert rules["page"].notna().all()
    sides = claims["rule"].str.split(" ").str[0].map({"lower": "above", "upper": "below"})
    assert (sides == claims["side"]).all()


def test_what_a_rule_takes_off_is_another_model_or_measure_and_its_class_is_named():
    for rule in reported("tolerances").itertuples():
        if rule.minus:
            field, _, other = rule.minus.partition("=")
            assert field in ("encoder_ours", "measure_ours")
            assert other != getattr(rule, field), rule
        if rule.predicted != "all":
            assert CATALOGUE[rule.corpus].classes[int(rule.predicted)] == rule.group, rule


def test_the_papers_numbers_under_our_names():
    place = {"class_name": "hockey", "encoder": "average", "measure": "tau_gradient", "statistic": "mean"}
    row = reported("jain_table2_kendall_tau", corpus="20news", **place)
    assert row["value"].tolist() == [0.66]
    with refused("no reported table"):
        reported("jain_table9")


def test_a_guess_without_a_model_is_the_mean_of_the_other_data_sets():
    """A claim and a number of one set alone have none."""
    rows = pd.DataFrame({"corpus": list("aabca"), "reported": [0.1, 0.3, 0.5, 0.7, 9.0]})
    rows = rows.assign(paper="p", item="T", encoder="e", attention=np.nan, measure="m")
    rows = rows.assign(statistic=[*4 * ["mean"], "std"], kind=[*3 * ["number"], "claim", "number"])
    guess = scorecard.guessed(rows).reindex(rows.index)
    assert guess[:3].tolist() == pytest.approx([0.5, 0.5, 0.2])
    assert guess[3:].isna().all()


# ---- what holds ------------------------------------------------------------------------------------------------------


NONE = {"low": np.nan, "high": np.nan}


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "holds"),
        ({"low": 0.4, "high": 0.6}, "holds"),  # its own edge lies within
        ({"high": 0.61}, "undecided"),
        ({"low": 0.1, "high": 0.9}, "undecided"),
        ({"ours": 0.7, "low": 0.55, "high": 0.85}, "undecided"),  # its interval reaches in
        ({"ours": 0.7, "low": 0.61, "high": 0.8}, "differs"),
        ({"ours": 0.3, "low": 0.2, "high": 0.39}, "differs"),
        (NONE | {"ours": 0.6}, "holds"),
        (NONE | {"ours": 0.6001}, "differs"),
        (NONE | {"ours": 0.1 + 0.3}, "holds"),  # > 0.4 in binary
        (NONE | {"tolerance": 0.0}, "holds"),
        (NONE | {"ours": 0.501, "tolerance": 0.0}, "differs"),
        ({"side": "above", "low": 0.51, "high": 0.9}, "holds"),
        ({"side": "below", "low": 0.1, "high": 0.49}, "holds"),
        ({"side": "above", "low": 0.1, "high": 0.49}, "differs"),
        ({"side": "below", "low": 0.51, "high": 0.9}, "differs"),
        ({"side": "above", "low": 0.5, "high": 0.9}, "undecided"),
        ({"side": "below", "low": 0.1, "high": 0.5}, "undecided"),
    ],
)
def test_a_row_is_judged_by_its_whole_interval_and_without_one_by_its_value(row, verdict):
    """Printed 0.5, within 0.1."""
    plain = {"side": "", "reported": 0.5, "ours": 0.5, "low": 0.45, "high": 0.55}
    plain["tolerance"] = np.nan if "side" in row else 0.1
    assert scorecard.verdicts(pd.DataFrame([plain | row])) == [verdict]


# ---- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "measure", "value", "count", "verdict"),
    [
        ("attention correlates only weakly with gradient", "tau_attention_gradient", 0.4, 5, "holds"),
        ("attention correlates only weakly with gradient", "tau_attention_gradient", 0.6, 5, "differs"),
        ("attention correlates only weakly with gradient", "tau_attention_gradient", 0.495, 5, "undecided"),
        ("attention correlates only weakly with gradient", "tau_attention_gradient", 0.4, 4, "unjudged"),
        ("average above BiLSTM (leave-one-out)", "tau_attention_loo", 0.4, 5, "holds"),
        ("permutation often changes little", "median_change", 0.3, 5, "differs"),
        ("adversaries are easy to find", "jsd_search epsilon=0.05", 0.9, 5, "holds"),
    ],
)
def test_verdicts_of_claims_follow_the_numbers(scored, item, measure, value, count, verdict):
    """Four seeds are too few."""
    rows = scored(seeds_of(values={measure: value}, count=count), "jain")
    assert row_for(rows, item=f"claim: {item}", corpus="sst")["verdict"] == verdict


def test_what_has_no_run_is_not_rerun(scored):
    rows = scored([result_of()], "serrano")
    assert len(rows) == len(reported("tolerances", paper="serrano"))
    assert rows["ours"].isna().all()
    assert {*rows["verdict"], *rows["data"], *rows["unjudged"]} == {"unjudged", "absent", "no run"}


def test_a_paper_that_is_none_is_refused():
    with refused("no scored rows for paper 'serano'"):
        scorecard.scorecard(paper="serano")


# ---- bins of the largest weight --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("documents", "judged"), [(19, False), (20, True)])
def test_bins_need_twenty_documents(scored, documents, judged):
    rows = scored(seeds_of(encoders=("lstm",), n_in_bin=documents), "jain")
    for item in ("Figure 6 [0.25,0.50)", "Figure 8 [0.25,0.50)"):
        row = row_for(rows, item=item, corpus="sst", group="negative", statistic="q75")
        assert (row["unjudged"], row["ours"]) == ("" if judged else "few documents", 0.5)
    whole = row_for(rows, item="Figure 7", corpus="sst", group="negative", statistic="mean_binned")
    assert whole["unjudged"] == ""


def test_joined_bins_are_weighted_by_their_documents(scored):
    """The last bin has 100 documents and a share 0.3 above that of the other's 50."""
    runs = seeds_of(encoders=("lstm",), values={"median_change": 0.6})
    for result in runs:
        rows = result.numbers
        last = (rows["bin"] == "[0.75,1.00]") & (rows["measure"] == "median_change")
        rows.loc[last & (rows["statistic"] == "share_below_0.1"), "value"] += 0.3
        rows.loc[last & (rows["statistic"] == "n"), "value"] = 100.0
    where = {"item": "claim: permutation often changes little [0.50,1.00)", "corpus": "sst"}
    row = row_for(scored(runs, "jain"), **where)
    assert row["ours"] == pytest.approx(0.8)
    assert row[["verdict", "n_seeds"]].tolist() == ["holds", 5]
    rows = runs[0].numbers
    joined = rows["bin"].isin(["[0.50,0.75)", "[0.75,1.00]"]) & (rows["predicted"] == "all")
    runs[0] = replace(runs[0], numbers=rows[~joined])
    assert row_for(scored(runs, "jain"), **where)["unjudged"] == "few documents"


@pytest.mark.parametrize(("documents", "unjudged"), [(49, "few documents"), (50, "")])
def test_claims_need_a_test_set_of_fifty(scored, documents, unjudged):
    sizes = whole("sst")
    sizes["splits"]["test"]["documents"] = documents
    rows = scored(seeds_of(statistics=sizes), "jain")
    assert row_for(rows, item="claim: adversaries are easy to find", corpus="sst")["unjudged"] == unjudged


@pytest.mark.parametrize(("count", "unjudged"), [(2, "few seeds"), (3, "")])
def test_a_number_needs_three_seeds_and_a_count_none(scored, count, unjudged):
    rows = scored(seeds_of(values={"tau_attention_gradient": 0.5}, count=count), "jain")
    place = {"item": "Table 2", "group": "negative", "encoder": "lstm", "statistic": "mean"}
    row = row_for(rows, corpus="sst", measure="tau_gradient", **place)
    assert row["unjudged"] == unjudged
    counts = rows[(rows["item"] == "Table 1") & (rows["corpus"] == "sst") & rows["measure"].isin(COUNTED)]
    assert set(counts["unjudged"]) == {""}
    assert not {*counts["verdict"]} & {"undecided", "unjudged"}


# ---- Serrano & Smith ------------------------------------------------------------------------------------------------


def test_the_statements_of_one_run_by_hand():
    """A run whose numbers are all told, and each statement's by its sentence."""
    removed = {"random": 0.8, "attention": 0.5, "gradient": 0.3, "product": 0.2}
    flips = "flips_attention rule=coded", "all"
    run = defaultdict(float)
    for order, value in removed.items():
        run[f"fraction_{order}", "common", "mean"] = value
        run[f"fraction_{order}", "all", "median"] = value + 0.1
    run |= {
        ("delta_js rule=coded", "all", "share_negative"): 0.25,
        (*flips, "only_top"): 6.0,
        (*flips, "only_random"): 2.0,
        (*flips, "neither"): 90.0,
        ("fraction_attention", "all", "mean"): 0.55,
        ("gradient_first", "all", "mean"): 0.4,
    }
    by_hand = {"1a": 0.75, "2a": 0.25, "3a": 0.9, "3b": 0.04, "3c": 0.02, "3d": 0.0, "4a": 0.3, "4b": 0.2}
    by_hand |= {"4c": 0.1, "5": 0.9, "6": 0.55, "7": 0.25, "8": 0.4}
    assert {name: statements_of(run)[name] for name in by_hand} == pytest.approx(by_hand)
    none = run | {(*flips, "only_top"): 0.0, (*flips, "only_random"): 0.0}
    assert np.isnan(statements_of(none)["3d"]), "no document that one item alone flips"


def test_later_rules_carry_a_date_and_a_reason():
    rules = reported("tolerances")
    first = rules["date"] == rules["date"].min()
    named = rules["item"].str.contains(r"Figure [34]$|^files: ") & (
        rules["paper"] == "jain"
    )  # anew, nothing else
    assert rules.loc[first & ~named, "reason"].isna().all()
    assert (rules.loc[first, "late"] == "").all()
    assert rules.loc[named, "reason"].str.startswith("item named anew on 2026-11-26").all()
    assert rules.loc[~first, "reason"].str.contains("added").all()
    changed = rules[rules["date"] == rules["date"].max()]
    planned = changed["reason"].str.contains("no run of this data set is planned")
    assert ((changed["late"] == "yes") | planned).all()
