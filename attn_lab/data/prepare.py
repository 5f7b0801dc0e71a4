"""From the tables of a data set to labelled token lists, one function per data set, before any length filter.

Of the sets of Serrano & Smith and their like, the papers' splits are unseeded draws and cannot be rebuilt. Here the
official parts stay what they are and a seeded tenth of the official training part is dev (the authors: each training
text with probability 0.1).
"""

import json
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import pandas

from attn_core.errors import AttnError
from attn_lab.data import cleaning, stories
from attn_lab.data.prepared import Prepared, Texts
from attn_lab.data.tables import read_all

MARKS = Path(__file__).parents[2] / "data" / "people" / "sst_marks.csv"
FIRST = {"test": 0, "dev": 10_000, "train": 20_000}
"""Document of a split's first sentence, where sentences of all splits of SST are tested on."""

_ESCAPE = re.compile(r'\\(?:[nr"\\]|u[0-9a-fA-F]{4})')


def apart(texts: Texts, seed: int, share: float, stratified: bool = False) -> dict[str, Texts]:
    """Texts as train and a share of them as test, by scikit-learn's draw as the authors'."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(texts.lists))
    classes = np.asarray(texts.labels) if stratified else None
    try:
        train, test = train_test_split(rows, test_size=share, random_state=seed, stratify=classes)
    except ValueError as error:
        raise AttnError(f"{len(rows)} documents are too few to be split: {error}") from error
    return {"train": texts.take(train), "test": texts.take(test)}


def with_dev(splits: dict[str, Texts], seed: int = 16377, share: float = 0.15, stratified: bool = False) -> dict:
    """A share of train at random becomes dev, by default as in the authors' final run."""
    drawn = apart(splits["train"], seed, share, stratified)
    return {"train": drawn["train"], "dev": drawn["test"], "test": splits["test"]}


def marks() -> pandas.DataFrame:
    """Which words of SST six people marked (data/README.md), and the doc_id of each sentence among those tested on."""
    if not MARKS.is_file():
        raise AttnError(f"no {MARKS}, the words that people marked; install from a clone of the repository")
    table = pandas.read_csv(MARKS, keep_default_na=False)
    return table.assign(doc_id=table["row"] + table["split"].map(FIRST))


def _sst(marked: Literal["", "test"] = "") -> Prepared:
    """marked: 'test' moves the sentences of `marks` to the test split, so that a model is trained without them."""
    splits = {}
    for split, table in read_all("sst").items():
        splits[split] = Texts([*map(cleaning.clean_sst, table["text"])], table["label"], np.arange(len(table)))
    if marked:
        moved = [splits["test"]]
        for split in ("dev", "train"):
            doc_ids = FIRST[split] + splits[split].doc_ids
            moves = np.isin(doc_ids, marks()["doc_id"])
            moved.append(splits[split]._replace(doc_ids=doc_ids).take(moves))
            splits[split] = splits[split].take(~moves)
        lists, labels, doc_ids, *_ = zip(*moved, strict=True)
        splits["test"] = Texts([*chain.from_iterable(lists)], np.concatenate(labels), np.concatenate(doc_ids))
    return Prepared(splits)


def _20news() -> Prepared:
    """Baseball against hockey in the document order of scikit-learn's loader, split at random as the authors did.

    That order: training posts, then test posts, each sorted by group and file name and shuffled with seed 0, then
    all 18,846 shuffled with seed 42. doc_ids: row in the training table, or 11,314 + row in the test table.
    """
    from sklearn.utils import shuffle

    rows = pandas.concat(read_all("20news"), names=["part"]).reset_index("part").reset_index(drop=True)
    rows = rows.sort_values(["group", "doc_id"], kind="stable")
    halves = [shuffle(rows[rows["part"] == part], random_state=0) for part in ("train", "test")]
    posts = shuffle(pandas.concat(halves), random_state=42)

    posts = posts[posts["group"].isin(["rec.sport.baseball", "rec.sport.hockey"])]
    posts = posts.sort_values("group", kind="stable")
    posts = posts.assign(text=posts["text"].map(cleaning.strip_post))
    posts = posts[posts["text"].str.strip() != ""]  # J&W drop empty texts before splitting
    lists = [cleaning.clean_news(raw) for raw in posts["text"]]
    labels = (posts["group"] == "rec.sport.hockey").to_numpy().astype(np.int64)
    texts = Texts(lists, labels, posts.index.to_numpy())
    splits = apart(texts, 13478, 0.2, stratified=True)
    return Prepared(with_dev(splits, 13478, 0.2, stratified=True))


