"""The papers' numbers, and ours beside them: a merge of the rules in data/reported/tolerances.csv with stored numbers.

A rule names our number in its last columns, filled once: measure_ours, statistic_ours, predicted, bin (several, with
blanks between: their mean weighted by documents), encoder_ours (empty: the number is of a data set, not of one model),
minus ('encoder_ours=lstm', 'measure_ours=…': what is taken off within seeds), selection; kind (number, claim or band),
side (of its threshold) and late (added after its runs were stored).
"""

import io
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from attn_book import derived
from attn_book.derived import NOTES, PLACE, SCORES, Stored
from attn_core.baselines import weak
from attn_core.corpora.catalogue import CATALOGUE, WIEGREFFE
from attn_core.errors import AttnError
from attn_core.index import HEADLINE_SEEDS, over_seeds, runs, side
from attn_core.store import read_reported, reported_folder

FINAL_RUN, APRIL_RUN = "2019-05-15", "2019-04-04"
"""Snapshots of Jain & Wallace's own results: their last run, and the run behind the paper's Table 2."""

OURS = ("kind", "side", "late", "selection", "measure_ours", "statistic_ours", "predicted", "bin", "encoder_ours",
        "minus")  # fmt: skip
"""Columns of tolerances.csv that say which number of ours a rule judges, and how."""

NAMES = ["paper", "item", "corpus", "group", "encoder", "attention", "measure", "statistic"]
"""The columns that name a row."""

COLUMNS = (
    *NAMES, "reported", "ours", "low", "high", "n_seeds", "data", "n_train", "tolerance", "verdict", "unjudged", "page",
    "rule", "date", "reason", "null_prediction", "equivalent",
)  # fmt: skip

COLUMN = ["paper", "item", "encoder", "attention", "measure", "statistic"]
"""What the numbers of one printed column share."""

STORED = {"jain": (derived.of_jain, ["text", "pair"]), "serrano": (derived.of_serrano, "hierarchical"),
          "wiegreffe": (derived.of_wiegreffe, "text")}  # fmt: skip
"""What is stored for the rules of each paper, and the families of its models."""

FEWEST_IN_BIN = 20
"""Documents of a bin of a figure below which it is not judged (the rule in tolerances.csv)."""


@cache
def _read(name: str) -> pd.DataFrame:
    paths = {path.name.partition(".")[0]: path.name for path in sorted(reported_folder().glob("*.csv*"))}
    if name not in paths:
        raise AttnError(f"no reported table '{name}'; known: {', '.join(paths)}")
    packed = "gzip" if paths[name].endswith(".gz") else None  # the largest, a twentieth of their size
    table = pd.read_csv(io.BytesIO(read_reported(paths[name])), dtype={"class": "string"}, compression=packed)
    if name == "tolerances":  # what names our number is text, empty where nothing is asked
        table = table.fillna(dict.fromkeys(OURS, "")).astype(dict.fromkeys(OURS, str))
    if "dataset" in table:
        ours = {pair: entry.name for entry in CATALOGUE.values() for pair in entry.reported}
        # Some tables spell data sets Wiegreffe & Pinter's way, whoever's numbers they hold.
        table["corpus"] = [ours.get((paper, name), ours.get((WIEGREFFE, name), name))
                           for paper, name in zip(table["paper"], table["dataset"], strict=True)]  # fmt: skip
    return table


def reported(table: str, **where: object) -> pd.DataFrame:
    """Rows of a reported table by values of its columns: reported('jain_table2_kendall_tau', corpus='sst')."""
    rows = _read(table)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.copy()


def scorecard(paper: str | None = None) -> pd.DataFrame:
    """One row per scored number or claim; verdict 'reproduced', 'differs' or 'not rerun'.

    paper: its rows alone, None takes all three. Columns COLUMNS, id and OURS; unjudged says why a row has no verdict
    ('no run', 'no document', 'few documents', 'few seeds', 'weak model', 'by its gap'), '' where it has one;
    null_prediction, equivalent: see `guessed` and `equivalent`; data: see `index.data_kind`.
    """
    if paper not in (None, *STORED):
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: {', '.join(STORED)}")
    rules = reported("tolerances", **({} if paper is None else {"paper": paper}))
    parts = [judged(part, *STORED[name]) for name, part in rules.groupby("paper", sort=False)]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(null_prediction=guessed(rows), equivalent=equivalent(rows))[[*COLUMNS, "id", *OURS]]


def guessed(rows: pd.DataFrame) -> pd.Series:
    """What one would say of a printed number without a model: the mean of its printed column over the other data sets;
    NaN where there are none, and for claims and bands."""
    numbers = rows[rows["kind"] == "number"]
    whole, own = (numbers.groupby(by, dropna=False)["reported"] for by in (COLUMN, [*COLUMN, "corpus"]))
    others = whole.transform("size") - own.transform("size")
    return (whole.transform("sum") - own.transform("sum")) / others.where(others > 0)


def equivalent(rows: pd.DataFrame) -> pd.Series:
    """Whether the whole interval of a number lies within its tolerance; missing where none is judged or known."""
    judged = (rows["kind"] == "number") & (rows["unjudged"] == "") & rows["low"].notna()
    off, reach = rows[["low", "high"]].sub(rows["reported"], axis=0).abs().max(axis=1), rows["tolerance"] + 1e-9
    return (off <= reach).astype("boolean").where(judged)


