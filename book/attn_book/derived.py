"""Numbers that follow from stored ones: Serrano & Smith's statements, contrasts of guides, read-offs of curves, counts.

`of_jain`, `of_serrano` and `of_wiegreffe` give what the scorecard merges with each paper's rules.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from attn_core import archive, baselines, index
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments import attention_bin, frontier, variance
from attn_core.experiments.guides import SOURCES, guides_of
from attn_core.experiments.search import search
from attn_core.index import HEADLINE_SEEDS, documents, numbers
from attn_core.measures import bootstrap_interval
from attn_core.runs import SEEDS, Run

PLACE = ["corpus", "encoder_ours", "attention_ours", "selection", "measure_ours", "statistic_ours", "predicted", "bin"]
"""What a number of ours is found by; encoder and attention are empty where it is of a data set."""

NAMED = {"encoder": "encoder_ours", "attention": "attention_ours", "measure": "measure_ours",
         "statistic": "statistic_ours"}  # fmt: skip

COUNTED = ("vocabulary_size", "average_length_tokens", "train_size", "test_size")
"""Measures of Table 1 that describe the data and depend on no seed."""


@dataclass(frozen=True)
class Stored:
    """What is stored for the rules of one paper.

    numbers: columns PLACE, seed, value. documents: columns PLACE without statistic, seed, n: documents of a group.
    data: by corpus, the columns data and n_train. notes: by rule id, where a rule wants more than the rest tells:
    mean, low, high, n_seeds (an interval that is not over seeds), absent (why there is no number), documents, weak,
    asked (seeds below which a claim has no verdict), guides (models behind the seeds).
    """

    numbers: pd.DataFrame
    documents: pd.DataFrame
    data: pd.DataFrame
    notes: pd.DataFrame


def of_runs(rules: pd.DataFrame, **where: object) -> pd.DataFrame:
    """The numbers of standard runs that rules ask for: columns PLACE, seed, value, n (documents), data, n_train."""
    rules = rules[~rules["measure_ours"].isin(COUNTED)]
    names = ("measure", "statistic")  # where no run has one of them, its rules have no number
    asked = [set(rules[f"{name}_ours"]) & index.has(name) for name in names]
    rows = numbers(asked[0], asked[1] | {"n"} & index.has("statistic"), "any", "any", **where)
    group = ["key", "measure", "predicted", "bin"]
    counts = rows[rows["statistic"] == "n"].set_index(group)["value"].rename("n")
    columns = ["key", "measure", "predicted", "bin", "corpus", "encoder", "attention", "selection", "seed", "statistic"]
    return rows[[*columns, "value", "data", "n_train"]].join(counts, on=group).drop(columns="key").rename(columns=NAMED)


def of_data(rows: pd.DataFrame) -> pd.DataFrame:
    """By corpus: data and n_train of its runs."""
    return rows.groupby("corpus", sort=False)[["data", "n_train"]].last()


# ---- Jain & Wallace --------------------------------------------------------------------------------------------------


def of_jain(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs, and the counts of Table 1."""
    rows = of_runs(rules, family=["text", "pair"])
    models = ["corpus", "encoder_ours", "attention_ours"]
    known = rows[~rows["measure_ours"].isin(("accuracy", "macro_f1"))][models].drop_duplicates()
    known = known.set_axis(["corpus", "encoder", "attention"], axis=1).assign(absent="no document")
    notes = rules.merge(known, how="left").set_index("id")[["absent"]]
    counts = counted(rules, set(rows["corpus"]))
    notes = notes.join(pd.DataFrame({"mean": counts, "low": np.nan, "high": np.nan, "n_seeds": 1.0}))
    return Stored(rows, rows[rows["statistic_ours"] == "n"], of_data(rows), notes)


