"""The permutation test's page: cells of Figure 6 and the claim over data sets, numbers flipped and words with them."""

import pandas as pd
from scorecard_runs import scored_rows

from attn_book.jain import claims, permutation_page, tables

LOW, HIGH = tables.BINS[0], tables.BINS[-1]


def cell(group, panel, mean, verdict="reproduced", n_seeds=5, reported=0.3):
    return {"corpus": "sst", "group": group, "label": f"sst {group}", "panel": panel, "mean": mean, "low": mean - 0.05,
            "high": mean + 0.05, "verdict": verdict, "n_seeds": n_seeds, "reported": reported, "april": 0.2,
            "final": reported}  # fmt: skip


def rules():
    """Rules of both classes, first and last bin, and one of questions; beside them a quartile, which is no median."""
    rows = scored_rows(
        corpus=["sst"] * 5 + ["babi_1"],
        item=["Figure 6 [0.00,0.25)", "Figure 6 [0.75,1.00)"] * 2 + ["Figure 6 [0.00,0.25)"] * 2,
        group=["negative"] * 2 + ["positive"] * 2 + ["negative", "all"], statistic=["median"] * 4 + ["q25", "median"],
    )  # fmt: skip
    return rows.assign(tolerance=[0.1] * 4 + [9.0, 0.2])


def test_cells_of_figure_6_are_counted_and_told():
    lines = pd.DataFrame([
        cell("negative", LOW, 0.06, reported=0.1), cell("negative", HIGH, 0.4),
        cell("positive", LOW, 0.5, "differs"), cell("positive", HIGH, 0.05, reported=0.11),
    ])  # fmt: skip
    found = permutation_page.of_figure(lines, rules())
    assert (found["within"], found["judged"]) == (3, 4)
    assert found["tolerance"] == "0.1 (single texts) or 0.2 (questions and inference)"
    assert found["zero"] == 1, "0 lies within 0.1 of 0.1 and not of 0.11; the quartile's tolerance is another's"
    assert found["outside"] == [f"sst positive {LOW}: 0.50 (authors, April and final: 0.20, 0.30)"]
    assert (found["high"], found["high_large"]) == (2, 1)
    assert found["high_cells"] == [f"sst negative: {HIGH} 0.400"]
    assert found["low_cells"] == [f"sst positive: {HIGH} 0.050"]
    assert found["strongest"] == f"sst positive, bin {LOW}: 0.50 (0.45 to 0.55)", "also where it differs"


def test_few_seeds_and_cells_without_a_verdict_decide_nothing():
    lines = pd.DataFrame([
        cell("negative", HIGH, 0.9, n_seeds=4), cell("negative", LOW, 0.8, "not rerun"), cell("positive", HIGH, 0.1),
    ])  # fmt: skip
    found = permutation_page.of_figure(lines, rules())
    assert found["judged"] == 2 and found["strongest"] == f"sst positive, bin {HIGH}: 0.10 (0.05 to 0.15)"
    assert (found["high"], found["high_large"], found["low_cells"]) == (1, 1, ["none"]), "0.1 counts as large"
    none = permutation_page.of_figure(lines[lines["verdict"] == "differs"], rules())
    assert (none["strongest"], none["outside"], none["high_cells"], none["zero"]) == ("none", ["none"], ["none"], 0)


def test_the_claim_is_told_by_data_set_and_turns_with_the_share():
    upper = claims.LATER["6b"].item
    rows = scored_rows(
        corpus=["sst", "imdb", "sst", "snli"], item=[claims.CLAIMS[5].item] * 2 + [upper] * 2,
        measure=["median_output_change"] * 4, reported=[0.5] * 4, ours=[0.7, 0.4, 0.3, 0.3],
        low=[0.65, 0.3, 0.25, 0.2], high=[0.75, 0.45, 0.35, 0.4],
    ).assign(unjudged=["", "", "", "too few documents"])  # fmt: skip
    every = pd.DataFrame([
        {"corpus": "sst", "encoder": "lstm", "attention": "tanh", "seed": seed, "statistic": "median_change",
         "measure": measure, "predicted": place, "bin": "all", "value": value}
        for place, measure, value in (("0", "share_below_0.1", 0.9), ("1", "share_below_0.1", 0.3),
                                      ("all", "median", 0.2)) for seed in (1, 2, 3)
    ])  # fmt: skip
    found = permutation_page.of_claim(rows, every, claims.claims(rows, ["sst", "imdb"]))
    assert found["asked"] == "50%" and found["tests_made"] == 2
    assert found["sided_all"] == ["sst 70% (65% to 75%): above, also after the correction",
                                  "imdb 40% (30% to 45%): wholly below"]  # fmt: skip
    assert found["sided_upper"] == ["sst 30% (25% to 35%): wholly below"] and found["upper_fewest"] == "snli"
    assert found["pooled"] == ["sst: negative 0.90, positive 0.30"]
    turned = rows.assign(ours=1 - rows["ours"], low=1 - rows["high"], high=1 - rows["low"])
    told = permutation_page.of_claim(turned, every[every["predicted"] != "1"], claims.claims(turned, ["sst", "imdb"]))
    assert [text.split(": ")[1].split(",")[0] for text in told["sided_all"]] == ["above", "wholly below"]
    assert told["sided_all"][0].startswith("imdb") and told["pooled"] == ["none"]
    assert told["sided_upper"][0].startswith("sst 70% (65% to 75%): above")
    assert permutation_page.told_medians(every) == ["sst 0.20 (0.20 to 0.20)"]
    assert permutation_page.told_medians(every[:0]) == ["no run"]


def test_tolerances_are_told_apart_only_where_they_differ():
    rows = pd.DataFrame({"corpus": ["sst", "imdb", "snli"], "tolerance": [0.1, 0.1, 0.15]})
    assert tables.tolerances(rows) == "0.1 (single texts) or 0.15 (questions and inference)"
    assert tables.tolerances(rows.iloc[:2]) == "0.1" and tables.tolerances(rows.iloc[2:]) == "0.15"
    assert tables.tolerances(rows.assign(tolerance=0.2)) == "0.2" and tables.tolerances(rows.iloc[:0]) == "none"
