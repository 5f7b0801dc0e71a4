"""Numbers that follow from stored ones: `of_jain`, `of_serrano` and `of_wiegreffe` give what the scorecard merges with
each paper's rules (statements, contrasts of guides, read-offs of curves, counts)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise, product

import numpy as np
import pandas as pd

from attn_book.fasttext import in_pairs, newest, of_both
from attn_book.guides import SOURCES, guides_of
from attn_book.words import ENCODERS, SETS
from attn_core.errors import AttnError
from attn_core.experiments.distance import HALVED
from attn_core.experiments.removal import NEVER
from attn_core.experiments.search import search
from attn_core.measures import HEADLINE_SEEDS, bootstrap_interval, crossed_interval
from attn_core.traces import Traces
from attn_lab import obtain
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.more.beside import over_permutations, per_instance, per_search
from attn_lab.more.tables import attention_bin
from attn_lab.runs import index, store
from attn_lab.runs.baselines import weak
from attn_lab.runs.index import numbers
from attn_lab.runs.provenance import count_documents
from attn_lab.runs.run import SEEDS, Run

PLACE = [
    "corpus",
    "encoder_ours",
    "attention_ours",
    "selection",
    "measure_ours",
    "statistic_ours",
    "predicted",
    "bin",
]
"""What a number of ours is found by; encoder and attention are empty where it is of a data set."""

NAMED = {name.removesuffix("_ours"): name for name in PLACE}
"""Columns of `index.numbers` -> PLACE."""

SCORES = ("accuracy", "macro_f1", "f1_1")
"""What a weak model has as well as a good one."""

COUNTED = ("vocabulary_size", "average_length_tokens", "train_size", "test_size")
"""Measures of Table 1 that describe the data and depend on no seed."""

NOTES = ["mean", "low", "high", "n_seeds", "absent", "documents", "guides"]
"""What may be said of a rule besides its numbers: an interval not over seeds, why there is no number, documents,
models behind the seeds."""

Stored = tuple[pd.DataFrame, pd.DataFrame]
"""What is stored for the rules of one paper: numbers, with the columns PLACE, seed, value, n (documents); and by rule
id those of NOTES that tell more than the numbers."""


def five(ask: Callable) -> Callable:
    """`index.runs` or `index.numbers` of the five trainings that every model has. BiLSTMs of SST, AG News and 20 News
    have nine, which Wiegreffe & Pinter 3.2 and 3.3, the scorecard and the gallery take."""
    return partial(ask, seed=SEEDS[:HEADLINE_SEEDS])


def of_runs(rules: pd.DataFrame, ask: Callable = numbers, **where: object) -> pd.DataFrame:
    """The numbers of standard runs that rules ask for, `in_place`."""
    measures = set(rules["measure_ours"]) - {*COUNTED}
    statistics = set(rules["statistic_ours"]) - {"count"} | {"n"}
    try:
        rows = ask(measures, statistics, "any", "any", **where)
    except AttnError:  # no run has one of these: its rules have no number
        rows = ask(
            measures & index.has("measure"),
            statistics & index.has("statistic"),
            "any",
            "any",
            **where,
        )
    return in_place(index.with_parameters(rows))


def in_place(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `numbers` in the columns PLACE, key, seed, value, n (documents, where they are counted)."""
    group = ["key", "measure", "predicted", "bin"]
    counts = rows[rows["statistic"] == "n"].set_index(group)["value"]
    return rows.join(counts.rename("n"), on=group).rename(columns=NAMED)[[*PLACE, "key", "seed", "value", "n"]]


