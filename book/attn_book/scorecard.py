"""The papers' numbers, and ours beside them: a merge of the rules in data/reported/tolerances.csv with stored numbers.

A rule names our number in its last columns, filled once: measure_ours, statistic_ours, predicted, bin (several, with
blanks between: their mean weighted by documents), encoder_ours (empty: the number is of a data set, not of one model),
minus ('encoder_ours=lstm', 'measure_ours=…': what is taken off within seeds), selection; kind (number, range, claim or
band), side (of its threshold) and late (added after its runs were stored).
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from attn_book import derived
from attn_book.corrected import holm, p_of
from attn_book.derived import COUNTED, NOTES, PLACE, SCORES, Stored
from attn_book.fasttext import newest
from attn_core.errors import AttnError
from attn_core.measures import HEADLINE_SEEDS, INTERVAL_SEEDS, LEVEL
from attn_lab.data.catalogue import CATALOGUE, WIEGREFFE
from attn_lab.runs.baselines import weak
from attn_lab.runs.index import over_seeds, runs
from attn_lab.runs.store import read_data, reported_folder

FINAL_RUN = "2019-05-15"
APRIL_RUN = "2019-04-04"
"""Snapshots of Jain & Wallace's own results: their last run, and the run behind Table 2 and Figures 6 to 8."""

OURS = (
    "kind",
    "side",
    "late",
    "selection",
    "measure_ours",
    "statistic_ours",
    "predicted",
    "bin",
    "encoder_ours",
    "minus",
)
"""Columns of tolerances.csv that say which number of ours a rule judges, and how."""

PRINTED_COLUMN = ["paper", "item", "encoder", "attention", "measure", "statistic"]
"""What the numbers of one printed column share."""

STORED: dict[str, tuple[Callable[[pd.DataFrame], Stored], str | list[str]]] = {
    "jain": (derived.of_jain, ["text", "pair"]),
    "serrano": (derived.of_serrano, "hierarchical"),
    "wiegreffe": (derived.of_wiegreffe, "text"),
}
"""What is stored for the rules of each paper, and the families of its models."""

FEWEST_IN_BIN = 20
"""Documents of a bin of a figure below which it is not judged (the rule in tolerances.csv)."""

FEWEST = 50
"""Documents below which nothing is claimed."""

CLAIMED = ["paper", "item", "group", "encoder", "attention", "measure", "statistic"]
"""What the data sets of one claim share."""

ROUNDING = 1e-9
"""By how much a value may lie beyond its tolerance: 0.1 + 0.3 is more than 0.4 in binary."""