def judged(rules: pd.DataFrame, stored: Callable[[pd.DataFrame], Stored], family: str | list[str]) -> pd.DataFrame:
    """The rules of one paper with our value, its interval over seeds, and the verdict."""
    found, notes = stored(rules)
    data = runs(family=family, generation="first").groupby("corpus")[["data", "n_train"]].last()
    asked = rules.assign(attention_ours=rules["attention"].where(rules["encoder_ours"] != "", "").fillna(""))
    ours = over_seeds(values(asked, found), "id").set_index("id")
    notes = notes.reindex(index=rules["id"], columns=NOTES)
    names = ["mean", "low", "high", "n_seeds"]
    ours = notes[names].astype(float).where(notes["n_seeds"].notna(), ours.reindex(rules["id"])[names])
    table = rules.set_index("id").join(ours.rename(columns={"mean": "ours"})).join(data, on="corpus")
    known = table["data"].notna()
    there = table["ours"].notna() & known
    absent = notes["absent"].astype(object).fillna("no run")
    documents = fewest_documents(asked, found.query("statistic_ours == 'n'")).fillna(notes["documents"].astype(float))
    seeds = np.minimum(table["n_seeds"], notes["guides"].fillna(np.inf))
    why = [(~known, "no run"), (~there, absent), (documents < FEWEST_IN_BIN, "few documents"),
           (unable(rules, family) & there, "weak model"),
           ((table["kind"] == "number") & table["tolerance"].isna(), "by its gap"),
           ((table["kind"] == "claim") & (seeds < HEADLINE_SEEDS), "few seeds")]  # fmt: skip
    unjudged = np.select([mask for mask, _ in why], [np.broadcast_to(reason, len(table)) for _, reason in why], "")
    table = table.assign(unjudged=unjudged, reported=table["reference"])
    for name in ("ours", "low", "high", "n_train"):
        table[name] = table[name].where(there)
    table["n_seeds"], table["data"] = table["n_seeds"].where(there, 0).astype(int), table["data"].where(there, "absent")
    table["verdict"] = np.where(unjudged != "", "not rerun", np.where(holds(table), "reproduced", "differs"))
    return table.reset_index().astype({"n_train": "Int64"})


def unable(rules: pd.DataFrame, family: str | list[str]) -> np.ndarray:
    """Of each rule whether a model it compares did not do its task; scores are compared all the same."""
    parts = runs(family=family, generation="first").groupby("attention")
    bad = {(*model, name) for name, part in parts for model, fails in weak(part).items() if fails}
    other = rules["minus"].str.removeprefix("encoder_ours=")
    models = zip(rules["corpus"], rules["encoder_ours"], other, rules["attention"], rules["measure_ours"], strict=True)
    return np.array([measure not in SCORES and not bad.isdisjoint({(corpus, one, how), (corpus, two, how)})
                     for corpus, one, two, how, measure in models])  # fmt: skip


def values(rules: pd.DataFrame, numbers: pd.DataFrame) -> pd.DataFrame:
    """id (of the rule), seed, value: what each rule asks for, differences within seeds; undefined ones left out. rules:
    with PLACE and minus. numbers: see `derived.Stored`."""
    first, taken = looked_up(rules, numbers), rules[rules["minus"] != ""]
    if len(taken):
        what = taken["minus"].str.partition("=")
        less = {name: what[2].where(what[0] == name, taken[name]) for name in ("encoder_ours", "measure_ours")}
        both = first.merge(looked_up(taken.assign(**less), numbers), on=["id", "seed"], suffixes=("", "_less"))
        both = both.assign(value=both["value"] - both["value_less"])[["id", "seed", "value"]]
        first = pd.concat([first[~first["id"].isin(taken["id"])], both])
    return first[np.isfinite(first["value"].astype(float))]


def looked_up(rules: pd.DataFrame, numbers: pd.DataFrame) -> pd.DataFrame:
    """id, seed, value of the place that each rule names; of several bins the mean, weighted by their documents."""
    asked = rules[["id", *PLACE]].assign(bin=rules["bin"].str.split(" ")).explode("bin")
    rows = asked.merge(numbers, on=PLACE).dropna(subset="value").fillna({"n": 1.0}).query("n > 0")
    sums = rows.assign(value=rows["value"] * rows["n"]).groupby(["id", "seed"], sort=False)[["value", "n"]].sum()
    return (sums["value"] / sums["n"]).rename("value").reset_index()


def fewest_documents(rules: pd.DataFrame, documents: pd.DataFrame) -> pd.Series:
    """Documents of a rule's class and bin in the seed that has the fewest, 0 in one without any; NaN without a bin."""
    place = [name for name in PLACE if name != "statistic_ours"]
    asked = rules.loc[rules["bin"] != "all", ["id", *place]]
    each = asked.assign(bin=asked["bin"].str.split(" ")).explode("bin").merge(documents, on=place)
    whole = asked.assign(predicted="all", bin="all").merge(documents, on=place)  # a seed without any has no row there
    counts = pd.concat([each, whole.assign(n=0)]).groupby(["id", "seed"])["n"].sum().groupby("id").min()
    return counts.reindex(rules["id"])


def holds(rows: pd.DataFrame) -> np.ndarray:
    """Whether a number lies within its tolerance, the whole interval of a claim, or a band's value, on its side. rows:
    kind, side, reported, tolerance, ours, low, high."""
    above, target = rows["side"] == "above", rows["reported"]
    claim = side(rows, target, fewest=0) == rows["side"]
    band = np.where(above, rows["ours"] >= target, rows["ours"] <= target)
    number = (rows["ours"] - target).abs() <= rows["tolerance"] + 1e-9
    return np.select([rows["kind"] == "claim", rows["kind"] == "band"], [claim, band], number)
