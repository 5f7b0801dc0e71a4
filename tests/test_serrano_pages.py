"""What the Serrano & Smith pages ask for: names, words, numbers within seeds, thinning, and figures that draw."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from serrano_results import SUMMARIES, bar, made_up, result_of, six_models  # noqa: F401  (bar: a fixture)

from attn_book.serrano import claims as serrano_claims
from attn_book.serrano import figures as serrano_figures
from attn_book.serrano import pages as serrano_pages
from attn_book.serrano import single_figures
from attn_core.errors import AttnError
from attn_core.experiments import erasure
from attn_core.runs import HIERARCHICAL, SEEDS

pytestmark = pytest.mark.usefixtures("bar")


@pytest.fixture
def every():
    return serrano_pages.summaries(six_models())


def test_planted_runs_have_the_pages_knobs_and_others_are_standard():
    assert dict(serrano_pages.run_of("planted", "han_rnn").options) == serrano_pages.LIVE
    assert serrano_pages.run_of("amazon", "flan_conv", 50).options == ()
    assert serrano_pages.models_of("agnews_all", ["han_rnn", "flan_rnn"]) == ["flan_rnn"]
    with pytest.raises(AttnError, match="no data set 'sst'"):
        serrano_pages.gather(["sst"])
    with pytest.raises(AttnError, match="no model 'lstm'"):
        serrano_pages.gather(["amazon"], ["lstm"])


def test_absent_runs_are_named_lines(monkeypatch):
    monkeypatch.setattr(serrano_pages.across, "stored_runs", lambda runs: [])
    found, lines = serrano_pages.gather(["imdb_stars", "agnews_all", "yelp"], ["han_rnn", "flan_rnn"])
    assert not found and len(lines) == 3
    assert lines[0].startswith(
        "imdb_stars: no run of 2 models; the next: python -m attn_core run --corpus imdb_stars --encoder han_rnn"
    )
    assert lines[1].startswith("agnews_all: FLANrnn (0 of 5 seeds)"), "no HAN there"
    assert lines[2].startswith("yelp (3 planned; a verdict needs 5): no run of 2 models")


def test_where_no_documents_are_stored_a_line_says_why():
    """The real archive: further FLANs keep none, Yelp's licence allows none; HANs of every seed have some."""
    found, lines = serrano_pages.firsts(["amazon", "yelp", "agnews_all"], "flan_rnn", SEEDS[1])
    assert not found and len(lines) == 3
    assert lines[0].startswith("amazon: the archive keeps no single documents") and lines[0].endswith("--fresh")
    assert lines[1] == "yelp: only summaries are stored, its licence keeps every document out of the archive"
    found, lines = serrano_pages.firsts(["amazon", "agnews_all"], "han_rnn", SEEDS[1])
    assert list(found) == ["amazon"] and len(found["amazon"].traces) > 50 and not lines
    found, _ = serrano_pages.firsts(["amazon"], "flan_rnn")
    assert found["amazon"].documents is not None and found["amazon"].traces is not None


def test_numbers_over_seeds_by_hand(every):
    found = serrano_pages.over_models(every, "gradient_first")
    own = [
        SUMMARIES[seed].set_index(["statistic", "bin", "measure"])["value"]["gradient_first", "all", "mean"]
        for seed in SEEDS[:5]
    ]
    assert len(found) == 6 and found["mean"].iloc[0] == pytest.approx(np.mean(own)) and (found["n_seeds"] == 5).all()
    cells = serrano_pages.flip_cells(every, ["imdb_stars"], "han_rnn")
    assert set(cells) == {"imdb_stars, %"} and set(cells["imdb_stars, %"]) == set(serrano_pages.CELLS)


def test_never_and_differences_by_hand(every):
    out = serrano_pages.never(every)
    gap = serrano_pages.differences(every, "random", "attention").set_index("encoder")["mean"]
    shares, gaps = [], []
    for seed in SEEDS[:5]:
        table = erasure.derived(erasure.document_table(made_up(seed)))
        table = table[table["n"] > 1]
        shares.append(table["fraction_attention"].isna().mean())
        common = table[table["common"]]
        gaps.append((common["fraction_random"] - common["fraction_attention"]).mean())
    assert out.loc[out["encoder"] == "han_rnn", "value"].tolist() == pytest.approx(shares)
    assert gap["han_rnn"] == pytest.approx(np.mean(gaps))