def counted(rules: pd.DataFrame, corpora: set[str]) -> pd.Series:
    """Counts of Table 1 by rule id, from the statistics of a run's data.

    Vocabulary: Table 1 counts all splits for most sets, the training split for SNLI and CNN, and for bAbI the joint
    words of the three tasks (our answers) with four special ids.
    """
    first, found = index.runs(family=["text", "pair"]).drop_duplicates("corpus"), {}
    records = {result.record["run"]["corpus"]: result.record for result in index.results(first["key"], summaries=False)}
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

BOXES = ("random", "attention", "gradient", "product")
"""The paper's four orders of removal."""


def of_serrano(rules: pd.DataFrame) -> Stored:
    """Numbers of the standard runs and the statements made of them; models that do not do their task are weak."""
    plain = rules[~rules["measure_ours"].str.startswith("statement_")]
    rows = pd.concat([of_runs(plain, family="hierarchical"), statements()], ignore_index=True)
    data = of_data(rows)
    chosen = index.runs(family="hierarchical")
    bad = {model: weakness(model[0], part["accuracy"]) for model, part in chosen.groupby(["corpus", "encoder"])}
    pairs = [(rule.id, (rule.corpus, name)) for rule in rules.itertuples() for name in rule.encoder.split("-")]
    weak = {rule for rule, model in pairs if bad.get(model)}
    return Stored(rows, rows.iloc[:0], data, pd.DataFrame({"weak": True}, index=pd.Index(sorted(weak), name="id")))


def removed(order: str, group: str = "common", statistic: str = "mean") -> Callable:
    """Fraction removed under an order; 'common': documents that flip under every order, 'all': its own."""
    return lambda run: run[f"fraction_{order}", group, statistic]


def cell(name: str) -> Callable:
    """Share of a cell of the 2x2 table, attention's top item against r as coded."""
    return lambda run: run["flips_attention@coded", "all", name] / 100


def minus(first: Callable, second: Callable) -> Callable:
    """A difference within one run."""
    return lambda run: first(run) - second(run)


def one_sided(run: Mapping) -> float:
    """'Only r flips' as a share of the flips of one item alone; NaN without any."""
    only_top, only_random = cell("only_top")(run), cell("only_random")(run)
    with np.errstate(invalid="ignore"):
        return np.divide(only_random, only_top + only_random)


STATEMENTS: dict[str, Callable] = {
    "1a": lambda run: 1 - run["delta_js@coded", "all", "share_negative"],
    "1b": lambda run: run["delta_js@coded", "all", "spearman"],
    "1c": lambda run: run["delta_js@coded", "all", "near_0"],
    "2a": lambda run: run["delta_js@coded", "all", "share_negative"],
    "2b": lambda run: run["delta_js@coded", "all", "negative_near_0"],
    "3a": cell("neither"),
    "3b": minus(cell("only_top"), cell("only_random")),
    "3c": cell("only_random"),
    "3d": lambda run: abs(one_sided(run) - run["delta_js@coded", "all", "share_negative"]),
    "4a": minus(removed("random"), removed("attention")),
    "4b": minus(removed("attention"), removed("gradient")),
    "4c": minus(removed("gradient"), removed("product")),
    "5": lambda run: np.maximum.reduce([removed(order, "all", "median")(run) for order in BOXES]),
    "6": removed("attention", "all"),
    "7": lambda run: removed("attention")(run) - 0.5 * (removed("gradient")(run) + removed("product")(run)),
    "8": lambda run: run["gradient_first", "all", "mean"],
}  # fmt: skip
"""Number of a claim -> the value of one run, from (measure, bin, statistic) -> a number, or an array over runs.

1a: share of JS differences that are not negative. 1b: their rank correlation with the weight gap. 1c, 2b: shares near
zero. 3: the 2x2 table; 3d: how far 'only r flips', as a share of one-sided flips, lies from the share of negative
differences. 4, 6, 7: fractions removed. 5: the largest of the four orders' medians. 8: how often the gradient flips
with fewer removals than attention.
"""


