"""The papers' numbers, and ours beside them: a merge of the rules in data/reported/tolerances.csv with stored numbers.

A rule names our number in its last columns, filled once: measure_ours, statistic_ours, predicted, bin (several, with
blanks between: their mean weighted by documents), encoder_ours (empty: the number is of a data set, not of one model),
minus ('encoder_ours=lstm', 'measure_ours=…': what is taken off within seeds), selection; kind (number, range, claim or
band), side (of its threshold) and late (added after its runs were stored).
"""

from functools import cache

import numpy as np
import pandas as pd

from attn_book import derived
from attn_book.corrected import holm, p_of
from attn_book.derived import COUNTED, PLACE, SCORES
from attn_book.fasttext import newest
from attn_core.errors import AttnError
from attn_core.measures import HEADLINE_SEEDS, INTERVAL_SEEDS, LEVEL
from attn_lab.data.catalogue import CATALOGUE, WIEGREFFE
from attn_lab.runs.baselines import weak
from attn_lab.runs.index import over_seeds, runs
from attn_lab.runs.store import reported_folder

FINAL_RUN = "2019-05-15"
APRIL_RUN = "2019-04-04"
"""Snapshots of Jain & Wallace's own results: their last run, and the run behind Table 2 and Figures 6 to 8."""

PRINTED_COLUMN = [
    "paper",
    "item",
    "encoder",
    "attention",
    "measure",
    "statistic",
]
"""What the numbers of one printed column share."""

FEWEST_IN_BIN = 20
"""Documents of a bin of a figure below which it is not judged (the rule in tolerances.csv)."""

FEWEST = 50
"""Documents below which nothing is claimed."""

CLAIMED = [*PRINTED_COLUMN, "group"]
"""What the data sets of one claim share."""

ROUNDING = 1e-9
"""By how much a value may lie beyond its tolerance: 0.1 + 0.3 is more than 0.4 in binary."""


@cache
def _table(name: str) -> pd.DataFrame:
    paths = {path.name.partition(".")[0]: path.name for path in sorted(reported_folder().glob("*.csv*"))}
    if name not in paths:
        raise AttnError(f"no reported table '{name}'; known: {', '.join(paths)}")
    table = derived.measured(
        paths[name],
        "reported",
        dtype={"class": "string"},
    )
    if name == "tolerances":  # what names our number is text, empty where nothing is asked
        asked = table.loc[:, "kind":"late"]
        table[asked.columns] = asked.fillna("").astype(str)
    if "dataset" in table:
        ours = {pair: entry.name for entry in CATALOGUE.values() for pair in entry.reported}
        # Some tables spell data sets Wiegreffe & Pinter's way, whoever's numbers they hold.
        spelled = zip(table["paper"], table["dataset"], strict=True)
        table["corpus"] = [ours.get(pair, ours.get((WIEGREFFE, pair[1]), pair[1])) for pair in spelled]
    return table


def reported(table: str, **where: object) -> pd.DataFrame:
    """Rows of a reported table by values of its columns: reported('jain_table2_kendall_tau', corpus='sst')."""
    rows = _table(table)
    chosen = (rows[list(where)] == list(where.values())).all(axis=1)
    return rows[chosen].copy()


def scorecard(paper: str | None = None) -> pd.DataFrame:
    """One row per scored number or claim; verdict 'holds', 'differs', 'undecided' (see `verdicts`) or 'unjudged'.

    paper: its rows alone, None takes all three. Columns: those of tolerances.csv; ours, low, high, n_seeds;
    data (see `provenance.data_kind`), n_train; reported; verdict; unjudged, why a row has no verdict ('no run', 'no
    document', 'few documents', 'few seeds', 'weak model', 'by its gap'), '' where it has one; null_prediction, see
    `guessed`.
    """
    if paper not in (None, *derived.OF_PAPER):
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: {', '.join(derived.OF_PAPER)}")
    rules = reported("tolerances", **{} if paper is None else {"paper": paper})
    models = newest(runs, family=["text", "pair", "hierarchical"])
    data = models.groupby("corpus")[["data", "n_train"]].last()
    table = rules.set_index("id").join(measured(rules)).join(data, on="corpus")
    table["reported"] = table["reference"]
    table["unjudged"] = unjudged(table, models)
    table.loc[table["ours"].isna(), ["data", "n_train"]] = "absent", np.nan
    table["verdict"] = np.where(
        table["unjudged"] == "",
        verdicts(table),
        "unjudged",
    )
    table.loc[chance_among_sets(table), "verdict"] = "undecided"
    table = table.drop(columns=["documents", "guides"]).reset_index()
    table = table.fillna({"n_seeds": 0}).astype({"n_seeds": int, "n_train": "Int64"})
    return table.assign(null_prediction=guessed(table))


