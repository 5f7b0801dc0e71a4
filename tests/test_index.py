"""Stored numbers in two tables: what is asked for is what comes, on which side it lies, and the tables keep up."""

import json
import os
import shutil
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorecard_runs import result_of, seeds_of
from tiny_runs import called, first_run
from wiegreffe_results import adversary_of, guide_run
from wiegreffe_results import result_of as by_record

from attn_core import index, store
from attn_core.errors import AttnError
from attn_core.index import over_seeds, side
from attn_core.run import SEEDS

first_runs = partial(index.runs, generation="first")
first_numbers = partial(index.numbers, generation="first")

TAU = "tau_attention_gradient"

# ---- over seeds, sides -----------------------------------------------------------------------------------------------


def test_student_interval_by_hand():
    row = over_seeds(pd.DataFrame({"corpus": "sst", "seed": [1, 2, 3], "value": [1.0, 2.0, 3.0]}), "corpus").iloc[0]
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    assert [row["mean"], row["n_seeds"], row["std"]] == [2, 3, 1]
    assert [row["low"], row["high"]] == pytest.approx([2 - half, 2 + half])
    for values in ([0.5], [0.4, 0.6]):
        row = over_seeds(pd.DataFrame({"value": values})).iloc[0]
        assert row["mean"] == 0.5 and np.isnan(row["low"]) and np.isnan(row["high"]) and row["n_seeds"] == len(values)


def test_a_seed_that_stands_twice_is_an_error():
    rows = pd.DataFrame({"encoder": ["lstm", "cnn"], "seed": [10, 10], "value": [0.1, 0.3]})
    with pytest.raises(AttnError, match="seed 10 stands twice"):
        over_seeds(rows)
    assert over_seeds(rows, "encoder")["mean"].tolist() == [0.1, 0.3]
    with pytest.raises(AttnError, match="no column 'encodr'"):
        over_seeds(rows, "encodr")
    assert over_seeds(rows[:0], "encoder").empty


@pytest.mark.parametrize(
    ("low", "high", "n_seeds", "fewest", "lies"),
    [(0.51, 0.6, 5, 5, "above"), (0.3, 0.49, 5, 5, "below"), (0.4, 0.6, 5, 5, "around"), (0.5, 0.6, 5, 5, "around"),
     (0.4, 0.5, 5, 5, "around"), (0.51, 0.6, 4, 5, "few"), (np.nan, np.nan, 5, 5, "few"), (0.6, 0.7, 1, 0, "above"),
     (0.6, 0.7, 3, 3, "above"), (0.6, 0.7, 2, 3, "few")],
)  # fmt: skip
def test_sides_of_a_threshold(low, high, n_seeds, fewest, lies):
    """fewest 0: intervals that are not over seeds ask for none."""
    rows = pd.DataFrame({"low": [low], "high": [high], "n_seeds": [n_seeds]})
    given = {} if fewest == index.HEADLINE_SEEDS else {"fewest": fewest}
    assert side(rows, 0.5, **given).tolist() == [lies] and side(rows, pd.Series([0.5]), **given).tolist() == [lies]
    assert side(next(rows.itertuples()), 0.5, **given) == lies == side(rows.iloc[0], 0.5, **given), "or one row"


numbers = st.floats(-1, 1).map(lambda x: round(x, 4))


@given(st.lists(numbers, min_size=3, max_size=9), numbers)
def test_sides_are_antisymmetric(values, threshold):
    rows = pd.DataFrame({"seed": range(len(values)), "value": values})
    lies = side(over_seeds(rows), threshold)[0]
    mirrored = side(over_seeds(rows.assign(value=-rows["value"])), -threshold)[0]
    assert mirrored == {"above": "below", "below": "above"}.get(lies, lies)


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
    others = [by_record(adversary_of("sst", 10, 1e-3), 0.7, 0.3, 0.05), by_record(guide_run("sst", "own", 10), 0.75)]
    imdb = [result_of("imdb", values={(TAU, "1"): 0.2, TAU: 0.3})]
    return stored(seeds_of(count=3, values={TAU: 0.5, "accuracy": 0.8}), variants, others, imdb)


def test_fields_that_are_not_named_are_at_their_defaults(few):
    plain = first_runs(corpus="sst")
    assert plain["seed"].tolist() == list(SEEDS[:3]) * 2 and plain["encoder"].tolist() == ["average"] * 3 + ["lstm"] * 3
    assert set(plain["variant"]) == {""} and len(first_runs()) == 7
    assert first_runs(corpus="sst", selection="test")["variant"].tolist() == ["selection=test"]
    assert first_runs(fraction=0.25)["variant"].tolist() == ["fraction=0.25"]
    assert first_runs(fraction=0.25, selection=["dev", "test"]).shape[0] == 2
    assert set(first_runs(fraction="any")["fraction"]) == {1.0, 0.25} and len(first_runs(fraction="any")) == 8
    assert len(first_runs(seed=7)) == 1, "seeds outside the book's list are found by their seed alone"
    assert len(first_runs(variant="selection=test, fraction=0.25")) == 1
    assert len(first_runs(key=few[0].key)) == 1 and first_runs(corpus="nothing").empty
    assert set(first_runs(corpus=["sst", "imdb"], encoder="lstm")["corpus"]) == {"sst", "imdb"}
    assert first_runs(seed="10", corpus="imdb").equals(first_runs(seed=10, corpus="imdb")), "as a command line says it"


