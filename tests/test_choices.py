"""Choices that may move a number: differences, counts and flips by hand, and words that turn with the numbers."""

import numpy as np
import pandas as pd
import pytest

from attn_book.jain import claims, paired_choices, search_choices, variants
from attn_core.measures import seed_interval

PAIRED = ["corpus", "encoder", "measure", "n_seeds", "standard", "variant", "difference", "low", "high"]


def paired(*rows) -> pd.DataFrame:
    """Rows of `variants.paired` from (corpus, encoder, measure, seeds, standard, variant); intervals of ± 0.03."""
    ends = [[variant - standard + end for end in (0, -0.03, 0.03)] for *_, standard, variant in rows]
    return pd.DataFrame([[*row, *moved] for row, moved in zip(rows, ends, strict=True)], columns=PAIRED)


def test_thresholds_are_those_of_the_rules():
    assert [claims.threshold(number) for number in (1, 2, 7)] == [0.5, 0.0, 0.7]


# ---- ε ---------------------------------------------------------------------------------------------------------------


def sets(wide=(0.5, 0.6, 0.7), narrow=(0.3, 0.3, 0.3), shares=(0.8, 0.6)):
    """SST by ε: searched JSD of three seeds, a share above 0.4, no optimum."""
    frames = {
        e: pd.DataFrame({"searched": jsd, "above 0.4": share}, index=pd.Index([10, 50, 75], name="seed"))
        for e, jsd, share in zip(search_choices.EPSILONS, (wide, narrow), shares, strict=True)
    }
    return {"sst": frames}


def test_a_move_of_epsilon_is_taken_seed_by_seed():
    low, high = seed_interval(np.array([0.2, 0.3, 0.4]))
    assert search_choices.told_moved(sets()) == [f"sst: 0.300 ({low:.3f} to {high:.3f})"]
    assert search_choices.told_moved(sets((0.1,) * 3, (0.3,) * 3)) == ["sst: -0.200 (-0.200 to -0.200)"]
    table = search_choices.epsilon_table(sets())
    assert list(table) == ["data", "ε", "searched", "above 0.4"], "what no run has is no column"
    assert table["ε"].tolist() == ["0.05", "0.01"] and table["above 0.4"].tolist() == [
        "0.80 (0.80 to 0.80)",
        "0.60 (0.60 to 0.60)",
    ]
    cut = search_choices.epsilon_table(sets(shares=([0.7, 0.9, 1.0], 0.6))).loc[0, "above 0.4"]
    assert cut.endswith("to 1.00)"), "a share ends at 1"
    assert search_choices.epsilon_table({}).empty


def test_epsilon_flips_a_claim_only_across_its_threshold():
    assert search_choices.epsilon_flips(sets(), 0.7) == ["ε on sst (share 0.80 at 0.05, 0.60 at 0.01)"]
    assert search_choices.epsilon_flips(sets(shares=(0.6, 0.8)), 0.7) == ["ε on sst (share 0.60 at 0.05, 0.80 at 0.01)"]
    assert search_choices.epsilon_flips(sets(), 0.5) == [] == search_choices.epsilon_flips(sets(), 0.9)


# ---- search ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def found():
    """Four documents: the code's search above 0.4 in all, KL with the paper's weight 0.2 lower and so in none."""
    jsd = dict.fromkeys(variants.SEARCHES.values(), np.array([0.5, 0.5, 0.5, 0.5]))
    jsd[variants.SEARCHES["kl", "paper"]] = np.array([0.3, 0.3, 0.3, 0.3])
    return pd.DataFrame({(title, "jsd"): values for title, values in jsd.items()})


def test_searches_are_held_against_the_codes(found):
    held = pd.DataFrame({"jsd_lower": [0.6] * 4, "jsd_exact": [np.nan] * 4, "ceiling": [0.6, 0.6, 0.3, np.nan]})
    table = search_choices.search_table(found, held)
    assert table["search"].tolist() == [*variants.SEARCHES.values(), "best found", "ceiling"]
    assert table["above 0.4"].tolist() == ["100%"] * 3 + ["0%", "100%", "67%"]
    assert table[search_choices.MINUS].tolist()[0] == "–" and table[search_choices.MINUS].tolist()[4] == "–"
    kl = variants.SEARCHES["kl", "paper"]
    assert search_choices.told_versus(table)[2] == f"{kl}: -0.200 (-0.200 to -0.200)"
    assert len(search_choices.told_versus(table)) == 3
    assert search_choices.told_optimum(table).startswith("0.600 (")
    assert search_choices.told_optimum(search_choices.search_table(found, held[["ceiling"]])) == "not known"


def test_a_search_flips_the_claim_only_across_its_threshold(found):
    kl = variants.SEARCHES["kl", "paper"]
    assert search_choices.search_flips(found, "sst", 0.7) == [f"search on sst: {kl} (share 0%, code's search 100%)"]
    assert search_choices.search_flips(found + 0.2, "sst", 0.7) == []
    base = found.copy()
    base[search_choices.CODE, "jsd"] = 0.3
    assert len(search_choices.search_flips(base, "sst", 0.7)) == 2, "two others stay above, one is low too"


# ---- checkpoint ------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen():
    """SST: accuracy +0.01 and τ +0.1 of five seeds, AUC +0.05; bAbI's τ across 0.5 with three seeds only."""
    return paired(
        ("sst", "lstm", "accuracy", 5, 0.80, 0.81),
        ("sst", "lstm", "ROC AUC", 5, 0.85, 0.90),
        ("sst", "lstm", "τ gradient", 5, 0.30, 0.40),
        ("babi_1", "average", "τ gradient", 3, 0.55, 0.45),
        ("babi_1", "average", "accuracy", 3, 0.90, 0.92),
    )


