"""Jain & Wallace's claims: which side of a threshold, with how many seeds, corrected together."""

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import result_of, scored_rows

from attn_book.jain import claims
from attn_core import measures


def test_claims_lie_on_a_side_only_with_five_seeds():
    rows = scored_rows(corpus=["sst", "20news", "agnews", "imdb"], ours=[0.2, 0.2, -0.2, 0.2],
                       low=[0.1, -0.1, -0.3, 0.1], high=[0.3, 0.5, -0.1, 0.3], n_seeds=[5, 5, 5, 4],
                       verdict=["reproduced", "differs", "differs", "not rerun"])  # fmt: skip
    found = claims.claims(rows, ["sst", "20news", "agnews", "imdb"]).set_index("corpus")
    assert found["lies"].to_dict() == {"sst": "clears", "imdb": "", "20news": "contains", "agnews": "opposite"}
    assert found["p"].notna().sum() == 3 and np.isnan(found.loc["imdb", "holm"])
    assert (found["holm"] >= found["p"])[found["p"].notna()].all()
    shown = claims.matrix(found.reset_index()).set_index("data")["2"].to_dict()
    assert shown == {"sst": "✓", "imdb": "·", "20news": "○", "agnews": "✗"}
    late = claims.matrix(found.reset_index().assign(late="yes")).set_index("data")["2"].to_dict()
    assert late == {"sst": "✓†", "imdb": "·", "20news": "○†", "agnews": "✗†"}, "a rule that came after runs is marked"
    assert claims.matrix(found.reset_index(), ["imdb"])["data"].tolist() == ["sst", "imdb ‡", "20news", "agnews"]
    assert claims.told_shown(found.reset_index(), ("2",)) == "claim 2 on 1 of 3 (1 after the correction)"
    counts = claims.counted(
        found.reset_index().assign(data=["subset", "same", "same", "same"], ours=[0.2, np.nan, 0.2, -0.2])
    )
    assert (counts["with_run"], counts["judged"], counts["open"], counts["no_run"]) == (3, 3, 0, 1)
    assert counts["shown"] == 1 and counts["contains"] == 1 and counts["opposite"] == 1 and counts["holm"] == 1


def test_one_number_is_never_counted_on_both_sides():
    """'Permutation often changes little' and 'changes much here' ask one number: a tally and a Holm family each."""
    rows = scored_rows(
        corpus=["sst", "babi_1", "babi_1"], measure=["median_output_change"] * 3,
        statistic_ours=["share_below_0.1"] * 3,
        item=["claim: permutation often changes little"] * 2 + ["claim: permutation changes much here"],
        reported=[0.5] * 3, ours=[0.9, 0.04, 0.04], low=[0.8, 0.03, 0.03], high=[1.02, 0.05, 0.05], n_seeds=[5] * 3,
        verdict=["reproduced", "differs", "reproduced"], side=["above", "above", "below"],
    )  # fmt: skip
    found = claims.claims(rows, ["sst", "babi_1"])
    general, patterns = claims.counted(found), claims.counted(found, "patterns")
    assert (general["judged"], general["shown"], general["opposite"]) == (2, 1, 1)
    assert (patterns["judged"], patterns["shown"], patterns["opposite"]) == (1, 1, 0)
    alone = found[found["number"] == 0]
    assert alone["holm"].tolist() == alone["p"].tolist(), "a family of one is not corrected"
    assert found["high"].max() == 1, "a share ends at 1"
    assert set(claims.PATTERNS) & {claim.item for claim in claims.CLAIMS} == set()
    assert "claim: permutation changes much here" in claims.PATTERNS


def test_claims_asked_anew_have_their_own_tally_and_a_low_lower_end_refutes_nothing():
    first, again = "claim: adversaries are easy to find", claims.LATER["7b"].item
    rows = scored_rows(
        corpus=["sst", "sst", "snli"], item=[first, again, again], reported=[0.7] * 3, ours=[0.4, 0.9, 0.4],
        measure=["eps_max_jsd", "eps_max_jsd, exact optimum", claims.BEST_FOUND], low=[0.3, 0.8, 0.3],
        high=[0.5, 1.0, 0.5], late=["", "yes", "yes"],
    )  # fmt: skip
    found = claims.claims(rows, ["sst", "snli"])
    assert found.set_index(["corpus", "name"])["lies"].to_dict() == {
        ("sst", "7"): "opposite", ("sst", "7b"): "clears", ("snli", "7b"): "contains",
    }  # fmt: skip
    general, later = claims.counted(found), claims.counted(found, "later")
    assert (general["judged"], general["shown"], later["judged"], later["shown"]) == (1, 0, 2, 1)
    shown = claims.matrix(found).set_index("data")
    assert list(shown) == ["7", "7b"] and shown.loc["sst"].tolist() == ["✗", "✓†"] and shown.loc["snli", "7b"] == "○†"


