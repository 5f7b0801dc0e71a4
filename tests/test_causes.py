"""What was tried where a number differs: variants, seeds, the authors' other run, declared causes."""

import dataclasses
import html

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import PUBLIC, result_of, row_for, seeds_of, whole

from attn_book import data_counts, scorecard
from attn_book.jain import causes, causes_page, causes_words
from attn_book.reported import reported
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.runs import SEEDS, Run, as_dict

PLACE = {
    "item": "web appendix",
    "corpus": "sst",
    "encoder": "lstm",
    "attention": "tanh",
}  # reported 0.35, tolerance 0.10


def test_a_variant_that_explains_a_difference():
    standard_runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    variant = [
        result_of(seed=seed, values={"tau_attention_gradient": 0.40 + 0.01 * i}, vectors="random")
        for i, seed in enumerate(SEEDS[:3])
    ]
    found = causes.causes(results=[*standard_runs, *variant])
    row = row_for(found, cause="vectors=random", **PLACE)
    assert row["shift"] == pytest.approx(0.41 - 0.59) and row["value"] == pytest.approx(0.41) and row["n_seeds"] == 3
    assert row["key"] == variant[0].key and row["within"] and f"`{variant[0].key}` and 2 more seeds" in row["sentence"]
    assert (
        np.isclose(row["low"], row["high"]) and "which holds" in row["sentence"] and "public word vectors" in row["why"]
    )
    seeds = row_for(found, cause="seed", **PLACE)
    assert seeds["key"] == standard_runs[0].key and not seeds["within"] and "0.58 to 0.62" in seeds["sentence"]


def test_a_variant_that_explains_nothing_says_so():
    runs = [
        *seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6}),
        result_of(values={"tau_attention_gradient": 0.9}, selection="test"),
    ]
    row = row_for(causes.causes(results=runs), cause="selection=test", **PLACE)
    assert (
        not row["within"]
        and "still differs; one seed does not tell the shift from chance." in row["sentence"]
        and np.isnan(row["low"])
        and row["shift"] == pytest.approx(0.32)
    )


def test_a_checkpoint_of_another_training_explains_nothing():
    """The same seed trained twice: rounding led the losses apart, so the choice of the checkpoint is not all."""
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    other = result_of(values={"tau_attention_gradient": 0.9}, selection="test")
    for loss, tried in ((0.5, True), (0.51, False)):
        for result, value in ((runs[0], 0.5), (other, loss)):
            result.record["history"] = [{"epoch": 1, "loss": value}]
        assert ("selection=test" in set(causes.causes(results=[*runs, other])["cause"])) == tried


def test_a_variant_is_judged_beside_the_standard_runs_of_its_seeds():
    """All seeds together differ, the variant's seed alone holds already: the variant explains nothing."""
    values = dict(zip(SEEDS[:5], (0.40, 0.7, 0.7, 0.7, 0.7), strict=True))
    runs = [result_of(seed=seed, values={"tau_attention_gradient": value}) for seed, value in values.items()]
    variant = result_of(seed=SEEDS[0], values={"tau_attention_gradient": 0.38}, vectors="random")
    row = row_for(causes.causes(results=[*runs, variant]), cause="vectors=random", **PLACE)
    assert row["already"] and not row["within"]
    assert "from 0.40 to 0.38 on the same seeds, where it holds without the variant too" in row["sentence"]
    variant = result_of(seed=SEEDS[1], values={"tau_attention_gradient": 0.38}, vectors="random")
    row = row_for(causes.causes(results=[*runs, variant]), cause="vectors=random", **PLACE)
    assert (
        row["within"] and not row["already"] and "from 0.70 to 0.38 on the same seeds, which holds" in row["sentence"]
    )


def test_a_variant_with_the_same_checkpoint_varies_nothing():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6}, spread=0.0)
    again = result_of(seed=SEEDS[0], values={"tau_attention_gradient": 0.6}, vectors="random")
    assert causes.same_checkpoint(again, runs[0]) and not causes.same_checkpoint(again, None)
    found = causes.causes(results=[*runs, again])
    assert "vectors=random" not in set(found["cause"])
    shorter = dataclasses.replace(again, summary=again.summary.iloc[1:])  # variants store fewer numbers
    assert causes.same_checkpoint(shorter, runs[0]) and causes.same_checkpoint(runs[0], shorter)
    moved = shorter.summary.assign(value=shorter.summary["value"] + 1e-9)
    assert not causes.same_checkpoint(dataclasses.replace(shorter, summary=moved), runs[0])
    assert not causes.same_checkpoint(dataclasses.replace(again, summary=again.summary.iloc[:0]), runs[0])
    other = result_of(seed=SEEDS[1], values={"tau_attention_gradient": 0.4}, vectors="random")
    row = row_for(causes.causes(results=[*runs, again, other]), cause="vectors=random", **PLACE)
    assert row["n_seeds"] == 2, "a seed that did not move counts as long as another did"


