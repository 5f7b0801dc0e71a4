"""Numbers that follow from stored ones: `of_jain`, `of_serrano` and `of_wiegreffe` give what the scorecard merges with
each paper's rules (statements, contrasts of guides, read-offs of curves, counts)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import numpy as np
import pandas as pd

from attn_core import index, obtain, store
from attn_core.baselines import weak
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments import attention_bin, distance, erasure
from attn_core.experiments.guides import SOURCES, guides_of
from attn_core.experiments.search import search
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import documents, numbers, over_seeds
from attn_core.measures import bootstrap_interval
from attn_core.run import SEEDS, Run, first_vectors
from attn_core.traces import Traces

PLACE = ["corpus", "encoder_ours", "attention_ours", "selection", "measure_ours", "statistic_ours", "predicted", "bin"]
"""What a number of ours is found by; encoder and attention are empty where it is of a data set."""

NAMED = {"encoder": "encoder_ours", "attention": "attention_ours", "measure": "measure_ours",
         "statistic": "statistic_ours"}  # fmt: skip

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


def of_runs(rules: pd.DataFrame, **where: object) -> pd.DataFrame:
    """The numbers of standard runs that rules ask for: columns PLACE, seed, value, n (documents)."""
    rules = rules[~rules["measure_ours"].isin(COUNTED)]
    names = ("measure", "statistic")  # where no run has one of them, its rules have no number
    asked = [set(rules[f"{name}_ours"]) & index.has(name) for name in names]
    rows = numbers(asked[0], asked[1] | {"n"} & index.has("statistic"), "any", "any", **where)
    group = ["key", "measure", "predicted", "bin"]
    counts = rows[rows["statistic"] == "n"].set_index(group)["value"].rename("n")
    columns = [*group, "corpus", "encoder", "attention", "selection", "seed", "statistic", "value"]
    return rows[columns].join(counts, on=group).drop(columns="key").rename(columns=NAMED)


# ---- Jain & Wallace --------------------------------------------------------------------------------------------------


def of_jain(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs, and the counts of Table 1."""
    rows = of_runs(rules, family=["text", "pair"], generation="first")
    models = ["corpus", "encoder_ours", "attention_ours"]
    known = rows[~rows["measure_ours"].isin(SCORES)][models].drop_duplicates()
    known = known.set_axis(["corpus", "encoder", "attention"], axis=1).assign(absent="no document")
    notes = rules.merge(known, how="left").set_index("id")[["absent"]]
    counts = counted(rules, set(rows["corpus"]))
    notes = notes.join(pd.DataFrame({"mean": counts, "low": np.nan, "high": np.nan, "n_seeds": 1.0}))
    return rows, notes


def counted(rules: pd.DataFrame, corpora: set[str]) -> pd.Series:
    """Counts of Table 1 by rule id, from statistics of a run's data. Vocabulary: of all splits for most sets, of the
    training split for SNLI and CNN, and for bAbI the words of the three tasks (our answers) with four special ids."""
    first, found = index.runs(family=["text", "pair"], generation="first").drop_duplicates("corpus"), {}
    records = {record["run"]["corpus"]: record for record in index.records(first["key"])}
    for rule in rules[rules["measure"].isin(COUNTED) & rules["corpus"].isin(corpora)].itertuples():
        record = records[rule.corpus]
        statistics = record["statistics"]
        if rule.measure == "vocabulary_size":
            value = statistics["vocabulary" if rule.corpus in ("snli", "cnn") else "vocabulary_all_splits"]
            value = len(statistics["classes"]) + 4 if rule.corpus.startswith("babi") else value
        elif rule.measure == "average_length_tokens":
            value = documents(record, "train")[1]
        else:
            label = None if rule.group == "all" else CATALOGUE[rule.corpus].classes.index(rule.group)
            value = documents(record, rule.measure.removesuffix("_size"), label)[0]
        found[rule.id] = float(value)
    return pd.Series(found, dtype=float)


# ---- Serrano & Smith -------------------------------------------------------------------------------------------------


