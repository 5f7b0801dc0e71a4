"""Variants of the standard runs, and the authors' own runs beside each other."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import store_run, toy_traces

from attn_book.jain import variants
from attn_core import archive, index, measures
from attn_core.archive import Result
from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.search import search, select
from attn_core.runs import Run

MEAN = {"τ": ("tau_attention_gradient", "all", "mean")}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """An archive of SST: two standard runs, two on half of it, one with the other checkpoint; tables by run."""
    folder = tmp_path_factory.mktemp("data") / "archive"
    folder.mkdir()
    runs = [
        Run("sst"),
        Run("sst", seed=50),
        Run("sst", fraction=0.5),
        Run("sst", fraction=0.5, seed=50),
        Run("sst", selection="test", seed=50),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_ARCHIVE", str(folder))
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        yield {run: store_run(folder, run, number, False) for number, run in enumerate(runs)}


def mean(table) -> float:
    return table["tau_attention_gradient"].mean()


def test_standard_runs_and_what_they_cover(tables):
    found, lines = variants.standard(["sst"], ("lstm", "average"), 2, "dev")
    assert [r.record["run"]["seed"] for r in found["sst", "lstm"]] == [10, 50] and found["sst", "average"] == []
    (line,) = lines
    assert "runs with selection dev absent: sst average (2 seeds)" in line
    (row,) = variants.covering(found, ("lstm",)).itertuples()
    assert (row.corpus, row.n_seeds, row.n_test) == ("sst", 2, 15)
    assert variants.covering(found, ("average",)).empty
    chosen, lines = variants.standard(["sst"], ("lstm",), 3, "test")
    assert len(chosen["sst", "lstm"]) == 1 and "sst lstm (2 seeds)" in lines[0]


def test_values_by_share_of_the_training_set(tables):
    found, lines = variants.by_fraction(["sst"], [0.25, 0.5, 1.0], 2, "lstm", "tanh", MEAN)
    assert found[["fraction", "seed"]].to_numpy().tolist() == [[0.5, 10], [0.5, 50], [1.0, 10], [1.0, 50]]
    expected = [mean(tables[Run("sst", fraction=f, seed=s)]) for f in (0.5, 1.0) for s in (10, 50)]
    assert np.allclose(found["value"], expected) and set(found["n_test"]) == {15}
    (line,) = lines
    assert "sst 25% (2 seeds); the next: python -m attn_core run --corpus sst" in line and "--fraction 0.25" in line


def test_differences_are_taken_seed_by_seed(tables, monkeypatch):
    found, lines = variants.paired(["sst"], ["lstm", "average"], 2, MEAN, fraction=0.5)
    (row,) = found.itertuples()
    differences = [mean(tables[Run("sst", fraction=0.5, seed=s)]) - mean(tables[Run("sst", seed=s)]) for s in (10, 50)]
    assert (
        row.n_seeds == 2
        and np.isclose(row.difference, np.mean(differences))
        and np.isclose(row.variant - row.standard, row.difference)
    )
    assert np.isnan([row.low, row.high]).all(), "two seeds give no interval"
    monkeypatch.setattr(measures, "INTERVAL_SEEDS", 2)
    (row,) = variants.paired(["sst"], ["lstm"], 2, MEAN, fraction=0.5)[0].itertuples()
    half = 12.706204736 * np.std(differences, ddof=1) / np.sqrt(2)  # Student t, one degree of freedom
    assert np.isclose(row.high - row.difference, half)
    assert len(lines) == 1 and "sst average (2 seeds)" in lines[0] and "sst lstm" not in lines[0]


def test_two_checkpoints_of_two_trainings_are_no_pair(tables):
    folder = archive.archive_folder()
    runs = Run("sst", seed=50), Run("sst", seed=50, selection="test")
    before = {run: archive.read(folder, run.key).record for run in runs}
    found, _ = variants.paired(["sst"], ["lstm"], 2, MEAN, selection="test")
    assert found["n_seeds"].tolist() == [1]
    try:
        for run, loss in zip(runs, (0.5, 0.6), strict=True):
            (folder / run.key / "record.json").write_text(
                json.dumps({**before[run], "history": [{"epoch": 1, "loss": loss}]})
            )
        index._joined.cache_clear()  # the next process
        assert variants.paired(["sst"], ["lstm"], 2, MEAN, selection="test")[0].empty
        both = [variants.standard(["sst"], ("lstm",), 2, chosen)[0] for chosen in ("dev", "test")]
        assert variants.told_trained_twice(*both) == "sst BiLSTM (seed 50)"
    finally:
        for run in runs:
            (folder / run.key / "record.json").write_text(json.dumps(before[run]))
        index._joined.cache_clear()
    both = [variants.standard(["sst"], ("lstm",), 2, chosen)[0] for chosen in ("dev", "test")]
    assert variants.told_trained_twice(*both) == "none"


def test_only_seeds_that_have_both_are_compared(tables):
    (row,) = variants.paired(["sst"], ["lstm"], 2, MEAN, selection="test")[0].itertuples()
    assert row.n_seeds == 1 and np.isnan(row.low)
    assert np.isclose(row.standard, mean(tables[Run("sst", seed=50)])), "the standard run of the same seed"


def test_no_gap_line_where_nothing_is_absent():
    assert variants.gap_lines({"a": [], "b": []}) == []


def test_the_gap_of_another_width_names_its_command(tables):
    (line,) = variants.paired(["sst"], ["cnn"], 2, MEAN, hidden=64)[1]
    told = "python -m attn_core run --corpus sst --encoder cnn --attention tanh --seed 10 --set hidden=64"
    assert line.endswith(f"the next: {told}")


def test_subsets_are_shares_of_the_papers_count(tables):
    """SST's training documents are all there; the made-up test set of 15 makes it a subset."""
    (row,) = variants.subsets().itertuples()
    assert (row.corpus, row.n_train, row.share, row.data) == ("sst", 6355, 1.0, "subset")
    assert row.n_dev > 0 and not row.cut, "SST's development set is a file of its own: it is not in the paper's count"
    assert row.n_train / row.printed == row.share


