"""From the tables of a data set to labelled token lists, one function per data set, before any length filter."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from attn_core.corpora import load, text

IMDB_SHORTER_THAN = 400  # tokens; longer reviews were never taken


class Texts(NamedTuple):
    """D texts of one split. lists: token lists. labels (D,): index of the class. doc_ids (D,): row in the source.

    For pairs, queries: token lists of the second texts. Where only some answers are possible, answers: one array of
    class indices per text.
    """

    lists: list[list[str]]
    labels: np.ndarray
    doc_ids: np.ndarray
    queries: list[list[str]] | None = None
    answers: list[np.ndarray] | None = None

    def take(self, rows) -> "Texts":
        """The texts of these rows, in the order given."""
        rows = np.asarray(rows, dtype=np.int64)
        return Texts(
            [self.lists[i] for i in rows],
            np.asarray(self.labels)[rows],
            np.asarray(self.doc_ids)[rows],
            None if self.queries is None else [self.queries[i] for i in rows],
            None if self.answers is None else [self.answers[i] for i in rows],
        )


@dataclass(frozen=True)
class Prepared:
    """splits: 'train', 'dev', 'test' -> Texts. classes: names of the labels, empty = the catalogue's. entities: words
    that stand in the vocabulary whatever their document frequency. notes: more entries of ``Encoded.statistics``."""

    splits: dict[str, Texts]
    classes: Sequence[str] = ()
    entities: Sequence[str] = ()
    notes: dict = field(default_factory=dict)


def with_dev(splits: dict[str, Texts]) -> dict[str, Texts]:
    """15 % of train at random become dev (random_state 16377, not stratified), as in the authors' final run."""
    from sklearn.model_selection import train_test_split

    train, dev = train_test_split(np.arange(len(splits["train"].lists)), test_size=0.15, random_state=16377)
    return {"train": splits["train"].take(train), "dev": splits["train"].take(dev), "test": splits["test"]}


def _sst() -> Prepared:
    documents = {}
    for split in ("train", "dev", "test"):
        table = load.read("sst", split)
        lists = [text.clean_sst(t) for t in table["text"]]
        documents[split] = Texts(lists, table["label"].to_numpy(), np.arange(len(table)))
    return Prepared(documents)


def _20news() -> Prepared:
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
    everything = Texts(lists, labels, row)
    return Prepared({"train": everything.take(train), "dev": everything.take(dev), "test": everything.take(test)})


def _shuffled(n: int, seed: int) -> np.ndarray:
    order = np.arange(n)
    np.random.RandomState(seed).shuffle(order)
    return order


def _imdb() -> Prepared:
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
    texts = {part: Texts(lists[part], table["label"], np.arange(len(table))) for part, table in tables.items()}
    return Prepared({split: texts["test" if split == "test" else "train"].take(at) for split, at in rows.items()})


def _agnews() -> Prepared:
    """World (0) against Business (1) by the description alone; rows whose description is not known apart are unused."""
    documents = {}
    for split in ("train", "test"):
        table = load.read("agnews", split)
        rows = np.flatnonzero((table["label"].isin((0, 2)) & table["description"].notna()).to_numpy())
        lists = [text.clean_plain(t) for t in table["description"].iloc[rows]]
        documents[split] = Texts(lists, (table["label"].to_numpy()[rows] == 2).astype(np.int64), rows)
    return Prepared(with_dev(documents))


TEXTS = {"sst": _sst, "20news": _20news, "imdb": _imdb, "agnews": _agnews}
"""Corpus -> its function; ``encoding.build`` does the rest."""