def of_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of one value a run in the columns PLACE, seed, value, n: of all classes, without bins."""
    rows = rows.assign(
        statistic="value",
        predicted="all",
        bin="all",
        n=np.nan,
    ).rename(columns=NAMED)
    return rows[[*PLACE, "seed", "value", "n"]]


# ---- Jain & Wallace --------------------------------------------------------------------------------------------------


def of_jain(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs, and the counts of Table 1."""
    rows = of_runs(rules, partial(newest, numbers), family=["text", "pair"])
    counts = counted(rules, set(rows["corpus"]))
    notes = pd.DataFrame({"mean": counts, "n_seeds": 1.0}).reindex(rules["id"])
    measured = rows.loc[
        ~rows["measure_ours"].isin(SCORES),
        [
            "corpus",
            "encoder_ours",
            "attention_ours",
        ],
    ]
    models = pd.MultiIndex.from_frame(measured.drop_duplicates())
    asked = pd.MultiIndex.from_frame(rules[["corpus", "encoder", "attention"]])
    notes["absent"] = pd.Series("no document", notes.index).where(asked.isin(models))
    return rows, notes


def counted(rules: pd.DataFrame, corpora: set[str]) -> pd.Series:
    """Counts of Table 1 by rule id, from statistics of a run's data. Vocabulary: of all splits for most sets, of the
    training split for SNLI and CNN, and for bAbI the words of the three tasks (our answers) with four special ids."""
    runs = newest(index.runs, family=["text", "pair"]).drop_duplicates("corpus")
    records = dict(zip(runs["corpus"], index.records(runs["key"]), strict=True))
    counts = {}
    asked = rules[rules["measure"].isin(COUNTED) & rules["corpus"].isin(corpora)]
    for rule in asked.itertuples():
        record = records[rule.corpus]
        statistics = record["statistics"]
        if rule.measure == "average_length_tokens":
            _, value = count_documents(record, "train")
        elif rule.measure != "vocabulary_size":
            label = None if rule.group == "all" else CATALOGUE[rule.corpus].classes.index(rule.group)
            value, _ = count_documents(
                record,
                rule.measure.removesuffix("_size"),
                label,
            )
        elif rule.corpus.startswith("babi"):
            value = len(statistics["classes"]) + 4
        else:
            value = statistics["vocabulary" if rule.corpus in ("snli", "cnn") else "vocabulary_all_splits"]
        counts[rule.id] = float(value)
    return pd.Series(counts, dtype=float)


# ---- Serrano & Smith -------------------------------------------------------------------------------------------------


