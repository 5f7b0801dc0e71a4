"""The rows that a run adds to the stored tables: from its record, its traces and what is computed of them."""

import json
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import get_args

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_float_dtype

from attn_core.measures import CLASS_SCORES
from attn_core.traces import Traces, round_mantissa
from attn_lab.more import rankings
from attn_lab.more.single_state import MEASURES, single_state_agreement
from attn_lab.more.tables import document_table, summary_table
from attn_lab.runs import store
from attn_lab.runs.provenance import data_kind
from attn_lab.runs.run import Run, from_dict, standard
from attn_lab.runs.store import NAMES

DOCUMENT_BITS = 18
"""Mantissa of per-document statistics: 1e-7 of a probability near 0.05, so thresholds survive rounding."""

FIELDS = tuple(field.name for field in fields(Run))

SCORES = ("accuracy", "macro_f1", "auc", *(f"f1_{label}" for label in range(CLASS_SCORES)))


def arrow_type(annotation: object) -> pa.DataType:
    """The type of a column that holds a field of `Run`; what is no number is text."""
    choices = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return next((types[choice] for choice in choices if choice in types), pa.string())


RUN_COLUMNS = pa.schema(
    [("key", pa.string()), ("family", pa.string())]
    + [(field.name, arrow_type(field.type)) for field in fields(Run)]
    + [("base_seed", pa.int64()), ("base_divergence", pa.float64())]
    + [(name, pa.string()) for name in ("variant", "differs", "data")]
    + [(name, pa.int64()) for name in ("n_train", "n_dev", "n_test", "epochs_trained")]
    + [(name, pa.float64()) for name in (*SCORES, "jsd", "tvd")]
    + [("fingerprint", pa.string()), ("record", pa.string())]
)
"""Columns of `runs`; see `index.runs`. differs: the fields named in variant, with blanks between. fingerprint: of the
data. record: JSON of all that is known of the run."""

NUMBER_COLUMNS = pa.schema(
    [("key", pa.string())]
    + [(name, RUN_COLUMNS.field(name).type) for name in store.FIELDS_BESIDE_NUMBERS]
    + [(name, pa.string()) for name in NAMES]
    + [("value", pa.float64())]
)


def run_row(record: dict) -> dict:
    """A run's row of `runs`; AttnError for a run of another version, or of a class that is not at hand."""
    run = from_dict(record["run"])
    plain = standard(run)
    off = {name: value for name, value in vars(run).items() if value != getattr(plain, name)}
    if run.layer >= 0:
        off["layer"] = run.layer
    row = vars(run) | {
        "key": record["key"],
        "family": run.family,
        "options": json.dumps(run.options),
        "base": "" if run.base is None else run.base.key,
        "base_seed": -1 if run.base is None else run.base.seed,
        "base_divergence": None if run.base is None else run.base.divergence,
        "variant": ", ".join(f"{name}={getattr(value, 'key', value)}" for name, value in off.items()),
        "differs": " ".join(off),
        "data": data_kind(record),
        **{name: record[name] for name in ("n_train", "n_dev", "n_test")},
        "epochs_trained": len(record.get("history", ())),
        "fingerprint": record.get("fingerprints", {}).get("data"),
        "record": json.dumps(record, default=float),
    }
    row |= scores(record)
    if "against" in record:
        row |= {"jsd": record["against"]["jsd"], "tvd": record["against"]["tvd"]}
    return row


def scores(record: dict) -> dict[str, float]:
    """The scores of a record; questions have no AUC."""
    return {name: record[name] for name in SCORES if record.get(name) is not None}


