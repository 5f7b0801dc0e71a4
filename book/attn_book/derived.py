"""Numbers that follow from stored ones: `stored` gives what the scorecard merges with the rules (statements, contrasts
of guides, read-offs of curves, counts)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from attn_book.fasttext import in_pairs, newest, of_both
from attn_book.guides import SOURCES
from attn_book.words import ENCODERS, SETS
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
from attn_lab.runs.provenance import count_documents
from attn_lab.runs.run import SEEDS, Run

PLACE = [
    "corpus",
    "encoder",
    "attention",
    "selection",
    "measure",
    "statistic",
    "predicted",
    "bin",
]
"""What a number is found by, columns of `index.numbers`; encoder and attention are empty where it is of a data set."""

SCORES = ("accuracy", "macro_f1", "f1_1")
"""What a weak model has as well as a good one."""

COUNTED = ("vocabulary_size", "average_length_tokens", "train_size", "test_size")
"""Measures of Table 1 that describe the data and depend on no seed."""

NOTES = ["mean", "low", "high", "n_seeds", "documents", "guides"]
"""What may be said of a rule besides its numbers: an interval not over seeds, documents, models behind the seeds."""

Notes = dict[str, dict[str, float]]
"""By rule id those of NOTES that tell more than the numbers."""

Stored = tuple[pd.DataFrame, Notes]
"""What is stored for rules: numbers, with the columns PLACE, seed, value, n (documents, NaN where not counted); and
notes."""


def five(ask: Callable) -> Callable:
    """`index.runs` or `index.numbers` of the five trainings that every model has. BiLSTMs of SST, AG News and 20 News
    have nine, which Wiegreffe & Pinter 3.2 and 3.3, the scorecard and the gallery take."""
    return partial(ask, seed=SEEDS[:HEADLINE_SEEDS])


def stored(rules: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers and notes (a row a rule, columns NOTES) of rules of any paper."""
    plain = of_runs(rules, partial(newest, index.numbers), family=["text", "pair", "hierarchical"])
    more = [OF_PAPER[paper](of_paper) for paper, of_paper in rules.groupby("paper")]
    numbers = pd.concat([plain, *(rows for rows, _ in more)], ignore_index=True)
    notes = {rule: note for _, notes in more for rule, note in notes.items()}
    return numbers, pd.DataFrame.from_dict(notes, "index", columns=NOTES)


def of_runs(rules: pd.DataFrame, ask: Callable = index.numbers, **where: object) -> pd.DataFrame:
    """The numbers of standard runs that rules ask for, and n, the documents that each is of."""
    measures = set(rules["measure_ours"]) & index.has("measure")
    statistics = {*rules["statistic_ours"], "n"} & index.has("statistic")
    rows = index.with_parameters(ask(measures, statistics, "any", "any", **where))
    group = ["key", "measure", "predicted", "bin"]
    counts = rows[rows["statistic"] == "n"].set_index(group)["value"]
    return rows.join(counts.rename("n"), on=group)[[*PLACE, "key", "seed", "value", "n"]]


def of_all(table: pd.DataFrame, **model: str) -> pd.DataFrame:
    """Numbers of all classes, without bins. table: a column a measure; its index, and model, say of which run."""
    rows = table.melt(var_name="measure", ignore_index=False).reset_index()
    return rows.assign(
        statistic="value",
        predicted="all",
        bin="all",
        n=np.nan,
        **model,
    )


def note_of(values: np.ndarray, statistic: Callable) -> dict[str, float]:
    """A statistic of documents as a note, with an interval over these."""
    low, high = bootstrap_interval(values, statistic=statistic)
    return {"mean": float(statistic(values)), "low": low, "high": high, "n_seeds": 1}


# ---- Jain & Wallace --------------------------------------------------------------------------------------------------


def of_jain(rules: pd.DataFrame) -> Stored:
    """Counts of Table 1, from statistics of a run's data."""
    runs = newest(index.runs, family=["text", "pair"]).drop_duplicates("corpus")
    records = dict(zip(runs["corpus"], index.records(runs["key"]), strict=True))
    asked = rules[rules["measure"].isin(COUNTED) & rules["corpus"].isin(runs["corpus"])]
    notes = {rule.id: {"mean": float(counted(rule, records[rule.corpus])), "n_seeds": 1} for rule in asked.itertuples()}
    return pd.DataFrame(), notes