def test_runs_that_differ_in_two_fields_or_another_model_explain_nothing():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    runs += [
        result_of(vectors="random", selection="test"),
        result_of(encoder="cnn", vectors="random"),
        result_of(seed=SEEDS[6], vectors="random"),
    ]
    found = causes.causes(results=runs)
    found = found[(found["item"] == "web appendix") & (found["encoder"] == "lstm")]
    assert list(found["cause"]) == ["", "seed"]
    assert found["sentence"].iloc[0] == "No run that varies one thing is stored."


def test_a_shift_around_zero_is_called_chance():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    runs += [
        result_of(seed=seed, values={"tau_attention_gradient": value}, vectors="random")
        for seed, value in zip(SEEDS[:3], (0.1, 0.4, 0.9), strict=True)
    ]
    row = row_for(causes.causes(results=runs), cause="vectors=random", **PLACE)
    assert row["in_words"] == "random word vectors"
    assert row["low"] < 0 < row["high"] and "; the shift itself is within chance." in row["sentence"]


def test_variants_and_measures_in_words():
    assert causes_words.words("options", (("vocabulary_from", "all"),)) == "vocabulary from all splits"
    assert (
        causes_words.in_words("sig_frac") == "share significant" and causes_words.in_words("train_size") == "train size"
    )


def test_differences_of_encoders_need_the_variant_of_both():
    runs = seeds_of(values={"tau_attention_loo": 0.3}, shift=0.9) + [
        result_of(seed=10, selection="test", values={"tau_attention_loo": 0.3})
    ]
    place = {"item": "Figure 5", "corpus": "sst"}
    assert "selection=test" not in set(causes.causes(results=runs).query("item == 'Figure 5'")["cause"])
    runs.append(result_of(encoder="average", seed=10, selection="test", values={"tau_attention_loo": 0.65}))
    row = row_for(causes.causes(results=runs), cause="selection=test", **place)
    assert row["value"] == pytest.approx(0.35) and row["within"] and row["key"] == runs[-1].key


def test_training_size_is_tested_on_another_data_set():
    runs = seeds_of("agnews", ("lstm",), values={"tau_attention_gradient": 0.9}, statistics=whole("agnews", 0.1))
    runs += seeds_of("imdb", ("lstm",), values={"tau_attention_gradient": 0.7})
    parts = [
        result_of("imdb", seed=seed, fraction=share, values={"tau_attention_gradient": 0.8})
        for seed in SEEDS[:3]
        for share in (0.1, 0.25)
    ]
    assert "fraction=0.1" not in set(causes.causes(results=[*runs, *parts[:4]])["cause"]), "two seeds are no hint"
    found = causes.causes(results=runs + parts)
    place = {"item": "web appendix", "encoder": "lstm", "attention": "tanh"}
    row = row_for(found, corpus="agnews", cause="fraction=0.1", **place)
    assert row["shift"] == pytest.approx(0.11) and "on the same number of imdb" in row["sentence"] and not row["within"]
    assert "fraction=0.25" not in set(found["cause"]), "only the declared share"
    assert list(found[(found["item"] == "web appendix") & (found["corpus"] == "imdb")]["cause"]) == ["", "seed"], (
        "less data explain no full set"
    )
    sizes = found[(found["corpus"] == "agnews") & found["sentence"].str.contains("e train on")]
    assert (
        sizes["sentence"].str.startswith("Suspected, not tested on this data set: we train")
        == (sizes["measure"] != "train_size")
    ).all()
    assert (
        sizes["sentence"].str.contains("59,998").all() and "test_size" not in set(sizes["measure"]) and len(sizes) > 2
    )


def test_a_size_that_was_varied_on_its_own_data_set_is_no_untested_suspicion():
    part = whole("agnews", 0.1)
    runs = [result_of("agnews", statistics=part, values={"tau_attention_gradient": 0.9}),
            result_of("agnews", statistics=part, fraction=0.25, values={"tau_attention_gradient": 0.6})]  # fmt: skip
    sentences = causes.causes(results=runs)["sentence"]
    assert not sentences.str.contains("not tested").any() and sentences.str.startswith("We train on").any()
    assert causes.causes(results=runs[:1])["sentence"].str.contains("not tested on this data set: we train on").any()


def test_generated_questions_are_named():
    generated = whole("babi_3", train_source="generated")
    found = causes.causes(
        results=seeds_of("babi_3", ("lstm",), values={"accuracy": 0.2}, statistics=generated, count=3)
    )
    told = found[
        found["sentence"] == "Suspected, not tested on this data set: we train on questions of our own generator."
    ]
    assert {"test_performance", "average_length_tokens"} <= set(told["measure"]) and "test_size" not in set(
        told["measure"]
    )


