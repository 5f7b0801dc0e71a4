"""A reader's own texts, refused where the tests of notebooks/_study.md cannot be put to them."""

from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.corpora import files
from attn_core.errors import AttnError

FORMS = (".csv", ".tsv", ".parquet", ".jsonl")
FEWEST, SPLITS = 50, ("train", "dev", "test")


def load(file: str | Path, text: str = "text", label: str = "label", seed: int = 0) -> pd.DataFrame:
    """Rows text, label, split of a table; a column `split` (train, dev, test) is kept, else 60:20:20 drawn by seed.

    AttnError, one line, for a file, column, text or class that will not do, and for a text that two splits share.
    """
    path = Path(file)
    if path.suffix not in FORMS or not path.is_file():
        raise AttnError(f"{file}: no such file, or not one of {', '.join(FORMS)}")
    rows = files.read_table(path, (text, label), optional=("split",))
    rows = pd.DataFrame({"text": rows[text], "label": rows[label], "split": rows.get("split")})
    rows = rows.replace(r"^\s*$", np.nan, regex=True)
    empty = np.flatnonzero(rows[["text", "label"]].isna().any(axis=1))
    if len(empty):
        raise AttnError(f"{file}: row {empty[0] + 1} has no text or no label; leave such rows out")
    rows = rows.astype({"text": str, "label": str})
    if len(rows) < FEWEST:
        raise AttnError(f"{file} holds {len(rows)} texts; at least {FEWEST} are needed")
    sizes = rows["label"].value_counts()
    if not 2 <= len(sizes) <= len(rows) / 10 or sizes.min() < 5:
        found = f"{len(sizes)} classes, the smallest with {sizes.min()} texts"
        raise AttnError(f"{file}: column {label!r} has {found}; two or more with at least 5 each are needed")
    if rows["split"].isna().all():
        place = rows.groupby("label", group_keys=False).sample(frac=1, random_state=seed).groupby("label").cumcount()
        rows["split"] = np.choose(place.sort_index() % 5, ["train", "test", "train", "dev", "train"])
    if not set(SPLITS) == set(rows["split"]):
        found = ", ".join(map(str, rows["split"].unique()))
        raise AttnError(f"{file}: column 'split' must hold train, dev and test; found {found}")
    shared = rows[rows.groupby("text")["split"].transform("nunique") > 1]
    if len(shared):
        same = shared.index[shared["text"] == shared["text"].iloc[0]][:2] + 1
        raise AttnError(f"{file}: rows {same[0]} and {same[1]} hold the same text in two splits; leave one of them out")
    return rows
