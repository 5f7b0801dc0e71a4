"""Section 6's page: tallies, lists and tables of the claims follow the numbers."""

import numpy as np
import pytest
from scorecard_runs import scored_rows

from attn_book.jain import claims, claims_page

ONE, TWO, SEVEN = (claims.CLAIMS[i].item for i in (0, 1, 6))
LATE = "added after the runs of this model and data set"


@pytest.fixture
def rows():
    """Claim 2 on four sets: shown (SST, also corrected), shown by a hair under a late rule, open, opposite; claim 1 of
    SST shown; claim 7 of SST and IMDB missed; both asked anew on SST, where 7b is shown; a pattern of bAbI refuted."""
    again = [claims.LATER[name].item for name in ("6b", "7b")]
    found = scored_rows(
        corpus=["sst", "imdb", "20news", "agnews", "sst", "sst", "imdb", "sst", "sst", "babi_1"],
        item=[TWO] * 4 + [ONE, SEVEN, SEVEN, *again, "claim: permutation changes much here"],
        measure=["tau_gradient"] * 5 + ["eps_max_jsd"] * 2
        + ["median_output_change", "eps_max_jsd, exact optimum", "median_output_change"],
        reported=[0.0] * 4 + [0.5, 0.7, 0.7, 0.5, 0.7, 0.5],
        ours=[0.2, 0.2, 0.2, -0.2, 0.1, 0.4, 0.6, 0.3, 0.9, 0.9],
        low=[0.19, 0.01, -0.1, -0.3, 0.05, 0.3, 0.4, 0.2, 0.8, 0.8],
        high=[0.21, 0.39, 0.5, -0.1, 0.15, 0.5, 0.8, 0.4, 0.95, 0.95],
        reason=[np.nan, LATE] + [np.nan] * 8,
    )  # fmt: skip
    return claims.claims(found, ["sst", "imdb", "20news", "agnews", "babi_1"])


def test_each_claim_says_what_it_asks(rows):
    assert claims_page.asked_by_name(rows) == {
        "asked_1": "< 0.5", "asked_2": "> 0", "asked_7": "> 0.7", "asked_6b": "> 0.5", "asked_7b": "> 0.7",
    }  # fmt: skip
    turned = claims_page.asked_by_name(rows.assign(side=-rows["side"]))
    assert turned["asked_1"] == "> 0.5" and turned["asked_7b"] == "< 0.7"


def test_tallies_by_hand(rows):
    found = claims_page.tallies(rows, ["agnews"])
    assert (found["judged"], found["shown"], found["contains"], found["opposite"]) == (7, 3, 2, 2)
    assert (found["judged_used"], found["shown_used"]) == (6, 3), "AG News is left out, where the claim was not shown"
    assert (found["late"], found["late_shown"]) == (1, 1)
    assert (found["first_shown"], found["first_holm"]) == (1, 1)
    assert (found["later_judged"], found["later_shown"], found["patterns_judged"]) == (2, 1, 1)
    again = claims_page.tallies(rows.assign(lies=rows["lies"].replace("clears", "contains"), holm=1.0), ["sst", "imdb"])
    assert (again["late"], again["late_shown"], again["first_shown"], again["first_holm"]) == (1, 0, 0, 0)
    assert (again["judged_used"], again["later_shown"]) == (2, 0)
    assert claims_page.tallies(rows.assign(lies=""), [])["late"] == 0, "what is not judged is not counted as late"


def test_lists_follow_the_side_of_the_interval(rows):
    found = claims_page.lists(rows)
    assert found["contained"] == ["20news, τ: Average − BiLSTM: 0.20 (-0.10 to 0.50; asked > 0)",
                                  "imdb, share, JSD > 0.4: 0.60 (0.40 to 0.80; asked > 0.7)"]  # fmt: skip
    assert [text.split(",")[0] for text in found["against"]] == ["agnews", "sst"]
    assert found["seven_not"] == "sst, imdb"
    assert found["anew_6b"] == ["sst 0.30 (0.20 to 0.40; asked > 0.5): wholly on the other side"]
    assert found["anew_7b"] == ["sst 0.90 (0.80 to 0.95; asked > 0.7): shown"]
    assert found["names_6b"] == ["at least 0.1 on: sst."] and found["names_7b"] == ["shown on: sst."]
    assert found["patterns_not"] == ["babi_1, permutation changes much here: 0.90 (0.80 to 0.95; asked < 0.5)"]
    turned = claims_page.lists(
        rows.assign(lies=rows["lies"].map({"clears": "opposite", "opposite": "clears", "contains": "contains"}))
    )
    assert turned["names_6b"] == ["below 0.1 on: sst."] and turned["names_7b"] == ["refuted on: sst."]
    assert turned["seven_not"] == "imdb" and turned["patterns_not"] == ["none"]
    few = claims_page.lists(rows.assign(lies=""))
    assert few["anew_6b"] == ["sst: too few documents or seeds"] and few["names_6b"] == ["none"]
    assert few["contained"] == ["none"] and few["seven_not"] == "none"
    assert claims_page.lists(rows[:0])["anew_7b"] == ["no run"]


def test_patterns_that_share_a_name_are_told_with_their_measure(rows):
    part = rows[rows["name"] == "also"].assign(measure="tau(gradient,LOO)-tau(attention,LOO)", group="entailment")
    (told,) = claims_page.told(part)
    assert told.startswith("babi_1 entailment, permutation changes much here (τ of gradient and leave-one-out minus")


def test_the_table_marks_late_rules_and_what_the_correction_takes(rows):
    table = claims_page.table(rows).set_index(["claim", "data"])
    two = f"2  {claims.CLAIMS[1].short}"
    assert table.loc[two, "rule"].to_dict() == {"sst": "shown", "imdb": "shown †", "20news": "not shown",
                                                "agnews": "not shown"}  # fmt: skip
    assert table.loc[(two, "sst"), "ours"] == "0.20 (0.19 to 0.21)" and table.loc[(two, "sst"), "asked"] == "> 0"
    assert table.loc[(two, "sst"), "p, Holm"] == "< 0.001"
    lost = claims_page.lost_table(rows)
    assert lost[["claim", "data"]].to_numpy().tolist() == [[two, "imdb"]]
    assert claims_page.lost_table(rows.assign(holm=0.0)).to_dict("list") == {"claim": ["none"]}
