"""What counts the data of a run's record: documents beside the paper's Table 1, whether they are the paper's own."""

from collections.abc import Iterable

from attn_core.corpora.catalogue import CATALOGUE
from attn_core.index import data_kind, printed_sizes


def made(record: dict) -> str:
    """Which part of a run's data is generated, in words: 'generated', or that of training and test one is official."""
    if CATALOGUE[record["run"]["corpus"]].generated:
        return "generated"
    train, test = ("generated" in str(record["statistics"].get(f"{split}_source", "")) for split in ("train", "test"))
    if train != test:
        return "trained on generated questions, official test" if train else "official training, generated test"
    return "generated"


def told_other_data(records: Iterable[dict]) -> str:
    """Data sets trained on other data than the papers', in words: what is found on them is no replication."""
    first = {record["run"]["corpus"]: record for record in reversed(list(records))}
    return ", ".join(f"{name}{other_data(r)}" for name, r in sorted(first.items()) if other_data(r)) or "none"


def other_data(record: dict) -> str:
    """' (trained on 5,963 documents, a subset; 59,998 in the paper)', ' (generated)', '' for the paper's own data."""
    kind = data_kind(record)
    if kind != "subset":
        return f" ({made(record)})" if kind == "generated" else ""
    printed = printed_sizes()[record["run"]["corpus"]]["train"]
    return f" (trained on {record['n_train']:,} documents, a subset; {printed:,.0f} in the paper)"