def test_a_share_is_safe_by_its_interval_not_its_mean():
    moved = pd.DataFrame({0.1: [0.0, 0.1, -0.1], 0.25: [0.01, 0.02, 0.03], 0.5: [0.0, 0.01, 0.02]})
    assert variants.safe_from(moved, 0.1) == 0.25, "the mean of the smallest share is 0, its interval is wide"
    assert variants.safe_from(moved[[0.25]].iloc[:1], 0.1) is None, "one seed has no interval"
    assert variants.safe_from(moved.assign(last=[0.5, 0.5, 0.5]), 0.1) is None
    assert variants.shares_inside(moved, 0.1) == [0.25, 0.5]


def test_safe_shares_are_listed_also_where_a_larger_one_is_not():
    moved = pd.DataFrame({0.1: [0.0, 0.01, 0.02], 0.25: [0.0, 0.4, -0.4], 0.5: [0.0, 0.01, 0.02]})
    assert variants.told_safe(moved, 0.1) == "at 10% and 50%; at every share that was run from 50% on"
    assert variants.told_safe(moved[[0.1, 0.25]], 0.1) == "at 10%; not at every larger one"
    assert variants.told_safe(moved[[0.25]], 0.1) == "at none of the smaller shares that were run"


def test_authors_of_the_whole_set():
    found = variants.authors_of_whole_set(["sst", "planted"], "lstm", "tanh")
    assert np.isclose(found["sst", "τ, attention and gradient"][variants.APRIL_RUN], (0.395443 + 0.384899) / 2)
    assert round(found["sst", "accuracy"][variants.FINAL_RUN], 3) == 0.808 and found["planted", "accuracy"] == {}


def test_four_searches_stay_below_the_optimum_and_differ():
    traces = toy_traces(lengths=(6, 7, 8, 9), seed=3)
    found = variants.searches(traces, 0.05, steps=120)
    exact = adversarial(traces, 0.05)["jsd_exact"].to_numpy()
    titles = list(variants.SEARCHES.values())
    assert found.columns.get_level_values(0).unique().tolist() == titles
    for title in titles:
        assert (found[title, "jsd"] <= exact + 1e-6).all() and (found[title, "tvd"] <= 0.05 + 1e-9).all()
    plain = {"code": None, "paper": 1 / 40}  # 1/(k(k-1)) for each pair is half of that for each ordered pair, k = 5
    for (objective, diversity), title in variants.SEARCHES.items():
        weights = search(traces, steps=120, objective=objective, diversity=plain[diversity], progress=False)
        assert np.array_equal(found[title, "jsd"], select(traces, weights, 0.05)["jsd"])
    assert not np.allclose(found[titles[0], "jsd"], found[titles[2], "jsd"]), "KL is another objective"
    assert not np.array_equal(found[titles[0], "jsd"], found[titles[1], "jsd"]), "so is another weight of diversity"


def test_a_score_by_which_the_checkpoint_was_chosen_is_no_chance_difference():
    rows = pd.DataFrame(
        [("sst", "ROC AUC", 9), ("sst", "accuracy", 9), ("snli", "accuracy", 5), ("snli", "τ gradient", 5),
         ("snli", "τ gradient", 3)],
        columns=["corpus", "measure", "n_seeds"],
    )  # fmt: skip
    assert variants.comparable(rows).tolist() == [False, True, False, True, False]