def statements() -> pd.DataFrame:
    """The numbers that Serrano & Smith's claims speak of, one per run, in the columns of `Stored.numbers`."""
    chosen = index.runs(family="hierarchical")
    rows = numbers("any", "any", bin="any", family="hierarchical")
    rows = rows[rows["statistic"].isin(ASKED) & rows["key"].isin(chosen["key"])]
    wide = rows.pivot(index=["measure", "bin", "statistic"], columns="key", values="value")
    wide = wide.reindex(columns=chosen["key"])
    run = _Arrays(wide)
    parts = [chosen.assign(measure=f"statement_{name}", value=value(run)) for name, value in STATEMENTS.items()]
    found = pd.concat(parts)
    found = found.assign(statistic="value", predicted="all", bin="all", n=np.nan).rename(columns=NAMED)
    return found[[*PLACE, "seed", "value", "n", "data", "n_train"]]


ASKED = (
    "share_negative", "spearman", "near_0", "negative_near_0", "neither", "only_top", "only_random", "mean", "median",
)  # fmt: skip


class _Arrays(dict):
    """(measure, bin, statistic) -> its values over runs; NaN where no run has it."""

    def __init__(self, wide: pd.DataFrame) -> None:
        super().__init__(zip(wide.index, wide.to_numpy(float), strict=True))
        self.runs = wide.shape[1]

    def __missing__(self, place: tuple) -> np.ndarray:
        return np.full(self.runs, np.nan)


def weakness(corpus: str, accuracies: Iterable[float]) -> str:
    """Why the runs of a model enter no claim, in words; '' where they do. Generated sets have no bar to pass."""
    if CATALOGUE[corpus].generated:
        return ""
    if corpus not in set(baselines.stored()["corpus"]):
        return "no baseline was measured"
    return baselines.fit_to_count(corpus, list(accuracies))[1]


# ---- Wiegreffe & Pinter ----------------------------------------------------------------------------------------------

LAST, MOVED = 5, 0.02
"""An adversary has settled if its JSD on the test set moved by at most MOVED over its last LAST epochs."""

BEST_FROM = 0.4
"""Mean JSD from which an adversary may be the best of its data set (the paper's Table 4, by a public note)."""


def classifiers(corpora: str | Iterable[str], attention: str = "tanh", selection: str = "dev") -> pd.DataFrame:
    """The paper's classifiers, rows of `index.runs`: the bases ('tanh') or the models with equal weights ('uniform').

    Columns jsd and tvd (|p' - p|) are means over the test set beside the base of seed 10.
    """
    return index.runs(corpus=corpora, encoder="lstm", attention=attention, selection=selection, source="archive")


def adversaries(corpora: str | Iterable[str], every: bool = False) -> pd.DataFrame:
    """Adversaries trained against bases chosen on development data, rows of `index.runs` by seed and divergence.

    settled: whether the JSD stood still at the end (MOVED). Of those that differ in nothing but their epochs only the
    one trained for most, unless every one is asked for.
    """
    rows = index.runs(corpus=corpora, encoder="lstm", attention="tanh", divergence="any", source="archive")
    bases = {Run(corpus, seed=seed).key for corpus in set(rows["corpus"]) for seed in SEEDS}
    rows = rows[rows["divergence"].notna() & rows["base"].isin(bases)]
    histories = [result.record.get("history", ()) for result in index.results(rows["key"], summaries=False)]
    tails = [[epoch.get("test_jsd", np.nan) for epoch in history[-LAST - 1 :]] for history in histories]
    moved = np.array([np.ptp(tail) if tail else np.nan for tail in tails], float)
    rows = rows.assign(settled=moved <= MOVED)
    if not every:
        rows = rows.sort_values("epochs_trained", ascending=False, kind="stable")
        rows = rows.drop_duplicates(["corpus", "seed", "base_seed", "divergence"])
    return rows.sort_values(["corpus", "seed", "divergence"], kind="stable").reset_index(drop=True)