def counted(rule, record: dict) -> float:
    """A count of Table 1. Vocabulary: of all splits for most sets, of the training split for SNLI and CNN, and for bAbI
    the words of the three tasks (our answers) with four special ids."""
    if rule.measure == "vocabulary_size":
        if rule.corpus.startswith("babi"):
            return len(record["statistics"]["classes"]) + 4
        return record["statistics"]["vocabulary" if rule.corpus in ("snli", "cnn") else "vocabulary_all_splits"]
    if rule.measure == "average_length_tokens":
        return count_documents(record, "train")[1]
    label = None if rule.group == "all" else CATALOGUE[rule.corpus].classes.index(rule.group)
    return count_documents(record, rule.measure.removesuffix("_size"), label)[0]


# ---- Serrano & Smith -------------------------------------------------------------------------------------------------


def of_serrano(rules: pd.DataFrame) -> Stored:
    """The statements, and claim 9: how many documents flip sooner by the gradient's order for each that does by
    attention's. The stored summaries count the first only, so it is asked of runs that keep their test set document by
    document: of seed 10, with an interval over documents."""
    rows = index.numbers("any", bin="any", parameter="any", family="hierarchical")
    keys = rows[rows["seed"] == SEEDS[0]].groupby(["corpus", "encoder"])["key"].first()
    notes = {}
    for rule in rules[rules["measure_ours"] == "statement_9"].itertuples():
        key = keys.get((rule.corpus, rule.encoder_ours))
        documents = key and store.rows_of(store.archive_folder(), "documents", key)
        if documents is not None:
            steps = documents[documents["n"] > 1].replace(NEVER, np.inf)
            later = steps["removed_attention"] - steps["removed_gradient"]
            # 1: gradient first; NaN where neither flips
            notes[rule.id] = note_of(np.sign(later.dropna().to_numpy()), odds)
    return statements(rows), notes


def odds(lead: np.ndarray, axis: int = -1) -> np.ndarray:
    """How many 1 there are for each −1, along an axis."""
    return (lead > 0).sum(axis) / (lead < 0).sum(axis)


def statements_of(run: Mapping) -> dict[str, float]:
    """The numbers that the paper's claims speak of, by the claim's number.

    run: (measure, bin, statistic) -> a number, or an array over runs. 1a: share of JS differences not negative;
    1b: their rank correlation with the weight gap; 1c, 2b: shares near zero. 3: attention's top item against r as
    coded; 3d: how far 'only r flips', as a share of one-sided flips, lies from the share of negative differences. 4, 6,
    7: fractions removed, 'common': documents that flip under every order. 5: the largest of the four orders' medians.
    8, 10: how often the gradient flips with fewer removals than attention. (9 needs single documents: `of_serrano`.)
    """
    js = "delta_js rule=coded"
    negative = run[js, "all", "share_negative"]
    flips = "flips_attention rule=coded"
    only_top = run[flips, "all", "only_top"] / 100  # stored in per cent
    only_other = run[flips, "all", "only_random"] / 100
    with np.errstate(invalid="ignore"):
        other_of_one_sided = np.divide(only_other, only_top + only_other)  # NaN where no item alone flips

    orders = ("random", "attention", "gradient", "product")  # the paper's four
    random, attention, gradient, product = (run[f"fraction_{order}", "common", "mean"] for order in orders)
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
        "4a": random - attention,
        "4b": attention - gradient,
        "4c": gradient - product,
        "5": np.maximum.reduce([run[f"fraction_{order}", "all", "median"] for order in orders]),
        "6": run["fraction_attention", "all", "mean"],
        "7": attention - (gradient + product) / 2,
        "8": run["gradient_first", "all", "mean"],
    }


