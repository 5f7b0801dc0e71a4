"""Every stored number in two tables.

    runs(corpus="sst", encoder="lstm")              one row a run: its fields, its scores, what data it saw
    numbers("tau_attention_gradient", "mean", …)    one row a number: run × measure × statistic × class × bin → value
    over_seeds(rows, "corpus", "encoder")           mean and 95 % interval over seeds
    side(rows, 0.5)                                 above | below | around | few: the only judge in the house

They are read from the tables of data/archive and of the local cache (store.py), which anyone can read without this.

A *measure* is what is taken of a document (`tau_attention_gradient`, `jsd_search`), or of a test set as a whole
(`accuracy`); its *parameter* stands beside it (`epsilon=0.05`, `rule=coded`; '' without); a *statistic* is what is told
of it over documents (`mean`, `share_above_0.4`; of whole test sets `value`). `predicted` and `bin` name the group of
documents: a predicted class, a bin of the largest weight, or `all`.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import yaml
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from attn_core.errors import AttnError, Damaged, say
from attn_core.measures import HEADLINE_SEEDS, seed_interval
from attn_lab.data import catalogue
from attn_lab.runs import foreign, store
from attn_lab.runs.rows import FIELDS, NUMBER_COLUMNS, RUN_COLUMNS
from attn_lab.runs.run import ATTENTIONS, ENCODERS, HIERARCHICAL, PRETRAINED, SEEDS, Run
from attn_lab.runs.store import NAMES

ALONG = {"guide": ("base", "attention"), "divergence": ("base", "epochs"), "words": ("attention",)}
ALONG |= {"layer": ("base",)}
"""Fields that a guided network, an adversary or a frozen layer has besides the one that is named."""

Names = str | Iterable[str]

MEANINGS = Path(__file__).with_name("measures.yml")

RENAMED = {"flat_flips": "flips_under_uniform", "echo": "single_state_agreement", "locked": "attention_invariant"}
RENAMED |= {"moved": "change", "names": "top1", "far": "adversarial", "flat": "uniform", "stranger": "other_text"}
"""Measures, and words of measures, that had other names until 0.2; for one release they are refused by the new one."""


# ---- asking ----------------------------------------------------------------------------------------------------------


def runs(**where: object) -> pd.DataFrame:
    """The stored runs whose fields have the given values (one, or a list of them; 'any' frees a field).

    Fields that are not named are at their defaults, but for corpus, encoder, attention and seed, which are free; so are
    those of ALONG. Pretrained encoders are left out unless encoder, family, layer or key is named. Runs of seeds
    outside the book's list are found by their seed alone.

    Columns: key; source ('archive' or 'cache'; to ask for 'all' or 'any' frees it, as not to name it); family; the
    fields of `Run` (base: its key); base_seed and base_divergence; variant (fields off their
    defaults, 'fraction=0.25'); data, see `provenance.data_kind`; n_train, n_dev,
    n_test; epochs_trained; the scores of the test set; jsd and tvd, means beside the run it is compared with. Sorted by
    corpus, encoder and attention, seeds in the book's order. AttnError for a field that is none.
    """
    table = _all_runs()
    if where.get("source") == "all":
        where["source"] = "any"
    for name, value in where.items():
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise AttnError(f"a run has no field '{name}'; known: {known}")
        table = table[_among(table[name], value)]
    if not {"key", "encoder", "family", "layer"} & where.keys():
        table = table[table["family"] != "pretrained"]
    if not {"key", "variant"} & where.keys():
        free = set(where)
        for name in where:
            free.update(ALONG.get(name, ()))
        differing_in_these = [free.issuperset(names.split()) for names in table["differs"]]
        table = table[np.array(differing_in_these, bool)]
        if "seed" not in where:
            table = table[table["seed"].isin(SEEDS)]
    table = table.sort_values(["corpus", "encoder", "attention", "place", "seed", "key"], ignore_index=True)
    return table.drop(columns=["differs", "place", "fingerprint"])


def numbers(
    measure: Names,
    statistic: Names = "any",
    predicted: Names = "all",
    bin: Names = "all",
    parameter: Names | None = None,
    **where: object,
) -> pd.DataFrame:
    """Numbers of stored runs, one row each.

    Parameters
    ----------
    measure : str or list of str
        What was measured of each document, see `python -m attn_core numbers --list`; 'any' takes all
        there are, here and below. With its parameter where several have another: 'jsd_exact epsilon=0.05'.
    statistic : str or list of str
        How documents were summed up.
    predicted : str or list of str
        Of which predicted class; 'all': of all together.
    bin : str or list of str
        Of which bin of maximum attention; 'all': of all together.
    parameter : str or list of str, optional
        Such as 'rule=coded'; by default none, of measures that always have one every one.
    **where
        epsilon=0.05 in place of a parameter. Fields of the runs, one value or several: corpus="sst",
        encoder=["lstm", "cnn"]; see `runs`.

    Returns
    -------
    DataFrame
        Columns key, the run's fields, data, measure, parameter, statistic, predicted, bin, value, epsilon (a number,
        NaN where the measure has none); empty where no run fits.

    Raises
    ------
    AttnError
        A measure or statistic that no run has; near ones are named.
    """
    if "epsilon" in where:
        epsilons = pd.to_numeric(pd.Series(_several(where.pop("epsilon"))), errors="coerce")
        parameter = [f"epsilon={epsilon:g}" for epsilon in epsilons]
    chosen = runs(**where)
    table = _values(chosen)
    for name, wanted in (("measure", measure), ("statistic", statistic)):
        _check_names(name, wanted, {"any", *table[name].unique()})
    table = table[table["key"].isin(chosen["key"])]
    table = table[_among(table["statistic"], statistic) & _among(table["predicted"], predicted)]
    table = table[_among(table["bin"], bin)]
    values = _measured(table, measure, parameter).astype(dict.fromkeys(NAMES, object) | {"key": str})
    values["epsilon"] = values["parameter"].str.extract("^epsilon=(.*)", expand=False).astype(float)
    return chosen[["key", *FIELDS, "variant", "data", "n_train", "n_test"]].merge(values, on="key")


def _measured(table: pd.DataFrame, measure: Names, parameter: Names | None) -> pd.DataFrame:
    """The rows of measures, see `numbers`."""
    names = _several(measure)
    if names != ["any"]:
        table = table[table["measure"].isin({name.partition(" ")[0] for name in names})]
    bare = table["parameter"] == ""
    if parameter is None:
        asked = bare | ~table["measure"].isin(table["measure"][bare].unique())
    else:
        asked = _among(table["parameter"], parameter)
    if names != ["any"]:
        in_full = ~bare & with_parameters(table)["measure"].isin(names)
        asked = in_full | (asked & table["measure"].isin(names))
    return table[asked]


def with_parameters(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `numbers` whose measures bear their parameters: 'jsd_exact epsilon=0.05'."""
    named = rows["measure"].astype(object) + " " + rows["parameter"].astype(object)
    return rows.assign(measure=named.str.strip())


