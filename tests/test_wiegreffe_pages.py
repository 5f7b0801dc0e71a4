"""What the Wiegreffe & Pinter pages call: named gaps, live models, drawings, sentences under a cached model."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from attn_book import data_counts, page
from attn_book.wiegreffe import diagrams
from attn_book.wiegreffe import live as wiegreffe_live
from attn_book.wiegreffe import pages as wiegreffe_pages
from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_core.corpora import encode
from attn_core.errors import AttnError
from attn_core.runs import Run, compared_with


def test_absent_runs_have_one_line_a_data_set(monkeypatch):
    held, beside = Run("sst", seed=50, attention="uniform"), Run("sst", seed=50)
    monkeypatch.setattr(wiegreffe_pages.archive, "has", lambda store, key: key in (held.key, beside.key))
    files = {"traces.parquet": "", "against.parquet": ""}
    monkeypatch.setattr(wiegreffe_pages.archive, "read_record", lambda store, key: {"files": files})
    wanted = [
        Run("agnews", seed=999, attention="uniform"),
        Run("sst", seed=2, attention="uniform", selection="test"),
        Run("sst", seed=2, attention="uniform"),
        held,
    ]
    lines = wiegreffe_pages.absent_runs(["diabetes", "anemia", "sst", "agnews"], ("uniform",), wanted[:1])
    assert len(lines) == 1 and lines[0].startswith("diabetes, anemia: not rerun"), "seed 999 is none of the book's"
    command = "python -m attn_core sweep data/sweeps/wiegreffe-{}.yml --pack"
    told = wiegreffe_pages.absent_runs(["sst"], ("uniform", "base"), wanted)
    assert told == [f"sst: 2 of 3 planned runs absent\nuniform 2; make them: {command.format('uniform')}"]
    (line,) = wiegreffe_pages.absent_runs(["sst"], ("uniform", "base"), [*wanted, Run("sst", seed=2)])
    assert line.endswith(f"\nuniform 2, base 1; make them: {command.format('uniform')} and {command.format('seeds')}")
    assert wiegreffe_pages.absent_runs(["sst"], ("guide",), wanted) == [], "another kind"
    assert wiegreffe_pages.absent_runs(["sst"], ("uniform", "base"), [held, beside]) == [], "stored"
    del files["against.parquet"]
    (line,) = wiegreffe_pages.absent_runs(["sst"], ("uniform", "base"), [held, beside])
    assert (
        line.startswith("sst: 1 seed of the base without documents beside seed 10") and "against.parquet: 50;" in line
    )


def test_few_seeds_are_told_with_a_finding():
    assert [wiegreffe_pages.counted(n) for n in (1, 4, 5)] == ["1 seed, not decided", "4 seeds, not decided", "5 seeds"]


def test_details_of_a_gap_are_folded_away():
    box = page.gap_box(["sst: 2 < 3\nuniform & base", "plain"])
    assert (
        "<details><summary>sst: 2 &lt; 3</summary>uniform &amp; base</details><p>plain</p>" in box["data"]["text/html"]
    )
    assert box["metadata"]["attn"]["gap"] == ["sst: 2 < 3; uniform & base", "plain"]


def test_every_live_run_has_a_role_and_its_bases():
    roles = {"base": {"base"}, 
             "adversaries": {"base", "uniform model", "adversary"}}  # fmt: skip
    for part, expected in roles.items():
        runs = wiegreffe_live.runs_of(part, 2)
        assert {wiegreffe_runs.role(run) for run in runs} == expected
        assert all(run.base is None or run.base in runs for run in runs)
        assert all(compared_with(run) in (None, *runs) for run in runs)


@pytest.mark.slow
def test_live_tables_have_distances(monkeypatch):
    small = (("n_dev", 40), ("n_test", 40), ("n_train", 80))
    monkeypatch.setattr(wiegreffe_live, "OPTIONS", small)
    monkeypatch.setattr(wiegreffe_live, "BASE", Run("planted", options=small, hidden=8, epochs=2))
    monkeypatch.setattr(wiegreffe_live, "WEIGHTS", (0.0, 0.01))
    monkeypatch.setattr(wiegreffe_live, "IMITATION_EPOCHS", 2)
    runs = wiegreffe_live.live("adversaries", 2)
    assert set(runs["corpus"]) == {"planted"}
    beside = runs.set_index("role")["jsd"]
    assert beside["adversary"].between(0, np.log(2)).all() and beside["uniform model"].notna().all()
    assert runs[(runs["role"] == "base") & (runs["seed"] == 10)]["jsd"].isna().all(), (
        "the base is compared with nothing"
    )


def test_drawings_name_every_experiment():
    for draw, words in (
        (diagrams.classifier, ("J&W", "3.2", "3.3, 4", "3.4")),
    ):
        draw()
        texts = [text.get_text() for text in plt.gca().texts]
        plt.close("all")
        assert set(words) <= set(texts) and "film" in texts


def test_silent_documents_of_class_0_hold_no_cue():
    data = encode("planted", silent=1, evidence=3, n_train=50, n_dev=10, n_test=20, shortest=20, longest=40)
    for split, documents in data.splits.items():
        per_document = np.add.reduceat(data.evidence[split].astype(int), documents.offsets[:-1])
        assert (per_document == np.where(documents.labels == 1, 3, 0)).all()
    assert encode("planted").fingerprint == encode("planted", silent=0).fingerprint
    with pytest.raises(AttnError, match="silent must be 0 or 1"):
        encode("planted", silent=2)


def test_long_generated_documents_and_uniform_weights_are_traced_without_deletions():
    from attn_core import standard
    from attn_core.models import classifier

    data = encode(
        "planted",
        n_train=4,
        n_dev=4,
        n_test=2,
        shortest=standard.LONGEST_DELETED + 1,
        longest=standard.LONGEST_DELETED + 1,
    )
    vectors = np.random.default_rng(0).normal(size=(len(data.vocabulary), 6)).astype(np.float32)
    arrays = classifier.to_arrays(classifier.build("average", "tanh", vectors))
    traces = standard.read(Run("planted", "average"), arrays, data, "cpu", False)
    assert traces.leave_one_out is None and traces.gradient is not None
    short = encode("planted", n_train=4, n_dev=4, n_test=2)
    vectors = np.random.default_rng(0).normal(size=(len(short.vocabulary), 6)).astype(np.float32)
    arrays = classifier.to_arrays(classifier.build("average", "tanh", vectors))
    assert standard.read(Run("planted", "average"), arrays, short, "cpu", False).leave_one_out is not None
    arrays = classifier.to_arrays(classifier.build("average", "uniform", vectors))
    assert standard.read(Run("planted", "average", "uniform"), arrays, short, "cpu", False).leave_one_out is None, (
        "equal weights rank nothing"
    )


def test_a_sentence_under_a_model_that_is_not_at_hand():
    assert wiegreffe_pages.sentence_under(Run("sst", seed=999), "a quiet film") is None


def test_captions_say_what_was_trained_on_a_part_of_the_data():
    from scorecard_runs import result_of, whole

    records = [result_of("sst").record, result_of("agnews", statistics=whole("agnews", 0.1)).record]
    assert "a subset; 59,998 in the paper" in wiegreffe_pages.told_tests(records).split("; sst ")[0]
    assert data_counts.told_other_data(records).startswith("agnews (trained on ")
    assert data_counts.told_other_data(records[:1]) == "none" and "subset" not in wiegreffe_pages.told_tests(
        records[:1]
    )