def statements(rows: pd.DataFrame) -> pd.DataFrame:
    """The numbers that Serrano & Smith's claims speak of, of each run. rows: all numbers of the runs."""
    rows = index.with_parameters(rows[~rows["statistic"].str.startswith("hist:")])
    run = rows.pivot_table(
        index=["corpus", "encoder", "attention", "selection", "seed"],
        columns=["measure", "bin", "statistic"],
        values="value",
        sort=False,
    )
    absent = pd.Series(np.nan, run.index)
    table = pd.DataFrame(statements_of(defaultdict(lambda: absent, run.items())), run.index)
    return of_all(table.add_prefix("statement_"))


def of_several(run: Run) -> Traces:
    """A run's stored documents of several items."""
    traces = obtain(run).traces
    assert traces is not None  # asked for
    return traces.take(np.flatnonzero(traces.lengths > 1))


def beside_permuted(test: Callable[[Traces], np.ndarray]) -> pd.DataFrame:
    """A test of stored documents of several items by attention and by permuted weights, one row a HAN that enters
    claims, largest difference first; its index names it.

    test: Traces of D documents -> their numbers (D,). Columns: corpus, encoder; own, permuted (means over the documents
    that all seeds keep, that of permuted weights the expectation, `over_permutations`, each seed's its own); mean of
    their difference, low, high (`crossed_interval`: another seed, other documents); n_seeds, documents.
    """
    chosen = index.runs(corpus=["imdb_stars", "amazon"], encoder=["han_rnn", "han_conv", "han_none"])
    fails = weak(chosen)
    rows = {}
    for (corpus, encoder), seeds in chosen.groupby(["corpus", "encoder"], sort=False)["seed"]:
        if fails[corpus, encoder]:
            continue
        kept = {seed: of_several(Run(corpus, encoder, seed=seed)) for seed in seeds}
        shared = sorted(set.intersection(*(set(traces.doc_id) for traces in kept.values())))
        kept = {seed: traces.take(pd.Index(traces.doc_id).get_indexer(shared)) for seed, traces in kept.items()}
        by_own = np.array([test(traces) for traces in kept.values()])  # (S, D)
        permuted = np.array([over_permutations(traces, test, seed) for seed, traces in kept.items()])
        difference = by_own - permuted
        defined = ~np.isnan(difference).any(axis=0)
        name = ENCODERS[encoder].removeprefix("HAN with ").removeprefix("HAN ")
        rows[f"{SETS[corpus]}, {name}"] = (
            *(corpus, encoder),
            *(values[:, defined].mean() for values in (by_own, permuted, difference)),
            *crossed_interval(difference),
            len(kept),
            defined.sum(),
        )
    names = [
        "corpus",
        "encoder",
        "own",
        "permuted",
        "mean",
        "low",
        "high",
        "n_seeds",
        "documents",
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=names).sort_values("mean", ascending=False)


def measured(name: str, folder: str = "measured", **options) -> pd.DataFrame:
    """A table of data/measured, or another folder there, checked against MANIFEST. options: of pandas.read_csv."""
    packed = {"gz": "gzip", "xz": "xz"}.get(name.rpartition(".")[2])
    return pd.read_csv(store.read_data(f"{folder}/{name}"), compression=packed, **options)


def of_permuted(numbers: list[str]) -> pd.DataFrame:
    """Statements' numbers (of `statements_of`) in stored texts of seed 10's HAN with GRU: columns corpus, number,
    attention, and permuted, their expectation under permuted weights (measured/permuted.csv)."""
    return measured("permuted.csv").query("number in @numbers")


# ---- Wiegreffe & Pinter ----------------------------------------------------------------------------------------------

BEST_FROM = 0.4
"""Mean JSD beyond which an adversary may be the best of its data set (the paper's Table 4)."""

GUIDE_DIVERGENCE = 0.001
"""λ of the adversary whose weights guide in the paper's Table 3 (its footnote 8)."""

GUIDE_JSD = 0.62
"""That adversary's mean JSD: the point of IMDB in the paper's Figure 5; above 0.61 on SST (footnote 8)."""

READ_AT = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68)
"""Mean JSD at which bands ask for a curve's TVD."""

MODEL = ["corpus", "seed"]