def test_claims_about_an_encoder_that_does_its_task_badly_are_marked_and_counted_apart():
    rows = scored_rows(corpus=["sst", "imdb"], low=[0.1, 0.1])
    runs = [result_of("sst", encoder) for encoder in ("lstm", "average")]
    runs[1].record["accuracy"] = runs[0].record["accuracy"] - 0.2
    found = claims.claims(rows, ["sst", "imdb"], runs)
    assert found.set_index("corpus")["weak"].to_dict() == {"sst": True, "imdb": False}
    counts = claims.counted(found)
    assert (counts["shown"], counts["shown_able"], counts["judged_same_able"], counts["weak"]) == (2, 1, 1, 1)
    assert claims.told_weak(found) == "sst, claim 2" and claims.told_weak(found[:0]) == "none"
    assert claims.matrix(found).set_index("data")["2"].to_dict() == {"sst": "(✓)", "imdb": "✓"}
    runs[1].record["accuracy"] = runs[0].record["accuracy"]
    assert not claims.claims(rows, ["sst", "imdb"], runs)["weak"].any()


def test_claims_near_a_threshold_have_one_more_digit():
    row = scored_rows(reported=[0.5], ours=[0.61], low=[0.4952], high=[0.72]).assign(side=1)
    assert claims.told(next(row.itertuples())) == "0.610 (0.495 to 0.720; asked > 0.5)"
    row = row.assign(low=0.45, side=-1)
    assert claims.told(next(row.itertuples())) == "0.61 (0.45 to 0.72; asked < 0.5)"


def test_the_one_sided_p_takes_its_error_from_the_interval():
    from scipy.stats import ttest_1samp

    values = np.array([0.1, 0.3, 0.2, 0.25, 0.4])
    half = ttest_1samp(values, 0).confidence_interval(0.95)
    rows = scored_rows(
        ours=[values.mean()] * 2, low=[half.low] * 2, high=[half.high] * 2, reported=[0.05, 0.05]
    ).assign(side=[1, -1])
    expected = ttest_1samp(values, 0.05, alternative="greater").pvalue
    assert claims.one_sided(rows) == pytest.approx([expected, 1 - expected])


def test_holm_by_hand():
    assert measures.holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert measures.holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0]) and len(measures.holm(np.array([]))) == 0


def test_small_p_are_not_told_to_the_last_digit():
    assert [claims.told_p(p) for p in (1.5e-30, 0.0312, np.nan)] == ["< 0.001", "0.031", "–"]


def test_direction_and_size_are_told_apart():
    assert claims.told_against(0.24, 0.22, 0.27, 0.35) == (
        "direction reproduced, size not: ours is smaller, its interval excludes theirs"
    )
    assert "direction open, and the interval holds" in claims.told_against(0.1, -0.1, 0.3, 0.2)
    assert "direction opposite, size not: ours is larger" in claims.told_against(-0.1, -0.2, -0.05, -0.3)
    assert claims.told_against(0.1, np.nan, np.nan, 0.2) == "too few seeds for an interval"


def test_a_claim_says_whether_it_stands_after_the_correction():
    rows = scored_rows(corpus=["sst", "imdb", "20news"], ours=[0.2, 0.2, 0.2], low=[0.19, 0.01, -0.1],
                       high=[0.21, 0.39, 0.5], n_seeds=[5, 5, 5], verdict=["reproduced"] * 3)  # fmt: skip
    decided = claims.claims(rows, ["sst", "imdb", "20news"])
    assert claims.lost(decided, "2") == ["imdb"] and claims.lost(decided, "3") == []
    words = {"above": "above", "contains": "open"}
    told = claims.told_sides(claims.tables.sided(rows, 0.0, ".2f", (-1, 1)), words, decided, "2")
    assert told == [
        "sst 0.20 (0.19 to 0.21): above, also after the correction",
        "imdb 0.20 (0.01 to 0.39): above, not after the correction",
        "20news 0.20 (-0.10 to 0.50): open",
    ]


def test_a_share_that_pools_unlike_classes_is_named():
    rows = [("20news", "0", 0.85), ("20news", "1", 0.3), ("sst", "0", 0.65), ("sst", "1", 0.6), ("babi_1", "all", 0.1)]
    every = pd.DataFrame(
        [
            {"corpus": corpus, "encoder": "lstm", "attention": "tanh", "seed": seed, "statistic": "median_change",
             "measure": "share_below_0.1", "predicted": place, "bin": "all", "value": value}
            for corpus, place, value in rows for seed in (1, 2)
        ]
    )  # fmt: skip
    assert claims.pooled(every, "median_change", "share_below_0.1", 0.5) == ["20news: baseball 0.85, hockey 0.30"]
    assert claims.pooled(every[:0], "median_change", "share_below_0.1", 0.5) == []