def _check_names(column: str, wanted: Names, stored: set[str]) -> None:
    """AttnError for a measure or statistic that no run has. stored: those of the runs at hand."""
    for name in _several(wanted):
        if "@" in name:
            raise AttnError(f"'{name}' has its parameter beside it now, as in 'jsd_exact epsilon=0.05'")
        if name.partition(" ")[0] not in stored and name not in has(column):
            new = RENAMED.get(name, "_".join(RENAMED.get(word, word) for word in str(name).split("_")))
            if new in has(column):
                raise AttnError(f"the {column} '{name}' is called '{new}' now")
            near = ", ".join(get_close_matches(name, has(column), n=3)) or "`python -m attn_core numbers --list`"
            raise AttnError(f"no stored run has the {column} '{name}'; near: {near}")


def _among(column: pd.Series, wanted: object) -> np.ndarray:
    """Which entries are the value, or one of several; 'any': all. Of a command line, numbers come as text."""
    values = _several(wanted)
    if values == ["any"]:
        return np.ones(len(column), bool)
    if is_bool_dtype(column):
        column = column.astype(str).str.lower()
        values = [str(value).lower() for value in values]
    elif is_numeric_dtype(column):
        try:
            values = [float(value) for value in values if value is not None]
        except ValueError:
            raise AttnError(f"{column.name} is a number; got {', '.join(map(str, values))}") from None
    return column.isin(values).to_numpy()