def classifiers(
    corpora: str | Iterable[str],
    attention: str = "tanh",
    selection: str = "dev",
) -> pd.DataFrame:
    """The paper's classifiers, rows of `index.runs`: the bases ('tanh') or the models with equal weights ('uniform');
    jsd and tvd (|p' - p|): means over the test set beside the base of seed 10."""
    return in_pairs(
        index.runs, corpus=corpora, attention=attention, selection=selection, encoder="lstm", source="archive"
    )


def adversaries(corpora: str | Iterable[str]) -> pd.DataFrame:
    """Adversaries of five bases (data/sweeps/adversaries-grid.yml, gpu-imdb-adversaries.yml), rows of `index.runs` by
    base and divergence, λ = 0 among them. Of those that differ only in their epochs the one trained for most."""
    where = {"corpus": corpora, "encoder": "lstm", "attention": "tanh", "source": "archive"}
    bases = index.runs(rounding=1, **where)["key"]
    rows = index.runs(divergence="any", **where)
    rows = rows[rows["base"].isin(bases)].sort_values("epochs_trained", ascending=False, kind="stable")
    rows = rows.drop_duplicates([*MODEL, "base_seed", "divergence"])
    return rows.sort_values([*MODEL, "divergence"], kind="stable", ignore_index=True)


def lost(rows: pd.DataFrame, score: str) -> pd.Series:
    """By how much the score of an adversary's base is higher than its own."""
    bases = index.runs(key=list(rows["base"].unique()), variant="any").set_index("key")[score]
    return bases.reindex(rows["base"]).to_numpy() - rows[score]


def best_of(far: pd.DataFrame) -> float:
    """The divergence of the best mean F1 among adversaries with a mean JSD above BEST_FROM; NaN without any. Of the
    divergences that were trained from as many seeds as any, so that a single run is not held against a mean."""
    by_divergence = far.groupby("divergence")
    means = by_divergence[["jsd", "f1_1"]].mean()
    seeds = by_divergence.size()
    means = means[(seeds == seeds.max()) & (means["jsd"] > BEST_FROM)]
    return means["f1_1"].idxmax() if len(means) else np.nan


def guided(corpora: Iterable[str]) -> pd.DataFrame:
    """Every network that weights from elsewhere guide, and those with their own or equal weights: rows of `index.runs`
    with source, f1 (of class 1), base_seed (of the model whose weights guide, -1 for none); of an adversary that guides
    its divergence, epochs_trained and jsd (mean, from its base), NaN elsewhere. Adversaries that guide are of models on
    PPMI vectors or, where none is trained on these yet, on fastText vectors."""
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
    source = rows["guide"].mask(rows["guide"] == "", rows["attention"].replace("tanh", "trained"))
    source = source.mask(rows["base_divergence"].notna(), source.map({"own": "adversary"}))
    source += (", " + rows["words"]).where(rows["words"] != "text", "")
    guides = index.runs(key=list(led["base"].unique()), variant="any").dropna(subset="divergence").set_index("key")
    guides = guides[["divergence", "epochs_trained", "jsd"]]
    base_seed = rows["base_seed"].fillna(-1).astype(int)
    rows = rows.drop(columns=guides.columns).assign(
        source=source,
        base_seed=base_seed,
        f1=rows["f1_1"],
    )
    return rows[source.isin(SOURCES)].join(guides, on="base")


def uniform_beside(led: pd.DataFrame) -> pd.DataFrame:
    """f1 and auc by corpus and seed of networks under uniform weights, on the vectors of `led`."""
    kinds = led[["corpus", "vectors"]].drop_duplicates()
    rows = index.runs(
        encoder="average",
        attention="uniform",
        source="archive",
        vectors="any",
    ).merge(kinds)
    return rows.rename(columns={"f1_1": "f1"}).set_index(MODEL)[["f1", "auc"]]