def test_claims_of_a_page_by_number_and_data_set(scored):
    rows = serrano_claims.claim_rows(scored(six_models(), "serrano"), "3 4a", ["imdb_stars", "amazon"])
    assert set(rows["number"]) == {"3a", "3b", "3c", "3d", "4a"} and set(rows["corpus"]) == {"imdb_stars", "amazon"}
    shown = serrano_claims.verdicts(rows)
    assert set(shown["data set"]) == {"imdb_stars"}, "no line without a run"
    assert len(shown) == rows[rows["ours"].notna()]["encoder"].nunique()
    bare = serrano_claims.verdicts(rows.iloc[:0], rows)
    assert len(bare.columns) == 4 + 5 and (bare.iloc[:, 4:] == "no run").all(axis=None), "a column for each claim"


def test_a_claim_whose_interval_holds_the_threshold_is_not_decided(scored):
    rows = scored(six_models(), "serrano")
    rows = rows[rows["item"].str.startswith("claim: 3a") & rows["ours"].notna()]
    row, at = next(rows.itertuples()), rows["reported"].iloc[0]
    for low, high, verdict, told in (
        (at - 1, at + 1, "differs", "not decided"), (at + 0.1, at + 1, "reproduced", "holds"),
        (at - 1, at - 0.1, "differs", "does not hold"), (at, at, "not rerun", f"no verdict: {row.unjudged}"),
    ):  # fmt: skip
        assert serrano_claims.verdict(row._replace(low=low, high=high, verdict=verdict)) == told


def test_intervals_of_claims_are_cut_at_what_is_possible(scored):
    rows = scored(six_models(), "serrano")
    rows = rows[(rows["kind"] == "claim") & rows["ours"].notna()]
    for row in rows.itertuples():
        low, high = serrano_claims.possible(row.item)
        assert low <= row.ours <= high, f"{row.item}: an interval cut at {low} and {high} misses its own mean"
    pairs = rows[rows["minus"] != ""]
    assert len(pairs) and all(serrano_claims.possible(item) == (-1, 1) for item in pairs["item"])


def test_weak_models_are_named_with_the_reason():
    runs = [*six_models(), *(result_of(encoder="han_conv", seed=seed, accuracy=0.3) for seed in SEEDS[:5])]
    reasons = serrano_pages.weak(runs)
    assert list(reasons) == [("imdb_stars", "han_conv")]
    assert reasons["imdb_stars", "han_conv"] == "15.0 points below the regression"
    assert serrano_pages.told_weak(reasons) == "imdb_stars: HANconv"
    every = dict.fromkeys([("yelp", name) for name in HIERARCHICAL], "why")
    assert serrano_pages.told_weak(every | reasons) == "yelp: all six models; imdb_stars: HANconv"
    assert serrano_pages.told_weak({}) == "none"


def test_models_that_enter_no_claim_are_grey(every):
    documents, weak = erasure.document_table(made_up(1)), {("imdb_stars", "han_rnn"): "weak"}
    for reasons in ({}, weak):
        colour = to_rgba(serrano_pages.GREY if reasons else serrano_pages.COLOURS["imdb_stars"])
        single_figures.scatter({"imdb_stars": documents}, ["imdb_stars"], "han_rnn", weak=reasons)
        assert to_rgba(plt.gcf().axes[0].lines[0].get_color()) == colour
        single_figures.negatives({"imdb_stars": documents}, ["imdb_stars"], "han_rnn", weak=reasons)
        assert plt.gcf().axes[0].patches[0].get_facecolor()[:3] == colour[:3]
        single_figures.many(
            {("imdb_stars", "han_rnn"): documents}, ["han_rnn"], ["imdb_stars"], "scatter", weak=reasons
        )
        assert to_rgba(plt.gcf().axes[0].lines[0].get_color()) == colour
    plt.close("all")


def test_a_single_document_is_a_narrow_bar():
    assert single_figures.edges(np.array([0.3])).tolist() == np.linspace(0, 1, 21).tolist()
    many = single_figures.edges(np.random.default_rng(0).random(100_000) / 10)
    assert len(many) == 51 and many[0] == 0 and many[-1] == 1


def test_base_rate_of_the_tolerance_by_hand():
    within, pairs = serrano_claims.pairs_within(0.15)
    shares = {"han_rnn": (0.087, 0.455, 0.246, 0.315), "han_conv": (0.176, 0.531, 0.359, 0.478),
              "flan_rnn": (0.654, 0.645, 0.714, 0.706), "flan_conv": (0.791, 0.547, 0.534, 0.633)}  # fmt: skip
    gaps = [abs(row[i] - row[j]) for row in shares.values() for i in range(4) for j in range(i)]
    assert (within, pairs) == (sum(gap <= 0.15 for gap in gaps), 24) and 0 < within < 24
    assert serrano_claims.pairs_within(0.0)[0] == 0 and serrano_claims.pairs_within(1.0)[0] == 24