def guided_scores(corpora: Iterable[str], selection: str = "dev") -> pd.DataFrame:
    """The table that `experiments.guides` takes: corpus, source, seed, base_seed (of the model whose weights guide, -1
    for none), base (its key), divergence (of an adversary that guides), f1 (of class 1), auc.

    Of several adversaries that guide, the one with the best F1 among those of a mean JSD of at least BEST_FROM counts,
    a choice on the test set, as in the paper; where none is so far, the one with the largest divergence.
    """
    rows = index.runs(
        corpus=list(corpora), encoder="average", guide="any", words="any", selection=selection, source="archive"
    )
    learned = rows["attention"].map({"uniform": "uniform", "tanh": "trained"})
    source = rows["guide"].where(rows["guide"] != "", learned)
    source = source.mask(rows["base_divergence"].notna(), rows["guide"].map({"own": "adversary"}))
    source = source + (", " + rows["words"]).where(rows["words"] != "text", "")
    rows = rows.assign(source=source, base_seed=rows["base_seed"].fillna(-1).astype(int))
    rows = rows.drop(columns="divergence").rename(columns={"base_divergence": "divergence", "f1_1": "f1"})
    rows, parts = rows[rows["source"].isin(SOURCES)], []
    for corpus in corpora:
        mine = rows[rows["corpus"] == corpus]
        led = mine[mine["source"] == "adversary"]
        if len(led):
            far = adversaries(corpus, every=True)
            far = far[far["key"].isin(led["base"])].groupby("divergence")[["jsd", "f1_1"]].mean()
            far = far[far["jsd"] >= BEST_FROM]
            best = far["f1_1"].idxmax() if len(far) else led["divergence"].max()
            mine = mine[(mine["source"] != "adversary") | (mine["divergence"] == best)]
        parts.append(mine.drop_duplicates(["source", "seed"]))
    columns = ["corpus", "source", "seed", "base_seed", "base", "divergence", "f1", "auc"]
    return pd.concat([rows.iloc[:0], *parts])[columns].reset_index(drop=True)


def seed_tables(corpus: str) -> dict[int, pd.DataFrame]:
    """seed -> its table of `experiments.variance.against` beside the base of seed 10."""
    store, rows = archive.archive_folder(), classifiers(corpus)
    tables = {row.seed: archive.read(store, row.key).against for row in rows.itertuples() if row.seed != SEEDS[0]}
    return {seed: table for seed, table in tables.items() if table is not None}


def searched(corpus: str) -> pd.DataFrame | None:
    """The per-document search (`frontier.searched`) on the traces of the base of seed 10; None without these."""
    rows = classifiers(corpus)
    first = rows[rows["seed"] == SEEDS[0]]["key"]
    return searched_once(first.iloc[0]) if len(first) else None


@lru_cache(maxsize=None)
def searched_once(key: str) -> pd.DataFrame | None:
    """`frontier.searched` of an archived run, made once and kept in the cache; not to be changed in place."""
    result = archive.read(archive.archive_folder(), key)
    if result.traces is None:
        return None
    make = lambda: frontier.searched(result.traces, search(result.traces))
    return index.kept(f"searched-{key}", result.record["files"]["traces.parquet"], make)


@lru_cache(maxsize=None)
def planned() -> tuple[Run, ...]:
    """The runs of data/sweeps/wiegreffe-*.yml; none where a download holds no grids."""
    from attn_core.sweep import read_grid

    folder = archive.archive_folder().parent / "sweeps"
    return tuple(run for path in sorted(folder.glob("wiegreffe-*.yml")) for run in read_grid(path))


def planned_pairs() -> dict[str, int]:
    """Data set -> pairs of base and model with equal weights planned for it."""
    twins = {(run.corpus, run.seed) for run in planned() if (run.encoder, run.attention) == ("lstm", "uniform")}
    return dict(Counter(corpus for corpus, seed in twins if seed in SEEDS))