def _several(wanted: object) -> list:
    return [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)


def has(name: str) -> set[str]:
    """The measures (with and without their parameters; or statistics, classes, bins) that some stored run has."""
    names: set[str] = set()
    for folder, stem in _files(_all_runs()):
        rows = store.table(folder, "numbers", stem, (name, "parameter"))
        if {name, "parameter"} <= set(rows.column_names):  # a run without numbers has no file
            kinds = rows.select([name, "parameter"]).to_pandas(use_threads=False).drop_duplicates()
            names.update(kinds[name])
            if name == "measure":
                names.update(with_parameters(kinds)["measure"])
    return names


def records(keys: Iterable[str]) -> list[dict]:
    """The records of stored runs, in the order of the keys. KeyError for a run that is not stored."""
    sources = _all_runs().set_index("key")["source"]
    folders = _folders()
    return [store.read_record(folders[sources.loc[key]], key) for key in keys]


def measures() -> pd.DataFrame:
    """What `numbers` can be asked for: measure, parameter, how many stored runs have it, what it is (`measures.yml`),
    and its statistics in one text."""
    everything = _all_runs()
    pairs = _values(everything)[["measure", "parameter", "statistic", "key"]]
    pairs = pairs[pairs["key"].isin(everything["key"])]
    pairs = pairs[~pairs["statistic"].astype(str).str.startswith("hist:")]
    by_measure = pairs.groupby(["measure", "parameter"], observed=True)
    table = by_measure.agg(runs=("key", "nunique"), statistics=("statistic", lambda names: " ".join(sorted({*names}))))
    patterns = yaml.safe_load(MEANINGS.read_text(encoding="utf-8"))
    table = table.reset_index()
    whole = with_parameters(table)["measure"]
    meanings = [next((patterns[name] for name in patterns if fnmatchcase(measure, name)), "") for measure in whole]
    table.insert(3, "meaning", meanings)
    return table


