"""What counts the data of a run's record: documents beside the paper's Table 1, whether they are the paper's own."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from attn_book.reported import class_label, reported
from attn_core.corpora.catalogue import CATALOGUE

COUNTED = ("vocabulary_size", "average_length_tokens", "train_size", "test_size")
"""Measures of Table 1 that describe the data and depend on no seed."""

WHOLE = 0.95
"""Share of the paper's training or test documents below which our copy of a data set is a subset."""


def data_of(record: dict) -> str:
    """'same', 'subset' or 'generated': whether a run was trained and tested on the paper's own data.

    'subset': fewer than WHOLE of the documents that the paper counts, in training (with what is set apart from it for
    development) or test. 'generated': a split made by this package's generator.
    """
    corpus = record["run"]["corpus"]
    sources = [str(record["statistics"].get(f"{split}_source", "")) for split in ("train", "test")]
    if CATALOGUE[corpus].generated or any("generated" in source for source in sources):
        return "generated"
    printed = printed_sizes().get(corpus, {})
    fewer = [documents(record, split)[0] < WHOLE * size for split, size in printed.items()]
    return "subset" if any(fewer) or record["run"].get("fraction", 1.0) < 1 else "same"


@cache
def printed_sizes() -> dict[str, dict[str, float]]:
    """corpus -> split -> documents of Table 1, with the corrections of its slips."""
    rows = reported("tolerances")
    rows = rows[rows["measure"].isin(("train_size", "test_size"))]
    last = rows.groupby(["corpus", "measure", "group"], sort=False)["reference"].last()  # corrections stand behind
    sizes = last.groupby(level=["corpus", "measure"]).sum()
    return {
        corpus: {split: float(sizes[corpus, f"{split}_size"]) for split in ("train", "test")}
        for corpus in rows["corpus"].unique()
    }


def parts_of(record: dict, split: str) -> list[dict]:
    """Statistics of the splits behind a count of Table 1: the dev split counts with train where it was cut from it."""
    splits = record["statistics"]["splits"]
    cut = split == "train" and "dev" in splits and "dev" not in CATALOGUE[record["run"]["corpus"]].files
    return [splits[name] for name in (split, "dev")[: 1 + cut]]


def documents(record: dict, split: str, label: int | None = None) -> tuple[int, float]:
    """(documents, mean length in tokens) of a split as Table 1 counts it, of one class or of all."""
    parts = parts_of(record, split)
    counts = [part["documents"] for part in parts]
    mean = float(np.average([part["mean_length"] for part in parts], weights=counts)) if sum(counts) else np.nan
    return sum(counts if label is None else [part["per_class"][label] for part in parts]), mean


def counted(rule, record: dict) -> dict:
    """A count of Table 1 from a run's data statistics; it has no interval.

    Vocabulary: Table 1 counts all splits for most sets, the training split for SNLI and CNN, and for bAbI the joint
    words of the three tasks (our answers) with four special ids.
    """
    statistics = record["statistics"]
    if rule.measure == "vocabulary_size":
        found = statistics["vocabulary" if rule.corpus in ("snli", "cnn") else "vocabulary_all_splits"]
        if rule.corpus.startswith("babi"):
            found = len(statistics["classes"]) + 4
    elif rule.measure == "average_length_tokens":
        found = documents(record, "train")[1]
    else:
        label = None if rule.group == "all" else class_label(rule.corpus, rule.group)
        found = documents(record, rule.measure.removesuffix("_size"), label)[0]
    return {"ours": float(found), "low": np.nan, "high": np.nan, "n_seeds": 1}


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
    kind = data_of(record)
    if kind != "subset":
        return f" ({made(record)})" if kind == "generated" else ""
    printed = printed_sizes()[record["run"]["corpus"]]["train"]
    return f" (trained on {record['n_train']:,} documents, a subset; {printed:,.0f} in the paper)"