def of_wiegreffe(rules: pd.DataFrame) -> Stored:
    """Scores, gaps within seeds, read-offs of trained curves, medians over documents."""
    corpora = list(dict.fromkeys(rules["corpus"]))
    runs = index.runs(corpus=corpora, family="text", source="archive")
    here = [corpus for corpus in corpora if corpus in set(runs["corpus"])]
    scores = {corpus: guided_scores([corpus]) for corpus in here}
    rows = pd.DataFrame(
        [row for corpus in here for row in (*of_classifiers(corpus), *of_guides(corpus, scores[corpus]),
                                            *of_curves(corpus))],
        columns=["corpus", "selection", "measure_ours", "seed", "value"],
    )  # fmt: skip
    imdb = rows[(rows["corpus"] == "imdb") & (rows["measure_ours"] == "f1_gap")]
    both = rows[rows["measure_ours"] == "f1_gap"].merge(imdb, on=["selection", "seed"], suffixes=("", "_imdb"))
    both = both.assign(value=both["value_imdb"] - both["value"], measure_ours="f1_gap_imdb_minus")
    rows = pd.concat([rows, both[list(rows)]], ignore_index=True)
    rows = rows.assign(encoder_ours="", attention_ours="", statistic_ours="value", predicted="all", bin="all", n=np.nan)
    data = runs.drop_duplicates("corpus").set_index("corpus")[["data", "n_train"]]
    mine = rules[rules["corpus"].isin(here)]
    notes = {rule.id: noted(rule, scores[rule.corpus], rows) for rule in mine.itertuples()}
    return Stored(rows, rows.iloc[:0], data, pd.DataFrame.from_dict(notes, orient="index"))


def of_classifiers(corpus: str) -> list[tuple]:
    """F1 of base and uniform model, their gap, and how far each lies from the base of seed 10; TVD halved."""
    rows = []
    for chosen in ("dev", "test"):
        base, flat = (classifiers(corpus, name, chosen).set_index("seed")["f1_1"] for name in ("tanh", "uniform"))
        gap = (base - flat).dropna()
        for name, values in (("f1_base", base), ("f1_uniform", flat), ("f1_gap", gap)):
            rows += [(corpus, chosen, name, seed, value) for seed, value in values.items()]
    for attention, name in (("tanh", "seeds"), ("uniform", "uniform")):
        for row in classifiers(corpus, attention).dropna(subset="jsd").itertuples():
            rows.append((corpus, "dev", f"jsd_{name}", row.seed, row.jsd))
            rows.append((corpus, "dev", f"tvd_halved_{name}", row.seed, frontier.HALVED * row.tvd))
    return rows


def of_guides(corpus: str, scores: pd.DataFrame) -> list[tuple]:
    """F1 of the networks guided by each source, and of the base minus that of the network it guides."""
    rows = [(corpus, "dev", f"f1_guided_{row.source}", row.seed, row.f1) for row in scores.itertuples()]
    base, own = classifiers(corpus).set_index("seed")["f1_1"], scores[scores["source"] == "own"]
    gaps = [(row.seed, base.get(row.base_seed, np.nan) - row.f1) for row in own.itertuples()]
    return rows + [(corpus, "dev", "f1_base_minus_guided", *gap) for gap in gaps]


READ_AT = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.68)
"""JSD at which the rules read the curve of trained adversaries."""


