"""The papers' numbers under our names, what a rule asks for, and verdicts that follow the numbers."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

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
    sides = claims["rule"].str.split(" ").str[0].map({"lower": "above", "upper": "below"})
    assert not rules.duplicated(names).any()
    assert rules["id"].is_unique
    assert set(rules["kind"]) == {"number", "range", "claim", "band"}
    assert ((rules["side"] == "") == near).all()
    assert np.isfinite(rules["reference"]).all()
    assert rules.loc[~near, "tolerance"].isna().all(), "a threshold has no tolerance"
    assert (rules["kind"] == "claim").equals(rules["item"].str.startswith("claim"))
    assert rules["page"].notna().all()
    assert (sides == claims["side"]).all()


def test_what_a_rule_takes_off_is_another_model_or_measure_and_its_class_is_named():
    for rule in reported("tolerances").itertuples():
        field, _, other = rule.minus.partition("=")
        assert field in ("", "encoder_ours", "measure_ours")
        assert field == "" or other != getattr(rule, field), rule
        assert rule.predicted == "all" or CATALOGUE[rule.corpus].classes[int(rule.predicted)] == rule.group, (
            rule
        )


def test_later_rules_carry_a_date_and_a_reason():
    rules = reported("tolerances")
    reason = rules["reason"].fillna("")
    first = rules["date"] == rules["date"].min()
    last = rules["date"] == rules["date"].max()
    late = rules["late"] == "yes"
    named = rules["item"].str.contains(r"Figure [34]$|^files: ") & (rules["paper"] == "jain")
    assert set(rules["late"]) == {"", "yes"}
    assert not late[first].any()
    assert (reason[first & ~named] == "").all()
    assert reason[named].str.startswith("item named anew on 2026-11-26").all(), "and nothing else"
    assert reason[~first].str.contains("added").all()
    assert (late | reason.str.contains("no run of this data set is planned"))[last].all()


def test_the_papers_numbers_under_our_names():
    place = {"class_name": "hockey", "encoder": "average", "measure": "tau_gradient", "statistic": "mean"}
    row = reported("jain_table2_kendall_tau", corpus="20news", **place)
    assert row["value"].tolist() == [0.66]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (partial(reported, "jain_table9"), "no reported table"),
        (partial(scorecard.scorecard, "serano"), "no scored rows for paper 'serano'"),
    ],
)
def test_what_there_is_not_is_refused(ask, told):
    with refused(told):
        ask()


def test_a_guess_without_a_model_is_the_mean_of_the_other_data_sets():
    """A claim and a number of one set alone have none."""
    rows = pd.DataFrame({"corpus": list("aabca"), "reported": [0.1, 0.3, 0.5, 0.7, 9.0]})
    rows = rows.assign(paper="p", item="T", encoder="e", attention=np.nan, measure="m")
    rows = rows.assign(statistic=[*4 * ["mean"], "std"], kind=[*3 * ["number"], "claim", "number"])
    guess = scorecard.guessed(rows).reindex(rows.index)
    assert guess[:3].tolist() == pytest.approx([0.5, 0.5, 0.2])
    assert guess[3:].isna().all()


# ---- what holds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "ours", "high", "tolerance", "verdict"),
    [
        (0.45, 0.5, 0.55, 0.1, "holds"),
        (0.4, 0.5, 0.6, 0.1, "holds"),  # its own edge lies within
        (0.45, 0.5, 0.61, 0.1, "undecided"),
        (0.1, 0.5, 0.9, 0.1, "undecided"),
        (0.55, 0.7, 0.85, 0.1, "undecided"),  # its interval reaches in
        (0.61, 0.7, 0.8, 0.1, "differs"),
        (0.2, 0.3, 0.39, 0.1, "differs"),
        (np.nan, 0.6, np.nan, 0.1, "holds"),
        (np.nan, 0.6001, np.nan, 0.1, "differs"),
        (np.nan, 0.1 + 0.3, np.nan, 0.1, "holds"),  # > 0.4 in binary
        (np.nan, 0.5, np.nan, 0, "holds"),
        (np.nan, 0.501, np.nan, 0, "differs"),
    ],
)
def test_a_row_is_judged_by_its_whole_interval_and_without_one_by_its_value(
    low, ours, high, tolerance, verdict
):
    row = {"side": "", "reported": 0.5, "ours": ours, "low": low, "high": high, "tolerance": tolerance}
    assert scorecard.verdicts(pd.DataFrame([row])) == [verdict]


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.51, 0.9, "holds", "differs"),
        (0.1, 0.49, "differs", "holds"),
        (0.5, 0.9, "undecided", "undecided"),
        (0.1, 0.5, "undecided", "undecided"),
    ],
)
def test_a_claim_is_judged_by_the_side_of_its_whole_interval(low, high, above, below):
    rows = pd.DataFrame({"side": ["above", "below"], "low": low, "high": high})
    rows = rows.assign(reported=0.5, ours=0.5, tolerance=np.nan)
    assert [*scorecard.verdicts(rows)] == [above, below]


# ---- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "measure", "value", "count", "verdict"),
    [
        ("attention correlates only weakly with gradient", "tau_attention_gradient", 0.4, 4, "unjudged"),
        ("average above BiLSTM (leave-one-out)", "tau_attention_loo", 0.4, 5, "holds"),
        ("permutation often changes little", "median_change", 0.3, 5, "differs"),
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
