"""Numbers that follow from stored ones: `of_jain`, `of_serrano` and `of_wiegreffe` give what the scorecard merges with
each paper's rules (statements, contrasts of guides, read-offs of curves, counts)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd

from attn_book.fasttext import fasttext, in_pairs, newest
from attn_book.guides import SOURCES, guides_of
from attn_book.words import ENCODERS, SETS
from attn_core.experiments import distance
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

NAMED = {
    "encoder": "encoder_ours",
    "attention": "attention_ours",
    "measure": "measure_ours",
    "statistic": "statistic_ours",
}

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
    """The numbers of standard runs that rules ask for: columns PLACE, seed, value, n (documents)."""
    rules = rules[~rules["measure_ours"].isin(COUNTED)]
    # Where no run has a measure or statistic, its rules have no number.
    measures = set(rules["measure_ours"]) & index.has("measure")
    statistics = (set(rules["statistic_ours"]) | {"n"}) & index.has("statistic")
    rows = index.with_parameters(ask(measures, statistics, "any", "any", **where))

    group = ["key", "measure", "predicted", "bin"]
    counts = rows[rows["statistic"] == "n"].set_index(group)["value"]
    rows = rows.join(counts.rename("n"), on=group)
    return in_place(rows)


def in_place(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows by the names of `numbers` in the columns PLACE, seed, value, n."""
    return rows.rename(columns=NAMED)[[*PLACE, "seed", "value", "n"]]


