"""Our runs beside the authors' own: distances, bars and medians by hand, and words that turn with the numbers."""

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import result_of, seeds_of

from attn_book.jain import authors, beside_authors
from attn_book.reported import reported

THREE, FOUR = "difference_loo", "difference_gradient"


def runs(*found):
    """Runs as `variants.standard` groups them; the average encoder has none."""
    corpora = dict.fromkeys(result.record["run"]["corpus"] for result in found)
    return {(name, "average"): [] for name in corpora} | {
        (name, "lstm"): [result for result in found if result.record["run"]["corpus"] == name] for name in corpora
    }


def seeded(**values):
    """Three seeds of SST 0.01 apart, around the values by statistic."""
    return beside_authors.by_seed(runs(*seeds_of("sst", ("lstm",), 3, values=values)))


def test_means_are_found_by_class_and_statistic():
    by_class = {("tau_attention_gradient", "0"): 0.3, ("tau_attention_gradient", "1"): 0.4, THREE: 0.25}
    rows = beside_authors.by_seed(runs(result_of("sst", values=by_class), result_of("babi_1", seed=50)))
    place = {"seeded": rows, "corpus": "sst", "encoder": "lstm"}
    assert beside_authors.labels("sst") == {"negative": "0", "positive": "1"}
    assert beside_authors.labels("babi_1")["all"] == "all"
    assert beside_authors.seeds_of(**place, kind="tau_gradient", group="1").tolist() == [0.4]
    assert beside_authors.seeds_of(**place, kind=THREE).tolist() == [0.25]
    assert len(beside_authors.seeds_of(rows, "sst", "average", "tau_gradient", "1")) == 0
    none = beside_authors.by_seed({("sst", "lstm"): []})
    assert none.empty and len(beside_authors.seeds_of(none, "sst", "lstm", THREE)) == 0


def test_ours_stand_in_their_cells_of_table_2():
    found = beside_authors.table2_cells(seeded(tau_attention_gradient=0.3), ["sst"])
    cells = found.set_index(["corpus", "group", "encoder", "measure"])
    row = cells.loc["sst", "positive", "lstm", "tau_gradient"]
    assert np.allclose(row["ours"], [0.29, 0.30, 0.31]) and np.isclose(row["mean"], 0.3)
    assert np.allclose(sorted(row["pairs"]), [0.01, 0.01, 0.02]), "each pair of seeds once"
    for place in (("sst", "positive", "average", "tau_gradient"), ("imdb", "positive", "lstm", "tau_gradient")):
        assert len(cells.loc[place, "ours"]) == 0 and np.isnan(cells.loc[place, "mean"])
    assert beside_authors.told_pairs(found[found["measure"] == "tau_gradient"]) == "0.01, largest 0.02, 6 pairs"
    assert beside_authors.told_pairs(found[found["corpus"] == "imdb"]) == "–"


def test_distances_name_their_largest_cell():
    cells = pd.DataFrame({
        "corpus": ["sst", "babi_1", "snli"], "group": ["positive", "all", "neutral"], "encoder": "lstm",
        "measure": "tau_gradient", "printed": [0.301, 0.5, 0.2], "april": [0.30, 0.50, 0.20],
        "final": [0.40, 0.80, np.nan], "first": np.nan, "mean": [0.35, 0.5, 0.9],
        "pairs": [np.array([0.02, 0.04]), np.empty(0), np.array([0.1])],
    })  # fmt: skip
    assert beside_authors.told_apart(cells, "april", "final") == "0.20, largest 0.30 (babi_1), 2 cells"
    assert beside_authors.told_apart(cells, "mean", "printed") == "0.05, largest 0.70 (snli neutral), 3 cells"
    assert beside_authors.told_apart(cells, "first", "final") == "–"
    numbers = beside_authors.apart_numbers(cells)
    assert (numbers["apart"], numbers["apart_most"], numbers["n_cells"]) == ("0.20", "0.30", 2)
    assert numbers["apart_where"] == "babi_1, τ of attention and gradient" and numbers["rounding"] == "0.0010"
    assert numbers["apart_same"] == "0.10, largest 0.10 (sst positive), 1 cells", "bAbI has no two seeds of ours"
    assert numbers["two_seeds"] == "0.04, largest 0.10, 3 pairs"
    assert numbers["from_final"] == "0.18, largest 0.30 (babi_1), 2 cells"
    (row,) = beside_authors.apart_table(cells).to_dict("records")
    assert row["April – final"] == "0.20, largest 0.30 (babi_1), 2 cells"
    assert row["first – April"] == "–" and row["two seeds of ours"] == numbers["two_seeds"]


@pytest.fixture
def bars():
    return authors.bars().set_index("corpus")


