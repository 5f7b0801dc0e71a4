"""What data a run saw: whether they are the paper's, and how many documents there were."""

from functools import cache

import numpy as np
import pandas as pd

from attn_lab.data import catalogue
from attn_lab.runs import store

WHOLE = 0.95
"""Share of the paper's training or test documents below which our copy of a data set is a subset."""


def data_kind(record: dict) -> str:
    """What a run was trained and tested on: 'same', the only one that counts as replication; 'subset': fewer than WHOLE
    of the documents that the paper counts, in training (dev included) or test, of Serrano & Smith's sets of the
    official training documents; 'other classes': IMDB's ratings without 5 and 6, or a copy in which classes are
    missing; 'other data': no set of theirs; 'generated': a split made by this package's generator."""
    corpus = record["run"]["corpus"]
    statistics = record["statistics"]
    entry = catalogue.CATALOGUE[corpus]
    fraction = record["run"].get("fraction", 1.0)
    sources = f"{statistics.get('train_source')} {statistics.get('test_source')}"
    if entry.generated or "generated" in sources:
        return "generated"
    if record["run"]["encoder"].startswith(("han_", "flan_")):
        return _of_serrano(entry, statistics, fraction)
    if fraction < 1:
        return "subset"
    for split, size in printed_sizes().get(corpus, {}).items():
        documents, _ = count_documents(record, split)
        if documents < WHOLE * size:
            return "subset"
    return "same"


def _of_serrano(entry: catalogue.Corpus, statistics: dict, fraction: float) -> str:
    """`data_kind` of a data set of Serrano & Smith's models."""
    if not any(paper == catalogue.SERRANO for paper, _ in entry.reported):
        return "other data"
    per_class = statistics["splits"]["train"]["per_class"]
    if entry.name == "imdb_stars" or len(per_class) < len(entry.classes) or 0 in per_class:
        return "other classes"
    return "same" if statistics.get("train_share", 0.0) * fraction >= WHOLE else "subset"


@cache
def printed_sizes() -> dict[str, dict[str, float]]:
    """corpus -> split -> documents of Jain & Wallace's Table 1, with the corrections of its slips."""
    rows = pd.read_csv(store.read_data("reported/tolerances.csv"))
    rows = rows.replace({"measure": {"train_size": "train", "test_size": "test"}}).query("measure in ('train', 'test')")
    rows = rows.drop_duplicates(["corpus", "measure", "group"], keep="last")  # corrections stand behind
    table = rows.pivot_table("reference", "corpus", "measure", "sum")
    return {corpus: table.loc[corpus].dropna().to_dict() for corpus in table.index}


def count_documents(record: dict, split: str, label: int | None = None) -> tuple[int, float]:
    """(documents, mean length in tokens) of a split, of one class or all, as Table 1 counts: a dev split that was cut
    from train counts with it."""
    splits = record["statistics"]["splits"]
    dev_is_cut = "dev" in splits and "dev" not in catalogue.CATALOGUE[record["run"]["corpus"]].files
    names = (split, "dev") if split == "train" and dev_is_cut else (split,)
    counts = [splits[name]["documents"] for name in names]
    lengths = [splits[name]["mean_length"] for name in names]
    mean = float(np.average(lengths, weights=counts)) if sum(counts) else np.nan
    if label is not None:
        counts = [splits[name]["per_class"][label] for name in names]
    return sum(counts), mean