def of_all(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows `in_place` of one value a run: of all classes, without bins and counts of documents."""
    return in_place(rows.assign(statistic="value", predicted="all", bin="all", n=np.nan))


# ---- Jain & Wallace --------------------------------------------------------------------------------------------------


def of_jain(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs, and the counts of Table 1."""
    rows = of_runs(rules, partial(newest, numbers), family=["text", "pair"])
    counts = counted(rules, set(rows["corpus"]))
    notes = pd.DataFrame({"mean": counts, "n_seeds": 1.0}).reindex(rules["id"])
    measured = rows[~rows["measure_ours"].isin(SCORES)]
    models = set(zip(measured["corpus"], measured["encoder_ours"], measured["attention_ours"], strict=True))
    asked = zip(rules["corpus"], rules["encoder"], rules["attention"], strict=True)
    notes["absent"] = ["no document" if model in models else np.nan for model in asked]
    return rows, notes


def counted(rules: pd.DataFrame, corpora: set[str]) -> pd.Series:
    """Counts of Table 1 by rule id, from statistics of a run's data. Vocabulary: of all splits for most sets, of the
    training split for SNLI and CNN, and for bAbI the words of the three tasks (our answers) with four special ids."""
    runs = newest(index.runs, family=["text", "pair"]).drop_duplicates("corpus")
    records = {record["run"]["corpus"]: record for record in index.records(runs["key"])}
    counts = {}
    asked = rules[rules["measure"].isin(COUNTED) & rules["corpus"].isin(corpora)]
    for rule in asked.itertuples():
        record = records[rule.corpus]
        statistics = record["statistics"]
        if rule.measure == "average_length_tokens":
            value = count_documents(record, "train")[1]
        elif rule.measure != "vocabulary_size":
            label = None if rule.group == "all" else CATALOGUE[rule.corpus].classes.index(rule.group)
            value = count_documents(record, rule.measure.removesuffix("_size"), label)[0]
        elif rule.corpus.startswith("babi"):
            value = len(statistics["classes"]) + 4
        else:
            value = statistics["vocabulary" if rule.corpus in ("snli", "cnn") else "vocabulary_all_splits"]
        counts[rule.id] = float(value)
    return pd.Series(counts, dtype=float)


# ---- Serrano & Smith -------------------------------------------------------------------------------------------------


def of_serrano(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs and the statements made of them."""
    plain = rules[~rules["measure_ours"].str.startswith("statement_")]
    rows = pd.concat([of_runs(plain, family="hierarchical"), statements()], ignore_index=True)
    return rows, sooner(rules[rules["measure_ours"] == "statement_9"])


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


def statements() -> pd.DataFrame:
    """The numbers that Serrano & Smith's claims speak of, one per run, in the columns of `of_runs`."""
    chosen = index.runs(family="hierarchical")
    rows = index.with_parameters(numbers("any", "any", bin="any", parameter="any", family="hierarchical"))
    rows = rows[~rows["statistic"].str.startswith("hist:")]
    wide = rows.pivot(index=["measure", "bin", "statistic"], columns="key", values="value")
    wide = wide.reindex(columns=chosen["key"]).astype(float)
    absent = np.full(len(chosen), np.nan)
    run = defaultdict(lambda: absent, zip(wide.index, wide.to_numpy(), strict=True))
    statements = statements_of(run).items()
    return of_all(pd.concat([chosen.assign(measure=f"statement_{name}", value=value) for name, value in statements]))


def sooner(rules: pd.DataFrame) -> pd.DataFrame:
    """Notes of claim 9: how many documents flip sooner by the gradient's order for each that does by attention's.

    The stored summaries count the first only, so it is asked of runs that keep their test set document by document:
    of seed 10, with an interval over documents.
    """
    runs = index.runs(family="hierarchical", seed=SEEDS[0])
    asked = rules.merge(runs, left_on=["corpus", "encoder_ours"], right_on=["corpus", "encoder"])
    notes: dict[str, dict] = {}
    for rule in asked.itertuples():
        table = store.rows_of(store.archive_folder(), "documents", rule.key)
        if table is None:
            notes[rule.id] = {"absent": "no document"}
            continue
        steps = table[table["n"] > 1].replace(NEVER, np.inf)
        later = steps["removed_attention"] - steps["removed_gradient"]
        lead = np.sign(later.dropna().to_numpy())  # 1: gradient first; NaN where neither flips
        notes[rule.id] = note_of(lead, odds)
    return pd.DataFrame.from_dict(notes, orient="index")


def note_of(values: np.ndarray, statistic: Callable, **more: float) -> dict[str, float]:
    """A statistic of documents as a note, with an interval over these."""
    low, high = bootstrap_interval(values, statistic=statistic)
    return {
        "mean": float(statistic(values)),
        "low": low,
        "high": high,
        "n_seeds": 1,
    } | more


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
        values = pd.concat([own_and_permuted(test, Run(model[0], model[1], seed=seed)) for seed in seeds], axis=1)
        values = values.dropna()  # documents of all seeds
        own = values["own"].to_numpy().T  # (S, D)
        permuted = values["permuted"].to_numpy().T
        low, high = crossed_interval(own - permuted)
        name = ENCODERS[model[1]].removeprefix("HAN with ").removeprefix("HAN ")
        rows[f"{SETS[model[0]]}, {name}"] = {
            "corpus": model[0],
            "encoder": model[1],
            "own": own.mean(),
            "permuted": permuted.mean(),
            "mean": (own - permuted).mean(),
            "low": low,
            "high": high,
            "n_seeds": len(own),
            "documents": len(values),
        }
    return pd.DataFrame.from_dict(rows, orient="index").sort_values("mean", ascending=False)


def own_and_permuted(test: Callable[[Traces], np.ndarray], run: Run) -> pd.DataFrame:
    """A test's numbers of a run's stored documents of several items, by doc_id: own, permuted (their expectation)."""
    traces = obtain(run).traces
    assert traces is not None  # asked for
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    permuted = over_permutations(traces, test, run.seed)
    return pd.DataFrame({"own": test(traces), "permuted": permuted}, index=traces.doc_id)


def measured(name: str, **options) -> pd.DataFrame:
    """A table of data/measured, checked against MANIFEST. options: of pandas.read_csv."""
    packed = "xz" if name.endswith("xz") else None
    return pd.read_csv(store.read_data(f"measured/{name}"), compression=packed, **options)


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


def classifiers(corpora: str | Iterable[str], attention: str = "tanh", selection: str = "dev") -> pd.DataFrame:
    """The paper's classifiers, rows of `index.runs`: the bases ('tanh') or the models with equal weights ('uniform');
    jsd and tvd (|p' - p|): means over the test set beside the base of seed 10."""
    return in_pairs(
        index.runs,
        corpus=corpora,
        encoder="lstm",
        attention=attention,
        selection=selection,
        source="archive",
    )


def adversaries(corpora: str | Iterable[str]) -> pd.DataFrame:
    """Adversaries of five bases (data/sweeps/adversaries-grid.yml, gpu-imdb-adversaries.yml), rows of `index.runs` by
    base and divergence, λ = 0 among them.

    base_f1: F1 of the base. Of those that differ only in their epochs the one trained for most.
    """
    where = {"corpus": corpora, "encoder": "lstm", "attention": "tanh", "source": "archive"}
    bases = index.runs(rounding=1, **where).set_index("key")
    rows = index.runs(divergence="any", **where)
    rows = rows[rows["base"].isin(bases.index)]
    rows = rows.assign(base_f1=rows["base"].map(bases["f1_1"]).astype(float))
    rows = rows.sort_values("epochs_trained", ascending=False, kind="stable")
    rows = rows.drop_duplicates(["corpus", "seed", "base_seed", "divergence"])
    return rows.sort_values(["corpus", "seed", "divergence"], kind="stable", ignore_index=True)


def best_of(far: pd.DataFrame) -> float:
    """The divergence of the best mean F1 among adversaries with a mean JSD above BEST_FROM; NaN without any. Of the
    divergences that were trained from as many seeds as any, so that a single run is not held against a mean."""
    seeds = far.groupby("divergence").size()
    means = far.groupby("divergence")[["jsd", "f1_1"]].mean()[seeds == seeds.max()]
    f1 = means["f1_1"][means["jsd"] > BEST_FROM]
    return f1.idxmax() if len(f1) else np.nan


def guided(corpora: Iterable[str]) -> pd.DataFrame:
    """Every network that weights from elsewhere guide, and those with their own or equal weights: corpus, source, seed,
    base_seed (of the model whose weights guide, -1 for none), base (its key), f1 (of class 1), auc; of an adversary
    that guides its divergence, epochs_trained and jsd (mean, from its base), NaN elsewhere. Adversaries that guide are
    of models on PPMI vectors or, where none is trained on these yet, on fastText vectors."""
    where = {"corpus": list(corpora), "encoder": "average", "guide": "any", "words": "any", "source": "archive"}
    new, old = index.runs(**where).dropna(subset="base_divergence"), fasttext(index.runs, **where)
    old = old[old["base_divergence"].notna() & ~old["corpus"].isin(new["corpus"])]
    led = pd.concat([new, old])
    rows = in_pairs(index.runs, **where)
    rows = pd.concat([rows[rows["base_divergence"].isna()], led], ignore_index=True)
    learned = rows["attention"].map({"uniform": "uniform", "tanh": "trained"})
    source = rows["guide"].mask(rows["guide"] == "", learned)
    source = source.mask(rows["base_divergence"].notna(), rows["guide"].map({"own": "adversary"}))
    rows["source"] = source.mask(rows["words"] != "text", source + ", " + rows["words"])
    rows["base_seed"] = rows["base_seed"].fillna(-1).astype(int)
    rows = rows.rename(columns={"f1_1": "f1"})[rows["source"].isin(SOURCES)]
    guides = index.runs(key=list(led["base"].unique()), variant="any").set_index("key")
    rows = rows[["corpus", "source", "seed", "base_seed", "base", "vectors", "f1", "auc"]]
    return rows.join(guides.loc[guides["divergence"].notna(), ["divergence", "epochs_trained", "jsd"]], on="base")


def uniform_beside(led: pd.DataFrame) -> pd.DataFrame:
    """f1 and auc by corpus and seed of networks under uniform weights, on the vectors of `led`."""
    kinds = led[["corpus", "vectors"]].drop_duplicates()
    where = {name: list(kinds[name].unique()) for name in kinds}
    rows = index.runs(encoder="average", attention="uniform", source="archive", **where).merge(kinds)
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
    on either side, whose own values are low and high; empty where all lie on one side."""
    means = led.groupby("divergence")[["jsd", "f1"]].mean().sort_values("jsd")
    nearer = (means["jsd"] <= GUIDE_JSD).sum()  # so many lie on that side
    if nearer in (0, len(means)):
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


@cache
def searched(corpus: str) -> pd.DataFrame | None:
    """The per-document search (`per_search`) on the traces of the base of seed 10, kept; None without these."""
    folder = store.archive_folder()
    keys = [key for key in classifiers(corpus).query("seed == @SEEDS[0]")["key"] if store.has_traces(folder, key)]
    if not keys:
        return None

    def search_now() -> pd.DataFrame:
        traces = store.read_traces(folder, keys[0])
        return per_search(traces, search(traces))

    return index.kept(f"searched-{keys[0]}", store.traces_digest(folder, keys[0]), search_now)


def of_wiegreffe(rules: pd.DataFrame) -> Stored:
    """Scores, gaps within seeds, read-offs of trained curves, medians over documents."""
    runs = newest(index.runs, corpus=list(rules["corpus"].unique()), family="text", source="archive")
    corpora = list(runs["corpus"].unique())
    networks = guided(corpora)
    scores = once_a_seed(networks)
    curves = adversaries(corpora)
    tables = [of_classifiers(corpora), of_guides(scores)]
    notes: dict[str, dict] = {}
    for corpus in corpora:
        asked = rules[rules["corpus"] == corpus]
        curve = curves[curves["corpus"] == corpus]
        tables += [of_best(corpus, curve), of_curves(corpus, curve, asked["measure_ours"])]
        notes |= over_documents(corpus, asked[asked["measure_ours"].isin(DOCUMENTS)])
    rows = pd.concat(tables).dropna(subset="value").fillna({"selection": "dev"})
    rows = of_all(rows.assign(encoder="", attention=""))

    guides = {source: guides_of(led) for source, led in scores.groupby(["corpus", "source"])}
    led = networks[networks["source"] == "adversary"]
    for rule in rules[rules["corpus"].isin(corpora)].itertuples():
        notes[rule.id] = noted(rule, rows, guides, led) | notes.get(rule.id, {})
    return rows, pd.DataFrame.from_dict(notes, orient="index")


def named_rows(values: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Series of numbers by measure, one below the other: measure, their index, value."""
    return pd.concat(values, names=["measure"]).rename("value").reset_index()


def of_classifiers(corpora: list[str]) -> pd.DataFrame:
    """F1 of base and uniform model, their gap, what IMDB's gap is larger by, and how far each model lies from the base
    of seed 10; TVD halved. Columns corpus, seed, value, selection, measure."""
    tables = []
    for chosen in ("dev", "test"):
        base = classifiers(corpora, "tanh", chosen).set_index(["corpus", "seed"])
        uniform = classifiers(corpora, "uniform", chosen).set_index(["corpus", "seed"])
        gap = base["f1_1"] - uniform["f1_1"]
        values = {"f1_base": base["f1_1"], "f1_uniform": uniform["f1_1"], "f1_gap": gap}
        if "imdb" in gap:
            values["f1_gap_imdb_minus"] = gap["imdb"].sub(gap, level="seed")
        for name, rows in {"seeds": base, "uniform": uniform}.items() if chosen == "dev" else ():
            values |= {
                f"jsd_{name}": rows["jsd"],
                f"tvd_halved_{name}": distance.HALVED * rows["tvd"],
            }
        tables.append(named_rows(values).assign(selection=chosen))
    return pd.concat(tables)


def of_guides(scores: pd.DataFrame) -> pd.DataFrame:
    """F1 of the networks guided by each source, and of the base minus that of the network it guides: corpus, seed,
    measure, value. scores: of `guided_scores`."""
    base = classifiers(list(scores["corpus"].unique()))
    f1 = base.set_index(["corpus", "seed"])["f1_1"]
    networks = scores.join(f1, on=["corpus", "base_seed"]).set_index(["corpus", "seed"])
    by_source = {f"f1_guided_{source}": rows["f1"] for source, rows in networks.groupby("source")}
    own = networks[networks["source"] == "own"]
    return named_rows(by_source | {"f1_base_minus_guided": own["f1_1"] - own["f1"]})


def of_best(corpus: str, curve: pd.DataFrame) -> pd.DataFrame:
    """The adversary of the paper's Table 4, see `best_of`, one row a seed and measure: its F1, JSD and TVD (halved),
    and by how much its base's F1 is higher. Columns corpus, seed, measure, value. curve: of `adversaries`."""
    best = curve[curve["divergence"] == best_of(curve)].set_index("seed")
    values = {
        "f1_of_best_adversary": best["f1_1"],
        "jsd_of_best_adversary": best["jsd"],
        "tvd_halved_of_best_adversary": distance.HALVED * best["tvd"],
        "f1_of_adversary": best["base_f1"] - best["f1_1"],
    }
    return named_rows(values).assign(corpus=corpus)


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


def of_curves(corpus: str, curve: pd.DataFrame, asked: Iterable[str]) -> pd.DataFrame:
    """What bands ask of each seed's curve: corpus, seed, measure, value; TVD halved, on straight lines between points.
    curve: of `adversaries`. asked: measures of the rules, such as curve_at_0.3 (at this JSD)."""
    tvd_of_seeds = classifiers(corpus)["tvd"].mean()
    models = {"search": searched(corpus), "uniform": classifiers(corpus, "uniform")}
    rows = []
    for seed, points in curve.groupby("seed", sort=False):
        line = points["jsd"], points["tvd"]
        places = {name: name.removeprefix("curve_at_") for name in asked if name.startswith("curve_at_")}
        read = {name: tvd_at(*line, float(at)) for name, at in places.items()}
        for name, table in models.items():
            if table is not None:
                point = table[["jsd", "tvd"]].mean()
                read[f"{name}_off_curve"] = point["tvd"] - tvd_at(*line, point["jsd"])
        away = points["tvd"][points["divergence"] > 0]
        read["seeds_off_curve"] = tvd_of_seeds - away.head(1).mean()  # the least divergence; NaN where there is none
        rows += [(name, seed, distance.HALVED * value) for name, value in read.items()]
    return pd.DataFrame(rows, columns=["measure", "seed", "value"]).assign(corpus=corpus)


def noted(rule, rows: pd.DataFrame, guides: Mapping, led: pd.DataFrame) -> dict:
    """What a rule wants besides its numbers, see NOTES. guides: models by data set and source of the weights; led:
    networks that adversaries guide, of `guided`."""
    name = rule.measure_ours
    values = rows["value"][(rows["corpus"] == rule.corpus) & (rows["measure_ours"] == name)]
    models = guides.get((rule.corpus, name.removeprefix("f1_guided_")), len(values))
    note = {"guides": models}
    if rule.kind != "number":
        return note
    # Uniform weights are the same whatever the seed, seeds guided by one model are one draw of its weights.
    if len(values) and (name == "jsd_uniform" or models < len(values)):
        note |= {"mean": values.mean(), "n_seeds": models}
    led = led[led["corpus"] == rule.corpus]
    if name == "f1_guided_adversary" and not (led["divergence"] == GUIDE_DIVERGENCE).any():
        note |= at_guide_jsd(led)
    return note


DOCUMENTS = {
    "jsd_of_seeds": "median",
    "jsd_of_search": "two",
    "tvd_halved_of_search": "tvd",
}
"""What is asked of documents -> column of `per_instance` or `per_search`; Figure 5 takes the JSD."""


def over_documents(corpus: str, rules: pd.DataFrame) -> dict[str, dict]:
    """Notes by rule: medians in bins of Figure 3, the search's means in Figure 5, bootstrapped over documents."""
    seeds = seed_tables(corpus)
    tables = {
        "seeds": per_instance(seeds) if seeds else None,
        "search": searched(corpus),
    }
    notes = {}
    for rule in rules.itertuples():
        compared = rule.measure_ours.rpartition("_")[2]
        if tables[compared] is None:
            continue
        in_bins = rule.item != "Figure 5"
        middle: Callable = np.median if in_bins else np.mean
        column = DOCUMENTS[rule.measure_ours] if in_bins else rule.measure_ours.partition("_")[0]
        values = in_group(tables[compared], rule)[column].dropna().to_numpy(np.float64)
        if column == "tvd":
            values = distance.HALVED * values
        if len(values):
            notes[rule.id] = note_of(values, middle, documents=len(values) if in_bins else np.nan)
            notes[rule.id] |= {"n_seeds": len(seeds)} if compared == "seeds" else {}
    return notes


def in_group(rows: pd.DataFrame, rule) -> pd.DataFrame:
    """Documents of a rule's predicted class and bin of the largest weight."""
    if rule.predicted != "all":
        rows = rows[rows["predicted"] == int(rule.predicted)]
    if rule.bin != "all":
        rows = rows[attention_bin(rows["max_attention"]) == rule.bin]
    return rows