def over_seeds(rows: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Mean over seeds of `value` with its 95 % Student t interval, one row per combination of the columns `by`.

    Parameters
    ----------
    rows : DataFrame
        Rows of `numbers`.
    *by : str
        Columns that tell the groups apart; without any, one row for all.

    Returns
    -------
    DataFrame
        The columns `by` (a field that a run lacks, NaN, is a group, too), then mean, low, high, n_seeds (that have a
        value), std (spread of the seeds, ddof 1). No interval below three seeds (NaN), see `measures.seed_interval`.

    Raises
    ------
    AttnError
        A group holds one seed twice: what else tells its rows apart belongs into `by`.
    """
    if unknown := [name for name in by if name not in rows]:
        raise AttnError(f"there is no column '{unknown[0]}' to group by; there are: {', '.join(map(str, rows))}")
    if "seed" in rows and len(twice := rows[rows.duplicated([*by, "seed"])]):
        where = " ".join(map(str, twice[[*by]].iloc[0])) or "the rows"
        raise AttnError(f"seed {twice['seed'].iloc[0]} stands twice among {where}; group by more")
    groups = rows.groupby(list(by) or (lambda _: "all"), sort=False, dropna=False, observed=True)["value"]
    table = groups.agg(
        mean="mean",
        low=lambda values: seed_interval(values)[0],
        high=lambda values: seed_interval(values)[1],
        n_seeds="count",
        std="std",
    )
    return table.reset_index(drop=not by).astype(dict.fromkeys(("mean", "low", "high", "std"), float))


def side(rows, threshold: float | pd.Series, fewest: int = HEADLINE_SEEDS) -> pd.Series | str:
    """On which side of a threshold the whole interval lies. The book's only judge.

    Parameters
    ----------
    rows : DataFrame or Series
        A table with columns low, high and n_seeds, as from `over_seeds`, or one row of it.
    threshold : float or Series
        One, or one a row.
    fewest : int
        Fewer seeds decide nothing. 0: the intervals are not over seeds, n_seeds is not asked.

    Returns
    -------
    Series or str
        'above', 'below', 'around', or 'few' where fewer than `fewest` seeds, or no interval, decide nothing.
    """
    low = np.asarray(rows.low, float)
    high = np.asarray(rows.high, float)
    undecided = ~np.isfinite(low)
    if fewest:
        undecided = undecided | (np.asarray(rows.n_seeds) < fewest)
    sides = np.select([undecided, low > threshold, high < threshold], ["few", "above", "below"], "around")
    if isinstance(rows, pd.DataFrame):
        return pd.Series(sides, index=rows.index, dtype=object)
    return str(sides)


MARGINS = {"macro_f1": 0.01, "auc": 0.005}
"""By how much two scores may differ and count as the same; stated on 26 November 2026, before any was judged by it."""


def same_score(first: pd.DataFrame, second: pd.DataFrame) -> str:
    """Whether two models score the same, by equivalence: 'same', 'differs' or 'undecided'.

    first, second: rows of `numbers`, each of MARGINS once a seed; of questions and pairs of texts, which have no AUC,
    the other alone. The 95 % intervals over seeds of their differences decide, seed by seed: 'same' if all lie within
    the margins, 'differs' if one lies wholly outside.
    """
    verdicts = set()
    for measure, margin in MARGINS.items():
        scores = [rows[rows["measure"] == measure].set_index("seed")["value"] for rows in (first, second)]
        if scores[0].empty and scores[1].empty:
            continue
        low, high = seed_interval(scores[0] - scores[1])
        if low > margin or high < -margin:
            return "differs"
        verdicts.add(low >= -margin and high <= margin)  # False where there is no interval
    return "same" if verdicts == {True} else "undecided"


def same_training(first: dict, second: dict) -> bool:
    """Whether two records are of checkpoints of one training: after each epoch their losses lie within 0.001, for
    rounding differs from version to version. If not, rounding led two trainings apart, and what else they differ in is
    not all that sets their numbers apart."""
    losses, losses_of_second = ([epoch["loss"] for epoch in record.get("history", ())] for record in (first, second))
    return len(losses) == len(losses_of_second) and np.allclose(losses, losses_of_second, rtol=0, atol=0.001)


# ---- tables that take long -------------------------------------------------------------------------------------------


def kept(name: str, source: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """A table that takes long to make: from data/measured, else made. source: a checksum of what it is made from."""
    with suppress(FileNotFoundError):
        file = store.read_data(f"measured/{name}-{source[:8]}.parquet")
        return pd.read_parquet(file, use_threads=False)
    return make()


# ---- reading the tables ----------------------------------------------------------------------------------------------

SHOWN = tuple(name for name in RUN_COLUMNS.names if name != "record")


def _folders() -> dict[str, Path]:
    """The stores that there are, by the names of `source`."""
    folders = {"archive": store.find_archive(), "cache": store.cache_store()}
    return {source: folder for source, folder in folders.items() if folder and (folder / "runs").is_dir()}


def _all_runs() -> pd.DataFrame:
    """The stored runs of the corpora, encoders and attentions that this process knows."""
    stamps = []
    for source, folder in _folders().items():
        store.stems(folder)  # what a dead writer had decided takes its place
        stamps.append((source, folder, (folder / "runs").stat().st_mtime_ns))  # moves when a run comes or goes
    if not stamps:
        raise AttnError("nothing is stored: neither data/archive nor a cached run is at hand")
    at_hand = {
        "corpus": tuple(sorted(catalogue.CATALOGUE)),
        "encoder": (*ENCODERS, *HIERARCHICAL, *PRETRAINED, *foreign.registered("encoder")),
        "attention": (*ATTENTIONS, *foreign.registered("attention")),
    }
    return _read_runs(tuple(stamps), tuple(at_hand.items()))


@lru_cache(maxsize=4)
def _read_runs(
    stamps: tuple[tuple[str, Path, int], ...], at_hand: tuple[tuple[str, tuple[str, ...]], ...]
) -> pd.DataFrame:
    """The runs of some stores; one that several hold counts once, as the first holds it undamaged."""
    tables = [EMPTY]
    for source, folder, _ in stamps:
        for stem in store.stems(folder):
            try:
                with suppress(FileNotFoundError):
                    store.content(folder, "numbers", stem)  # Damaged where it is not what was written
                tables.append(of_this_version(store.table(folder, "runs", stem)).assign(source=source))
            except Damaged as error:
                say(f"{error}; left out of all numbers")
    filled = [table for table in tables if len(table)]
    table = pd.concat(filled or tables, ignore_index=True)
    return sifted(table.drop_duplicates("key"), dict(at_hand))


def of_this_version(table: pa.Table) -> pd.DataFrame:
    """The runs of a file without those that have a field of another version; fields that were no fields yet when they
    were stored are at their defaults."""
    defaults = {each.name: each.default for each in fields(Run) if isinstance(each.default, str | int | float)}
    runs = table.select([name for name in table.column_names if name in SHOWN]).to_pandas(use_threads=False)
    runs = runs.reindex(columns=SHOWN).fillna(defaults)
    further = [name for name in table.column_names if name not in RUN_COLUMNS.names]
    return runs[table.select(further).to_pandas(use_threads=False).isna().all(axis=1).to_numpy()] if further else runs


def sifted(table: pd.DataFrame, at_hand: dict[str, tuple[str, ...]]) -> pd.DataFrame:
    """Runs without those of classes that are not at hand and, by name, those trained on other data than the archive's;
    with place, of the seed in the book's list."""
    for name, values in at_hand.items():
        table = table[table[name].isin(values)]
    archived = table["fingerprint"].where(table["source"] == "archive")
    archived = archived.groupby([table["corpus"], table["options"]]).transform("first")
    on_other_data = archived.notna() & (archived != table["fingerprint"])
    if on_other_data.any():
        keys = ", ".join(table["key"][on_other_data])
        say(f"left out of all numbers, for trained on other data than the archive's: {keys}")
        table = table[~on_other_data]

    place = pd.Index(SEEDS).get_indexer(table["seed"])
    return table.assign(place=np.where(place < 0, len(SEEDS), place))


def _values(chosen: pd.DataFrame) -> pd.DataFrame:
    """The numbers of runs and of others in the same files: key, NAMES, value."""
    files = [(folder, stem, store.mark(folder, "numbers", stem)) for folder, stem in _files(chosen)]
    return _read_numbers(tuple(files))


def _files(chosen: pd.DataFrame) -> list[tuple[Path, str]]:
    """Store and name of the files in which the numbers of runs lie: a corpus's in the archive, a run's in the cache."""
    folders = _folders()
    stems = chosen["corpus"].where(chosen["source"] == "archive", chosen["key"])
    names = sorted(set(zip(chosen["source"], stems, strict=True)))
    return [(folders[source], stem) for source, stem in names]


@lru_cache(maxsize=8)
def _read_numbers(files: tuple[tuple[Path, str, str], ...]) -> pd.DataFrame:
    columns = ("key", *NAMES, "value")
    tables = [store.table(folder, "numbers", stem, columns) for folder, stem, _ in files]
    tables = [table for table in tables if set(columns) <= set(table.column_names)]  # before 0.2 the cache had others
    together = pa.concat_tables(tables or [NUMBER_COLUMNS.empty_table().select(columns)])
    return together.unify_dictionaries().to_pandas(use_threads=False)


EMPTY = RUN_COLUMNS.empty_table().select(SHOWN).to_pandas(use_threads=False).assign(source="")