def guessed(rows: pd.DataFrame) -> pd.Series:
    """What one would say of a printed number without a model: the mean of its printed column over the other data sets;
    NaN where there are none, and for ranges, claims and bands."""
    numbers = rows[rows["kind"] == "number"]
    column = numbers.groupby(PRINTED_COLUMN, dropna=False)["reported"]
    in_set = numbers.groupby([*PRINTED_COLUMN, "corpus"], dropna=False)["reported"]
    elsewhere = column.transform("sum") - in_set.transform("sum")
    count = column.transform("size") - in_set.transform("size")
    return elsewhere / count.where(count > 0)


# ---- the verdict of a row --------------------------------------------------------------------------------------------


def verdicts(rows: pd.DataFrame) -> np.ndarray:
    """'holds', 'differs' or 'undecided', by where the whole 95 % interval lies.

    A number (or range) holds where it lies within the tolerance of the printed value, differs where it lies outside;
    a claim (or band) holds where it lies on the claimed side of the threshold, differs on the other. In between, where
    the interval contains an edge, nothing is decided. What is the same in every seed has no interval and is judged by
    its value. rows: side, reported, tolerance (of a claim NaN), ours, low, high.
    """
    low, high = (rows[end].fillna(rows["ours"]) for end in ("low", "high"))
    tolerance = rows["tolerance"] + ROUNDING
    above, below = rows["side"] == "above", rows["side"] == "below"
    least = (rows["reported"] - tolerance).mask(above, rows["reported"]).mask(below, -np.inf)
    most = (rows["reported"] + tolerance).mask(below, rows["reported"]).mask(above, np.inf)
    holds = (low > least) & (high < most)
    differs = (low > most) | (high < least)
    return np.select([holds, differs], ["holds", "differs"], "undecided")


def chance_among_sets(rows: pd.DataFrame) -> pd.Series:
    """Of which claims the interval lies on one side, but not after Holm's correction over the claim's data sets."""
    asked = rows[(rows["side"] != "") & (rows["unjudged"] == "")].rename(columns={"ours": "mean"})
    p = p_of(asked, asked["reference"])
    corrected = p.groupby([asked[name] for name in CLAIMED], dropna=False).transform(holm)
    return ((p < LEVEL) & (corrected >= LEVEL)).reindex(rows.index, fill_value=False)


def unjudged(table: pd.DataFrame, models: pd.DataFrame) -> pd.Series:
    """Why each rule has no verdict, '' where it has one. models: runs of the papers' families."""
    threshold = table["side"] != ""
    seeds = np.minimum(table["n_seeds"], table["guides"].fillna(np.inf))
    no_interval = table["low"].isna() & ~table["measure_ours"].isin(COUNTED)
    documents = table["documents"].fillna(table["corpus"].map(models.groupby("corpus")["n_test"].min()))
    places = pd.MultiIndex.from_frame(table[["corpus", "encoder_ours", "attention"]])
    ran = places.isin(pd.MultiIndex.from_frame(models[["corpus", "encoder", "attention"]]))

    absent = table["ours"].isna()
    reasons = {
        "no document": absent & ran,
        "no run": absent,
        "few documents": documents < np.where(threshold, FEWEST, FEWEST_IN_BIN),
        "weak model": unable(table, models),
        "by its gap": ~threshold & table["tolerance"].isna(),
        "few seeds": np.where(
            threshold,
            seeds < HEADLINE_SEEDS,
            no_interval & (seeds < INTERVAL_SEEDS),
        ),
    }
    return pd.Series(np.select(list(reasons.values()), list(reasons), ""), table.index)


