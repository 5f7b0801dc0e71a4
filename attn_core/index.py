"""Every stored number in two tables, so that nobody rereads the folders.

    runs(corpus="sst", encoder="lstm")              one row a run: its fields, its scores, what data it saw
    numbers("tau_attention_gradient", "mean", …)    one row a number: run × measure × statistic × class × bin → value
    over_seeds(rows, "corpus", "encoder")           mean and 95 % interval over seeds
    side(rows, 0.5)                                 above | below | around | few: the only judge in the house

The tables are made from data/archive and the local cache when they are first asked for, kept in the cache as Parquet,
and made anew when a stored run comes, goes or changes.

A *measure* is what is taken of a document (`tau_attention_gradient`, `jsd_search@0.05`), or of a test set as a whole
(`accuracy`); a *statistic* is what is told of it over documents (`mean`, `share_above_0.4`; of whole test sets
`value`). In the stored summaries, older than these words, the two columns have each other's names. `predicted` and
`bin` name the group of documents: a predicted class, a bin of the largest weight, or `all`.
"""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype, union_categoricals

from attn_core import foreign, store
from attn_core.corpora import catalogue
from attn_core.corpora.files import cache_folder, replacing, say, stamp
from attn_core.errors import AttnError, Damaged
from attn_core.experiments.echo import MEASURES, echo
from attn_core.measures import HEADLINE_SEEDS, seed_interval
from attn_core.run import SEEDS, Run, from_dict, generation, standard

WHOLE = 0.95
"""Share of the paper's training or test documents below which our copy of a data set is a subset."""

FIELDS = tuple(field.name for field in fields(Run))

ALONG = {"guide": ("base", "attention"), "divergence": ("base", "epochs"), "words": ("attention",)}
"""Fields that a guided network or an adversary has besides the one that is named."""

NAMES = ("measure", "statistic", "predicted", "bin")

Names = str | Iterable[str]

SCORES = ("accuracy", "macro_f1", "f1_1", "auc")


# ---- asking ----------------------------------------------------------------------------------------------------------


def runs(**where: object) -> pd.DataFrame:
    """The stored runs whose fields have the given values (one, or a list of them; 'any' frees a field).

    Fields that are not named are at their defaults, but for corpus, encoder, attention and seed, which are free; so are
    those of ALONG. generation="first" asks for the models that the archive began with, in place of those that `Run`
    makes by default. Runs of seeds outside the book's list are found by their seed alone.

    Columns: key; source ('archive' or 'cache'); family; the fields of `Run` (base: its key); base_seed and
    base_divergence; generation, see `run.generation`; variant (fields off the defaults of the run's generation,
    'fraction=0.25'); data, see `data_kind`; n_train, n_dev,
    n_test; epochs_trained; the scores of the test set; jsd and tvd, means beside the run it is compared with. Sorted by
    corpus, encoder and attention, seeds in the book's order. AttnError for a field that is none.
    """
    table, named = _everything()[0], set(where)
    for name, value in where.items():
        if name not in table.columns:
            raise AttnError(f"a run has no field '{name}'; known: {', '.join(table.columns)}")
        table = table[_among(table[name], value)]
    if not named & {"key", "variant"}:
        named |= {other for name in named for other in ALONG.get(name, ())}
        table = table[np.array([set(differs.split()) <= named for differs in table["differs"]], bool)]
        if "seed" not in named:
            table = table[table["seed"].isin(SEEDS)]
        if not named & {"vectors", "generation"}:
            table = table[table["by_default"]]
    table = table.sort_values(["corpus", "encoder", "attention", "place", "seed", "key"], ignore_index=True)
    return table.drop(columns=["differs", "by_default", "place", "fingerprint", "record"])