def of_serrano(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs and the statements made of them."""
    plain = rules[~rules["measure_ours"].str.startswith("statement_")]
    return pd.concat([of_runs(plain, family="hierarchical"), statements()], ignore_index=True), pd.DataFrame()


def statements_of(run: Mapping) -> dict[str, float]:
    """The numbers that the paper's claims speak of, by the claim's number.

    run: (measure, bin, statistic) -> a number, or an array over runs. 1a: share of JS differences not negative;
    1b: their rank correlation with the weight gap; 1c, 2b: shares near zero. 3: attention's top item against r as
    coded; 3d: how far 'only r flips', as a share of one-sided flips, lies from the share of negative differences. 4, 6,
    7: fractions removed, 'common': documents that flip under every order. 5: the largest of the four orders' medians.
    8: how often the gradient flips with fewer removals than attention.
    """
    asked = ("share_negative", "spearman", "near_0", "negative_near_0")
    js = {name: run["delta_js@coded", "all", name] for name in asked}
    neither, top, other = (run["flips_attention@coded", "all", name] / 100
                           for name in ("neither", "only_top", "only_random"))  # fmt: skip
    orders = ("random", "attention", "gradient", "product")  # the paper's four
    gone = {order: run[f"fraction_{order}", "common", "mean"] for order in orders}
    with np.errstate(invalid="ignore"):
        one_sided = np.divide(other, top + other)  # NaN where no item alone flips
    return {
        "1a": 1 - js["share_negative"], "1b": js["spearman"], "1c": js["near_0"],
        "2a": js["share_negative"], "2b": js["negative_near_0"],
        "3a": neither, "3b": top - other, "3c": other, "3d": abs(one_sided - js["share_negative"]),
        "4a": gone["random"] - gone["attention"], "4b": gone["attention"] - gone["gradient"],
        "4c": gone["gradient"] - gone["product"],
        "5": np.maximum.reduce([run[f"fraction_{order}", "all", "median"] for order in orders]),
        "6": run["fraction_attention", "all", "mean"],
        "7": gone["attention"] - 0.5 * (gone["gradient"] + gone["product"]),
        "8": run["gradient_first", "all", "mean"],
    }  # fmt: skip


def statements() -> pd.DataFrame:
    """The numbers that Serrano & Smith's claims speak of, one per run, in the columns of `of_runs`."""
    chosen = index.runs(family="hierarchical")
    rows = numbers("any", "any", bin="any", family="hierarchical")
    rows = rows[~rows["statistic"].str.startswith("hist:") & rows["key"].isin(chosen["key"])]
    wide = rows.pivot(index=["measure", "bin", "statistic"], columns="key", values="value")
    wide = wide.reindex(columns=chosen["key"]).astype(float)
    run = defaultdict(lambda: np.full(len(chosen), np.nan), zip(wide.index, wide.to_numpy(), strict=True))
    parts = [chosen.assign(measure=f"statement_{name}", value=value) for name, value in statements_of(run).items()]
    found = pd.concat(parts).assign(statistic="value", predicted="all", bin="all", n=np.nan).rename(columns=NAMED)
    return found[[*PLACE, "seed", "value", "n"]]


# What of these statements is arithmetic: erasing an item moves the logits by its weight times its distance from the
# rest, so the heaviest moves them most whether or not attention knows anything. A statement is about attention as far
# as its number lies beyond that of weights dealt anew within each document (a control of ours).

def statements_in(traces: Traces) -> pd.Series:
    """Numbers of `statements_of` in documents of several items, r as coded; NaN where none is defined."""
    rows = erasure.summary_table(erasure.document_table(traces))
    told = rows.set_index(["statistic", "bin", "measure"])["value"]
    return pd.Series(statements_of(defaultdict(lambda: np.nan, told.to_dict())))


def beside_dealt(test: Callable[[Traces], float], deals: int = 5, **where: object) -> pd.DataFrame:
    """A number of stored documents of several items by attention and by weights dealt anew, one row a model of
    `index.runs` that enters claims: corpus, encoder, own, dealt (means over seeds, and over deals within a seed), mean,
    low, high, n_seeds of their difference within seeds; fewest: documents of a seed."""
    rows, chosen = [], index.runs(**where)
    bad = weak(chosen)
    for (corpus, encoder), part in chosen.groupby(["corpus", "encoder"], sort=False):
        for seed in () if bad[corpus, encoder] else part["seed"]:
            traces = obtain(Run(corpus, encoder, seed=seed)).traces
            traces = traces.take(np.flatnonzero(traces.lengths > 1))
            dealt = np.mean([test(weights_dealt_anew(traces, deal)) for deal in range(deals)])
            rows.append((corpus, encoder, seed, test(traces), dealt, len(traces)))
    table = pd.DataFrame(rows, columns=["corpus", "encoder", "seed", "own", "dealt", "fewest"])
    table["value"] = table["own"] - table["dealt"]
    found = table.groupby(["corpus", "encoder"]).agg({"own": "mean", "dealt": "mean", "fewest": "min"})
    return over_seeds(table, "corpus", "encoder").join(found, on=["corpus", "encoder"])


def of_dealt(models: Mapping[str, Traces], numbers: list[str], deals: int = 10) -> pd.DataFrame:
    """Statements' numbers of models by label: columns label, number (of `statements_of`), attention, dealt (mean over
    `deals` deals of the weights anew over each document's items); NaN where none is defined."""
    found = {}
    for label, traces in models.items():
        dealt = [statements_in(weights_dealt_anew(traces, deal)) for deal in range(deals)]
        found[label] = pd.DataFrame({"attention": statements_in(traces), "dealt": np.mean(dealt, axis=0)}).loc[numbers]
    return pd.concat(found, names=["label", "number"]).reset_index()


# ---- Wiegreffe & Pinter ----------------------------------------------------------------------------------------------

BEST_FROM = 0.4
"""Mean JSD from which an adversary may be the best of its data set (the paper's Table 4, by a public note)."""


def classifiers(corpora: str | Iterable[str], attention: str = "tanh", selection: str = "dev") -> pd.DataFrame:
    """The paper's classifiers, rows of `index.runs`: the bases ('tanh') or the models with equal weights ('uniform');
    jsd and tvd (|p' - p|): means over the test set beside the base of seed 10."""
    where = {"attention": attention, "selection": selection, "source": "archive", "generation": "first"}
    return index.runs(corpus=corpora, encoder="lstm", **where)


def adversaries(corpora: str | Iterable[str], every: bool = False, vectors: str = "") -> pd.DataFrame:
    """Adversaries trained against bases chosen on development data, rows of `index.runs` by seed and divergence.

    vectors: those of base and adversary; by default those of the archive's first generation. settled: whether the JSD on
    the test set moved by at most 0.02 over the last five epochs. Of those that differ in their epochs alone the one
    trained for most, unless each is asked for.
    """
    where = {"vectors": vectors} if vectors else {"generation": "first"}
    rows = index.runs(corpus=corpora, encoder="lstm", attention="tanh", divergence="any", source="archive", **where)
    bases = {Run(corpus, seed=seed, vectors=vectors or first_vectors(corpus)).key
             for corpus in set(rows["corpus"]) for seed in SEEDS}  # fmt: skip
    rows = rows[rows["divergence"].notna() & rows["base"].isin(bases)]
    tails = [[epoch["test_jsd"] for epoch in record["history"][-6:]] for record in index.records(rows["key"])]
    rows = rows.assign(settled=[np.ptp(tail) <= 0.02 for tail in tails])
    if not every:
        rows = rows.sort_values("epochs_trained", ascending=False, kind="stable")
        rows = rows.drop_duplicates(["corpus", "seed", "base_seed", "divergence"])
    return rows.sort_values(["corpus", "seed", "divergence"], kind="stable").reset_index(drop=True)


def guided_scores(corpora: Iterable[str]) -> pd.DataFrame:
    """The table that `experiments.guides` takes: corpus, source, seed, base_seed (of the model whose weights guide, -1
    for none), base (its key), divergence (of an adversary that guides), f1 (of class 1), auc.

    Of several adversaries that guide, the one with the best F1 among those of a mean JSD of at least BEST_FROM counts,
    a choice on the test set, as in the paper; where none is so far, the one with the largest divergence.
    """
    rows = index.runs(corpus=list(corpora), encoder="average", guide="any", words="any", source="archive",
                      generation="first")
    learned = rows["attention"].map({"uniform": "uniform", "tanh": "trained"})
    source = rows["guide"].where(rows["guide"] != "", learned)
    source = source.mask(rows["base_divergence"].notna(), rows["guide"].map({"own": "adversary"}))
    source = source + (", " + rows["words"]).where(rows["words"] != "text", "")
    rows = rows.assign(source=source, base_seed=rows["base_seed"].fillna(-1).astype(int))
    rows = rows.drop(columns="divergence").rename(columns={"base_divergence": "divergence", "f1_1": "f1"})
    rows, far, best = rows[rows["source"].isin(SOURCES)], adversaries(corpora, every=True), {}
    for corpus, led in rows[rows["source"] == "adversary"].groupby("corpus"):
        found = best_of(far[far["key"].isin(led["base"])])
        best[corpus] = led["divergence"].max() if np.isnan(found) else found
    rows = rows[(rows["source"] != "adversary") | (rows["divergence"] == rows["corpus"].map(best))]
    columns = ["corpus", "source", "seed", "base_seed", "base", "divergence", "f1", "auc"]
    return rows.drop_duplicates(["corpus", "source", "seed"])[columns].reset_index(drop=True)


def best_of(far: pd.DataFrame) -> float:
    """The divergence of the best mean F1 among adversaries of a mean JSD of at least BEST_FROM; NaN without any."""
    means = far.groupby("divergence")[["jsd", "f1_1"]].mean()
    found = means[means["jsd"] >= BEST_FROM]["f1_1"]
    return found.idxmax() if len(found) else np.nan


def seed_tables(corpus: str) -> list[pd.DataFrame]:
    """Of each further seed its table of `experiments.distance.against` beside the base of seed 10, where it is kept."""
    further = classifiers(corpus).query("seed != @SEEDS[0]")["key"]
    tables = [store.read(store.archive_folder(), key).against for key in further]
    return [table for table in tables if table is not None]


@lru_cache(maxsize=None)
def searched(corpus: str) -> pd.DataFrame | None:
    """The per-document search (`distance.searched`) on the traces of the base of seed 10, kept; None without these."""
    for record in index.records(classifiers(corpus).query("seed == @SEEDS[0]")["key"]):
        if source := record["files"].get("traces.parquet"):
            traces = store.read(store.archive_folder(), record["key"]).traces
            name = f"searched-{record['key']}"
            return index.kept(name, source, lambda: distance.searched(traces, search(traces)))
    return None


def of_wiegreffe(rules: pd.DataFrame) -> Stored:
    """Scores, gaps within seeds, read-offs of trained curves, medians over documents."""
    runs = index.runs(corpus=list(set(rules["corpus"])), family="text", source="archive", generation="first")
    here = list(runs["corpus"].unique())
    rules, scores = rules[rules["corpus"].isin(here)], guided_scores(here)
    asked = rules.groupby("corpus")["measure_ours"].agg(set).items()
    rows = pd.concat([of_classifiers(here), of_guides(scores), *(of_curves(*one) for one in asked)])
    rows = rows.assign(selection=rows["selection"].fillna("dev"), measure_ours=rows["measure"], encoder_ours="",
                       attention_ours="", statistic_ours="value", predicted="all", bin="all", n=np.nan)  # fmt: skip
    rows = rows[[*PLACE, "seed", "value", "n"]].dropna(subset="value")
    guides = {place: guides_of(part) for place, part in scores.groupby(["corpus", "source"])}
    notes = {rule.id: noted(rule, rows, guides) for rule in rules.itertuples()}
    for corpus, part in rules[rules["measure_ours"].isin(DOCUMENTS)].groupby("corpus"):
        notes |= over_documents(corpus, part)
    return rows, pd.DataFrame.from_dict(notes, orient="index")


def of_classifiers(corpora: list[str]) -> pd.DataFrame:
    """F1 of base and uniform model, their gap, what IMDB's gap is larger by, and how far each model lies from the base
    of seed 10; TVD halved. Columns corpus, seed, value, selection, measure."""
    parts = []
    for chosen in ("dev", "test"):
        base, flat = (classifiers(corpora, name, chosen).set_index(["corpus", "seed"]) for name in ("tanh", "uniform"))
        gap = base["f1_1"] - flat["f1_1"]
        found = {"f1_base": base["f1_1"], "f1_uniform": flat["f1_1"], "f1_gap": gap}
        if "imdb" in gap:
            found["f1_gap_imdb_minus"] = gap["imdb"].sub(gap, level="seed")
        for name, rows in (("seeds", base), ("uniform", flat)) if chosen == "dev" else ():
            found |= {f"jsd_{name}": rows["jsd"], f"tvd_halved_{name}": distance.HALVED * rows["tvd"]}
        parts += [values.rename("value").reset_index().assign(selection=chosen, measure=name)
                  for name, values in found.items()]  # fmt: skip
    return pd.concat(parts)


def of_guides(scores: pd.DataFrame) -> pd.DataFrame:
    """F1 of the networks guided by each source, and of the base minus that of the network it guides: corpus, seed,
    measure, value. scores: of `guided_scores`."""
    base = classifiers(list(scores["corpus"].unique())).set_index(["corpus", "seed"])["f1_1"]
    own = scores[scores["source"] == "own"].join(base, on=["corpus", "base_seed"])
    gaps = own.assign(measure="f1_base_minus_guided", value=own["f1_1"] - own["f1"])
    guided = scores.assign(measure="f1_guided_" + scores["source"], value=scores["f1"])
    return pd.concat([guided, gaps])[["corpus", "seed", "measure", "value"]]


def of_curves(corpus: str, asked: Iterable[str]) -> pd.DataFrame:
    """What bands ask of each seed's curve: corpus, seed, measure, value; TVD halved, on straight lines between points.
    asked: measures of the rules, such as curve_at_0.3 (at this JSD)."""
    curves = adversaries(corpus)
    best = curves[curves["divergence"] == best_of(curves)]
    base, beside = classifiers(corpus), {"search": searched(corpus), "uniform": classifiers(corpus, "uniform")}
    less = best["base_seed"].map(base.set_index("seed")["f1_1"]) - best["f1_1"]
    rows = [("f1_of_adversary", *pair) for pair in zip(best["seed"], less, strict=True)]
    for seed, curve in curves.groupby("seed", sort=False):
        read = lambda jsd, curve=curve: distance.tvd_at(curve["jsd"], curve["tvd"], jsd)
        found = {name: read(float(name.removeprefix("curve_at_"))) for name in asked if name.startswith("curve_at_")}
        for name, points in beside.items():
            if points is not None:
                found[f"{name}_off_curve"] = points["tvd"].mean() - read(points["jsd"].mean())
        left = curve.loc[curve["divergence"] > 0, "tvd"].head(1)  # the smallest divergence above 0
        found["seeds_off_curve"] = base["tvd"].mean() - left.mean()
        rows += [(name, seed, distance.HALVED * value) for name, value in found.items()]
    return pd.DataFrame(rows, columns=["measure", "seed", "value"]).assign(corpus=corpus)


def noted(rule, rows: pd.DataFrame, guides: Mapping) -> dict:
    """What a rule wants besides its numbers, see NOTES. guides: models by data set and source of the weights."""
    name = rule.measure_ours
    values = rows[(rows["corpus"] == rule.corpus) & (rows["measure_ours"] == name)]["value"]
    models = guides.get((rule.corpus, name.removeprefix("f1_guided_")), len(values))
    # Uniform weights are the same whatever the seed, seeds guided by one model are one draw of its weights.
    alike = name == "jsd_uniform" or rule.kind == "number" and models < len(values)
    return {"guides": models} | ({"mean": values.mean(), "n_seeds": models} if alike and len(values) else {})


DOCUMENTS = {"jsd_of_seeds": "median", "jsd_of_search": "two", "tvd_halved_of_search": "tvd"}
"""What is asked of documents -> column of `distance.per_instance` or `distance.searched`."""


def over_documents(corpus: str, rules: pd.DataFrame) -> dict[str, dict]:
    """Notes by rule: medians in bins of Figure 3, the search's means in Figure 5, bootstrapped over documents."""
    tables, found = seed_tables(corpus), {}
    known = {"seeds": distance.per_instance(tables) if tables else None, "search": searched(corpus)}
    for rule in rules.itertuples():
        of, whole = rule.measure_ours.rpartition("_")[2], rule.item == "Figure 5"
        if (rows := known[of]) is None:
            continue
        rows = rows if rule.predicted == "all" else rows[rows["predicted"] == int(rule.predicted)]
        rows = rows if rule.bin == "all" else rows[attention_bin(rows["max_attention"]) == rule.bin]
        column = "jsd" if whole and of == "search" and rule.measure_ours[0] == "j" else DOCUMENTS[rule.measure_ours]
        values = rows[column].dropna().to_numpy(np.float64) * (distance.HALVED if column == "tvd" else 1)
        if len(values):
            middle = np.mean if whole else np.median
            low, high = bootstrap_interval(values, statistic=middle)
            found[rule.id] = {"mean": float(middle(values)), "low": low, "high": high,
                              "n_seeds": len(tables) if of == "seeds" else 1,
                              "documents": np.nan if whole else len(values)}  # fmt: skip
    return found