def guided_scores(corpora: Iterable[str]) -> pd.DataFrame:
    """The table that `attn_book.guides` takes: of `guided`, each source once a seed. Of several adversaries that
    guide, the one of the paper's Table 3, see `as_in_table_3`."""
    rows = guided(corpora)
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
    further = classifiers(corpus).query("seed != @SEEDS[0]")["key"]
    tables = [store.rows_of(store.archive_folder(), "against", key) for key in further]
    return [table for table in tables if table is not None]


def searched(corpus: str) -> pd.DataFrame | None:
    """The per-document search (`per_search`) on the traces of the base of seed 10, kept; None without these."""
    folder = store.archive_folder()
    keys = classifiers(corpus).query("seed == @SEEDS[0]")["key"]
    key = next((key for key in keys if store.has_traces(folder, key)), None)
    if key is None:
        return None

    def search_now() -> pd.DataFrame:
        traces = store.read_traces(folder, key)
        return per_search(traces, search(traces))

    return index.kept(f"searched-{key}", store.traces_digest(folder, key), search_now)


def of_wiegreffe(rules: pd.DataFrame) -> Stored:
    """Scores, gaps within seeds, read-offs of trained curves, medians over documents."""
    corpora = list(rules["corpus"].unique())
    searches = {corpus: table for corpus in corpora if (table := searched(corpus)) is not None}
    compared = of_classifiers(corpora)
    curves = adversaries(corpora)
    tables = [
        compared,
        *of_guides(guided_scores(corpora), compared),
        of_best(curves),
        of_curves(curves, corpora, searches),
    ]
    rows = [of_all(table, encoder="", attention="", selection="dev") for table in tables]
    rows.append(of_all(of_classifiers(corpora, "test"), encoder="", attention="", selection="test"))
    numbers = pd.concat(rows)
    return numbers, of_models(rules, numbers, guided(corpora)) | of_documents(rules, searches)


def by_seed(rows: pd.DataFrame, of: str) -> pd.DataFrame:
    """F1, JSD and TVD (halved) of runs by corpus and seed, under the rules' names."""
    rows = rows.set_index(MODEL)
    return pd.DataFrame({f"f1_{of}": rows["f1_1"], f"jsd_{of}": rows["jsd"], f"tvd_halved_{of}": HALVED * rows["tvd"]})


def of_classifiers(corpora: list[str], selection: str = "dev") -> pd.DataFrame:
    """Base and uniform models, the gap of their F1, and what IMDB's gap is larger by, by corpus and seed."""
    base = by_seed(classifiers(corpora, "tanh", selection), "seeds")
    table = pd.concat([base, by_seed(classifiers(corpora, "uniform", selection), "uniform")], axis=1)
    gap = table["f1_seeds"] - table["f1_uniform"]
    table = table.assign(f1_base=table["f1_seeds"], f1_gap=gap)
    if "imdb" in gap:
        table["f1_gap_imdb_minus"] = gap["imdb"].sub(gap, level="seed")
    return table


def of_guides(scores: pd.DataFrame, compared: pd.DataFrame) -> list[pd.DataFrame]:
    """F1 of the networks guided by each source, and of the base minus that of the network it guides, by corpus and
    seed. scores: of `guided_scores`; compared: of `of_classifiers`."""
    scores = scores.join(compared["f1_base"], on=["corpus", "base_seed"]).set_index(MODEL)
    lost = (scores["f1_base"] - scores["f1"])[scores["source"] == "own"]
    by_source = [led[["f1"]].set_axis([f"f1_guided_{source}"], axis=1) for source, led in scores.groupby("source")]
    return [*by_source, lost.to_frame("f1_base_minus_guided")]