def test_the_authors_other_run_and_corrected_slips():
    found = causes.causes(results=seeds_of("20news", values={"tau_attention_gradient": 0.3}, shift=0.5))
    row = row_for(
        found,
        item="Table 2",
        corpus="20news",
        group="hockey",
        encoder="lstm",
        measure="tau_gradient",
        statistic="mean",
        cause="final run",
    )
    assert row["within"] and "has 0.21; ours lies within" in row["sentence"]
    found = causes.causes(results=[result_of("imdb")])
    slips = found[(found["item"] == "Table 1") & (found["cause"] == "corrected")]
    assert set(slips["measure"]) == {"train_size", "average_length_tokens"}
    sizes = slips[slips["measure"] == "train_size"]
    assert len(sizes) == 2 and sizes["sentence"].str.startswith("Corrected: 10").all()


def test_runs_kept_by_their_record_alone_are_no_causes():
    """Guided networks that read places differ from a standard run in one field, and have no summary."""
    runs = seeds_of(values={"tau_attention_gradient": 0.9}, count=3)
    record = runs[0].record | {"run": as_dict(Run("sst", "average", "uniform", words="position")), "key": "alone"}
    alone = dataclasses.replace(runs[0], record=record, summary=None)
    rows = scorecard.scorecard(runs, "jain")
    assert causes.causes(rows, [*runs, alone]).equals(causes.causes(rows, runs))


def test_every_differing_row_has_a_sentence_and_others_none():
    runs = [run for corpus in PUBLIC for run in seeds_of(corpus, values={"tau_attention_gradient": 0.9}, count=3)]
    rows = scorecard.scorecard(runs, "jain")
    runs.append(result_of("sst", values={"tau_attention_gradient": 0.4}, vectors="random"))
    differs = rows[rows["verdict"] == "differs"]
    found = causes.causes(rows, runs)
    assert len(found[causes.NAMES].drop_duplicates()) == len(differs) < len(rows) and (found["sentence"] != "").all()
    counts = found[(found["corpus"] == "sst") & (found["measure"] == "train_size")]
    assert (counts["sentence"] == "Nothing was tried yet.").all() and len(counts) == 2
    measured = found[~found["measure"].isin(data_counts.COUNTED)]
    keyed = measured.groupby(causes.NAMES, dropna=False)["key"].agg(lambda keys: (keys != "").any())
    assert len(keyed) and keyed.all(), "a run key is named"
    text = causes_page.tried_html(rows, runs)
    assert text.count("<tr>") == len(differs) + differs["corpus"].nunique(), "one line for each number, one heading"
    assert all(f"<code>{key}</code>" in text for key in found.loc[found["key"] != "", "key"].unique())
    assert all(html.escape(sentence) in text for sentence in found["sentence"].unique()), "the whole sentence is there"
    cells = [line.split("<td")[1:] for line in text.split("<tr>") if "<td" in line]
    assert all(any(not part.endswith("></td>") for part in line[3:]) for line in cells), "no line is empty"


def test_a_cell_says_by_how_much_and_whether_it_helps():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    runs += [result_of(seed=seed, vectors="random", values={"tau_attention_gradient": 0.4}) for seed in SEEDS[:2]]
    row = row_for(causes.causes(results=runs), cause="vectors=random", **PLACE)
    assert row["phrase"] == "−0.18 ✓", "no interval for two seeds"
    assert "two seeds do not tell the shift from chance" in row["sentence"]
    runs.append(result_of(seed=SEEDS[2], vectors="random", values={"tau_attention_gradient": 0.9}))
    row = row_for(causes.causes(results=runs), cause="vectors=random", **PLACE)
    assert row["phrase"].startswith("−0.02 (−0.7") and row["phrase"].endswith(" ✗")


def test_declared_causes_name_known_things():
    for cause in reported("causes").itertuples():
        assert any(causes.fnmatch(name, cause.corpus) for name in CATALOGUE)
        assert any(causes.speaks_to(cause, rule) for rule in reported("tolerances", paper="jain").itertuples()), cause
        assert pd.isna(cause.field) or cause.field in {field.name for field in dataclasses.fields(Run)}
        assert pd.isna(cause.tested_on) or cause.tested_on in CATALOGUE


def test_a_run_is_named_once_with_its_most_seeds():
    found = pd.DataFrame({
        "key": ["a", "a", "b"], "n_seeds": [3, 2, 1], "cause": ["fraction=0.1"] * 3, "in_words": ["a tenth"] * 3,
    })  # fmt: skip
    assert "a tenth: <code>a</code> and 2 more seeds, <code>b</code><" in causes_page.keys_told(found)