def number_rows(record: dict, summary: pd.DataFrame | None, traces: Traces | None = None) -> pd.DataFrame:
    """A run's numbers: of its summary, of whole test sets, and `single_states` of the traces, where the summary lacks
    them. summary: of `experiments.summary_table`, whose columns measure and statistic have each other's names."""
    parts = []
    if summary is not None:
        parts.append(summary.rename(columns={"measure": "statistic", "statistic": "measure"}))
    if traces is not None and (summary is None or not summary["statistic"].eq("single_state_agreement").any()):
        parts.append(single_states(record, traces))
    whole = [(name, "value", value) for name, value in scores(record).items()]
    whole += [(name, "mean", value) for name, value in record.get("numbers", {}).items()]
    if "against" in record:
        beside = {name: value for name, value in record["against"].items() if name != "base"}
        whole += [(f"{name}_beside", "mean", value) for name, value in beside.items()]
    of_whole = pd.DataFrame(whole, columns=["measure", "statistic", "value"])
    parts.append(of_whole.assign(predicted="all", bin="all"))
    numbers = pd.concat(parts, ignore_index=True)
    numbers[["measure", "parameter"]] = numbers["measure"].str.extract(r"(\S*) ?(.*)")
    return numbers[[*NAMES, "value"]]


def single_states(record: dict, traces: Traces) -> pd.DataFrame:
    """Numbers of the measures of `single_state` over the documents at hand; for Serrano & Smith's models without
    documents of one item, as in their other numbers."""
    documents = single_state_agreement(traces)
    if record["run"]["encoder"].startswith(("han_", "flan_")):
        documents = documents[documents["n"] > 1]
    values = documents[list(MEASURES)].dropna(axis=1, how="all")
    statistics = {
        "n": values.count().astype(float),
        "mean": values.mean(),
        "std": values.std(ddof=0),
    }
    rows = pd.DataFrame(statistics).rename_axis("measure").reset_index().melt("measure", var_name="statistic")
    return rows.assign(predicted="all", bin="all")


def quick_summary(record: dict, traces: Traces) -> pd.DataFrame | None:
    """The summary of the statistics that take seconds on a whole test set: all but the adversaries of
    `experiments.document_table`. None where no gradients were traced."""
    if traces.gradient is None or record["run"]["encoder"].startswith(("han_", "flan_")):
        return None
    documents = document_table(traces, epsilons=())
    return rounded(summary_table(documents, traces.classes))


def rounded(rows: pd.DataFrame) -> pd.DataFrame:
    """A table whose floats have 18-bit mantissas and single precision, as every stored statistic."""
    floats = [name for name in rows.columns if is_float_dtype(rows[name])]
    return rows.assign(**{name: round_mantissa(rows[name].to_numpy(), DOCUMENT_BITS) for name in floats})


# ---- as they are stored ----------------------------------------------------------------------------------------------


def tables(
    record: dict, numbers: pd.DataFrame, documents: pd.DataFrame | None = None, against: pd.DataFrame | None = None
) -> dict[str, pa.Table]:
    """A run's tables as `store.write` takes them: layer -> table with the run's key."""
    row = run_row(record)
    beside = {name: row[name] for name in ("key", *store.FIELDS_BESIDE_NUMBERS)}
    stored = {
        "runs": pa.Table.from_pylist([row], schema=RUN_COLUMNS),
        "numbers": pa.Table.from_pandas(numbers.assign(**beside), schema=NUMBER_COLUMNS, preserve_index=False),
    }
    for layer, rows in (("documents", documents), ("against", against)):
        if rows is not None:
            # Not from_pandas, which makes NaN a null: null is what a run has not, NaN a value that is not defined.
            columns = {name: pa.array(column.to_numpy()) for name, column in rounded(rows).items()}
            keys = pa.array([record["key"]] * len(rows), pa.string())
            stored[layer] = pa.table({"key": keys, **columns})
    return {layer: rows.replace_schema_metadata() for layer, rows in stored.items()}


def save(folder: Path, record: dict, traces: Traces | pd.DataFrame) -> None:
    """Store a run that was trained here, with the numbers that its traces give in seconds, or its table of documents
    where it has none."""
    if isinstance(traces, pd.DataFrame):
        numbers = number_rows(record, rounded(rankings.summary_table(traces)))
        store.write(folder, record["key"], tables(record, numbers, traces))
        return
    numbers = number_rows(record, quick_summary(record, traces), traces)
    store.write(folder, record["key"], tables(record, numbers), traces)
