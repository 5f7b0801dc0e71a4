"""Numbers across data sets on the pages of Jain & Wallace: what is shown of runs that are there, few, or absent."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scorecard_runs import scored_rows

from attn_book import across, figures, weak
from attn_book import words as wording
from attn_core.archive import Result
from attn_core.errors import AttnError

matplotlib.use("Agg")


# ---- groups and the authors' values ----------------------------------------------------------------------------------


def test_questions_are_one_group_and_classes_keep_their_names():
    assert across.class_names("babi_1") == {0: "all questions"}
    assert across.class_names("snli") == {0: "neutral", 1: "contradiction", 2: "entailment"}
    table = pd.DataFrame({"predicted": [3, 1, 5]})
    assert list(across.grouped(table, "babi_1")["predicted"]) == [0, 0, 0]
    assert list(across.grouped(table, "sst")["predicted"]) == [3, 1, 5]


def test_the_authors_classes_are_matched_by_name_for_their_numbers_change():
    rows = across.authors("jain_repo_svg_histogram_bins", "snli", encoder="lstm", measure="tau_gradient")
    numbers = rows.groupby(["snapshot", "label"])["class"].first()
    assert list(numbers["2019-04-04"]) == ["0", "1", "2"]
    assert list(numbers["2019-05-15"]) == ["2", "0", "1"]  # contradiction, entailment, neutral there
    assert set(across.authors("jain_repo_svg_histogram_bins", "babi_1")["label"]) == {0}
    assert across.authors("jain_repo_svg_histogram_bins", "planted").empty


def test_the_order_of_table_1():
    assert across.paper_sets()[:3] == ["sst", "imdb", "adr"] and len(across.paper_sets()) == 12
    assert across.in_order(["planted", "snli", "sst"]) == ["sst", "snli", "planted"]


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_absent_runs_are_one_line_a_data_set_with_the_command_that_makes_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr("attn_core.archive.archive_folder", lambda required=True: tmp_path)
    found, lines = across.gather(["imdb", "sst"], ("lstm", "cnn"), seeds=5)
    assert found == [] and len(lines) == 2
    assert "CNN, additive (0 of 3 seeds)" in lines[0] and "CNN, additive (0 of 5 seeds)" in lines[1], (
        "large sets: fewer"
    )
    assert "BiLSTM, additive (0 of 5 seeds)" in lines[0], "but five of the models that claims are about"
    assert "--corpus imdb --encoder lstm --attention tanh --seed 10" in lines[0]
    with pytest.raises(AttnError, match="no printed numbers for data set 'planted'"):
        across.gather(["planted"])


def test_coverage_counts_the_seeds_of_the_model_with_fewest():
    def stored(corpus, encoder, seed):
        run = {"corpus": corpus, "encoder": encoder, "attention": "tanh", "seed": seed}
        record = {"run": run, "n_train": 20_000, "n_dev": 100, "n_test": 9_824}
        return Result(record=record, traces=None, documents=None, summary=None, source="archive")

    found = [stored("snli", "lstm", seed) for seed in (10, 50)] + [stored("snli", "average", 10)]
    scored = pd.DataFrame({"corpus": ["snli", "sst"], "data": ["subset", "absent"]})
    rows = across.coverage(found, scored)
    assert rows.to_dict("records") == [
        {
            "corpus": "snli",
            "n_seeds": 1,
            "most_seeds": 2,
            "n_train": 20_000,
            "n_dev": 100,
            "n_test": 9_824,
            "data": "subset",
            "made": "",
        }
    ]
    assert (
        across.told_coverage(rows)
        == "snli 9,824 (1 to 2 seeds, trained on 20,000 and 100 for development, 549,367 in the paper)"
    )
    assert across.few(rows) == "snli (1)"
    assert across.told_coverage(across.coverage([], scored)) == "no run"


def test_bounds_go_by_statistic():
    """What no share, ratio, change or JSD can be is never printed as the end of an interval."""
    assert wording.bounds("ratio_exact@0.05") == (0, 1) and wording.bounds("median_change", "median") == (0, 1)
    assert wording.bounds("jsd_search@0.05") == wording.bounds("ceiling") == (0, pytest.approx(np.log(2)))
    assert wording.bounds("jsd_search@0.05", "share_above_0.4") == (0, 1) == wording.bounds("accuracy", "value")
    assert wording.bounds("tau_attention_gradient") == (-1, 1)
    assert wording.bounds("difference_loo") == (-np.inf, np.inf)


def test_numbers_in_words():
    assert wording.told(0.5, 0.4, 1.2, bounds=(0, 1)) == "0.50 (0.40 to 1.00)"
    assert wording.told(0.5, np.nan, np.nan) == "0.50 (no interval)" and wording.told(np.nan, 0, 0) == "–"
    assert wording.told(-0.001, -0.02, 0.004) == "0.00 (-0.02 to 0.00)"
    assert wording.seeds_in_words(np.int64(1)) == "1 seed" and wording.seeds_in_words(3) == "3 seeds"


def test_models_no_better_than_the_largest_class_are_named():
    def run(encoder, accuracy):
        names = {"corpus": "sst", "encoder": encoder, "attention": "tanh", "seed": 10}
        part = {"documents": 10, "mean_length": 5.0, "per_class": [4, 6]}
        record = {
            "run": names,
            "accuracy": accuracy,
            "statistics": {"splits": {name: part for name in ("train", "dev", "test")}},
        }
        return Result(record=record, traces=None, documents=None, summary=None, source="archive")

    assert weak.untrained([run("lstm", 0.9)]) == "none"
    told = weak.untrained([run("lstm", 0.9), run("average", 0.9), run("average", 0.62)])
    assert (
        "1 of 2 seeds, accuracy 0.62 to 0.90; largest class 0.60" in told
        and told.startswith("sst")
        and ";" not in told.split("largest")[1]
    )


# ---- tables ----------------------------------------------------------------------------------------------------------


def one_bin() -> pd.DataFrame:
    """The scored median of SST's negative documents in the lowest bin of Figure 6."""
    return scored_rows(
        item=["Figure 6 [0.00,0.25)"],
        group=["negative"],
        statistic=["median"],
        measure=["median_output_change"],
        ours=[0.05],
    )


# ---- drawing ---------------------------------------------------------------------------------------------------------


def test_panels_draw_what_is_there_and_nothing_else():
    rows = pd.DataFrame({
        "panel": ["a", "a", "b"], "label": ["sst", "cnn", "sst"], "mean": [0.5, np.nan, 0.4],
        "low": [0.4, np.nan, 0.1], "high": [0.6, np.nan, 0.7], "n_seeds": [5, 0, 3], "final": [0.45, 0.2, np.nan],
    })  # fmt: skip
    canvas, axes = figures.canvas(2)
    figures.interval_panels(axes[0], rows, theirs={"final": ("D", "authors, final")})
    points = [
        [line for line in ax.lines if len(line.get_xdata()) == 1 and np.isfinite(line.get_xdata()[0])] for ax in axes[0]
    ]
    assert sorted(line.get_xdata()[0] for line in points[0]) == [0.2, 0.45, 0.5]
    assert [line.get_xdata()[0] for line in points[1]] == [0.4]
    assert points[1][0].get_markerfacecolor() == "white"  # three seeds: an open point ...
    assert not [line for line in axes[0, 1].lines if len(line.get_xdata()) == 2]  # ... without an interval
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == [
        "ours, mean and 95 % interval",
        "fewer than 5 seeds",
        "authors, final",
    ]
