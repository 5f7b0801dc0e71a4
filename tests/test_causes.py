"""What was tried where a number differs: by how much variants move it, on the seeds that both have."""

import dataclasses
from fnmatch import fnmatch

import pandas as pd
import pytest
from conftest import ROOT
from scorecard_runs import RULES, result_of, row_for, seeds_of, whole

from attn_book.scorecard import reported, scorecard
from attn_build import sources
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.runs import index
from attn_lab.runs.run import SEEDS, Run

PAGE = sources.read_source("scorecard", ROOT)
NAMES = {"index": index, "pd": pd}
exec(
    next(cell.source for cell in PAGE.cells if "def causes(" in cell.source), NAMES
)  # the page's own functions
causes, same_checkpoint = NAMES["causes"], NAMES["same_checkpoint"]

TAU = "tau_attention_gradient"
PLACE = {"item": "web appendix", "encoder": "lstm", "attention": "tanh"}  # SST: reported 0.35, tolerance 0.10


@pytest.fixture
def tried(stored):
    """causes of the scorecard over given results, with the columns of its rows."""

    def tried(*parts) -> pd.DataFrame:
        stored(*parts)
        rows = scorecard(paper="jain")
        return causes(rows).merge(rows, on="id", suffixes=("", "_row"))

    return tried


@pytest.fixture
def in_row(tried):
    """What is said of the variant with random vectors in SST's row."""
    return lambda *parts: row_for(tried(*parts), variant="vectors=random", corpus="sst", **PLACE)


def standard(value=0.6, **more):
    return seeds_of(encoders=("lstm",), values={TAU: value}, **more)


def variant(*values, seeds=SEEDS, **fields):
    """Runs of some seeds that differ in `fields` from the standard ones."""
    return [
        result_of(seed=seed, values={TAU: value}, **fields)
        for seed, value in zip(seeds, values, strict=False)
    ]


def test_a_variant_that_explains_a_difference(in_row):
    runs = variant(0.40, 0.41, 0.42, vectors="random")
    row = in_row(standard(), runs)
    assert (row["value"], row["shift"], row["n_seeds"]) == pytest.approx((0.41, 0.41 - 0.59, 3))
    assert [row["low"], row["high"]] == pytest.approx([-0.18] * 2), "the seeds move alike"
    assert row["within"]
    assert not row["already"]
    assert row["key"] == runs[0].key
    assert row["tested_on"] == "sst"
    assert row["why"] == reported("causes", field="vectors", value="random")["cause"].iloc[0]


@pytest.mark.parametrize(("loss", "there"), [(0.5, True), (0.51, False)])
def test_a_checkpoint_of_another_training_explains_nothing(tried, loss, there):
    """The same seed trained twice: rounding led the losses apart, so the choice of the checkpoint is not all."""
    runs, other = standard(), variant(0.9, selection="test")
    for result, value in ((runs[0], 0.5), (other[0], loss)):
        result.record["history"] = [{"epoch": 1, "loss": value}]
    assert ("selection=test" in set(tried(runs, other)["variant"])) == there


@pytest.mark.parametrize(("seed", "within", "already"), [(SEEDS[0], False, True), (SEEDS[1], True, False)])
def test_a_variant_is_judged_beside_the_standard_runs_of_its_seeds(in_row, seed, within, already):
    """All seeds together differ, one holds already: there the variant explains nothing."""
    runs = variant(0.40, 0.7, 0.7, 0.7, 0.7)
    row = in_row(runs, variant(0.38, seeds=[seed], vectors="random"))
    assert (row["within"], row["already"]) == (within, already)


def test_a_variant_with_the_same_checkpoint_varies_nothing(tried, in_row):
    runs = standard(spread=0.0)
    (again,) = variant(0.6, vectors="random")
    assert same_checkpoint(again, runs[0])
    assert "vectors=random" not in set(tried(runs, [again])["variant"])
    shorter = dataclasses.replace(again, numbers=again.numbers.iloc[1:])  # variants store fewer numbers
    assert same_checkpoint(shorter, runs[0])
    moved = shorter.numbers.assign(value=shorter.numbers["value"] + 1e-9)
    assert not same_checkpoint(dataclasses.replace(shorter, numbers=moved), runs[0])
    other = variant(0.4, seeds=SEEDS[1:], vectors="random")
    row = in_row(runs, [again], other)
    assert row["n_seeds"] == 2 and row["key"] == other[0].key, (
        "a seed that did not move counts as long as another did"
    )


def test_differences_of_encoders_need_the_variant_of_both(tried):
    loo, bar = "tau_attention_loo", "files: no context minus BiLSTM (leave-one-out)"
    runs = seeds_of(values={loo: 0.3}, shift=0.9)
    one = [result_of(seed=10, selection="test", values={loo: 0.3})]
    assert tried(runs, one).query("item == @bar").empty
    both = [*one, result_of(encoder="average", seed=10, selection="test", values={loo: 0.65})]
    row = row_for(tried(runs, both), variant="selection=test", item=bar, corpus="sst")
    assert row["value"] == pytest.approx(0.35)
    assert row["within"]
    assert row["key"] in {result.key for result in both}


def test_training_size_is_tested_on_another_data_set(tried):
    able = {"accuracy": 0.95}  # a model that fails at its task is not judged
    runs = seeds_of("agnews", ("lstm",), values={TAU: 0.9} | able, statistics=whole("agnews", 0.1))
    runs += seeds_of("imdb", ("lstm",), values={TAU: 0.7} | able)
    parts = [variant(0.8, 0.8, 0.8, corpus="imdb", fraction=share) for share in (0.1, 0.25)]
    two = tried(runs, *(part[:2] for part in parts))
    assert two[two["corpus"] == "agnews"].empty, "two seeds are no hint"
    found = tried(runs, *parts)
    row = row_for(found, corpus="agnews", variant="fraction=0.1", **PLACE)
    assert row["tested_on"] == "imdb"
    assert row["shift"] == pytest.approx(0.11)
    assert not row["within"]
    assert set(found["variant"]) == {"fraction=0.1"}, "only the declared share"
    assert found[found["corpus"] == "imdb"].empty, "less data explain no full set"


def test_declared_causes_name_known_things():
    for cause in reported("causes").itertuples():
        about = [
            fnmatch(rule.corpus, cause.corpus) and fnmatch(rule.item, cause.item)
            for rule in RULES.itertuples()
            if fnmatch(rule.measure, cause.measure)
        ]
        assert any(about), cause
        assert pd.isna(cause.field) or cause.field in {field.name for field in dataclasses.fields(Run)}
        assert pd.isna(cause.tested_on) or cause.tested_on in CATALOGUE