def of_curves(corpus: str) -> list[tuple]:
    """What bands ask of each curve that holds every planned divergence; TVD halved, on straight lines between all
    points."""
    curves, rows = adversaries(corpus), []
    wanted = {run.divergence for run in planned() if run.corpus == corpus and run.divergence is not None}
    curves = curves.groupby("seed").filter(lambda curve: wanted <= set(curve["divergence"]))
    means = curves.groupby("divergence")[["jsd", "f1_1"]].mean()
    best = means[means["jsd"] >= BEST_FROM]["f1_1"]
    best = curves[curves["divergence"] == (best.idxmax() if len(best) else np.nan)]
    base, flat = classifiers(corpus).set_index("seed"), classifiers(corpus, "uniform")
    seeds = base["tvd"]
    less = [(row.seed, base["f1_1"].get(row.base_seed, np.nan) - row.f1_1) for row in best.itertuples()]
    rows += [(corpus, "dev", "f1_of_adversary", *gap) for gap in less]
    for seed, curve in curves.groupby("seed", sort=False):
        at = {jsd: frontier.HALVED * frontier.tvd_at(curve["jsd"], curve["tvd"], jsd) for jsd in READ_AT}
        point, found = searched(corpus), {f"curve_at_{jsd:g}": value for jsd, value in at.items()}

        def off(jsd, tvd, curve=curve):
            return frontier.HALVED * (tvd - frontier.tvd_at(curve["jsd"], curve["tvd"], jsd))

        if point is not None:
            found["search_off_curve"] = off(point["jsd"].mean(), point["tvd"].mean())
        found["uniform_off_curve"] = off(flat["jsd"].mean(), flat["tvd"].mean())
        left = curve[curve["divergence"] > 0].head(1)["tvd"]  # the smallest divergence above 0
        found["seeds_off_curve"] = frontier.HALVED * (seeds.mean() - left.iloc[0]) if len(left) else np.nan
        rows += [(corpus, "dev", name, seed, value) for name, value in found.items()]
    return rows


def noted(rule, scores: pd.DataFrame, rows: pd.DataFrame) -> dict:
    """What a rule wants besides its numbers, see `Stored.notes`."""
    corpus, name = rule.corpus, rule.measure_ours
    notes = {}
    if rule.kind == "band" and len(adversaries(corpus)):
        notes["absent"] = "incomplete curve"
    if name in ("jsd_of_seeds", "jsd_of_search", "tvd_halved_of_search"):
        notes |= over_documents(rule)
    if name.startswith("f1_gap"):  # all pairs that are planned, as on their page
        pairs, sets = planned_pairs(), {corpus, *(["imdb"] if "imdb" in name else [])}
        notes["asked"] = max([HEADLINE_SEEDS, *(pairs.get(one, 0) for one in sets)])
    if name.startswith("f1_guided_"):  # seeds guided by one model are one draw of its weights
        guides = guides_of(scores[scores["source"] == name.removeprefix("f1_guided_")])
        values = rows[(rows["corpus"] == corpus) & (rows["measure_ours"] == name)]["value"].dropna()
        notes["guides"] = guides
        if rule.kind == "number" and guides < len(values):
            notes |= {"mean": values.mean(), "low": np.nan, "high": np.nan, "n_seeds": guides}
    if name == "jsd_uniform":  # uniform weights are the same whatever the seed
        values = rows[(rows["corpus"] == corpus) & (rows["measure_ours"] == name)]["value"].dropna()
        if len(values):
            notes |= {"mean": values.mean(), "low": np.nan, "high": np.nan, "n_seeds": len(values)}
    return notes


def over_documents(rule) -> dict:
    """A median in a bin of Figure 3, or the search's point in Figure 5, with its bootstrap interval over documents."""
    if rule.item == "Figure 5":
        rows = searched(rule.corpus)
        if rows is None:
            return {}
        values = rows["jsd"] if rule.measure_ours == "jsd_of_search" else frontier.HALVED * rows["tvd"]
        low, high = bootstrap_interval(values.to_numpy())
        return {"mean": float(values.mean()), "low": low, "high": high, "n_seeds": 1}
    rows, column = searched(rule.corpus), "two"
    if rule.measure_ours == "jsd_of_seeds":
        tables = list(seed_tables(rule.corpus).values())
        rows, column = variance.per_instance(tables) if tables else None, "median"
    if rows is None:
        return {}
    seeds = int(rows["n_tables"].iloc[0]) if "n_tables" in rows else 1
    rows = rows if rule.predicted == "all" else rows[rows["predicted"] == int(rule.predicted)]
    rows = rows if rule.bin == "all" else rows[attention_bin(rows["max_attention"]) == rule.bin]
    if not len(rows):
        return {}
    values = rows[column].dropna().to_numpy(np.float64)
    low, high = bootstrap_interval(values, statistic=np.median)
    return {"mean": float(np.median(values)), "low": low, "high": high, "n_seeds": seeds, "documents": len(values)}