def numbers(
    measure: Names, statistic: Names = "any", predicted: Names = "all", bin: Names = "all", **where: object
) -> pd.DataFrame:
    """Numbers of stored runs, one row each: key, the run's fields, data, measure, statistic, predicted, bin, value.

    measure, statistic, predicted, bin: one name or several; 'any' takes all there are. where: which runs, see `runs`.
    A measure or statistic that no run has is an AttnError that names near ones; no run that fits is an empty table.
    """
    chosen, table = runs(**where), _everything()[1]
    table = table[table["key"].isin(chosen["key"])]
    for name, wanted in zip(NAMES, (measure, statistic, predicted, bin), strict=True):
        known = {"any", *table[name].cat.categories}
        if name in ("measure", "statistic") and (lacking := [one for one in _several(wanted) if one not in known]):
            near = ", ".join(get_close_matches(lacking[0], known, n=3)) or "`python -m attn_core numbers --list`"
            raise AttnError(f"no stored run has the {name} '{lacking[0]}'; near: {near}")
        table = table[_among(table[name], wanted)]
    found = table.astype(dict.fromkeys(NAMES, object) | {"key": str})
    return chosen[["key", *FIELDS, "generation", "variant", "data", "n_train", "n_test"]].merge(found, on="key")


def _among(column: pd.Series, wanted: object) -> np.ndarray:
    """Which entries are the value, or one of several; 'any': all. Of a command line, numbers come as text."""
    values = _several(wanted)
    if values == ["any"]:
        return np.ones(len(column), bool)
    if is_bool_dtype(column):
        column, values = column.astype(str).str.lower(), [str(value).lower() for value in values]
    elif is_numeric_dtype(column):
        try:
            values = [float(value) for value in values if value is not None]
        except ValueError:
            raise AttnError(f"{column.name} is a number; got {', '.join(map(str, values))}") from None
    return column.isin(values).to_numpy()


def _several(wanted: object) -> list:
    return [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)


def has(name: str) -> set[str]:
    """The measures (or statistics, classes, bins) that some stored run has."""
    return set(_everything()[1][name].cat.categories)


def records(keys: Iterable[str]) -> list[dict]:
    """The records of stored runs, in the order of the keys, from the tables: no folder is read again. KeyError for a
    run that is not stored."""
    return [json.loads(record) for record in _everything()[0].set_index("key")["record"].loc[list(keys)]]


def measures() -> pd.DataFrame:
    """What `numbers` can be asked for: measure, its statistics in one text, and how many stored runs have it."""
    pairs = _everything()[1][["measure", "statistic", "key"]]
    grouped = pairs[~pairs["statistic"].astype(str).str.startswith("hist:")].groupby("measure", observed=True)
    told = lambda names: " ".join(sorted(set(names.astype(str))))
    return grouped.agg(runs=("key", "nunique"), statistics=("statistic", told)).reset_index()