def test_models_of_either_generation_are_standard_runs(stored):
    """Learned vectors, the first; counted ones, by default; others are variants of one of them."""
    counted, small, other = (
        result_of(values={"accuracy": value}, vectors=name)
        for name, value in (("ppmi-300", 0.7), ("ppmi-300-small", 0.6), ("random", 0.5))
    )
    stored(seeds_of(count=3), [counted, small, other, result_of("babi_1")])
    assert index.runs(corpus="sst")["vectors"].tolist() == ["ppmi-300"]
    assert index.numbers("accuracy", corpus="sst")["generation"].tolist() == ["second"]
    assert set(first_runs(corpus="sst")["vectors"]) == {"indomain-300"}
    assert index.runs(vectors="random")["variant"].tolist() == ["vectors=random"]
    assert index.runs(vectors="ppmi-300-small")["variant"].tolist() == ["vectors=ppmi-300-small"]
    assert len(index.runs(corpus="babi_1")) == 1 == len(first_runs(corpus="babi_1")), "its recipe is the only one"
    assert len(index.runs(variant="any")) == 10 == len(index.runs(vectors="any"))


def test_what_goes_with_a_guide_or_a_divergence_is_free(few):
    (adversary,) = first_runs(divergence=1e-3).to_dict("records")
    assert (adversary["base"], adversary["base_seed"], adversary["jsd"]) == (first_run("sst").key, 10, 0.3)
    (guided,) = first_runs(guide="own").to_dict("records")
    assert (guided["attention"], guided["base"]) == ("given", first_run("sst").key)


def test_numbers_by_hand(few):
    rows = first_numbers(TAU, "mean", corpus="sst", encoder="lstm")
    assert rows["value"].tolist() == pytest.approx([0.49, 0.5, 0.51]) and rows["seed"].tolist() == list(SEEDS[:3])
    assert {*index.NAMES, "key", "data", "variant", "n_train"} <= set(rows) and set(rows["data"]) == {"same"}
    per_class = first_numbers(TAU, "mean", predicted=["0", "1"], corpus="imdb")
    assert dict(zip(per_class["predicted"], per_class["value"], strict=True)) == pytest.approx({"0": 0.3, "1": 0.2})
    assert len(first_numbers(TAU, "mean", bin="any", corpus="imdb")) == 5
    assert set(first_numbers(TAU, corpus="imdb")["statistic"]) >= {"mean", "std", "q25", "n"}
    assert first_numbers("accuracy", "value", corpus="sst", encoder="lstm")["value"].mean() == pytest.approx(0.8)
    assert first_numbers(["jsd_beside"], divergence="any", guide="any")["value"].tolist() == [0.3]
    assert first_numbers(TAU, "mean", corpus="nothing").empty


def test_records_are_kept_whole(few):
    wanted = [few[5].key, few[-1].key, first_runs(divergence=1e-3)["key"].iloc[0]]
    made = {result.key: json.loads(json.dumps(result.record)) for result in few}
    assert index.records(wanted) == [made[key] for key in wanted]


def test_stores_of_questions_or_of_nothing_have_tables(stored):
    stored([result_of("babi_1")])
    assert first_runs()["auc"].isna().all() and first_numbers("accuracy")["value"].tolist() == [0.8]
    stored([])
    assert first_runs().empty and index.measures().empty and index.records([]) == []


# ---- the tables keep up with the stores ------------------------------------------------------------------------------


def put(folder, result):
    """A run as the archive holds it."""
    store.write(folder, result.key, result.record, {"summary.parquet": result.summary})
    later(folder)


