"""From the tables of a data set to labelled token lists, one function per data set: split -> (token lists, labels (D,),
doc_ids (D,)), before any length filter.
"""

import numpy as np

from attn_core.corpora import load, text

IMDB_SHORTER_THAN = 400  # tokens; longer reviews were never taken


def _sst() -> dict:
    documents = {}
    for split in ("train", "dev", "test"):
        table = load.read("sst", split)
        lists = [text.clean_sst(t) for t in table["text"]]
        documents[split] = (lists, table["label"].to_numpy(), np.arange(len(table)))
    return documents


def _20news() -> dict:
    """Baseball against hockey in the document order of scikit-learn's loader, split at random as the authors did.

    That order: training posts, then test posts, each sorted by group and file name and shuffled with seed 0, then
    all 18,846 shuffled with seed 42. doc_ids: row in the training table, or 11,314 + row in the test table.
    """
    import pandas
    from sklearn.model_selection import train_test_split

    tables = [load.read("20news", split) for split in ("train", "test")]
    rows = pandas.concat(tables, ignore_index=True)
    rows["row"] = np.arange(len(rows))
    first = len(tables[0])
    parts = []
    for part in (rows.iloc[:first], rows.iloc[first:]):
        part = part.sort_values(["group", "doc_id"], kind="stable")
        parts.append(part.iloc[_shuffled(len(part), 0)])
    posts = pandas.concat(parts)
    posts = posts.iloc[_shuffled(len(posts), 42)]
    posts = pandas.concat([posts[posts["group"] == "rec.sport.baseball"], posts[posts["group"] == "rec.sport.hockey"]])
    stripped = [text.strip_post(t) for t in posts["text"]]
    written = np.array([bool(t.strip()) for t in stripped], dtype=bool)  # J&W drop empty texts before splitting
    posts = posts[written]
    lists = [text.clean_news(t) for t, keep in zip(stripped, written, strict=True) if keep]
    labels = (posts["group"] == "rec.sport.hockey").to_numpy().astype(np.int64)
    row = posts["row"].to_numpy()
    rest, test = train_test_split(np.arange(len(lists)), test_size=0.2, stratify=labels, random_state=13478)
    train, dev = train_test_split(rest, test_size=0.2, stratify=labels[rest], random_state=13478)
    parts = {"train": train, "dev": dev, "test": test}
    return {split: ([lists[i] for i in at], labels[at], row[at]) for split, at in parts.items()}


def _shuffled(n: int, seed: int) -> np.ndarray:
    order = np.arange(n)
    np.random.RandomState(seed).shuffle(order)
    return order


def _imdb() -> dict:
    """Reviews below 400 tokens by Keras' token rule; the authors' own selection where the table names it.

    Words of test reviews that no training review holds are dropped before counting, because the files that the
    authors took hold word numbers made on the training part. Column ``jw_split`` (train, dev, test, empty = unused) is
    the authors' selection. Without it (official download) the same rule draws other documents, because the order of
    the authors' files is not that of the archive: a fifth of train for dev and a fifth of test, random_state 1378.
    doc_ids: row in the table of the training part for train and dev, of the test part for test.
    """
    from sklearn.model_selection import train_test_split

    tables = {part: load.read("imdb", part) for part in ("train", "test")}
    lists = {part: [text.clean_keras(t) for t in table["text"]] for part, table in tables.items()}
    known = {word for tokens in lists["train"] for word in tokens}
    lists["test"] = [[word for word in tokens if word in known] for tokens in lists["test"]]
    short = {part: np.array([len(t) for t in made]) < IMDB_SHORTER_THAN for part, made in lists.items()}
    rows = {}
    if all("jw_split" in table.columns for table in tables.values()):
        for split, part in (("train", "train"), ("dev", "train"), ("test", "test")):
            rows[split] = np.flatnonzero(short[part] & (tables[part]["jw_split"] == split).to_numpy())
    else:
        fifth = dict(test_size=0.2, random_state=1378)
        rows["train"], rows["dev"] = train_test_split(np.flatnonzero(short["train"]), **fifth)
        rows["test"], _ = train_test_split(np.flatnonzero(short["test"]), train_size=0.2, random_state=1378)
    parts = {"train": "train", "dev": "train", "test": "test"}
    labels = {part: table["label"].to_numpy() for part, table in tables.items()}
    return {s: ([lists[p][i] for i in rows[s]], labels[p][rows[s]], rows[s]) for s, p in parts.items()}


def _agnews() -> dict:
    """World (0) against Business (1) by the description alone; rows whose description is not known apart are unused."""
    documents = {}
    for split in ("train", "test"):
        table = load.read("agnews", split)
        rows = np.flatnonzero((table["label"].isin((0, 2)) & table["description"].notna()).to_numpy())
        lists = [text.clean_plain(t) for t in table["description"].iloc[rows]]
        documents[split] = (lists, (table["label"].to_numpy()[rows] == 2).astype(np.int64), rows)
    return with_dev(documents)


def with_dev(documents: dict) -> dict:
    """15 % of train at random become dev (random_state 16377, not stratified), as in the authors' final run."""
    from sklearn.model_selection import train_test_split

    parts = train_test_split(np.arange(len(documents["train"][0])), test_size=0.15, random_state=16377)
    train, dev = (tuple(_rows(field, at) for field in documents["train"]) for at in parts)
    return {"train": train, "dev": dev, **{split: d for split, d in documents.items() if split != "train"}}


def _rows(field, at):
    return field[at] if isinstance(field, np.ndarray) else [field[i] for i in at]


READY = {"sst": _sst, "20news": _20news, "imdb": _imdb, "agnews": _agnews}
"""Corpus -> its function; ``encoding.build`` does the rest."""