def over_seeds(rows: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Mean over seeds of `value` with its 95 % Student t interval, one row per combination of the columns `by`.

    Columns mean, low, high, n_seeds, std (spread of the seeds, ddof 1); NaN interval below three seeds
    (`measures.seed_interval`). Without `by`: one row for all. A seed that a group holds twice is an AttnError: what
    else tells its rows apart belongs into `by`.
    """
    if unknown := [name for name in by if name not in rows]:
        raise AttnError(f"there is no column '{unknown[0]}' to group by; there are: {', '.join(map(str, rows))}")
    found = []
    for names, part in rows.groupby(list(by), sort=False) if by else [((), rows)]:
        if "seed" in part and len(twice := part.loc[part["seed"].duplicated(), "seed"]):
            group = " ".join(map(str, names)) or "the rows"
            raise AttnError(f"seed {twice.iloc[0]} stands twice among {group}; group by more")
        values = part["value"].to_numpy(float)
        found.append([*names, values.mean(), *seed_interval(values), len(values), part["value"].std(ddof=1)])
    numbers = dict.fromkeys(("mean", "low", "high", "std"), float) | {"n_seeds": int}
    return pd.DataFrame(found, columns=[*by, "mean", "low", "high", "n_seeds", "std"]).astype(numbers)


def side(rows, threshold: float | pd.Series, fewest: int = HEADLINE_SEEDS) -> pd.Series | str:
    """On which side of a threshold the whole interval lies: 'above', 'below', or 'around' it. The only judge.

    rows: a table with columns low, high and n_seeds (`over_seeds`), or one row of it. 'few' where fewer than `fewest`
    seeds, or no interval, decide nothing; fewest 0: intervals that are not over seeds, n_seeds is not asked.
    """
    low, high = np.asarray(rows.low, float), np.asarray(rows.high, float)
    few = ~np.isfinite(low) | ((np.asarray(rows.n_seeds) < fewest) if fewest else False)
    found = np.select([few, low > threshold, high < threshold], ["few", "above", "below"], "around")
    return pd.Series(found, index=rows.index, dtype=object) if isinstance(rows, pd.DataFrame) else str(found)


def same_training(first: dict, second: dict) -> bool:
    """Whether two records are of checkpoints of one training: after each epoch their losses lie within 0.001, for
    rounding differs from version to version. If not, rounding led two trainings apart, and what else they differ in is
    not all that sets their numbers apart."""
    one, other = ([epoch["loss"] for epoch in record.get("history", ())] for record in (first, second))
    return len(one) == len(other) and np.allclose(one, other, rtol=0, atol=0.001)


# ---- what data a run saw ---------------------------------------------------------------------------------------------


def data_kind(record: dict) -> str:
    """What a run was trained and tested on: 'same', the only one that counts as replication; 'subset': fewer than WHOLE
    of the documents that the paper counts, in training (dev included) or test, of Serrano & Smith's sets of the
    official training documents; 'other classes': IMDB's ratings without 5 and 6, or a copy in which classes are
    missing; 'other data': no set of theirs; 'generated': a split made by this package's generator."""
    corpus, statistics = record["run"]["corpus"], record["statistics"]
    entry, fraction = catalogue.CATALOGUE[corpus], record["run"].get("fraction", 1.0)
    if entry.generated or any("generated" in str(statistics.get(f"{split}_source")) for split in ("train", "test")):
        return "generated"
    if record["run"]["encoder"].startswith(("han_", "flan_")):
        if not any(paper == catalogue.SERRANO for paper, _ in entry.reported):
            return "other data"
        per_class = statistics["splits"]["train"]["per_class"]
        if corpus == "imdb_stars" or len(per_class) < len(entry.classes) or 0 in per_class:
            return "other classes"
        return "same" if statistics.get("train_share", 0.0) * fraction >= WHOLE else "subset"
    printed = printed_sizes().get(corpus, {})
    fewer = [documents(record, split)[0] < WHOLE * size for split, size in printed.items()]
    return "subset" if any(fewer) or fraction < 1 else "same"


@cache
def printed_sizes() -> dict[str, dict[str, float]]:
    """corpus -> split -> documents of Jain & Wallace's Table 1, with the corrections of its slips."""
    rows = pd.read_csv(io.BytesIO(store.read_reported("tolerances.csv")))
    rows = rows.replace({"measure": {"train_size": "train", "test_size": "test"}}).query("measure in ('train', 'test')")
    rows = rows.drop_duplicates(["corpus", "measure", "group"], keep="last")  # corrections stand behind
    return rows.pivot_table("reference", "corpus", "measure", "sum").to_dict("index")


def documents(record: dict, split: str, label: int | None = None) -> tuple[int, float]:
    """(documents, mean length in tokens) of a split, of one class or all, as Table 1 counts: a dev split that was cut
    from train counts with it."""
    splits = record["statistics"]["splits"]
    cut = split == "train" and "dev" in splits and "dev" not in catalogue.CATALOGUE[record["run"]["corpus"]].files
    parts = [splits[name] for name in (split, "dev")[: 1 + cut]]
    counts = [part["documents"] for part in parts]
    mean = float(np.average([part["mean_length"] for part in parts], weights=counts)) if sum(counts) else np.nan
    return sum(counts if label is None else [part["per_class"][label] for part in parts]), mean


# ---- making and keeping the tables -----------------------------------------------------------------------------------


def kept(name: str, source: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """A table that takes long to make: from data/measured, else from the cache, else made and kept there.

    source: a checksum of what it is made from; another, or (in the cache) other code of the experiments, remakes it.
    """
    shipped = store.archive_folder().parent / "measured" / f"{name}-{source[:8]}.parquet"
    return pd.read_parquet(shipped) if shipped.is_file() else _cached(name, source, ("table",), lambda: (make(),))[0]


def _cached(stem: str, source: str, names: tuple[str, ...], make: Callable) -> tuple[pd.DataFrame, ...]:
    """Tables of the cache that this code made from `source`; made and kept where they are not there, or damaged."""
    folder, digest = cache_folder() / "index", hashlib.sha256((source + _code()).encode()).hexdigest()[:16]
    paths = [folder / f"{stem}-{digest}-{name}.parquet" for name in names]
    try:
        return tuple(map(pd.read_parquet, paths))
    except (OSError, ValueError):
        tables = make()
    try:
        for old in folder.glob(f"{stem}-*.parquet"):
            old.unlink(missing_ok=True)
        for path, table in zip(paths, tables, strict=True):
            with replacing(path) as file:
                table.to_parquet(file, compression="zstd", index=False)
    except OSError as error:
        say(f"the cache {cache_folder()} cannot be written ({error.strerror}); what was computed is not kept")
    return tables


@cache
def _code() -> str:
    """A checksum of the code that makes numbers from traces, and these tables."""
    rooms = ("experiments/*.py", "fast/*.py", "index.py", "measures.py", "run.py", "traces.py")
    files = [path for room in rooms for path in sorted(Path(__file__).parent.glob(room))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _everything() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables over the archive and the cache, of the corpora, encoders and attentions that this process knows."""
    folders = [folder for folder in store.stores() if folder.is_dir()]
    names = (*sorted(catalogue.CATALOGUE), *foreign.registered("encoder"), *foreign.registered("attention"))
    return _joined(tuple((folder, folder.stat().st_mtime_ns) for folder in folders), names)


@lru_cache(maxsize=4)
def _joined(stores: tuple[tuple[Path, int], ...], names: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of some stores together; a run that several hold counts once, as the first holds it. Runs trained on
    other data than the archive's are left out and named. Times of change, part of the key, move when a run comes or
    goes."""
    if not stores:
        raise AttnError("nothing is stored: neither data/archive nor a cached run is at hand")
    parts, seen = [], set()
    for folder, _ in stores:
        keys = [key for key in store.keys(folder) if key not in seen]
        parts.append(_of_store(folder, keys, names))
        seen |= {*parts[-1][0]["key"]}  # so a sound copy stands in for a damaged one
    parts = [part for part in parts if len(part[0])] or [tables_of(())]  # of runs that are another process's, none
    table, values = pd.concat([runs for runs, _ in parts]), [values for _, values in parts]
    archived = table["fingerprint"].where(table["source"] == "archive")
    archived = archived.groupby([table["corpus"], table["options"]]).transform("first")
    other = table["key"][archived.notna() & (archived != table["fingerprint"])]
    if len(other):
        say(f"left out of all numbers, for trained on other data than the archive's: {', '.join(other)}")
        table, values = table[~table["key"].isin(other)], [part[~part["key"].isin(other)] for part in values]
    columns = {name: [part[name] for part in values] for name in ("key", *NAMES)}
    columns = {name: union_categoricals(parts, sort_categories=True) for name, parts in columns.items()}
    return table, pd.DataFrame(columns | {"value": np.concatenate([part["value"] for part in values])})


def _of_store(folder: Path, keys: list[str], names: tuple[str, ...]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The two tables of these runs of a store, from the cache where it holds those of this very listing, else made. A
    damaged run, or one that the archive's manifest does not name, is left out with one line."""
    patterns = (store.MANIFEST, "[!.]*/record.json", "[!.]*/summary.parquet")
    listing = [stamp(path) for pattern in patterns for path in sorted(folder.glob(pattern))]
    stem = hashlib.sha256(str(folder).encode()).hexdigest()[:10]
    make = lambda: tables_of(_sound(folder, keys))
    table, values = _cached(stem, json.dumps([listing, keys, names]), ("runs", "numbers"), make)
    list(_sound(folder, sorted({*keys} - {*table["key"]}), told=True))
    return table, values


def _sound(folder: Path, keys: list[str], told: bool = False) -> Iterator[store.Result]:
    """The runs of a store without the damaged ones; told: with one line for each of these."""
    for key in keys:
        try:
            yield store.read(folder, key, whole=folder.name != "runs")  # the cache's traces are whole test sets
        except Damaged as error:
            if told:
                say(f"{error}; left out of all numbers")


def tables_of(results: Iterable[store.Result]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables of some results: their records and, where they have one, their summaries. Columns of the first beside
    those of `runs`: differs (the fields off their defaults, with blanks between), by_default (whether its generation is
    that of `Run`'s default), place (of the seed in the book's list), fingerprint (of the data), record (as JSON)."""
    rows, parts, whole = [], [], []
    for result in results:
        record, summary = result.record, result.summary
        try:
            run = from_dict(record["run"])
        except AttnError:  # a corpus or an encoder of somebody's own, a field of another version
            continue
        scored = [name for name in record if name in SCORES or name.startswith("f1_")]
        scores = {name: record[name] for name in scored if record[name] is not None}  # questions have no AUC
        beside = {name: record["against"][name] for name in ("jsd", "tvd") if "against" in record}
        rows.append(_row(run, result) | scores | beside)
        if summary is not None:
            swapped = summary.rename(columns={"measure": "statistic", "statistic": "measure"})
            parts.append(swapped.assign(key=record["key"]))
        if result.traces is not None and (summary is None or not summary["statistic"].eq("echo").any()):
            parts.append(echoes(result))
        whole += [(record["key"], name, "value", value) for name, value in scores.items()]
        whole += [(record["key"], f"{name}_beside", "mean", value) for name, value in beside.items()]
    columns = ["key", "source", "family", *FIELDS, "base_seed", "base_divergence", "generation", "variant"]
    columns += ["differs", "by_default", "place", "data", "n_train", "n_dev", "n_test", "epochs_trained", *SCORES, "jsd", "tvd", "fingerprint", "record"]
    table = pd.DataFrame(rows, columns=list(dict.fromkeys([*columns, *(name for row in rows for name in row)])))
    table = table.astype(dict.fromkeys(("divergence", "base_divergence", "jsd", "tvd", "auc"), float))
    whole = pd.DataFrame(whole, columns=["key", "measure", "statistic", "value"]).assign(predicted="all", bin="all")
    kinds = dict.fromkeys(("key", *NAMES), "category") | {"value": float}
    return table, pd.concat([*parts, whole], ignore_index=True)[[*kinds]].astype(kinds)


def echoes(result: store.Result) -> pd.DataFrame:
    """The measures of `experiments.echo` over the documents whose traces are at hand, as rows of the second table; for
    Serrano & Smith's models without documents of one item, as in their other numbers."""
    table = echo(result.traces)
    table = table[table["n"] > 1] if result.record["run"]["encoder"].startswith(("han_", "flan_")) else table
    known = table[list(MEASURES)].dropna(axis=1, how="all")
    told = {"n": known.count().astype(float), "mean": known.mean(), "std": known.std(ddof=0)}
    rows = pd.DataFrame(told).rename_axis("measure").reset_index().melt("measure", var_name="statistic")
    return rows.assign(key=result.record["key"], predicted="all", bin="all")


def _row(run: Run, result: store.Result) -> dict:
    """The columns of `tables_of` that follow from the run's fields, and counts of its record."""
    plain, base, record = standard(run), run.base, result.record
    off = {name: value for name, value in vars(run).items() if value != getattr(plain, name)}
    return vars(run) | {
        "key": record["key"],
        "source": result.source,
        "family": run.family,
        "options": json.dumps(run.options),
        "base": "" if base is None else base.key,
        "base_seed": -1 if base is None else base.seed,
        "base_divergence": None if base is None else base.divergence,
        "generation": generation(run),
        "variant": ", ".join(f"{name}={getattr(value, 'key', value)}" for name, value in off.items()),
        "differs": " ".join(off),
        "by_default": generation(run) == generation(Run(run.corpus)),
        "place": (*SEEDS, run.seed).index(run.seed),
        "data": data_kind(record),
        **{name: record[name] for name in ("n_train", "n_dev", "n_test")},
        "epochs_trained": len(record.get("history", ())),
        "fingerprint": record.get("fingerprints", {}).get("data"),
        "record": json.dumps(record),
    }