def test_differences_of_checkpoints_are_counted_by_hand(chosen):
    numbers = paired_choices.checkpoint_numbers(chosen)
    assert (numbers["n_chosen"], numbers["n_counted"], numbers["n_apart"]) == (5, 2, 1), (
        "neither AUC, by which it was chosen, nor three seeds are counted"
    )
    assert numbers["apart_names"] == [
        "Counted, with an interval that excludes zero: sst BiLSTM, τ gradient: +0.100, 5 seeds.",
        "Not counted, with such an interval: sst BiLSTM, ROC AUC: +0.050, 5 seeds; "
        "babi_1 Average, τ gradient: -0.100, 3 seeds.",
    ]
    assert (numbers["most"], numbers["gain"]) == ("0.10", "+0.015")
    none = paired_choices.checkpoint_numbers(chosen.assign(low=-1.0, high=1.0))
    assert none["n_apart"] == 0 and none["apart_names"] == ["none"]
    empty = paired_choices.checkpoint_numbers(paired())
    assert (empty["most"], empty["gain"], empty["n_chosen"]) == ("–", "–", 0)
    assert paired_choices.checkpoint_table(chosen).loc[2].tolist() == [
        "sst", "BiLSTM", "τ gradient", 5, "0.300", "0.400", "0.100 (0.070 to 0.130)",
    ]  # fmt: skip


def test_a_checkpoint_flips_correlations_alone(chosen):
    told = ["selection on babi_1 Average, τ gradient (0.550 and 0.450)"]
    assert paired_choices.checkpoint_flips(chosen, 0.5) == told
    assert paired_choices.checkpoint_flips(chosen, 0.35)[0].startswith("selection on sst BiLSTM, τ gradient (0.300")
    assert paired_choices.checkpoint_flips(chosen, 0.82) == [], "an accuracy is no correlation"


def test_coverage_counts_the_seeds_that_have_both_checkpoints(chosen, monkeypatch):
    whole = pd.DataFrame({"corpus": ["sst", "imdb"], "n_seeds": 9, "most_seeds": 9, "n_test": 100})
    monkeypatch.setattr(variants, "covering", lambda ours, encoders: whole)
    more = pd.concat([chosen, paired(("sst", "average", "accuracy", 2, 0.8, 0.8))])
    (row,) = paired_choices.covering({}, more).itertuples()
    assert (row.corpus, row.n_seeds, row.most_seeds, row.n_test) == ("sst", 2, 5, 100)


# ---- width -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def wide():
    return paired(
        ("sst", "cnn", "τ gradient", 3, 0.45, 0.55), ("sst", "cnn", "accuracy", 3, 0.80, 0.75),
        ("babi_1", "lstm", "τ gradient", 3, 0.20, 0.05), ("babi_1", "lstm", "accuracy", 3, 0.99, 1.00),
    )  # fmt: skip


def test_widths_stand_beside_the_authors(wide):
    table = paired_choices.width_table(["sst", "imdb", "babi_1"], wide).set_index("data")
    assert table["model"].tolist() == ["cnn", "cnn", "lstm"]
    assert table.loc["sst"].tolist()[3:] == ["3", "0.55", "0.45", "0.10 (0.07 to 0.13)", "0.75", "0.80"]
    assert set(table.loc["imdb"].tolist()[3:]) == {"–"} and table.loc["imdb"].iloc[1] != "nan"
    rows = variants.reported("jain_repo_correlations", corpus="sst", encoder="cnn", attention="tanh",
                             measure="tau_gradient", statistic="mean", snapshot=variants.APRIL_RUN)  # fmt: skip
    classes = rows.loc[rows["class_name"].isin(["negative", "positive"]), "value"]
    assert len(classes) == 2 and table.loc["sst", "authors, April, wide"] == f"{classes.mean():.2f}"
    assert paired_choices.told_widths(wide)[0] == (
        "sst CNN: 0.10 (0.07 to 0.13), 3 seeds, accuracy 0.80 narrow and 0.75 wide"
    )


def test_a_width_flips_and_the_farthest_move_is_named(chosen, wide):
    assert paired_choices.width_flips(wide, 0.5) == ["width on sst (0.45 and 0.55)"]
    assert paired_choices.width_flips(wide, 0.1) == ["width on babi_1 (0.20 and 0.05)"]
    assert paired_choices.told_farthest(chosen, wide) == "-0.15 (width, babi_1 BiLSTM, 3 seeds)"
    assert paired_choices.told_farthest(chosen.assign(difference=0.2), wide) == (
        "+0.20 (checkpoint, sst BiLSTM, τ gradient, 5 seeds)"
    )
    assert paired_choices.told_farthest(chosen, wide.assign(difference=0.0)).startswith("+0.10 (checkpoint, sst")
    assert paired_choices.told_farthest(paired(), paired()) == "none"


def test_wide_runs_are_asked_for_where_the_grid_has_them(monkeypatch):
    asked = []

    def nothing(corpora, encoders, seeds, statistics, **changed):
        asked.append((corpora, encoders, seeds, list(statistics), changed))
        return paired(), [f"{encoders[0]} absent"]

    monkeypatch.setattr(variants, "paired", nothing)
    found, lines = paired_choices.widths(["babi_1", "imdb", "sst"], 3)
    measures = ["τ gradient", "accuracy"]
    assert asked == [(["sst"], ["cnn"], 3, measures, {"hidden": 64}),
                     (["babi_1"], ["lstm"], 3, measures, {"hidden": 128})]  # fmt: skip
    assert found.empty and lines == ["cnn absent", "lstm absent"]