def of_best(curves: pd.DataFrame) -> pd.DataFrame:
    """The adversary of the paper's Table 4, see `best_of`: its F1, JSD and TVD (halved), and by how much its base's F1
    is higher, by corpus and seed. curves: of `adversaries`."""
    best = {corpus: best_of(curve) for corpus, curve in curves.groupby("corpus")}
    rows = curves[curves["divergence"] == curves["corpus"].map(best)]
    return by_seed(rows, "of_best_adversary").assign(f1_of_adversary=lost(rows, "f1_1").to_numpy())


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
    corpora: list[str],
    searches: dict[str, pd.DataFrame],
) -> pd.DataFrame:
    """What bands ask of each seed's curve, by corpus and seed; TVD halved, on straight lines between points. curves: of
    `adversaries`; searches: of `searched`."""
    points = [classifiers(corpora).assign(kind="seeds"), classifiers(corpora, "uniform").assign(kind="uniform")]
    points += [table.assign(corpus=corpus, kind="search") for corpus, table in searches.items()]
    means = pd.concat(rows.groupby(["kind", "corpus"])[["jsd", "tvd"]].mean() for rows in points)
    models = curves.groupby(MODEL, sort=False)
    rows = []
    for (corpus, _), curve in models:
        at = partial(tvd_at, curve["jsd"], curve["tvd"])
        read = {f"curve_at_{jsd}": at(jsd) for jsd in READ_AT}
        of_corpus = means.index.get_level_values("corpus") == corpus
        for (kind, _), jsd, tvd in means[of_corpus].itertuples():
            least = curve["tvd"][curve["divergence"] > 0].head(1).mean()  # NaN where there is none
            read[f"{kind}_off_curve"] = tvd - (least if kind == "seeds" else at(jsd))
        rows.append(read)
    return HALVED * pd.DataFrame(rows, models.size().index)


def of_models(rules: pd.DataFrame, rows: pd.DataFrame, networks: pd.DataFrame) -> Notes:
    """Notes of rules on what is one draw whatever the seed: uniform weights, and networks that few adversaries guide.
    rows: numbers; networks: of `guided`."""
    notes: Notes = {}
    for rule in rules[rules["measure_ours"].isin(["jsd_uniform", "f1_guided_adversary"])].itertuples():
        values = rows.query("corpus == @rule.corpus and measure == @rule.measure_ours and selection == 'dev'")["value"]
        led = networks.query("source == 'adversary' and corpus == @rule.corpus")
        by_adversary = rule.measure_ours == "f1_guided_adversary"
        count = as_in_table_3(led)["base_seed"].nunique() if by_adversary else values.count()
        notes[rule.id] = {"guides": count}
        if rule.kind == "number" and count:
            notes[rule.id] |= {"mean": values.mean(), "n_seeds": count} | (at_guide_jsd(led) if by_adversary else {})
    return notes


def of_documents(rules: pd.DataFrame, searches: dict[str, pd.DataFrame]) -> Notes:
    """Notes by rule: medians in bins of Figure 3, the search's means in Figure 5, bootstrapped over documents.
    searches: of `searched`."""
    by_text = {corpus: kept for corpus in rules["corpus"].unique() if (kept := seed_tables(corpus))}
    over_seeds = {corpus: per_instance(tables) for corpus, tables in by_text.items()}
    notes = {}
    for rule in rules[rules["measure_ours"].str.contains("_of_se")].itertuples():
        of_search = rule.measure_ours.endswith("search")
        tables = searches if of_search else over_seeds
        if rule.corpus not in tables:
            continue
        column = rule.measure_ours[:3]
        if rule.statistic == "median":
            column = "two" if of_search else "median"
        values = in_group(tables[rule.corpus], rule)[column].dropna().to_numpy(np.float64)
        if column == "tvd":
            values = HALVED * values
        if len(values):
            notes[rule.id] = note_of(values, getattr(np, rule.statistic)) | {"documents": len(values)}
            if not of_search:
                notes[rule.id]["n_seeds"] = len(by_text[rule.corpus])
    return notes


def in_group(rows: pd.DataFrame, rule) -> pd.DataFrame:
    """Documents of a rule's predicted class and bin of the largest weight."""
    rows = rows.assign(bin=attention_bin(rows["max_attention"]), predicted=rows["predicted"].astype(str))
    for name in ("predicted", "bin"):
        if getattr(rule, name) != "all":
            rows = rows[rows[name] == getattr(rule, name)]
    return rows


OF_PAPER: dict[str, Callable[[pd.DataFrame], Stored]] = {
    "jain": of_jain,
    "serrano": of_serrano,
    "wiegreffe": of_wiegreffe,
}
"""Of the rules of each paper what `of_runs` does not find."""
