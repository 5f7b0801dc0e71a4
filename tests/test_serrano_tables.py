"""Rankings against the optimum, the race and the hypothesis: words and verdicts follow the numbers."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from serrano_results import SUMMARIES, made_up, six_models

from attn_book.serrano import erasure_figures
from attn_book.serrano import tables as serrano_tables
from attn_book.serrano.hypothesis import gaps
from attn_book.serrano.pages import summaries
from attn_book.serrano.tables import closest, panels, paper_order, races, ranking_table, rankings, steps
from attn_book.words import ENCODER_NAMES
from attn_core.experiments import erasure
from attn_core.measures import bootstrap_interval, seed_interval
from attn_core.runs import SEEDS

matplotlib.use("agg")

WEAK = {("imdb_stars", "flan_none"): "it does not do its task"}


@pytest.fixture(scope="module")
def every():
    return summaries(six_models())


def changed(every, statistic, measure, value, encoder=None, bin="all"):
    """The summaries with one number replaced, in all models or one."""
    chosen = (every["statistic"] == statistic) & (every["measure"] == measure) & (every["bin"] == bin)
    if encoder:
        chosen &= every["encoder"] == encoder
    assert chosen.any()
    return every.assign(value=every["value"].where(~chosen, value))


def test_rankings_are_the_summaries_over_seeds(every):
    rows = rankings(every, WEAK)
    row = rows[(rows["encoder"] == "han_conv") & (rows["ranking"] == "gradient") & (rows["quantity"] == "equals")].iloc[
        0
    ]
    values = []
    for seed in SEEDS[:5]:
        table = erasure.derived(erasure.document_table(made_up(seed)))
        values.append(table["equals_gradient"].mean())
    assert row["mean"] == pytest.approx(np.mean(values)) and row["n_seeds"] == 5 and row["over"] == "seeds"
    assert (row["low"], row["high"]) == pytest.approx(seed_interval(np.array(values)))
    assert not rows.loc[rows["encoder"] == "flan_none", "counts"].any() and rows["counts"].any()
    assert not ((rows["ranking"] == "optimum") & (rows["quantity"] != "fraction")).any()
    assert not rows.duplicated(["corpus", "encoder", "ranking", "quantity"]).any()


def test_with_an_item_left(every):
    rows, left = rankings(every), rankings(every, item_left=True)
    both = rows.merge(left, on=["corpus", "encoder", "ranking", "quantity"])
    part = both[(both["quantity"] == "fraction") & (both["ranking"] == "random")]
    assert (part["mean_y"] < part["mean_x"]).all()  # flips at fraction 1 are left out


def test_one_seed_has_an_interval_over_its_documents():
    documents = {("imdb_stars", "han_rnn"): erasure.document_table(made_up(SEEDS[0]))}
    rows = rankings(summaries(six_models(1)), documents=documents)
    rows = rows[rows["quantity"].isin(list(serrano_tables.QUANTITIES))]
    mine, others = rows[rows["encoder"] == "han_rnn"], rows[rows["encoder"] != "han_rnn"]
    still = mine["low"].isna()  # medians that no resampling moves
    assert (
        (mine["over"] == np.where(still, "", "documents")).all()
        and (mine.loc[still, "quantity"] == "fraction").all()
        and still.mean() < 0.2
    )
    assert (others["over"] == "").all() and others["low"].isna().all()
    row = mine[(mine["ranking"] == "attention") & (mine["quantity"] == "regret")].iloc[0]
    values = erasure.derived(documents["imdb_stars", "han_rnn"])["regret_attention"].to_numpy()
    assert (row["low"], row["high"]) == pytest.approx(bootstrap_interval(values)) and row["low"] < row["mean"] < row[
        "high"
    ]
    shown = ranking_table(rows, "regret", ENCODER_NAMES).set_index("model")
    assert shown.loc["HANrnn", "seeds"] == "1 †" and shown.loc["HANconv", "seeds"] == "1"


def test_ranking_table_shows_what_does_not_count(every):
    table = ranking_table(rankings(every, WEAK), "regret_fraction", ENCODER_NAMES)
    assert table["model"].tolist() == ["HANrnn", "HANconv", "HANnoenc", "FLANrnn", "FLANconv", "FLANnoenc *"]
    orders = ["random", "attention", "gradient", "gradient × attention", "first order"]
    assert list(table) == ["data set", "model", "seeds", *orders]
    rows = panels(rankings(every, WEAK), ENCODER_NAMES)
    assert rows["panel"].nunique() == 3 and rows["label"].nunique() == 6


def test_regret_on_common_documents_by_hand(every):
    rows = rankings(every, item_left=True)
    row = rows[(rows["encoder"] == "han_rnn") & (rows["ranking"] == "random") & (rows["quantity"] == "regret_common")]
    values = []
    for seed in SEEDS[:5]:
        table = erasure.derived(erasure.document_table(made_up(seed)), item_left=True)
        values.append(table.loc[table["common"], "regret_fraction_random"].mean())
    assert row["mean"].iloc[0] == pytest.approx(np.mean(values)) and row["n_seeds"].iloc[0] == 5


def test_what_is_said_of_the_closest_follows_the_numbers(every):
    told = closest(rankings(every, WEAK))
    sentences, words = told
    assert sentences.startswith("Sentences too many, ") and words.startswith("Words too many, ")
    mean = "mean over imdb_stars HANrnn, imdb_stars HANconv, imdb_stars HANnoenc:\n  - gradient × attention "
    assert mean in sentences and "decides nothing" not in sentences + words
    assert sentences.count("%") == words.count("%") == 10 and sentences.count("\n  - ") == 6
    least = every.loc[(every["statistic"] == "fraction_optimum") & (every["bin"] == "common"), "value"].min()
    better = changed(every, "fraction_random", "mean", least, bin="common")
    assert "HANnoenc:\n  - random " in closest(rankings(better, WEAK))[0]
    one = changed(every, "fraction_random", "mean", least, "han_rnn", bin="common")
    assert closest(rankings(one, WEAK))[0].endswith(
        "fewest too many, of 3 models: gradient × attention on 2, random on 1"
    )
    twelve = closest(rankings(changed(every, "equals_attention", "mean", 0.12), WEAK))
    assert all("; the smallest set in 12%\n" in unit for unit in twelve)
    assert all("; the smallest set in 12%\n" not in unit for unit in told)
    own = changed(every, "regret_fraction_random", "mean", 0.0)
    assert closest(rankings(own, WEAK)) == told, "each ranking's own documents enter no comparison"


def test_nothing_is_said_of_too_little(every):
    few = closest(rankings(summaries(six_models(2))))
    assert all("none of them with 5 seeds, so this decides nothing:" in unit for unit in few) and len(few) == 2
    nobody = dict.fromkeys({("imdb_stars", name) for name in every["encoder"]})
    (nothing,) = closest(rankings(every, nobody))
    assert nothing.startswith("No model that counts")


def by_hand(lows, seeds: int = 5) -> pd.DataFrame:
    """Steps of two models; lows: the lower ends of the three steps, each interval 0.02 wide."""
    pairs = list(zip(serrano_tables.PAPERS_ORDER, serrano_tables.PAPERS_ORDER[1:], strict=False))
    return pd.DataFrame([
        {"corpus": corpus, "encoder": "han_rnn", "earlier": earlier, "later": later, "mean": low + 0.01, "low": low,
         "high": low + 0.02, "n_seeds": seeds, "counts": True}
        for (earlier, later), low in zip(pairs, lows, strict=True) for corpus in ("amazon", "yelp")
    ])  # fmt: skip


def test_the_papers_order_is_judged_by_clear_differences_of_five_seeds():
    (clear,) = paper_order(by_hand((0.1, 0.1, 0.1)))
    assert clear.endswith("is clear on every model that counts, of 5 or more seeds (2).")
    (few,) = paper_order(by_hand((0.1, 0.1, 0.1), seeds=4))
    assert "is not decided" in few and "gradient and gradient × attention in particular are not told apart" in few
    (mixed,) = paper_order(by_hand((-0.01, -0.1, 0.1)))
    assert "\n  - gradient × attention and gradient are not told apart on any of 2" in mixed
    assert "\n  - gradient clearly needs less than attention on 0 of 2, clearly more on 2" in mixed
    assert "\n  - attention clearly needs less than random on 2 of 2, clearly more on none" in mixed
    assert "is not decided" in paper_order(by_hand((0.1, 0.1, 0.1)).assign(counts=False))[0]


def test_steps_are_differences_within_seeds(every):
    found = steps(every, WEAK)
    assert len(found) == 18 and not found.loc[found["encoder"] == "flan_none", "counts"].any()
    row = found[(found["encoder"] == "han_rnn") & (found["later"] == "random")].iloc[0]
    gaps = []
    for seed in SEEDS[:5]:
        table = erasure.derived(erasure.document_table(made_up(seed)))
        table = table[table["common"]]
        gaps.append((table["fraction_random"] - table["fraction_attention"]).mean())
    assert (row["low"], row["high"]) == pytest.approx(seed_interval(np.array(gaps))) and row["earlier"] == "attention"


def test_races_stand_beside_the_sixteen_shares(every):
    rows = races(every, WEAK)
    assert rows["reported"].notna().sum() == 16 and len(rows) == 18
    row = rows[(rows["corpus"] == "imdb_stars") & (rows["encoder"] == "flan_conv")].iloc[0]
    assert row["reported"] == pytest.approx(0.547, abs=5e-4)
    shares = [
        float(table.loc[(table["statistic"] == "gradient_first") & (table["measure"] == "mean"), "value"].iloc[0])
        for table in SUMMARIES.values()
    ]
    assert row["mean"] == pytest.approx(np.mean(shares)) and row["counts"]
    assert (
        not rows.loc[rows["corpus"] == "yelp", "counts"].any()
        and rows.loc[rows["corpus"] == "yelp", "mean"].isna().all()
    )


def test_gaps_are_those_of_the_summaries(every):
    runs = gaps(every)
    assert len(runs) == 30 and set(runs["unit"]) == {"HAN", "FLAN"}
    table = erasure.derived(erasure.document_table(made_up(SEEDS[0])))
    row = runs[(runs["encoder"] == "flan_rnn") & (runs["seed"] == SEEDS[0])].iloc[0]
    assert row["gap"] == pytest.approx(table["gap"].mean())
    assert row["dispersion"] == pytest.approx(table["dispersion_weighted"].mean())
    shared = table[table["common"]]
    assert row["relative"] == pytest.approx(shared["gap"].mean() / shared["regret_fraction_random"].mean())


def test_flip_tables_say_without_colour_which_is_which():
    page = erasure_figures.flip_tables(
        {"a < b": {"both": "1.0", "only_top": "7.5", "only_random": "2.5", "neither": "89.0"}}
    )
    assert "▲ 7.5" in page and "▼ 2.5" in page and "a &lt; b" in page and page.count('scope="row"') == 2


def test_names_cover_the_rankings():
    assert set(serrano_tables.NAMES) == set(erasure.RANKINGS)


def plain_after_centring(traces) -> list[float]:
    """The same by loops over documents and items, the gradient by differences of the outputs."""
    found = []
    for d, (start, stop) in enumerate(zip(traces.offsets, traces.offsets[1:], strict=False)):
        alpha, value = traces.attention[start:stop], traces.contribution[start:stop].astype(float)

        def p(weights, value=value, bias=traces.bias.astype(float)):
            logits = bias + weights @ value
            return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()

        y, gradient = int(traces.logits[d].argmax()), []
        for t in range(stop - start):
            step = np.zeros(stop - start)
            step[t] = 1e-6
            gradient.append((p(alpha + step)[y] - p(alpha - step)[y]) / 2e-6)
        mean = sum(a * g for a, g in zip(alpha, gradient, strict=True))
        left = sum(abs(a * (g - mean)) for a, g in zip(alpha, gradient, strict=True))
        found.append(left / sum(abs(a * g) for a, g in zip(alpha, gradient, strict=True)))
    return found


def test_what_centring_leaves_has_a_plain_twin():
    traces = made_up(SEEDS[0])
    traces = traces.take(np.arange(30))
    found, plain = serrano_tables.after_centring(traces), np.array(plain_after_centring(traces))
    several = traces.lengths > 1
    assert several.any() and np.isnan(found[~several]).all()
    np.testing.assert_allclose(found[several], plain[several], rtol=1e-4)
