"""Stored numbers in two tables: what is asked for is what comes, on which side it lies, and the tables keep up."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import refused
from scorecard_runs import result_of, seeds_of
from tiny_runs import tiny
from wiegreffe_results import adversary_of
from wiegreffe_results import result_of as by_record

from attn_lab.more.single_state import single_state_agreement
from attn_lab.runs import index, rows, store, upkeep
from attn_lab.runs.index import MARGINS, over_seeds, same_score, side
from attn_lab.runs.results import obtain
from attn_lab.runs.run import SEEDS, Run

first_runs = index.runs
first_numbers = index.numbers

TAU = "tau_attention_gradient"

# ---- over seeds, sides -----------------------------------------------------------------------------------------------


def test_student_interval_by_hand():
    row = over_seeds(
        pd.DataFrame({"corpus": "sst", "seed": [1, 2, 3], "value": [1.0, 2.0, 3.0]}), "corpus"
    ).iloc[0]
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    assert row[["mean", "n_seeds", "std", "low", "high"]].tolist() == pytest.approx(
        [2, 3, 1, 2 - half, 2 + half]
    )
    assert over_seeds(pd.DataFrame({"value": [0.4, 0.6]}))[["low", "high"]].isna().all(axis=None)


def test_a_seed_that_stands_twice_is_an_error():
    rows = pd.DataFrame({"encoder": ["lstm", "cnn"], "seed": [10, 10], "value": [0.1, 0.3]})
    with refused("seed 10 stands twice"):
        over_seeds(rows)
    assert over_seeds(rows, "encoder")["mean"].tolist() == [0.1, 0.3]
    with refused("no column 'encodr'"):
        over_seeds(rows, "encodr")
    assert over_seeds(rows[:0], "encoder").empty


def test_runs_that_lack_a_field_are_a_group_and_seeds_without_a_value_do_not_count():
    rows = pd.DataFrame(
        {"hidden": [8.0, 8.0, np.nan, np.nan], "seed": [1, 2, 1, 2], "value": [1.0, np.nan, 3.0, 5.0]}
    )
    table = over_seeds(rows, "hidden")
    assert table["mean"].tolist() == [1, 4]
    assert table["n_seeds"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("low", "high", "n_seeds", "fewest", "lies"),
    [
        (0.51, 0.6, 5, 5, "above"),
        (0.3, 0.49, 5, 5, "below"),
        (0.4, 0.6, 5, 5, "around"),
        (0.5, 0.6, 5, 5, "around"),
        (0.4, 0.5, 5, 5, "around"),
        (0.51, 0.6, 4, 5, "few"),
        (np.nan, np.nan, 5, 5, "few"),
        (0.6, 0.7, 1, 0, "above"),
        (0.6, 0.7, 3, 3, "above"),
        (0.6, 0.7, 2, 3, "few"),
    ],
)
def test_sides_of_a_threshold(low, high, n_seeds, fewest, lies):
    """fewest 0: intervals that are not over seeds ask for none."""
    rows = pd.DataFrame({"low": [low], "high": [high], "n_seeds": [n_seeds]})
    given = {} if fewest == index.HEADLINE_SEEDS else {"fewest": fewest}
    assert side(rows, 0.5, **given).tolist() == [lies]
    assert side(rows, pd.Series([0.5]), **given).tolist() == [lies]
    assert side(next(rows.itertuples()), 0.5, **given) == lies == side(rows.iloc[0], 0.5, **given), (
        "or one row"
    )


@pytest.mark.parametrize(
    ("f1", "auc", "word"),
    [
        ([0.001, 0.0, -0.002, 0.001, 0.0], [0.0, 0.001, 0.0, -0.001, 0.0], "same"),
        ([0.001, 0.0, -0.002, 0.001, 0.0], [0.011, 0.012, 0.01, 0.013, 0.011], "differs"),
        ([0.02, -0.02, 0.01, -0.01, 0.0], [0.0, 0.001, 0.0, -0.001, 0.0], "undecided"),
        ([0.001, 0.0], [0.0, 0.001], "undecided"),  # two seeds have no interval
    ],
)
def test_the_same_score_is_equivalence_within_margins(f1, auc, word):
    second = pd.DataFrame(
        [(m, seed, 0.8) for m in MARGINS for seed in range(len(f1))], columns=["measure", "seed", "value"]
    )
    first = second.assign(value=0.8 + np.array(f1 + auc))
    assert same_score(first, second[::-1]) == same_score(second, first) == word


def test_questions_without_auc_are_judged_by_f1_alone():
    second = pd.DataFrame({"measure": "macro_f1", "seed": range(3), "value": 0.4})
    assert same_score(second.assign(value=0.9), second) == "differs"
    assert same_score(second.assign(value=0.405), second) == "same"
    assert same_score(second, second.iloc[:0]) == "undecided"


# ---- asking ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def few(stored):
    """Two encoders of SST and one of IMDB, variants of one field and of two, an adversary, a guided network."""
    variants = [
        result_of(seed=10, values={TAU: 0.9}, selection="test"),
        result_of(seed=10, values={TAU: 0.8}, fraction=0.25),
        result_of(seed=10, values={TAU: 0.7}, fraction=0.25, selection="test"),
        result_of(seed=7, values={TAU: 0.6}),
    ]
    others = [
        by_record(adversary_of(10, 1e-3), 0.7, 0.3, 0.05),
        by_record(Run("sst", "average", "given", seed=10, guide="own", base=Run("sst", seed=10)), 0.75),
    ]
    imdb = [result_of("imdb", values={(TAU, "1"): 0.2, TAU: 0.3})]
    return stored(seeds_of(count=3, values={TAU: 0.5, "accuracy": 0.8}), variants, others, imdb)


def test_fields_that_are_not_named_are_at_their_defaults(few):
    plain = first_runs(corpus="sst")
    assert plain["seed"].tolist() == list(SEEDS[:3]) * 2
    assert plain["encoder"].tolist() == ["average"] * 3 + ["lstm"] * 3
    assert set(plain["variant"]) == {""}
    assert len(first_runs()) == 7
    assert first_runs(corpus="sst", selection="test")["variant"].tolist() == ["selection=test"]
    assert first_runs(fraction=0.25)["variant"].tolist() == ["fraction=0.25"]
    assert first_runs(fraction=0.25, selection=["dev", "test"]).shape[0] == 2
    assert set(first_runs(fraction="any")["fraction"]) == {1.0, 0.25}
    assert len(first_runs(fraction="any")) == 8
    assert len(first_runs(seed=7)) == 1, "seeds outside the book's list are found by their seed alone"
    assert len(index.runs(variant="selection=test, fraction=0.25")) == 1
    assert len(first_runs(key=few[0].key)) == 1
    assert first_runs(corpus="nothing").empty
    assert set(first_runs(corpus=["sst", "imdb"], encoder="lstm")["corpus"]) == {"sst", "imdb"}
    assert first_runs(seed="10", corpus="imdb").equals(first_runs(seed=10, corpus="imdb")), (
        "as a command line says it"
    )


def test_what_goes_with_a_guide_or_a_divergence_is_free(few):
    (adversary,) = first_runs(divergence=1e-3).to_dict("records")
    assert (adversary["base"], adversary["base_seed"], adversary["jsd"]) == (
        Run("sst", rounding=1).key,
        10,
        0.3,
    )
    (guided,) = first_runs(guide="own").to_dict("records")
    assert (guided["attention"], guided["base"]) == ("given", Run("sst").key)


def test_numbers_by_hand(few):
    rows = first_numbers(TAU, "mean", corpus="sst", encoder="lstm")
    assert rows["value"].tolist() == pytest.approx([0.49, 0.5, 0.51])
    assert rows["seed"].tolist() == list(SEEDS[:3])
    assert {*index.NAMES, "key", "data", "variant", "n_train"} <= set(rows)
    assert set(rows["data"]) == {"same"}
    per_class = first_numbers(TAU, "mean", predicted=["0", "1"], corpus="imdb")
    assert dict(zip(per_class["predicted"], per_class["value"], strict=True)) == pytest.approx(
        {"0": 0.3, "1": 0.2}
    )
    assert len(first_numbers(TAU, "mean", bin="any", corpus="imdb")) == 5
    assert set(first_numbers(TAU, corpus="imdb")["statistic"]) >= {"mean", "std", "q25", "n"}
    assert first_numbers("accuracy", "value", corpus="sst", encoder="lstm")["value"].mean() == pytest.approx(
        0.8
    )
    assert first_numbers(["jsd_beside"], divergence="any", guide="any")["value"].tolist() == [0.3]
    assert first_numbers(TAU, "mean", corpus="nothing").empty


def test_stores_of_questions_have_tables(stored):
    stored([result_of("babi_1")])
    assert first_runs()["auc"].isna().all()
    assert first_numbers("accuracy")["value"].tolist() == [0.8]


# ---- the tables keep up with the stores ------------------------------------------------------------------------------


def put(folder, result):
    """A run as the archive holds it."""
    upkeep.merge(
        folder, result.record["run"]["corpus"], rows.tables(result.record, result.numbers), {result.key: None}
    )
    later(folder)


def cached(result):
    """The same in the cache."""
    store.write(store.cache_store(), result.key, rows.tables(result.record, result.numbers))
    later(store.cache_store())


def later(folder) -> None:
    """A change is seen by its time, which two writes in one tick of the clock would share."""
    now = (folder / "runs").stat().st_mtime_ns
    os.utime(folder / "runs", ns=(now, now + 1_000_000))


@pytest.fixture
def folder(archive):
    """An archive of two runs."""
    for seed in SEEDS[:2]:
        put(archive, result_of(seed=seed, values={"accuracy": 0.8}))
    return archive


def accuracies() -> list[float]:
    return first_numbers("accuracy")["value"].tolist()


def test_runs_that_come_and_change_are_seen_at_once(folder):
    assert accuracies() == [0.8, 0.8]
    put(folder, result_of(seed=SEEDS[2], values={"accuracy": 0.5}))
    assert accuracies() == [0.8, 0.8, 0.5]
    put(folder, result_of(seed=SEEDS[2], values={"accuracy": 0.25}))
    assert accuracies() == [0.8, 0.8, 0.25]
    assert upkeep.faults(folder) == []


def test_cached_runs_stand_beside_archived_ones_which_win(folder):
    cached(result_of(seed=SEEDS[0], values={"accuracy": 0.1}))
    cached(result_of(seed=SEEDS[3], values={"accuracy": 0.6}))
    found = first_runs()
    assert found[["seed", "source", "accuracy"]].to_numpy().tolist() == [
        [SEEDS[0], "archive", 0.8],
        [SEEDS[1], "archive", 0.8],
        [SEEDS[3], "cache", 0.6],
    ]
    assert accuracies() == [0.8, 0.8, 0.6]
    for source, count in (("all", 3), ("any", 3), ("archive", 2), ("cache", 1), (["archive", "cache"], 3)):
        assert len(first_numbers("accuracy", source=source)) == count
    (folder / "numbers" / "sst.parquet").write_bytes(b"damaged")
    later(folder)
    assert accuracies() == [0.1, 0.6], "a sound copy stands in for a damaged one"


def test_what_a_reader_trained_has_numbers():
    """Those that take seconds, as soon as it is stored: without searching adversaries."""
    obtain(tiny())
    row = index.numbers(
        "single_state_agreement", "mean", source="cache", corpus="planted", variant="any"
    ).iloc[0]
    traces = obtain(tiny()).traces
    assert row["value"] == pytest.approx(
        single_state_agreement(traces)["single_state_agreement"].mean(), abs=1e-5
    )
    assert row["key"] == tiny().key
    measures = set(index.numbers("any", source="cache", variant="any")["measure"])
    assert {TAU, "median_change", "ceiling", "attention_invariant", "accuracy"} <= measures
    assert not any(name.startswith("jsd_") for name in measures)


def test_a_run_of_another_version_is_left_out_and_a_field_that_was_none_has_its_default(folder):
    result = result_of(seed=SEEDS[2], values={"accuracy": 0.5})
    tables = rows.tables(result.record, result.numbers)
    future = tables["runs"].append_column("of_the_future", pa.array([1]))
    store.write(store.cache_store(), result.key, tables | {"runs": future})
    assert accuracies() == [0.8, 0.8]
    older = tables["runs"].drop_columns("tie")
    store.write(store.cache_store(), result.key, tables | {"runs": older})
    later(store.cache_store())
    assert accuracies() == [0.8, 0.8, 0.5]
    assert set(first_runs()["tie"]) == {0.0}


def test_without_any_run_one_line_says_so_and_a_store_of_nothing_has_tables(stored, monkeypatch):
    stored([])
    with refused("nothing is stored"):
        first_runs()
    monkeypatch.setattr(store, "find_archive", lambda: None)
    with refused("nothing is stored"):
        first_runs()
    (store.cache_store() / "runs").mkdir(parents=True)
    assert first_runs().empty
    assert index.measures().empty
    assert index.records([]) == []


# ---- on the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def asked(few, called):
    return lambda *words: called("numbers", *words)


def test_numbers_on_the_command_line(asked):
    sst = ("--where", "corpus=sst", "--where", "encoder=lstm")
    status, out, _ = asked(TAU, "mean", *sst, "--json")
    rows = pd.DataFrame(json.loads(out))
    assert status == 0
    assert rows["seed"].tolist() == list(SEEDS[:3])
    assert set(rows["selection"]) == {"dev"}
    assert rows["value"].tolist() == pytest.approx([0.49, 0.5, 0.51])
    (row,) = json.loads(asked(TAU, "mean", *sst, "--by", "corpus", "--json")[1])
    assert (row["n_seeds"], row["mean"]) == (3, pytest.approx(0.5))
    assert row["low"] < row["mean"] < row["high"]
    assert TAU in {row["measure"] for row in json.loads(asked("--list", "--json")[1])}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([TAU, "--where", "corpus"], "takes FIELD=VALUE"),
        ([TAU, "--where", "corpse=sst"], "no field 'corpse'"),
        (["tau"], "no stored run has the measure 'tau'"),
        ([TAU, "--where", "corpus=mars"], "no stored run fits"),
        ([TAU, "mean", "--by", "encodr"], "no column 'encodr'"),
        ([TAU, "mean", "--by", "corpus"], "stands twice"),
    ],
)
def test_what_cannot_be_answered_is_one_line(asked, words, told):
    status, out, lines = asked(*words)
    assert (status, out, len(lines)) == (2, "", 1)
    assert lines[0].startswith("attn_core: ")
    assert told in lines[0]


def test_a_parameter_stands_beside_its_measure():
    at = {"corpus": "sst", "encoder": "lstm", "attention": "tanh", "source": "archive"}
    rows = first_numbers("jsd_exact", "mean", epsilon=0.05, **at)
    assert set(rows["parameter"]) == {"epsilon=0.05"}
    assert set(rows["epsilon"]) == {0.05}
    in_full = first_numbers("jsd_exact epsilon=0.05", "mean", **at)
    pd.testing.assert_frame_equal(in_full, rows)


def test_of_a_measure_with_and_without_parameters_those_without_are_meant():
    rows = first_numbers("single_state_agreement", "mean", corpus="sst", encoder="minilm", source="archive")
    assert set(rows["parameter"]) == {""}
    assert rows["epsilon"].isna().all()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("echo", "single_state_agreement"),
        ("flat_flips", "flips_under_uniform"),
        ("moved_bayes", "change_bayes"),
        ("jsd_exact@0.05", "jsd_exact epsilon=0.05"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(old, new):
    with refused(f"'{new}'"):
        first_numbers(old)
