"""What was tried where a number differs: stored runs that vary one thing, on the seeds that both have.

Which variant speaks to which rows, and why, is declared in data/reported/causes.csv.
"""

from fnmatch import fnmatch

import numpy as np
import pandas as pd

from attn_book.derived import COUNTED, of_runs
from attn_book.reported import reported
from attn_book.scorecard import holds, values
from attn_core import archive, index
from attn_core.index import over_seeds, same_training
from attn_core.measures import INTERVAL_SEEDS
from attn_core.runs import SEEDS

CONTROLS = ("premise", "rounding")
"""What makes a control of a data set, not a cause of anything."""

COLUMNS = ("id", "variant", "tested_on", "why", "key", "n_seeds", "value", "shift", "low", "high", "within", "already")


def causes(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per differing number of Jain & Wallace's and variant tried: by how much the variant moves it.

    rows: of `scorecard.scorecard`; rows of other verdicts and counts are passed over. variant: 'fraction=0.25'.
    tested_on: the data set of the runs; on another than the row's the move is measured over all classes and is a hint.
    why: the declared reason, '' for none. key: of the first run that tested it. value, shift, low, high: what the
    variant gives, and its move with a 95 % Student t interval over the seeds that both have. within: whether the row
    would hold with the variant, and does not with the standard runs of those seeds; already: whether it does with
    these, so that the variant explains nothing. Runs that ended with the checkpoint of the standard run vary nothing.
    """
    off = rows[(rows["verdict"] == "differs") & (rows["paper"] == "jain") & ~rows["measure"].isin(COUNTED)]
    declared, found = list(reported("causes").fillna("").itertuples()), []
    plain, tried = of_runs(off, family=["text", "pair"]), variants()
    for variant, runs in tried.groupby("variant", sort=True):
        numbers = of_runs(off, key=list(runs["key"])).assign(selection="dev")
        for tested_on, part in asked(off, variant, declared, set(runs["corpus"])):
            found += moved(part, variant, tested_on, numbers, plain, runs)
    return pd.DataFrame(found, columns=list(COLUMNS))


def variants() -> pd.DataFrame:
    """Stored runs that differ from a standard run in one field (`index.runs`), and changed: not its very checkpoint."""
    runs = index.runs(family=["text", "pair"], variant="any", attention=["tanh", "dot"], source="archive")
    runs = runs[runs["seed"].isin(SEEDS)]
    place = ["corpus", "encoder", "attention", "seed"]
    plain = runs[runs["variant"] == ""].set_index(place)["key"].rename("standard")
    single = (runs["variant"] != "") & ~runs["variant"].str.contains(", [a-z_]+=") & ~runs["variant"].str.contains(
        "|".join(CONTROLS)
    )  # fmt: skip
    found = runs[single].join(plain, on=place)
    keys = sorted({*found["key"], *found["standard"].dropna()})
    one = dict(zip(keys, index.results(keys), strict=True))
    known = found["standard"].notna()
    pairs = [(one[a], one[b]) for a, b in found.loc[known, ["key", "standard"]].itertuples(index=False)]
    found.loc[known, "changed"] = [not same_checkpoint(*pair) for pair in pairs]
    found.loc[known, "alike"] = [same_training(*pair) for pair in pairs]
    other = (found["selection"] != "dev") & found["alike"].eq(False)  # the other checkpoint of another training
    return found[~other].assign(changed=found["changed"].ne(False))


def same_checkpoint(first: archive.Result, second: archive.Result) -> bool:
    """Whether two runs ended with one and the same network: equal accuracy, equal numbers where both have them."""
    if first.summary is None or second.summary is None or first.record["accuracy"] != second.record["accuracy"]:
        return False
    both = first.summary.merge(second.summary, on=["statistic", "predicted", "bin", "measure"])
    return len(both) > 0 and np.array_equal(both["value_x"], both["value_y"], equal_nan=True)


def asked(off: pd.DataFrame, variant: str, declared: list, there: set[str]):
    """(data set of the runs, rows with their reason) for each data set on which a variant may speak to some rows."""
    field, _, setting = variant.partition("=")
    places: dict[str, list] = {}
    for row in off.itertuples():
        mine = {} if field == "fraction" else {row.corpus: ""}  # less data explain only what had less to begin with
        for cause in declared:
            place = ("corpus", "item", "measure")
            about = all(fnmatch(str(getattr(row, name)), getattr(cause, name)) for name in place)
            if about and cause.field == field and fnmatch(setting, cause.value):
                mine[cause.tested_on or row.corpus] = cause.cause
        for corpus, why in mine.items():
            places.setdefault(corpus, []).append((row.id, why))
    for corpus in places.keys() & there:
        why = dict(places[corpus])
        yield corpus, off[off["id"].isin(why)].assign(why=lambda rows, why=why: rows["id"].map(why))


def moved(
    part: pd.DataFrame, variant: str, tested_on: str, numbers: pd.DataFrame, plain: pd.DataFrame, runs: pd.DataFrame
) -> list[dict]:
    """The rows of `causes` for one variant and data set."""
    elsewhere = part["corpus"] != tested_on
    rules = part.assign(
        corpus=tested_on, attention_ours=part["attention"], predicted=part["predicted"].where(~elsewhere, "all")
    )
    both = values(rules, numbers).merge(values(rules, plain), on=["id", "seed"], suffixes=("", "_plain"))
    found = []
    for row, other in zip(part.set_index("id").itertuples(), elsewhere, strict=True):
        mine = both[both["id"] == row.Index]
        encoders = {row.encoder_ours, row.minus.removeprefix("encoder_ours=")}
        ran = runs[(runs["corpus"] == tested_on) & runs["encoder"].isin(encoders) & runs["changed"]
                   & (runs["attention"] == row.attention) & runs["seed"].isin(mine["seed"])]  # fmt: skip
        if not len(ran) or not len(mine) or (other and len(mine) < INTERVAL_SEEDS):
            continue
        shift = over_seeds(mine.assign(value=mine["value"] - mine["value_plain"])).iloc[0]
        with_it, before = (judged(row, over_seeds(mine.assign(value=mine[name]))) for name in ("value", "value_plain"))
        found.append({
            "id": row.Index, "variant": variant, "tested_on": tested_on, "why": row.why, "key": ran["key"].iloc[0],
            "n_seeds": len(mine), "value": mine["value"].mean(), "shift": shift["mean"], "low": shift["low"],
            "high": shift["high"], "within": bool(not other and with_it and not before),
            "already": bool(not other and before),
        })  # fmt: skip
    return found


def judged(row, ours: pd.DataFrame) -> bool:
    """Whether a row would hold with other numbers of ours."""
    rule = {name: getattr(row, name) for name in ("kind", "side", "reported", "tolerance")}
    return bool(holds(ours.rename(columns={"mean": "ours"}).assign(**rule))[0])