def _imdb() -> Prepared:
    """Reviews below 400 tokens by Keras' token rule; the authors' own selection where the table names it.

    Words of test reviews that no training review holds are dropped before counting, as in the files that the authors
    took. Column ``jw_split`` (train, dev, test, empty = unused) is the authors' selection; without it the same rule, a
    fifth of train for dev and a fifth of test, draws other documents, because their files have another order.
    """
    reviews = read_all("imdb")
    lists = {half: list(map(cleaning.clean_keras, table["text"])) for half, table in reviews.items()}
    seen = set(chain.from_iterable(lists["train"]))
    lists["test"] = [[word for word in tokens if word in seen] for tokens in lists["test"]]
    texts = {}
    for half, table in reviews.items():
        whole = Texts(lists[half], table["label"], np.arange(len(table)))
        texts[half] = whole.take([len(tokens) < 400 for tokens in lists[half]])

    if "jw_split" not in reviews["train"]:
        texts["test"] = apart(texts["test"], 1378, 0.8)["train"]
        return Prepared(with_dev(texts, 1378, 0.2))
    splits = {}
    for split, half in (("train", "train"), ("dev", "train"), ("test", "test")):
        selection = reviews[half]["jw_split"].to_numpy()[texts[half].doc_ids]
        splits[split] = texts[half].take(selection == split)
    return Prepared(splits)


def _agnews() -> Prepared:
    """World (0) against Business (1) by the description alone; rows whose description is not known apart are unused."""
    splits = {}
    for split, table in read_all("agnews").items():
        used = ~table["label"].isin([1, 3]) & table["description"].notna()  # a label that is none is refused later
        lists = [cleaning.clean_plain(raw) for raw in table["description"][used]]
        labels = table["label"][used].replace(2, 1).to_numpy()
        splits[split] = Texts(lists, labels, np.flatnonzero(used))
    return Prepared(with_dev(splits))


def _babi(task: int, source: Literal["", "files", "generated train", "generated"] = "") -> Prepared:
    """bAbI task 1, 2 or 3 (J&W): story = all statements so far, a lone stop between them, case kept; question; one word
    as answer, the 36 words of the three tasks as possible answers. dev: 15 % of train.

    source: 'files' takes the tables as they are; 'generated train' trains on 10,000 questions of our own generator and
    tests on the official ones; 'generated' makes both, and needs no file. '' is 'files', except where the training
    table at hand is the 1,000-question version (column source 'en'), which is then replaced by 'generated train'. What
    was taken is in the statistics: train_source and test_source are 'en-10k', 'en' or 'generated'.
    """
    if source == "generated":
        asked = {split: stories.babi(task, split) for split in stories.SIZES}
    else:
        asked = read_all(f"babi_{task}")
    short = set(asked["train"].get("source", ())) == {"en"}
    if source == "generated train" or (source == "" and short):
        asked["train"] = stories.babi(task, "train")

    splits = {}
    notes = {}
    for split, table in asked.items():
        lists = [passage.removesuffix(".").replace(".\n", " . ").split() for passage in table["passage"]]
        queries = [question.replace("?", " ").split() for question in table["question"]]
        splits[split] = Texts(lists, table["answer"], np.arange(len(table)), queries)
        sources = set(table.get("source", ["files"]))
        notes[f"{split}_source"] = ", ".join(sorted(sources))
    return Prepared(with_dev(splits), classes=stories.WORDS, notes=notes)


def _snli(premise: Literal["own", "shuffled"] = "own") -> Prepared:
    """Premise = the text attended over, hypothesis = the query, both by the plain cleaner; official splits.

    premise: 'own', or 'shuffled' (each hypothesis with the premise of another pair of its split, by a fixed draw): a
    control that can only be solved from the hypothesis. Not in the paper.
    """
    clean = cache(cleaning.clean_plain)  # a premise stands in about three pairs
    splits = {}
    for split, table in read_all("snli").items():
        premises = table["premise"]
        if premise == "shuffled":
            draw = np.random.default_rng(0).permutation(len(table))
            order = np.roll(draw, 1)[np.argsort(draw)]  # one cycle: no pair keeps its premise
            premises = premises.iloc[order]
        queries = list(map(clean, table["hypothesis"]))
        splits[split] = Texts(list(map(clean, premises)), table["label"], np.arange(len(table)), queries)
    return Prepared(splits)


