"""Which part a run plays in Wiegreffe & Pinter's experiments."""

from dataclasses import replace

import numpy as np
from wiegreffe_results import CURVE, adversary_of, curve, guide_run, result_of

from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_core.experiments.guides import SOURCES
from attn_core.runs import Run


def test_roles():
    role = wiegreffe_runs.role
    assert role(Run("sst")) == role(Run("sst", seed=2, selection="test")) == "base"
    assert (
        role(Run("sst", attention="uniform")) == "uniform model" and role(adversary_of("sst", 50, 1e-3)) == "adversary"
    )
    for source in SOURCES:
        assert role(guide_run("sst", source, 50)) == f"guide: {source}"
    others = [
        Run("sst", seed=7),
        Run("sst", "cnn"),
        Run("sst", attention="dot"),
        Run("sst", epochs=4),
        Run("snli"),
        Run("babi_1"),
        Run("20news_all"),
    ]
    others += [Run("sst", "average", "given", base=Run("sst", "cnn"), guide="own"), Run("sst", "average", words="rank")]
    others += [Run("sst", "average", "given", base=Run("sst"), guide="permuted", words="rank"), Run("sst", hidden=64)]
    for run in others:
        assert role(run) == "", run
    small = Run("planted", hidden=32, batch=8, options=(("cues", 3),))
    assert role(small) == "base" and role(replace(small, base=small, divergence=0.1)) == "adversary", (
        "generated sets have knobs"
    )


def test_the_best_adversary_is_the_highest_f1_from_a_jsd_of_0_4():
    runs = wiegreffe_runs.table(curve())
    rows = wiegreffe_runs.adversaries(runs, "sst")
    assert len(rows) == 3 * len(CURVE) and wiegreffe_runs.best_divergence(rows) == 5e-4
    assert np.isnan(wiegreffe_runs.best_divergence(rows[rows["jsd"] < 0.4]))
    two = [
        result_of(guide_run("sst", "adversary", 10, divergence), f1) for divergence, f1 in ((2e-3, 0.7), (5e-4, 0.6))
    ]
    scores = wiegreffe_runs.guided_scores(wiegreffe_runs.table([*curve(), *two]), ["sst"])
    assert scores["f1"].tolist() == [0.6], "the guide of the best adversary"
    scores = wiegreffe_runs.guided_scores(wiegreffe_runs.table([*curve(), two[0]]), ["sst"])
    assert scores["f1"].tolist() == [0.7], "no guide of the best one: the one of the largest divergence"