@cache
def _table(name: str) -> pd.DataFrame:
    paths = {path.name.partition(".")[0]: path.name for path in sorted(reported_folder().glob("*.csv*"))}
    if name not in paths:
        raise AttnError(f"no reported table '{name}'; known: {', '.join(paths)}")
    packed = "gzip" if paths[name].endswith(".gz") else None  # the largest, a twentieth of their size
    table = pd.read_csv(
        read_data(f"reported/{paths[name]}"),
        dtype={"class": "string"},
        compression=packed,
    )
    if name == "tolerances":  # what names our number is text, empty where nothing is asked
        table = table.fillna(dict.fromkeys(OURS, "")).astype(dict.fromkeys(OURS, str))
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

    paper: its rows alone, None takes all three. Columns: those of tolerances.csv; reported; ours, low, high, n_seeds;
    data (see `provenance.data_kind`), n_train; verdict; unjudged, why a row has no verdict ('no run', 'no document',
    'few documents', 'few seeds', 'weak model', 'by its gap'), '' where it has one; null_prediction, see `guessed`.
    """
    if paper not in (None, *STORED):
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: {', '.join(STORED)}")
    rules = reported("tolerances", **{} if paper is None else {"paper": paper})
    papers = [judged(of_paper, *STORED[name]) for name, of_paper in rules.groupby("paper", sort=False)]
    rows = pd.concat(papers, ignore_index=True)
    return rows.assign(null_prediction=guessed(rows))


def guessed(rows: pd.DataFrame) -> pd.Series:
    """What one would say of a printed number without a model: the mean of its printed column over the other data sets;
    NaN where there are none, and for ranges, claims and bands."""
    numbers = rows[rows["kind"] == "number"]
    column = numbers.groupby(PRINTED_COLUMN, dropna=False)["reported"]
    in_set = numbers.groupby([*PRINTED_COLUMN, "corpus"], dropna=False)["reported"]
    elsewhere = column.transform("sum") - in_set.transform("sum")
    count = column.transform("size") - in_set.transform("size")
    return elsewhere / count.where(count > 0)


def judged(rules: pd.DataFrame, stored: Callable[[pd.DataFrame], Stored], family: str | list[str]) -> pd.DataFrame:
    """The rules of one paper with our value, its interval, and the verdict. stored, family: of STORED."""
    numbers, notes = stored(rules)
    notes = notes.reindex(index=rules["id"], columns=NOTES)
    of_model = rules["encoder_ours"] != ""
    asked = rules.assign(attention_ours=rules["attention"].where(of_model, "").fillna(""))
    models = newest(runs, family=family)
    data = models.groupby("corpus")[["data", "n_train"]].last()
    table = asked.set_index("id").join(intervals(asked, numbers, notes)).join(data, on="corpus")
    table["reported"] = table["reference"]

    table["unjudged"] = unjudged(
        table,
        fewest_documents(asked, numbers),
        notes,
        models,
    )
    absent = table["ours"].isna() | table["data"].isna()
    table.loc[absent, ["ours", "low", "high", "n_train"]] = np.nan
    table.loc[absent, "n_seeds"] = 0
    table.loc[absent, "data"] = "absent"
    table["verdict"] = np.where(table["unjudged"] == "", verdicts(table), "unjudged")
    table.loc[chance_among_sets(table), "verdict"] = "undecided"
    table = table.drop(columns="attention_ours").reset_index()
    return table.astype({"n_seeds": int, "n_train": "Int64"})


# ---- the verdict of a row --------------------------------------------------------------------------------------------


def verdicts(rows: pd.DataFrame) -> np.ndarray:
    """'holds', 'differs' or 'undecided', by where the whole 95 % interval lies.

    A number (or range) holds where it lies within the tolerance of the printed value, differs where it lies outside;
    a claim (or band) holds where it lies on the claimed side of the threshold, differs on the other. In between, where
    the interval contains an edge, nothing is decided. What is the same in every seed has no interval and is judged by
    its value. rows: side, reported, tolerance (of a claim NaN), ours, low, high.
    """
    low = rows["low"].fillna(rows["ours"])
    high = rows["high"].fillna(rows["ours"])
    least = rows["reported"] - rows["tolerance"] - ROUNDING
    most = rows["reported"] + rows["tolerance"] + ROUNDING
    within = (low >= least) & (high <= most)
    outside = (low > most) | (high < least)
    above = rows["low"] > rows["reported"]
    below = rows["high"] < rows["reported"]
    holds = within | (above & (rows["side"] == "above")) | (below & (rows["side"] == "below"))
    differs = outside | (above & (rows["side"] == "below")) | (below & (rows["side"] == "above"))
    return np.select([holds, differs], ["holds", "differs"], "undecided")


def chance_among_sets(rows: pd.DataFrame) -> pd.Series:
    """Of which claims the interval lies on one side, but not after Holm's correction over the claim's data sets."""
    p = p_of(
        rows["ours"],
        rows["low"],
        rows["high"],
        rows["n_seeds"],
        rows["reference"],
    )
    asked = p[(rows["side"] != "") & (rows["unjudged"] == "")]
    sets = asked.groupby([rows[name] for name in CLAIMED], dropna=False)
    corrected = sets.transform(lambda each: holm(each.to_numpy()))
    return ((asked < LEVEL) & (corrected >= LEVEL)).reindex(rows.index, fill_value=False)


def unjudged(table: pd.DataFrame, fewest: pd.Series, notes: pd.DataFrame, models: pd.DataFrame) -> pd.Series:
    """Why each rule has no verdict, '' where it has one. fewest: of `fewest_documents`; models: runs of the paper's
    families."""
    threshold = table["side"] != ""
    seeds = np.minimum(table["n_seeds"], notes["guides"].fillna(np.inf))
    no_interval = table["low"].isna() & ~table["measure_ours"].isin(COUNTED)
    test_sizes = table["corpus"].map(models.groupby("corpus")["n_test"].min())
    documents = fewest.fillna(notes["documents"].astype(float)).fillna(test_sizes)

    # Of several reasons the last one stays.
    why = pd.Series("", index=table.index)
    why[threshold & (seeds < HEADLINE_SEEDS)] = "few seeds"
    why[~threshold & no_interval & (seeds < INTERVAL_SEEDS)] = "few seeds"
    why[~threshold & table["tolerance"].isna()] = "by its gap"
    why[unable(table, models)] = "weak model"
    why[documents < np.where(threshold, FEWEST, FEWEST_IN_BIN)] = "few documents"
    absent = notes["absent"].astype(object).fillna("no run")
    why = why.mask(table["ours"].isna(), absent)
    return why.mask(table["data"].isna(), "no run")


def unable(rules: pd.DataFrame, models: pd.DataFrame) -> pd.Series:
    """Of each rule whether a model it compares did not do its task; scores are compared all the same."""
    by_attention = {attention: weak(rows) for attention, rows in models.groupby("attention")}
    bad = {(attention, *model) for attention, fails in by_attention.items() for model in fails.index[fails]}
    of_attention = ~rules["measure_ours"].isin(SCORES)
    taken_off = rules["minus"].str.removeprefix("encoder_ours=")
    compared = zip(
        rules["attention"],
        rules["corpus"],
        rules["encoder_ours"],
        taken_off,
        strict=True,
    )
    fails = [not bad.isdisjoint({(*place, ours), (*place, second)}) for *place, ours, second in compared]
    return of_attention & np.array(fails, bool)


# ---- our number of a row ---------------------------------------------------------------------------------------------


def intervals(asked: pd.DataFrame, numbers: pd.DataFrame, notes: pd.DataFrame) -> pd.DataFrame:
    """By rule id: ours, low, high, n_seeds, as noted or over seeds."""
    names = ["mean", "low", "high", "n_seeds"]
    seeds = over_seeds(values(asked, numbers), "id").set_index("id").reindex(asked["id"])
    table = notes[names].astype(float).where(notes["n_seeds"].notna(), seeds[names])
    return table.rename(columns={"mean": "ours"})


def values(rules: pd.DataFrame, numbers: pd.DataFrame, by: list[str] = PLACE) -> pd.DataFrame:
    """id (of the rule), seed, value: what each rule asks for, differences within seeds; undefined ones left out. rules:
    with PLACE and minus. numbers: see `derived.Stored`. by: columns by which a rule finds its numbers."""
    first = looked_up(rules, numbers, by)
    compared = rules[rules["minus"] != ""]
    if len(compared):
        field = compared["minus"].str.split("=")
        changed = {
            name: field.str[1].where(field.str[0] == name, compared[name]) for name in ("encoder_ours", "measure_ours")
        }
        second = looked_up(compared.assign(**changed), numbers, by).reindex(first.index)
        first = (first - second).where(first.index.isin(compared["id"], 0), first)
    return first[np.isfinite(first)].rename("value").reset_index()


def looked_up(rules: pd.DataFrame, numbers: pd.DataFrame, by: list[str]) -> pd.Series:
    """By id and seed the value of the place that each rule names; of several bins the mean, weighted by their
    documents."""
    asked = numbers["corpus"].isin(rules["corpus"]) & numbers["measure_ours"].isin(rules["measure_ours"])
    rows = each_bin(rules, by).merge(numbers[asked], on=by).dropna(subset="value")
    n = rows["n"].fillna(1.0)
    rows = rows.assign(n=n, value=rows["value"] * n)[n > 0]
    sums = rows.groupby(["id", "seed"], sort=False)[["value", "n"]].sum()
    return (sums["value"] / sums["n"]).astype(float)


def each_bin(rules: pd.DataFrame, by: list[str] = PLACE) -> pd.DataFrame:
    """id and place of rules, one row a bin."""
    bins = rules["bin"].str.split(" ")
    return rules[["id", *by]].assign(bin=bins).explode("bin")


def fewest_documents(rules: pd.DataFrame, numbers: pd.DataFrame) -> pd.Series:
    """Documents of a rule's class and bin in the seed that has the fewest, 0 in one without any; NaN without a bin."""
    counts = numbers[numbers["statistic_ours"] == "n"]
    binned = rules[rules["bin"] != "all"].assign(statistic_ours="n")
    # A seed that has no document in a bin has no row there: every seed of the model counts, with 0.
    whole = binned.assign(predicted="all", bin="all").merge(counts, on=PLACE).assign(n=0)
    counted = pd.concat([each_bin(binned).merge(counts, on=PLACE), whole])
    return counted.groupby(["id", "seed"])["n"].sum().groupby("id").min().reindex(rules["id"])
