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

TAU = "tau_attention_gradient"

# ---- over seeds, sides -----------------------------------------------------------------------------------------------


def test_student_interval_by_hand():
    """Of three seeds; of two, with a third that has no value, there is none. Runs that lack a field are a group."""
    fields = {"hidden": [8.0] * 3 + [np.nan] * 3, "seed": [1, 2, 3] * 2, "value": [1, 2, 3, 3, np.nan, 5]}
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    expected = [[2, 2 - half, 2 + half, 3, 1], [4, np.nan, np.nan, 2, np.sqrt(2)]]
    table = over_seeds(pd.DataFrame(fields), "hidden")
    np.testing.assert_allclose(table[["mean", "low", "high", "n_seeds", "std"]], expected)
    assert over_seeds(pd.DataFrame(fields)[:0], "hidden").empty


def test_sides_of_a_threshold():
    """By default of five seeds; fewest 0: intervals that are not over seeds ask for none."""
    low = [0.51, 0.3, 0.4, 0.5, 0.4, 0.51, np.nan]
    high = [0.6, 0.49, 0.6, 0.6, 0.5, 0.6, np.nan]
    table = pd.DataFrame({"low": low, "high": high, "n_seeds": [5, 5, 5, 5, 5, 4, 5]})
    lies = ["above", "below", "around", "around", "around", "few", "few"]
    assert side(table, 0.5).tolist() == lies
    assert side(table, pd.Series(0.5, table.index)).tolist() == lies
    assert [side(row, 0.5) for row in table.itertuples()] == lies
    assert [side(row, 0.5) for _, row in table.iterrows()] == lies
    assert [side(table.iloc[5], 0.5, fewest) for fewest in (0, 4, 5)] == ["above", "above", "few"]


NEAR = np.array([1, 0, -2, 1, 0]) / 1000


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ((NEAR, NEAR), "same"),
        ((NEAR, NEAR + 0.011), "differs"),
        ((10 * NEAR, NEAR), "undecided"),
        ((NEAR[:2], NEAR[:2]), "undecided"),  # two seeds have no interval
        ((NEAR,), "same"),  # questions have no AUC
        ((NEAR + 0.5,), "differs"),
        ((), "undecided"),
    ],
)
def test_the_same_score_is_equivalence_within_margins(differences, word):
    scores = [
        (measure, seed, value)
        for measure, values in zip(MARGINS, differences, strict=False)
        for seed, value in enumerate(values)
    ]
    first = pd.DataFrame(scores, columns=["measure", "seed", "value"])
    second = first.assign(value=0)
    assert same_score(first, second[::-1]) == same_score(second, first) == word


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
    plain = index.runs(corpus="sst")
    assert plain["seed"].tolist() == list(SEEDS[:3]) * 2
    assert plain["encoder"].tolist() == ["average"] * 3 + ["lstm"] * 3
    assert set(plain["variant"]) == {""}
    for count, where in (
        (7, {}),
        (0, {"corpus": "nothing"}),
        (4, {"corpus": ["sst", "imdb"], "encoder": "lstm"}),
        (1, {"selection": "test"}),
        (1, {"fraction": 0.25}),
        (2, {"fraction": 0.25, "selection": ["dev", "test"]}),
        (8, {"fraction": "any"}),
        (1, {"seed": 7}),  # outside the book's list
        (1, {"seed": "10", "corpus": "imdb"}),  # as a command line says it
        (1, {"variant": "selection=test, fraction=0.25"}),
        (1, {"key": few[0].key}),
    ):
        assert len(index.runs(**where)) == count, where


def test_what_goes_with_a_guide_or_a_divergence_is_free(few):
    adversary = index.runs(divergence=1e-3)
    base = ["base", "base_seed"]
    assert adversary[[*base, "jsd"]].values.tolist() == [[Run("sst", rounding=1).key, 10, 0.3]]
    assert index.runs(guide="own")[["attention", *base]].values.tolist() == [["given", Run("sst").key, 10]]


def test_numbers_by_hand(few):
    lstm = index.numbers(TAU, "mean", corpus="sst", encoder="lstm")
    assert lstm["value"].tolist() == pytest.approx([0.49, 0.5, 0.51])
    assert {*index.NAMES, "key", "data", "variant", "n_train"} <= set(lstm)
    assert set(lstm["data"]) == {"same"}
    per_class = index.numbers(TAU, "mean", predicted=["0", "1"], corpus="imdb").set_index("predicted")[
        "value"
    ]
    assert per_class.to_dict() == pytest.approx({"0": 0.3, "1": 0.2})
    assert len(index.numbers(TAU, "mean", bin="any", corpus="imdb")) == 5
    assert set(index.numbers(TAU, corpus="imdb")["statistic"]) >= {"mean", "std", "q25", "n"}
    assert index.numbers(["jsd_beside"], divergence="any", guide="any")["value"].tolist() == [0.3]
    assert index.numbers(TAU, "mean", corpus="nothing").empty


def test_stores_of_questions_have_tables(stored):
    stored([result_of("babi_1")])
    assert index.runs()["auc"].isna().all()
    assert accuracies() == [0.8]


# ---- the tables keep up with the stores ------------------------------------------------------------------------------


