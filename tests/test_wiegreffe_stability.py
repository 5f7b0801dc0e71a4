"""Stability under seeds: distances of further seeds by data set, the verdict, and words that follow both."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from wiegreffe_results import beside_table, runs_of, uniform_test

from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_book.wiegreffe import stability
from attn_core.runs import SEEDS

REPORTED = Path(__file__).parents[1] / "data" / "reported"

NEAR = [0.10, 0.11, 0.12, 0.11, 0.10]
"""Mean 0.108, standard deviation 0.0083666; with t(4) = 2.7764 the interval is 0.108 +- 0.0104."""


def base_runs(corpus: str, jsd: list[float]) -> list:
    """The base of seed 10 and a further seed for each mean JSD."""
    found = uniform_test(corpus, len(jsd) + 1)
    for result in found:
        run = result.record["run"]
        place = SEEDS.index(run["seed"])
        if run["attention"] == "tanh" and place:
            result.record["against"]["jsd"] = jsd[place - 1]
    return found


def rows_of(*parts, corpora=("sst",), threshold=0.11):
    runs = runs_of(*parts)
    tables = {corpus: wiegreffe_runs.seed_tables(runs, corpus) for corpus in corpora}
    return stability.by_set(runs, tables, stability.per_document(tables), threshold)


@pytest.mark.parametrize(("low", "high", "n_seeds", "expected"), [
    (0.05, 0.10, 5, "stable"), (0.12, 0.20, 5, "not stable"), (0.05, 0.20, 5, "undecided"),
    (0.05, 0.11, 5, "undecided"), (0.11, 0.20, 5, "undecided"), (0.05, 0.10, 4, "few"), (0.12, 0.20, 1, "few"),
    (np.nan, np.nan, 0, "none"),
])  # fmt: skip
def test_the_whole_interval_decides(low, high, n_seeds, expected):
    assert stability.verdict(low, high, n_seeds, 0.11) == expected and expected in stability.ANSWERS


@pytest.mark.parametrize(("threshold", "lies"), [(0.119, "stable"), (0.11, "undecided"), (0.097, "not stable")])
def test_the_verdict_follows_the_threshold(threshold, lies):
    (row,) = rows_of(base_runs("sst", NEAR), threshold=threshold).itertuples()
    assert (row.mean, row.low, row.high) == pytest.approx((0.108, 0.097611, 0.118389), abs=1e-6)
    assert row.n_seeds == row.n_tables == 5 and row.lies == lies


def test_words_flip_with_the_numbers():
    near, far = base_runs("sst", NEAR), base_runs("sst", [value + 0.1 for value in NEAR])
    told = {"near": "0.108 (0.098 to 0.118) with 5 seeds", "far": "0.208 (0.198 to 0.218) with 5 seeds"}
    for results, where, lies, other in ((near, "near", "stable", "not stable"), (far, "far", "not stable", "stable")):
        rows = rows_of(results, threshold=0.15)
        assert stability.told_sets(rows) == [f"sst: {lies}, {told[where]}"]
        assert stability.told_side(rows, lies) == f"sst {told[where]}" and stability.told_side(rows, other) == "none"


def test_few_and_no_further_seeds_decide_nothing():
    rows = rows_of(base_runs("sst", NEAR[:4]), base_runs("imdb", []), corpora=("sst", "imdb", "agnews"))
    assert rows["lies"].tolist() == ["few", "none", "none"] and rows["n_seeds"].tolist() == [4, 0, 0]
    assert rows["n_documents"].tolist() == [200, 0, 0] and rows["n_tables"].tolist() == [4, 0, 0]
    few, *none = stability.told_sets(rows)
    assert few == "sst: too few further seeds, 0.110 (0.097 to 0.123) with 4 seeds"
    assert none == ["imdb: no further seed", "agnews: no further seed"]
    assert stability.told_side(rows, "none") == "imdb, agnews"
    assert stability.told_side(rows, "few") == few.replace(": too few further seeds,", "")


def test_documents_and_overlaps_are_means_of_seeds():
    """Tables of 0.061 + 0.002 k for k from -2 to 2, and overlaps of 0.5, in one of them 0.6 on average.

    The means over the whole test set are the records'.
    """
    results = base_runs("sst", NEAR)
    for result in results:
        if result.against is not None and result.record["run"]["seed"] == SEEDS[3]:
            result.against["overlap"] = np.where(result.against["doc_id"] % 2, 0.8, 0.4)
    runs = runs_of(results)
    tables = {"sst": wiegreffe_runs.seed_tables(runs, "sst"), "imdb": {}}
    documents = stability.per_document(tables)
    assert documents["imdb", "seeds"] is None and documents["sst", "seeds"]["n_tables"].eq(5).all()
    row = stability.by_set(runs, tables, documents, 0.11).iloc[0]
    assert row["median"] == pytest.approx(0.061) and row["mean"] == pytest.approx(0.108)
    assert row["overlap"] == pytest.approx(0.52)
    half = 2.776445 * 0.1 / 5  # one of five values apart by d: standard deviation d / sqrt(5)
    assert (row["overlap_low"], row["overlap_high"]) == pytest.approx((0.52 - half, 0.52 + half))


def test_the_papers_numbers_are_those_of_the_files():
    raw = list(csv.DictReader((REPORTED / "wiegreffe_figure5_digitised.csv").open()))
    of_sst = [
        float(line["value"])
        for line in raw
        if (line["dataset"], line["model"]) == ("SST", "random_seed") and line["measure"].startswith("JSD")
    ]
    rows = rows_of(base_runs("sst", NEAR), corpora=("sst", "agnews"))
    assert len(of_sst) == 8 and rows["paper"].iloc[0] == pytest.approx(sum(of_sst) / 8)
    assert np.isnan(rows["paper"].iloc[1])
    assert stability.told_farthest(0.11) == f"anemia 0.106, imdb 0.107, sst {max(of_sst):.3f}"
    assert stability.told_farthest(0.1) == f"sst {max(of_sst):.3f}"
    assert stability.told_farthest(max(of_sst)) == "none"
    assert stability.told_farthest(1.0).split(", ")[1] == "diabetes 0.365"


def test_medians_of_figure_3_are_told_in_the_order_of_its_bins():
    lines = [
        line
        for line in csv.DictReader((REPORTED / "wiegreffe_figure3_digitised.csv").open())
        if line["dataset"] == "Diabetes" and line["statistic"] == "median"
    ]
    for kind, model in (("seeds", "random_seeds"), ("search", "jain_wallace_2019_per_instance_adversary")):
        for side in ("neg", "pos"):
            mine = [line for line in lines if line["model"] == model and line["measure"].endswith(side)]
            assert len(mine) == 4
            expected = ", ".join(f"{float(line['value']):.2f}" for line in mine)
            assert stability.told_read("diabetes", kind, side) == expected


def test_medians_over_documents():
    values = pd.DataFrame({"two": [0.0] * 60 + [0.6, np.nan], "one": [0.1] * 62})
    assert stability.told_median(values, "two") == "0.000 (0.000 to 0.000)", "a mean would see the far one"
    assert stability.told_median(values, "one") == "0.100 (0.100 to 0.100)"
    assert stability.told_median(None, "two") == "no run"


def test_outliers_lie_beyond_every_seed():
    seeds = pd.DataFrame({"doc_id": [1, 2, 3, 4, 5], "max": [0.1, 0.2, 0.3, 0.4, 0.0]})
    searched = pd.DataFrame({"doc_id": [4, 3, 2, 1, 9], "two": [0.5, 0.4, 0.1, 0.2, 0.6]})  # in another order
    told = stability.told_outliers(seeds, searched)
    assert told.startswith("75% (") and told.endswith("%) of 4 documents")
    far, near = searched.assign(two=0.6), searched.assign(two=0.05)
    assert stability.told_outliers(seeds, far) == "100% (100% to 100%) of 4 documents"
    assert stability.told_outliers(seeds, near) == "0% (0% to 0%) of 4 documents"
    assert stability.told_outliers(None, searched) == stability.told_outliers(seeds, None)
    assert stability.told_outliers(seeds, None).startswith("not computed")


def test_what_violins_show_is_counted():
    rows = rows_of(base_runs("sst", NEAR), base_runs("imdb", []), corpora=("sst", "imdb"))
    documents = {("sst", "search"): beside_table(0.3, 1200), ("imdb", "search"): None}
    assert stability.told_violins(rows, documents, ["imdb", "sst"]) == (
        "imdb 0 further seeds, 0 documents of each, and 0 of the trace sample; "
        "sst 5 further seeds, 200 documents of each, and 1,200 of the trace sample"
    )
    assert stability.told_violins(rows, documents, ["sst"]).startswith("sst 5 further seeds")


def test_the_table_shows_a_line_a_data_set():
    shown = stability.table(rows_of(base_runs("sst", NEAR), corpora=("sst", "agnews"))).set_index("data")
    assert shown.loc["sst"].tolist() == [
        5, "0.108 (0.098 to 0.118)", "0.058", "0.061", "0.50 (0.50 to 0.50)", "200", "undecided",
    ]  # fmt: skip
    assert shown.loc["agnews"].tolist() == [0, "–", "–", "–", "–", "–", "no further seed"]