def of_serrano(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs and the statements made of them."""
    rows = numbers(
        "any",
        predicted="any",
        bin="any",
        parameter="any",
        family="hierarchical",
    )
    rows = index.with_parameters(rows)
    plain = in_place(rows[rows["measure"].isin(rules["measure_ours"])])
    return pd.concat([plain, statements(rows)], ignore_index=True), sooner(rules)


def statements_of(run: Mapping) -> dict[str, float]:
    """The numbers that the paper's claims speak of, by the claim's number.

    run: (measure, bin, statistic) -> a number, or an array over runs. 1a: share of JS differences not negative;
    1b: their rank correlation with the weight gap; 1c, 2b: shares near zero. 3: attention's top item against r as
    coded; 3d: how far 'only r flips', as a share of one-sided flips, lies from the share of negative differences. 4, 6,
    7: fractions removed, 'common': documents that flip under every order. 5: the largest of the four orders' medians.
    8, 10: how often the gradient flips with fewer removals than attention. (9 needs single documents: `sooner`.)
    """
    js = "delta_js rule=coded"
    negative = run[js, "all", "share_negative"]
    flips = "flips_attention rule=coded"
    only_top = run[flips, "all", "only_top"] / 100  # stored in per cent
    only_other = run[flips, "all", "only_random"] / 100
    with np.errstate(invalid="ignore"):
        other_of_one_sided = np.divide(only_other, only_top + only_other)  # NaN where no item alone flips

    orders = ("random", "attention", "gradient", "product")  # the paper's four
    removed = {order: run[f"fraction_{order}", "common", "mean"] for order in orders}
    medians = [run[f"fraction_{order}", "all", "median"] for order in orders]
    return {
        "1a": 1 - negative,
        "1b": run[js, "all", "spearman"],
        "1c": run[js, "all", "near_0"],
        "2a": negative,
        "2b": run[js, "all", "negative_near_0"],
        "3a": run[flips, "all", "neither"] / 100,
        "3b": only_top - only_other,
        "3c": only_other,
        "3d": abs(other_of_one_sided - negative),
        "4a": removed["random"] - removed["attention"],
        "4b": removed["attention"] - removed["gradient"],
        "4c": removed["gradient"] - removed["product"],
        "5": np.maximum.reduce(medians),
        "6": run["fraction_attention", "all", "mean"],
        "7": removed["attention"] - (removed["gradient"] + removed["product"]) / 2,
        "8": run["gradient_first", "all", "mean"],
    }


def statements(rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers that Serrano & Smith's claims speak of, one per run, `of_all`. rows: all numbers of the runs."""
    chosen = index.runs(family="hierarchical")
    summed = rows[(rows["predicted"] == "all") & ~rows["statistic"].str.startswith("hist:")]
    wide = summed.pivot(
        index=["measure", "bin", "statistic"],
        columns="key",
        values="value",
    )
    wide = wide.reindex(columns=chosen["key"]).astype(float)
    absent = np.full(len(chosen), np.nan)
    run = defaultdict(lambda: absent, zip(wide.index, wide.to_numpy(), strict=True))
    values = {f"statement_{name}": value for name, value in statements_of(run).items()}
    return of_all(pd.concat([chosen.assign(measure=name, value=value) for name, value in values.items()]))


def sooner(rules: pd.DataFrame) -> pd.DataFrame:
    """Notes of claim 9: how many documents flip sooner by the gradient's order for each that does by attention's.

    The stored summaries count the first only, so it is asked of runs that keep their test set document by document:
    of seed 10, with an interval over documents.
    """
    runs = index.runs(family="hierarchical", seed=SEEDS[0])
    claims = rules[rules["measure_ours"] == "statement_9"]
    notes: dict[str, dict] = {}
    for rule in claims.merge(
        runs,
        left_on=["corpus", "encoder_ours"],
        right_on=["corpus", "encoder"],
    ).itertuples():
        table = store.rows_of(store.archive_folder(), "documents", rule.key)
        if table is None:
            notes[rule.id] = {"absent": "no document"}
            continue
        steps = table[table["n"] > 1].replace(NEVER, np.inf)
        later = steps["removed_attention"] - steps["removed_gradient"]
        lead = np.sign(later.dropna().to_numpy())  # 1: gradient first; NaN where neither flips
        notes[rule.id] = note_of(lead, odds)
    return pd.DataFrame.from_dict(notes, orient="index")


def note_of(values: np.ndarray, statistic: Callable) -> dict[str, float]:
    """A statistic of documents as a note, with an interval over these."""
    low, high = bootstrap_interval(values, statistic=statistic)
    return {"mean": float(statistic(values)), "low": low, "high": high, "n_seeds": 1}


def odds(lead: np.ndarray, axis: int = -1) -> np.ndarray:
    """How many 1 there are for each −1, along an axis."""
    return (lead > 0).sum(axis) / (lead < 0).sum(axis)


def beside_permuted(
    test: Callable[[Traces], np.ndarray],
    corpus: Iterable[str] = ("imdb_stars", "amazon"),
    encoder: Iterable[str] = ("han_rnn", "han_conv", "han_none"),
) -> pd.DataFrame:
    """A test of stored documents of several items by attention and by permuted weights, one row a model that enters
    claims, largest difference first; its index names it.

    test: Traces of D documents -> their numbers (D,). Columns: corpus, encoder; own, permuted (means over the documents
    that all seeds keep, that of permuted weights the expectation, `over_permutations`, each seed's its own); mean of
    their difference, low, high (`crossed_interval`: another seed, other documents); n_seeds, documents.
    """
    chosen = index.runs(corpus=list(corpus), encoder=list(encoder))
    fails = weak(chosen)
    rows = {}
    for model, seeds in chosen.groupby(["corpus", "encoder"], sort=False)["seed"]:
        if fails[model]:
            continue
        kept = [of_several(Run(model[0], model[1], seed=seed)) for seed in seeds]
        shared = sorted(set.intersection(*(set(traces.doc_id) for traces in kept)))
        kept = [traces.take(pd.Index(traces.doc_id).get_indexer(shared)) for traces in kept]
        by_own = np.array([test(traces) for traces in kept])  # (S, D)
        by_seed = zip(kept, seeds, strict=True)
        permuted = np.array([over_permutations(traces, test, seed) for traces, seed in by_seed])
        difference = by_own - permuted
        defined = ~np.isnan(difference).any(axis=0)
        low, high = crossed_interval(difference[:, defined])
        name = ENCODERS[model[1]].removeprefix("HAN with ").removeprefix("HAN ")
        rows[f"{SETS[model[0]]}, {name}"] = {
            "corpus": model[0],
            "encoder": model[1],
            "own": by_own[:, defined].mean(),
            "permuted": permuted[:, defined].mean(),
            "mean": difference[:, defined].mean(),
            "low": low,
            "high": high,
            "n_seeds": len(kept),
            "documents": defined.sum(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").sort_values("mean", ascending=False)


def of_several(run: Run) -> Traces:
    """A run's stored documents of several items."""
    traces = obtain(run).traces
    assert traces is not None  # asked for
    return traces.take(np.flatnonzero(traces.lengths > 1))


def measured(name: str, **options) -> pd.DataFrame:
    """A table of data/measured, checked against MANIFEST. options: of pandas.read_csv."""
    packed = "xz" if name.endswith("xz") else None
    return pd.read_csv(
        store.read_data(f"measured/{name}"),
        compression=packed,
        **options,
    )


def of_permuted(numbers: list[str]) -> pd.DataFrame:
    """Statements' numbers (of `statements_of`) in stored texts of seed 10's HAN with GRU: columns label (the data set),
    number, attention, and permuted, their expectation under permuted weights (measured/permuted.csv)."""
    rows = measured("permuted.csv")
    return rows[rows["number"].isin(numbers)].rename(columns={"corpus": "label"})


# ---- Wiegreffe & Pinter ----------------------------------------------------------------------------------------------

BEST_FROM = 0.4
"""Mean JSD beyond which an adversary may be the best of its data set (the paper's Table 4)."""

GUIDE_DIVERGENCE = 0.001
"""λ of the adversary whose weights guide in the paper's Table 3 (its footnote 8)."""

GUIDE_JSD = 0.62
"""That adversary's mean JSD: the point of IMDB in the paper's Figure 5; above 0.61 on SST (footnote 8)."""

DOCUMENTS = {"jsd_of_seeds": "median", "jsd_of_search": "two"}
"""What bins of Figure 3 ask of documents -> column of `per_instance` or `per_search`."""


def classifiers(corpora: str | Iterable[str], attention: str = "tanh", selection: str = "dev") -> pd.DataFrame:
    """The paper's classifiers, rows of `index.runs`: the bases ('tanh') or the models with equal weights ('uniform');
    jsd and tvd (|p' - p|): means over the test set beside the base of seed 10."""
    where = {"corpus": corpora, "attention": attention, "selection": selection}
    return in_pairs(index.runs, encoder="lstm", source="archive", **where)


def adversaries(corpora: str | Iterable[str]) -> pd.DataFrame:
    """Adversaries of five bases (data/sweeps/adversaries-grid.yml, gpu-imdb-adversaries.yml), rows of `index.runs` by
    base and divergence, λ = 0 among them.

    base_f1: F1 of the base. Of those that differ only in their epochs the one trained for most.
    """
    where = {
        "corpus": corpora,
        "encoder": "lstm",
        "attention": "tanh",
        "source": "archive",
    }
    bases = index.runs(rounding=1, **where).set_index("key")["f1_1"]
    rows = index.runs(divergence="any", **where)
    rows = rows[rows["base"].isin(bases.index)]
    rows = rows.assign(base_f1=rows["base"].map(bases).astype(float))
    rows = rows.sort_values("epochs_trained", ascending=False, kind="stable")
    rows = rows.drop_duplicates(["corpus", "seed", "base_seed", "divergence"])
    return rows.sort_values(
        ["corpus", "seed", "divergence"],
        kind="stable",
        ignore_index=True,
    )


def best_of(far: pd.DataFrame) -> float:
    """The divergence of the best mean F1 among adversaries with a mean JSD above BEST_FROM; NaN without any. Of the
    divergences that were trained from as many seeds as any, so that a single run is not held against a mean."""
    means = far.groupby("divergence").agg(
        jsd=("jsd", "mean"),
        f1=("f1_1", "mean"),
        seeds=("jsd", "size"),
    )
    means = means[(means["seeds"] == means["seeds"].max()) & (means["jsd"] > BEST_FROM)]
    return means["f1"].idxmax() if len(means) else np.nan


def guided(corpora: Iterable[str]) -> pd.DataFrame:
    """Every network that weights from elsewhere guide, and those with their own or equal weights: corpus, source, seed,
    base_seed (of the model whose weights guide, -1 for none), base (its key), f1 (of class 1), auc; of an adversary
    that guides its divergence, epochs_trained and jsd (mean, from its base), NaN elsewhere. Adversaries that guide are
    of models on PPMI vectors or, where none is trained on these yet, on fastText vectors."""
    where = {
        "corpus": list(corpora),
        "encoder": "average",
        "guide": "any",
        "words": "any",
        "source": "archive",
    }
    new, old = (rows.dropna(subset="base_divergence") for rows in of_both(index.runs, **where))
    led = pd.concat([new, old[~old["corpus"].isin(new["corpus"])]])
    rows = in_pairs(index.runs, **where)
    rows = pd.concat([rows[rows["base_divergence"].isna()], led], ignore_index=True)
    learned = rows["attention"].map({"uniform": "uniform", "tanh": "trained"})
    source = rows["guide"].mask(rows["guide"] == "", learned)
    source = source.mask(rows["base_divergence"].notna(), rows["guide"].map({"own": "adversary"}))
    source = source.mask(rows["words"] != "text", source + ", " + rows["words"])
    rows = rows.assign(
        source=source,
        base_seed=rows["base_seed"].fillna(-1).astype(int),
        f1=rows["f1_1"],
    )
    rows = rows.loc[
        source.isin(SOURCES),
        [
            "corpus",
            "source",
            "seed",
            "base_seed",
            "base",
            "vectors",
            "f1",
            "auc",
        ],
    ]
    guides = index.runs(key=list(led["base"].unique()), variant="any").dropna(subset="divergence").set_index("key")
    return rows.join(guides[["divergence", "epochs_trained", "jsd"]], on="base")


def uniform_beside(led: pd.DataFrame) -> pd.DataFrame:
    """f1 and auc by corpus and seed of networks under uniform weights, on the vectors of `led`."""
    kinds = led[["corpus", "vectors"]].drop_duplicates()
    rows = index.runs(
        encoder="average",
        attention="uniform",
        source="archive",
        vectors="any",
    ).merge(kinds)
    return rows.rename(columns={"f1_1": "f1"}).set_index(["corpus", "seed"])[["f1", "auc"]]


def guided_scores(corpora: Iterable[str]) -> pd.DataFrame:
    """The table that `attn_book.guides` takes: of `guided`, each source once a seed. Of several adversaries that
    guide, the one of the paper's Table 3, see `as_in_table_3`."""
    return once_a_seed(guided(corpora))


def once_a_seed(rows: pd.DataFrame) -> pd.DataFrame:
    by_adversary = rows["source"] == "adversary"
    led = [as_in_table_3(led) for _, led in rows[by_adversary].groupby("corpus")]
    rows = pd.concat([rows[~by_adversary], *led]).sort_index()
    return rows.drop_duplicates(["corpus", "source", "seed"], ignore_index=True)


def as_in_table_3(led: pd.DataFrame) -> pd.DataFrame:
    """Of networks that adversaries of one data set guide, those with the adversary of the paper's Table 3: of λ
    GUIDE_DIVERGENCE, the one trained for most epochs; where there is none, the one whose mean JSD is nearest to
    GUIDE_JSD."""
    led = led.dropna(subset="jsd")
    printed = led[led["divergence"] == GUIDE_DIVERGENCE]
    if len(printed):
        return printed[printed["epochs_trained"] == printed["epochs_trained"].max()]
    off = led.groupby("divergence")["jsd"].transform("mean").sub(GUIDE_JSD).abs()
    return led[off == off.min()]


def at_guide_jsd(led: pd.DataFrame) -> dict:
    """F1 of networks that adversaries of one data set guide, read off at GUIDE_JSD on the line between the two nearest
    on either side, whose own values are low and high; empty where all lie on one side, or one is the paper's own."""
    means = led.groupby("divergence")[["jsd", "f1"]].mean().sort_values("jsd")
    nearer = (means["jsd"] <= GUIDE_JSD).sum()  # so many lie on that side
    if GUIDE_DIVERGENCE in means.index or nearer in (0, len(means)):
        return {}
    around = means.iloc[nearer - 1 : nearer + 1]
    read = np.interp(GUIDE_JSD, around["jsd"], around["f1"])
    return {
        "mean": read,
        "low": around["f1"].min(),
        "high": around["f1"].max(),
        "n_seeds": 1,
    }


def seed_tables(corpus: str) -> list[pd.DataFrame]:
    """Of each further seed its table of `experiments.distance.against` beside the base of seed 10, where it is kept."""
    runs = classifiers(corpus)
    further = runs["key"][runs["seed"] != SEEDS[0]]
    tables = [store.rows_of(store.archive_folder(), "against", key) for key in further]
    return [table for table in tables if table is not None]


def searched(corpus: str) -> pd.DataFrame | None:
    """The per-document search (`per_search`) on the traces of the base of seed 10, kept; None without these."""
    folder = store.archive_folder()
    runs = classifiers(corpus)
    keys = [key for key in runs["key"][runs["seed"] == SEEDS[0]] if store.has_traces(folder, key)]
    if not keys:
        return None

    def search_now() -> pd.DataFrame:
        traces = store.read_traces(folder, keys[0])
        return per_search(traces, search(traces))

    return index.kept(
        f"searched-{keys[0]}",
        store.traces_digest(folder, keys[0]),
        search_now,
    )


def of_wiegreffe(rules: pd.DataFrame) -> Stored:
    """Scores, gaps within seeds, read-offs of trained curves, medians over documents."""
    runs = newest(
        index.runs,
        corpus=list(rules["corpus"].unique()),
        family="text",
        source="archive",
    )
    corpora = list(runs["corpus"].unique())
    rules = rules[rules["corpus"].isin(corpora)]
    networks = guided(corpora)
    scores = once_a_seed(networks)
    curves = adversaries(corpora)
    base, uniform, *at_test = (
        of_seeds(classifiers(corpora, attention, selection))
        for selection, attention in product(("dev", "test"), ("tanh", "uniform"))
    )
    searches = {corpus: table for corpus in corpora if (table := searched(corpus)) is not None}

    values = gaps_of(base, uniform) | of_guides(scores, base) | of_best(curves)
    values |= {"jsd_seeds": base["jsd"], "tvd_halved_seeds": HALVED * base["tvd"]}
    values |= {"jsd_uniform": uniform["jsd"], "tvd_halved_uniform": HALVED * uniform["tvd"]}
    values |= of_curves(curves, base, uniform, searches, rules["measure_ours"])
    rows = pd.concat([named_rows(values, "dev"), named_rows(gaps_of(*at_test), "test")])
    rows = of_all(rows.dropna(subset="value").assign(encoder="", attention=""))
    notes = of_models(rules, rows, scores, networks[networks["source"] == "adversary"])
    return rows, pd.DataFrame.from_dict(notes | of_documents(rules, searches), orient="index")


def of_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of runs by corpus and seed."""
    return rows.set_index(["corpus", "seed"])


def named_rows(values: Mapping[str, pd.Series], selection: str) -> pd.DataFrame:
    """Numbers by corpus and seed, measure -> series, one below the other: measure, corpus, seed, value, selection."""
    return pd.concat(values, names=["measure"]).rename("value").reset_index().assign(selection=selection)


def gaps_of(base: pd.DataFrame, uniform: pd.DataFrame) -> dict[str, pd.Series]:
    """F1 of base and uniform model, their gap, and what IMDB's gap is larger by, by corpus and seed."""
    gap = base["f1_1"] - uniform["f1_1"]
    values = {"f1_base": base["f1_1"], "f1_uniform": uniform["f1_1"], "f1_gap": gap}
    if "imdb" in gap:
        values["f1_gap_imdb_minus"] = gap["imdb"].sub(gap, level="seed")
    return values


def of_guides(scores: pd.DataFrame, base: pd.DataFrame) -> dict[str, pd.Series]:
    """F1 of the networks guided by each source, and of the base minus that of the network it guides, by corpus and
    seed. scores: of `guided_scores`; base: of `classifiers`."""
    values = {f"f1_guided_{source}": of_seeds(led)["f1"] for source, led in scores.groupby("source")}
    led = of_seeds(scores[scores["source"] == "own"].join(base["f1_1"], on=["corpus", "base_seed"]))
    return values | {"f1_base_minus_guided": led["f1_1"] - led["f1"]}


def of_best(curves: pd.DataFrame) -> dict[str, pd.Series]:
    """The adversary of the paper's Table 4, see `best_of`: its F1, JSD and TVD (halved), and by how much its base's F1
    is higher, by corpus and seed. curves: of `adversaries`."""
    best = {corpus: best_of(curve) for corpus, curve in curves.groupby("corpus")}
    rows = of_seeds(curves[curves["divergence"] == curves["corpus"].map(best)])
    return {
        "f1_of_best_adversary": rows["f1_1"],
        "jsd_of_best_adversary": rows["jsd"],
        "tvd_halved_of_best_adversary": HALVED * rows["tvd"],
        "f1_of_adversary": rows["base_f1"] - rows["f1_1"],
    }


def tvd_at(jsd: Iterable[float], tvd: Iterable[float], at: float) -> float:
    """TVD where the line through a curve's points, in the order given, passes JSD `at`; NaN where it does not.

    The papers join adversaries in the order of lambda, so a line may pass several times; then the mean counts.
    """
    values = []
    for piece in pairwise(zip(jsd, tvd, strict=True)):
        (left, first), (right, second) = sorted(piece)
        if left <= at <= right and left < right:
            values.append(np.interp(at, [left, right], [first, second]))
    return float(np.mean(values)) if values else np.nan


def of_curves(
    curves: pd.DataFrame,
    base: pd.DataFrame,
    uniform: pd.DataFrame,
    searches: Mapping[str, pd.DataFrame],
    asked: Iterable[str],
) -> dict[str, pd.Series]:
    """What bands ask of each seed's curve, by corpus and seed; TVD halved, on straight lines between points. curves: of
    `adversaries`; base, uniform: of `classifiers`; searches: of `searched`; asked: measures of the rules, such as
    curve_at_0.3 (at this JSD)."""
    points = {"uniform": uniform.groupby("corpus")[["jsd", "tvd"]].mean()}
    if searches:
        points["search"] = pd.concat(searches, names=["corpus"]).groupby("corpus")[["jsd", "tvd"]].mean()
    of_base = base["tvd"].groupby("corpus").mean()
    at = {name: float(name.removeprefix("curve_at_")) for name in asked if name.startswith("curve_at_")}
    values: dict[str, dict] = defaultdict(dict)
    for model, curve in curves.groupby(["corpus", "seed"], sort=False):
        line = curve["jsd"], curve["tvd"]
        for name, jsd in at.items():
            values[name][model] = tvd_at(*line, jsd)
        for name, means in points.items():
            if model[0] in means.index:
                jsd, tvd = means.loc[model[0]]
                values[f"{name}_off_curve"][model] = tvd - tvd_at(*line, jsd)
        least = curve["tvd"][curve["divergence"] > 0].head(1).mean()  # NaN where there is none
        values["seeds_off_curve"][model] = of_base.get(model[0], np.nan) - least
    return {name: HALVED * pd.Series(read).rename_axis(["corpus", "seed"]) for name, read in values.items()}


def of_models(rules: pd.DataFrame, rows: pd.DataFrame, scores: pd.DataFrame, led: pd.DataFrame) -> dict[str, dict]:
    """Notes of rules on what is one draw whatever the seed: networks that few models guide, uniform weights. rows:
    numbers; scores: of `guided_scores`; led: networks that adversaries guide, of `guided`."""
    models = scores.groupby(["corpus", "source"])[["base_seed", "seed"]].apply(guides_of)
    notes = {}
    for rule in rules[rules["measure_ours"].str.contains("f1_guided|jsd_uniform")].itertuples():
        source = rule.measure_ours.removeprefix("f1_guided_")
        values = rows["value"][(rows["corpus"] == rule.corpus) & (rows["measure_ours"] == rule.measure_ours)]
        count = models.get((rule.corpus, source), len(values))
        note = {"guides": count}
        if rule.kind == "number" and len(values) and (count < len(values) or "guided" not in rule.measure_ours):
            note |= {"mean": values.mean(), "n_seeds": count}
        if rule.kind == "number" and rule.measure_ours == "f1_guided_adversary":
            note |= at_guide_jsd(led[led["corpus"] == rule.corpus])
        notes[rule.id] = note
    return notes


def of_documents(rules: pd.DataFrame, searches: Mapping[str, pd.DataFrame]) -> dict[str, dict]:
    """Notes by rule: medians in bins of Figure 3, the search's means in Figure 5, bootstrapped over documents.
    searches: of `searched`."""
    seeds = {corpus: seed_tables(corpus) for corpus in rules["corpus"].unique()}
    over_seeds = {corpus: per_instance(tables) for corpus, tables in seeds.items() if tables}
    notes = {}
    for rule in rules[rules["measure_ours"].str.contains("_of_se")].itertuples():
        of_search = rule.measure_ours.endswith("search")
        tables = searches if of_search else over_seeds
        if rule.corpus not in tables:
            continue
        in_bins = rule.item != "Figure 5"
        column = DOCUMENTS[rule.measure_ours] if in_bins else rule.measure_ours[:3]
        values = in_group(tables[rule.corpus], rule)[column].dropna().to_numpy(np.float64)
        if column == "tvd":
            values = HALVED * values
        if len(values):
            note = note_of(values, np.median if in_bins else np.mean)
            note["documents"] = len(values) if in_bins else np.nan
            notes[rule.id] = note if of_search else note | {"n_seeds": len(seeds[rule.corpus])}
    return notes


def in_group(rows: pd.DataFrame, rule) -> pd.DataFrame:
    """Documents of a rule's predicted class and bin of the largest weight."""
    if rule.predicted != "all":
        rows = rows[rows["predicted"] == int(rule.predicted)]
    if rule.bin != "all":
        rows = rows[attention_bin(rows["max_attention"]) == rule.bin]
    return rows