def test_bars_say_direction_and_size(bars):
    theirs = bars.loc["sst", ["three", "four"]]
    rows = seeded(**{THREE: theirs["three"], FOUR: theirs["four"] - 0.2})
    three, three_every, four, _ = beside_authors.told_bars(bars, rows, ["sst"])
    assert three.startswith(f"Figure 3: {theirs['three']:.2f} (") and "over 1 sets of the paper's own data" in three
    assert three.endswith("the authors' value)") and f"same sets: {theirs['three']:.2f};" in three
    assert "subsets and generated data with them, 3 seeds" in three_every
    assert four.endswith("size not: ours is smaller, its interval excludes theirs)")
    table = beside_authors.bar_table(bars, rows).set_index("data")
    assert table.loc["sst", "authors, Figure 3"] == f"{theirs['three']:.3f}"
    assert table.loc["sst", "ours, Figure 3"].startswith(f"{theirs['three']:.2f} (")
    assert table.loc["imdb", "ours, Figure 4"] == "–" and table.index[-1] == "mean of 12"
    assert beside_authors.told_bars(bars, rows[:0], ["sst"]) == ["none"]


def test_a_bar_that_is_not_positive_is_named():
    corpora = ["imdb", "sst"]
    assert beside_authors.told_not_positive(seeded(**{THREE: 0.2, FOUR: 0.1}), corpora) == "no set"
    assert beside_authors.told_not_positive(seeded(**{THREE: 0.2, FOUR: -0.1}), corpora) == "sst"
    assert beside_authors.told_not_positive(seeded(**{THREE: -0.2, FOUR: -0.1}), corpora) == "sst", "once"
    assert beside_authors.told_not_positive(seeded()[:0], corpora) == "no run is in the archive"


def test_medians_of_figure_6_with_ours_in_their_bins():
    ours = runs(result_of("sst", values={("median_change", "0"): 0.6, ("median_change", "1"): 0.05}))
    rows = beside_authors.medians(ours, 20)
    table = rows.set_index("label")
    assert table.loc["sst negative", "ours"] == [0.6] * 4 and table.loc["sst positive", "ours"] == [0.05] * 4
    assert np.isnan(table.loc["imdb positive", "ours"]).all() and table.loc["imdb positive", "n_seeds"] == 0
    theirs = reported("jain_repo_svg_summaries", corpus="sst", class_name="negative", encoder="lstm", attention="tanh",
                      measure="median_output_change", statistic="median", snapshot=authors.FINAL_RUN)  # fmt: skip
    by_bin = theirs[theirs["max_attention_bin"].notna()].sort_values("max_attention_bin")["value"]
    assert len(by_bin) and np.allclose(sorted(by_bin), sorted(v for v in table.loc["sst negative", "final"] if v == v))
    small = beside_authors.medians(ours, 51).set_index("label")
    assert np.isnan(small.loc["sst negative", "ours"]).all(), "50 documents are too few"
    numbers = beside_authors.median_numbers(rows)
    assert (numbers["text_ours"], numbers["question_ours"], numbers["sst_ours"]) == ("4 of 8", "none stored", "4 of 8")
    assert numbers["little_ours"] == "1 of 2 classes (sst positive)"
    assert numbers["not_rerun"].startswith("imdb, ") and "sst" not in numbers["not_rerun"]


def test_counts_of_medians_by_hand():
    rows = pd.DataFrame({
        "corpus": ["babi_1", "sst", "sst"], "group": ["all", "a", "b"], "label": ["babi_1 ", "sst a", "sst b"],
        "april": [[0.9, 0.8, np.nan, 0.5]] * 3, "final": [[0.9, 0.6, 0.2, 0.1], [0.05, 0.1, 0.3, np.nan], [0.7] * 4],
        "ours": [[np.nan] * 4, [0.6, 0.05, np.nan, np.nan], [np.nan] * 4], "rerun": [False, True, True],
    })  # fmt: skip
    assert beside_authors.share_above(rows, "april") == "6 of 9", "0.5 itself is not above"
    assert beside_authors.share_above(rows, "ours", 0.01) == "2 of 2"
    assert beside_authors.told_little(rows, "final") == "1 of 3 classes (sst a)"
    assert beside_authors.told_little(rows, "ours") == "1 of 1 classes (sst a)", "half of its medians"
    assert beside_authors.told_little(rows, "final", 0.01) == "0 of 3 classes (none)"
    numbers = beside_authors.median_numbers(rows)
    assert (numbers["question_final"], numbers["text_final"], numbers["sst_final"]) == ("2 of 4", "4 of 7", "5 of 7")
    assert numbers["text_names"] == "sst b" and numbers["not_rerun"] == "babi_1"


def test_direction_and_size_are_told_apart():
    told = beside_authors.told_against
    assert told(0.24, 0.22, 0.27, 0.35) == (
        "direction reproduced, size not: ours is smaller, its interval excludes theirs"
    )
    assert "direction open, and the interval holds" in told(0.1, -0.1, 0.3, 0.2)
    assert "direction opposite, size not: ours is larger" in told(-0.1, -0.2, -0.05, -0.3)
    assert told(0.1, np.nan, np.nan, 0.2) == "too few seeds for an interval"