def unable(rules: pd.DataFrame, models: pd.DataFrame) -> pd.Series:
    """Of each rule whether a model it compares did not do its task; scores are compared all the same."""
    fails = pd.concat({attention: weak(rows) for attention, rows in models.groupby("attention")})
    weak_models = fails.index[fails]
    of_weak = np.zeros(len(rules), bool)
    for encoder in (rules["encoder_ours"], rules["minus"].str.removeprefix("encoder_ours=")):
        of_weak |= pd.MultiIndex.from_arrays([rules["attention"], rules["corpus"], encoder]).isin(weak_models)
    return of_weak & ~rules["measure_ours"].isin(SCORES)


# ---- our number of a row ---------------------------------------------------------------------------------------------


def placed(rules: pd.DataFrame) -> pd.DataFrame:
    """Rules with the places of our numbers in PLACE, instead of the paper's."""
    ours = {name: rules[f"{name}_ours"] for name in ("encoder", "measure", "statistic")}
    return rules.assign(**ours, attention=rules["attention"].where(ours["encoder"] != "", ""))


def measured(rules: pd.DataFrame) -> pd.DataFrame:
    """By rule id: ours, low, high, n_seeds, as noted or over seeds; documents of the rule's class and bin in the seed
    that has the fewest, 0 in one without any; guides."""
    numbers, notes = derived.stored(rules)
    asked = placed(rules)
    noted = notes.index[notes["n_seeds"].notna()]
    seeds = over_seeds(values(asked[~asked["id"].isin(noted)], numbers), "id").set_index("id")
    binned = asked[asked["bin"] != "all"]
    # A seed that has no document in a bin has no row there: every seed of the model counts, with 0.
    every_seed = looked_up(binned.assign(predicted="all", bin="all"), numbers).index
    documents = looked_up(binned, numbers)["n"].reindex(every_seed, fill_value=0).groupby("id").min()
    table = notes.combine_first(seeds).combine_first(documents.to_frame("documents"))
    return table[derived.NOTES].astype(float).rename(columns={"mean": "ours"})


def values(
    rules: pd.DataFrame,
    numbers: pd.DataFrame,
    by: list[str] = PLACE,
) -> pd.DataFrame:
    """id (of the rule), seed, value, n (documents): what each rule asks for, differences within seeds; undefined ones
    left out. rules: `placed`. numbers: see `derived.Stored`. by: columns by which a rule finds its numbers."""
    first = looked_up(rules, numbers, by)
    compared = rules[rules["minus"] != ""]
    if len(compared):
        field = compared["minus"].str.split("_ours=")
        changed = {name: field.str[1].where(field.str[0] == name, compared[name]) for name in ("encoder", "measure")}
        second = looked_up(
            compared.assign(**changed),
            numbers,
            by,
        )["value"].reindex(first.index)
        first["value"] -= second.where(first.index.isin(compared["id"], 0), 0)
    return first[np.isfinite(first["value"])].reset_index()


def looked_up(
    rules: pd.DataFrame,
    numbers: pd.DataFrame,
    by: list[str] = PLACE,
) -> pd.DataFrame:
    """By id and seed the value of the place that each rule names; of several bins the mean, weighted by their
    documents; and n, these documents together."""
    bins = rules[["id", *by]].assign(bin=rules["bin"].str.split(" ")).explode("bin")
    asked = numbers["corpus"].isin(rules["corpus"]) & numbers["measure"].isin(rules["measure"])
    rows = bins.merge(numbers[asked], on=by).dropna(subset="value")
    n = rows["n"].fillna(1.0)
    rows = rows.assign(n=n, value=rows["value"] * n)[n > 0]
    sums = rows.groupby(["id", "seed"], sort=False)[["value", "n"]].sum()
    return sums.assign(value=(sums["value"] / sums["n"]).astype(float))