def test_sets_that_can_decide_a_row_by_what_is_planned():
    can, cannot = serrano_pages.deciding(["imdb_stars", "amazon", "yelp", "planted"])
    assert can == ["imdb_stars", "amazon"] and cannot == ["yelp (3)"]


def test_thinning_keeps_at_most_ten_a_bin_and_drops_the_largest():
    rng = np.random.default_rng(0)
    alpha, js = rng.random(5000), rng.random(5000)
    js[:3] = 2.0  # three tied at the largest
    alpha[3:400] = 0.5025
    rows = single_figures.thinned(alpha, js)
    assert not {0, 1, 2} & set(rows) and len(set(rows)) == len(rows)
    counts = np.bincount((alpha[rows] * single_figures.BINS).astype(int))
    assert counts.max() <= single_figures.FEWEST and (counts > 0).sum() > 190
    assert len(single_figures.thinned(np.array([0.5]), np.array([np.nan]))) == 0


def test_figures_draw_what_is_there(every):
    documents = erasure.document_table(made_up(1))
    single_figures.scatter({"imdb_stars": documents}, ["imdb_stars", "amazon"], "han_rnn")
    assert [ax.get_title() for ax in plt.gcf().axes] == [f"imdb_stars, n = {(documents['n'] > 1).sum():,}", ""], (
        "no panel for a set that is not stored"
    )
    single_figures.negatives({"imdb_stars": documents}, ["imdb_stars"], "han_rnn")
    single_figures.many({("imdb_stars", "han_conv"): documents}, ["han_conv"], ["imdb_stars", "amazon"], "negatives")
    assert len(plt.gcf().axes) == 1
    negative, several = documents["delta_js@coded"] < 0, (documents["n"] > 1).sum()
    assert plt.gcf().axes[0].texts[0].get_text() == f"{negative.sum():,} of {several:,}"
    serrano_figures.boxes(every, ["imdb_stars"], ["han_rnn"], weak={("imdb_stars", "han_rnn"): "weak"})
    assert len(plt.gcf().axes[0].patches) == 4, "one box an order"
    words = [text.get_text() for text in plt.gcf().legends[0].get_texts()]
    assert "median, mean of seeds" in words and "enters no claim" in words and "generated" not in words
    serrano_figures.boxes(
        every[every["seed"] == SEEDS[0]].replace({"corpus": {"imdb_stars": "planted"}}), ["planted"], ["han_rnn"]
    )
    words = [text.get_text() for text in plt.gcf().legends[0].get_texts()]
    assert (
        "median, mean of seeds" not in words
        and "generated" in words
        and plt.gcf().axes[0].patches[0].get_hatch() == "xx"
    )
    serrano_figures.dots(serrano_pages.over_models(every, "gradient_first"), "share")
    assert [text.get_text() for text in plt.gcf().axes[0].get_yticklabels()][0] == "imdb_stars, HANrnn"
    plt.close("all")


def test_coverage_names_the_fewest_and_the_most_seeds_of_a_set():
    sizes = {"n_train": 3, "n_dev": 1, "n_test": 2}
    runs = [*six_models(2), result_of(encoder="han_conv", seed=SEEDS[2])]
    runs = [replace(result, record={**result.record, **sizes}) for result in runs]
    (row,) = serrano_pages.coverage(runs).itertuples()
    assert (row.n_seeds, row.most_seeds) == (2, 3)
    covered = serrano_pages.coverage(runs)
    assert "(2 to 3 seeds, trained on" in serrano_pages.told_coverage(covered)
    assert serrano_pages.told_tests(covered) == "imdb_stars 2 (2 to 3 seeds)"
    assert serrano_pages.told_tests(covered[:0]) == "no run"
    weak = {("imdb_stars", "han_conv"): "why", ("yelp", "han_rnn"): "of no run here"}
    (line,) = serrano_pages.told_runs(covered, weak)
    assert line.startswith("imdb_stars: 2 (2 to 3 seeds, trained on 3, ") and line.endswith(
        "); enter no claim: HANconv"
    )
    assert serrano_pages.told_runs(covered, {})[0].endswith(")") and serrano_pages.told_runs(covered[:0], {}) == [
        "no run"
    ]


def test_shares_name_their_data_sets(every):
    values = serrano_pages.over_models(every[every["encoder"] == "han_rnn"], "gradient_first")
    ((name, told),) = serrano_pages.shares(values, ".1%").items()
    assert name == "imdb_stars" and told.startswith(f"{values['mean'].iloc[0]:.1%} (") and " to " in told