def _cnn() -> Prepared:
    """Cloze questions: possible answers are the entities of the passage, classes all entities of training passages.

    All those entities stand in the vocabulary, rare ones at its end. Questions whose answer is none of their possible
    answers are dropped and counted. Memory while encoding, where equal words share one string: 2.3 GB beside the texts.
    """
    questions = read_all("cnn")
    lists = {split: list(map(_interned, table["passage"])) for split, table in questions.items()}
    entities = sorted(word for word in {*chain.from_iterable(lists["train"])} if word.startswith("@entity"))
    index = {entity: i for i, entity in enumerate(entities)}
    splits = {}
    for split, table in questions.items():
        numbers = [index.get(answer, -1) for answer in table["answer"]]
        labels = np.array(numbers, dtype=np.int64)
        queries = list(map(_interned, table["question"]))
        answers = []
        for tokens in lists[split]:
            possible = {index[word] for word in tokens if word in index}
            answers.append(np.array(sorted(possible), np.int64))
        splits[split] = Texts(lists[split], labels, np.arange(len(table)), queries, answers)
    return Prepared(splits, classes=entities, entities=entities)


def _interned(written: str) -> list[str]:
    """Words between blanks; equal ones share one string."""
    return [sys.intern(word) for word in written.split()]


def unescaped(raw: str) -> str:
    r"""The escapes of Zhang et al.'s files undone: ``\n``, ``\r``, ``\"``, ``\\`` and ``\u20ac``."""
    undone = _ESCAPE.sub(lambda escape: json.loads(f'"{escape.group()}"'), raw)
    # Two escapes may be the halves of one character; a lone half becomes U+FFFD.
    return undone.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tenth(labels: np.ndarray, stratified: bool = False) -> np.ndarray:
    """(D,) bool, True at the dev texts: a tenth of all texts, or of each class, drawn with seed 0."""
    rng = np.random.default_rng(0)
    dev = np.zeros(len(labels), dtype=bool)
    groups = labels if stratified else np.zeros(len(labels))
    for group in np.unique(groups):
        rows = rng.permutation(np.flatnonzero(groups == group))
        dev[rows[: round(len(rows) / 10)]] = True
    return dev


def _rated(name: str, clean: Callable, stratified: bool) -> Prepared:
    """Official train and test -> cut train, dev, test; the label is the class, or the stars of ten that name it."""
    splits = {}
    for split, table in read_all(name).items():
        lists = []
        sentences = []
        for raw in table["text"]:
            cut = cleaning.cut(clean(raw))
            lists.append([token for sentence in cut for token in sentence])
            sentences.append([len(sentence) for sentence in cut])
        labels = [f"{stars} of 10" for stars in table["stars"]] if name == "imdb_stars" else table["label"]
        rows = np.arange(len(table))
        splits[split] = Texts(lists, np.array(labels), rows, sentences=sentences)
    train = splits["train"]
    dev = tenth(np.asarray(train.labels), stratified)
    return Prepared({"train": train.take(~dev), "dev": train.take(dev), "test": splits["test"]})


def _breaks_to_lines(raw: str) -> str:
    """HTML's line breaks as line ends; spaCy would take them as parts of words."""
    return raw.replace("<br />", "\n")


PREPARE: dict[str, Callable[..., Prepared]] = {
    "sst": _sst,
    "20news": _20news,
    "imdb": _imdb,
    "agnews": _agnews,
    "babi_1": partial(_babi, 1),
    "babi_2": partial(_babi, 2),
    "babi_3": partial(_babi, 3),
    "snli": _snli,
    "cnn": _cnn,
    "imdb_stars": partial(_rated, "imdb_stars", _breaks_to_lines, False),
    "amazon": partial(_rated, "amazon", unescaped, False),
    "yelp": partial(_rated, "yelp", unescaped, False),
    "yahoo": partial(_rated, "yahoo", unescaped, False),
    "20news_all": partial(_rated, "20news_all", cleaning.strip_post, True),
    "agnews_all": partial(_rated, "agnews_all", str, False),
}
"""Corpus -> its function, whose arguments are the corpus's options; ``arrays.build`` does the rest."""