def made(seed: int, accuracy: float):
    """Key and tables of a run of the book's seed of this number."""
    result = result_of(seed=SEEDS[seed], values={"accuracy": accuracy})
    return result.key, rows.tables(result.record, result.numbers)


def archived(folder, key, tables):
    upkeep.merge(folder, "sst", tables, {key: None})
    later(folder)


def cached(key, tables):
    store.write(store.cache_store(), key, tables)
    later(store.cache_store())


def later(folder) -> None:
    """A change is seen by its time, which two writes in one tick of the clock would share."""
    now = (folder / "runs").stat().st_mtime_ns
    os.utime(folder / "runs", ns=(now, now + 1_000_000))


@pytest.fixture
def folder(archive):
    """An archive of two runs."""
    for seed in (0, 1):
        archived(archive, *made(seed, 0.8))
    return archive


def accuracies(**where) -> list[float]:
    return index.numbers("accuracy", **where)["value"].tolist()


def test_runs_that_come_and_change_are_seen_at_once(folder):
    for accuracy in (0.5, 0.25):
        archived(folder, *made(2, accuracy))
        assert accuracies() == [0.8, 0.8, accuracy]
    assert upkeep.faults(folder) == []


def test_cached_runs_stand_beside_archived_ones_which_win(folder):
    cached(*made(0, 0.1))
    cached(*made(3, 0.6))
    assert index.runs()["source"].tolist() == ["archive", "archive", "cache"]
    assert index.runs()["accuracy"].tolist() == [0.8, 0.8, 0.6]
    for source in ("all", "any", ["archive", "cache"]):
        assert accuracies(source=source) == [0.8, 0.8, 0.6]
    assert accuracies(source="archive") == [0.8, 0.8]
    assert accuracies(source="cache") == [0.6]
    (folder / "numbers" / "sst.parquet").write_bytes(b"damaged")
    later(folder)
    assert accuracies() == [0.1, 0.6], "a sound copy stands in for a damaged one"


def test_what_a_reader_trained_has_numbers():
    """Those that take seconds, as soon as it is stored: without searching adversaries."""
    agreement = single_state_agreement(obtain(tiny()).traces)["single_state_agreement"]
    means = index.numbers("any", "mean", source="cache", variant="any").set_index("measure")["value"]
    assert means["single_state_agreement"] == pytest.approx(agreement.mean(), abs=1e-5)
    assert {TAU, "median_change", "ceiling", "attention_invariant"} <= set(means.index)
    assert not means.filter(like="jsd_").size


def test_a_run_of_another_version_is_left_out_and_a_field_that_was_none_has_its_default(folder):
    key, tables = made(2, 0.5)
    cached(key, tables | {"runs": tables["runs"].append_column("of_the_future", pa.array([1]))})
    assert accuracies() == [0.8, 0.8]
    cached(key, tables | {"runs": tables["runs"].drop_columns("tie")})
    assert accuracies() == [0.8, 0.8, 0.5]
    assert set(index.runs()["tie"]) == {0.0}


@pytest.mark.parametrize("installed_alone", [False, True])
def test_without_any_run_one_line_says_so_and_a_store_of_nothing_has_tables(
    archive, monkeypatch, installed_alone
):
    if installed_alone:
        monkeypatch.setattr(store, "find_archive", lambda: None)
    with refused("nothing is stored"):
        index.runs()
    (store.cache_store() / "runs").mkdir(parents=True)
    assert index.runs().empty
    assert index.measures().empty
    assert index.records([]) == []


# ---- on the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def asked(few, called):
    return lambda *words: called("numbers", *words)


def test_numbers_on_the_command_line(asked):
    sst = (TAU, "mean", "--where", "corpus=sst", "--where", "encoder=lstm", "--json")
    status, out, _ = asked(*sst)
    assert status == 0
    assert [row["value"] for row in json.loads(out)] == pytest.approx([0.49, 0.5, 0.51])
    (row,) = json.loads(asked(*sst, "--by", "corpus")[1])
    assert row["mean"] == pytest.approx(0.5)
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
        ([TAU, "mean", "--by", "corpus"], "seed 10 stands twice"),
    ],
)
def test_what_cannot_be_answered_is_one_line(asked, words, told):
    status, out, (line,) = asked(*words)
    assert (status, out) == (2, "")
    assert line.startswith("attn_core: ")
    assert told in line


def test_a_parameter_stands_beside_its_measure_and_without_is_meant_where_there_is_one():
    at = {"corpus": "sst", "encoder": "lstm", "attention": "tanh", "source": "archive"}
    found = index.numbers("jsd_exact", "mean", epsilon=0.05, **at)
    assert set(found["parameter"]) == {"epsilon=0.05"}
    assert set(found["epsilon"]) == {0.05}
    pd.testing.assert_frame_equal(index.numbers("jsd_exact epsilon=0.05", "mean", **at), found)
    bare = index.numbers("single_state_agreement", "mean", **at | {"encoder": "minilm"})
    assert set(bare["parameter"]) == {""}
    assert bare["epsilon"].isna().all()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("echo", "single_state_agreement"),
        ("moved_bayes", "change_bayes"),
        ("jsd_exact@0.05", "jsd_exact epsilon=0.05"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(old, new):
    with refused(f"'{new}'"):
        index.numbers(old)