def later(path) -> None:
    """A change is seen by its time, which two writes in one tick of the clock would share."""
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns + 1_000_000))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An archive of two runs, and a fresh process, as far as the index goes."""
    place = tmp_path / "archive"
    place.mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(place))
    for seed in SEEDS[:2]:
        put(place, result_of(seed=seed, values={"accuracy": 0.8}))
    index._joined.cache_clear()
    yield place
    index._joined.cache_clear()


def accuracies() -> list[float]:
    return first_numbers("accuracy")["value"].tolist()


def kept_tables(tmp_path) -> list:
    return sorted((tmp_path / "cache" / "index").rglob("*.parquet"))


def test_runs_that_come_and_go_are_seen_at_once(folder):
    assert accuracies() == [0.8, 0.8]
    put(folder, result_of(seed=SEEDS[2], values={"accuracy": 0.5}))
    assert accuracies() == [0.8, 0.8, 0.5]
    shutil.rmtree(folder / first_run("sst").key)
    later(folder)
    assert accuracies() == [0.8, 0.5]


def test_a_changed_record_is_seen_by_the_next_process(folder, tmp_path):
    assert accuracies() == [0.8, 0.8] and len(kept_tables(tmp_path)) == 2
    path = folder / first_run("sst").key / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"accuracy": 0.25}))
    later(path)
    index._joined.cache_clear()
    assert accuracies() == [0.25, 0.8]
    assert len(kept_tables(tmp_path)) == 2, "the old tables are gone"


def test_the_next_process_reads_no_run_again(folder, monkeypatch):
    first = first_numbers("any")
    index._joined.cache_clear()
    monkeypatch.setattr(store, "read", lambda *_, **__: pytest.fail("a run was read again"))
    pd.testing.assert_frame_equal(first_numbers("any"), first)


@pytest.mark.parametrize("damage", [b"", b"no Parquet at all"])
def test_damaged_tables_are_made_anew(folder, tmp_path, damage):
    first = accuracies()
    for path in kept_tables(tmp_path):
        path.write_bytes(damage)
    index._joined.cache_clear()
    assert accuracies() == first and all(path.stat().st_size > 100 for path in kept_tables(tmp_path))


def test_a_cache_that_cannot_be_written_is_one_warning(folder, tmp_path, capsys):
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache" / "index").write_text("a file where the folder should be")
    assert accuracies() == [0.8, 0.8] == accuracies()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: the cache ")


def test_cached_runs_stand_beside_archived_ones_which_win(folder):
    own = store.cache_store()
    own.mkdir(parents=True)
    put(own, result_of(seed=SEEDS[0], values={"accuracy": 0.1}))
    put(own, result_of(seed=SEEDS[3], values={"accuracy": 0.6}))
    rows = first_runs()
    assert rows[["seed", "source", "accuracy"]].to_numpy().tolist() == [
        [SEEDS[0], "archive", 0.8], [SEEDS[1], "archive", 0.8], [SEEDS[3], "cache", 0.6],
    ]  # fmt: skip
    assert accuracies() == [0.8, 0.8, 0.6]
    (folder / first_run("sst").key / "summary.parquet").write_bytes(b"damaged")
    later(folder / first_run("sst").key / "summary.parquet")
    later(folder)
    assert accuracies() == [0.1, 0.8, 0.6], "a sound copy stands in for a damaged one"


def test_a_run_of_another_version_is_left_out(folder):
    """Beside others, and where a cache holds no other: made now, and read by the next process."""
    result = result_of(seed=SEEDS[2], values={"accuracy": 0.5})
    result.record["run"]["of_the_future"] = 1
    store.cache_store().mkdir(parents=True)
    for place in (folder, store.cache_store()):
        put(place, result)
        for _ in range(2):
            assert accuracies() == [0.8, 0.8]
            index._joined.cache_clear()
    for key in store.keys(folder):
        shutil.rmtree(folder / key)
    later(folder)
    for _ in range(2):
        assert first_runs().empty and index.measures().empty
        index._joined.cache_clear()


def test_without_any_store_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "archive_folder", lambda required=True: None)
    with pytest.raises(AttnError, match="nothing is stored"):
        first_runs()


# ---- on the command line ---------------------------------------------------------------------------------------------

@pytest.fixture
def asked(few, monkeypatch, capsys):
    where = ["--where", "generation=first"]
    return lambda *words: called(monkeypatch, capsys, "numbers", *words, *where)


def test_numbers_on_the_command_line(asked):
    sst = ("--where", "corpus=sst", "--where", "encoder=lstm")
    status, out, _ = asked(TAU, "mean", *sst, "--json")
    rows = pd.DataFrame(json.loads(out))
    assert status == 0 and rows["seed"].tolist() == list(SEEDS[:3]) and set(rows["selection"]) == {"dev"}
    assert rows["value"].tolist() == pytest.approx([0.49, 0.5, 0.51])
    (row,) = json.loads(asked(TAU, "mean", *sst, "--by", "corpus", "--json")[1])
    assert (row["n_seeds"], row["mean"]) == (3, pytest.approx(0.5)) and row["low"] < row["mean"] < row["high"]
    assert TAU in {row["measure"] for row in json.loads(asked("--list", "--json")[1])}


@pytest.mark.parametrize(
    ("words", "told"),
    [([TAU, "--where", "corpus"], "takes FIELD=VALUE"), ([TAU, "--where", "corpse=sst"], "no field 'corpse'"),
     (["tau"], "no stored run has the measure 'tau'"), ([TAU, "--where", "corpus=mars"], "no stored run fits"),
     ([TAU, "mean", "--by", "encodr"], "no column 'encodr'"), ([TAU, "mean", "--by", "corpus"], "stands twice")],
)  # fmt: skip
def test_what_cannot_be_answered_is_one_line(asked, words, told):
    status, out, lines = asked(*words)
    assert (status, out, len(lines)) == (2, "", 1) and lines[0].startswith("attn_core: ") and told in lines[0]
