"""Traces as Parquet files and back."""

import json
from pathlib import Path

import numpy as np

from attn_core.traces import PER_DOCUMENT, TOKEN_ARRAYS, Traces


def write_traces(path: Path, traces: Traces) -> None:
    """Traces as Parquet, one row per document with token lists; what all documents share in the schema's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"doc_id": pa.array(traces.doc_id), "label": pa.array(traces.label)}
    lists = {name: traces.offsets for name in TOKEN_ARRAYS} | {
        name: np.arange(len(traces) + 1) for name in PER_DOCUMENT
    }
    for name, offsets in lists.items():
        values = getattr(traces, name)
        if values is not None:
            width = values.shape[1] if values.ndim == 2 else 1
            flat = pa.array(np.ascontiguousarray(values, None if values.dtype == bool else np.float32).reshape(-1))
            columns[name] = pa.ListArray.from_arrays(pa.array((offsets * width).astype(np.int32)), flat)
    shared = {"bias": traces.bias, "readout": traces.readout, "width": traces.contribution.shape[1]}
    shared = {name: json.dumps(np.asarray(value).tolist()) for name, value in shared.items() if value is not None}
    table = pa.table(columns).replace_schema_metadata(shared)
    leaves = [f"{name}.list.element" for name in columns if name in TOKEN_ARRAYS or name == "query"]
    pq.write_table(
        table, path, compression="zstd", compression_level=19, use_dictionary=False, use_byte_stream_split=leaves
    )


def read_traces(path: Path) -> Traces:
    """The traces of `write_traces`."""
    import pyarrow.parquet as pq

    table = pq.read_table(path).combine_chunks()
    shared = {name.decode(): json.loads(text) for name, text in table.schema.metadata.items()}
    width = shared.pop("width", len(shared["bias"]))  # runs stored before there were pairs name no width
    arrays = {name: np.array(value, dtype=np.float32) for name, value in shared.items()}
    for name in (*TOKEN_ARRAYS, *PER_DOCUMENT):
        if name in table.column_names:
            column = table[name].chunk(0)
            arrays[name] = column.values.to_numpy(zero_copy_only=False)
            if name == "contribution":
                arrays[name] = arrays[name].reshape(-1, width)
            elif name in PER_DOCUMENT:
                arrays[name] = arrays[name].reshape(len(table), -1)
    offsets = table["score"].chunk(0).offsets.to_numpy().astype(np.int64)
    return Traces(doc_id=table["doc_id"].to_numpy(), label=table["label"].to_numpy(), offsets=offsets, **arrays)
