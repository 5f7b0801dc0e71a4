"""The data sets of Serrano & Smith and their like, from tables to cut texts: ratings and topics of many classes.

The papers' splits are unseeded draws and cannot be rebuilt. Here the official parts stay what they are and a seeded
tenth of the official training part is dev (the authors: each training text with probability 0.1).
"""

import json
import re

import numpy as np

from attn_core.corpora import catalogue, load, text
from attn_core.corpora.sentences import Cut, Cutter, Prepared
from attn_core.errors import AttnError

DEV_SEED = 0
STARS = (1, 2, 3, 4, 7, 8, 9, 10)  # of 10; the IMDB set of Maas et al. (2011) has no reviews of 5 and 6 stars
_ESCAPES = re.compile(r'(?:\\(?:[nr"\\]|u[0-9a-fA-F]{4}))+')


def unescaped(raw: str) -> str:
    r"""The escapes of Zhang et al.'s files undone: ``\n``, ``\r``, ``\"``, ``\\`` and ``\u20ac``."""
    if "\\" not in raw:
        return raw
    undone = _ESCAPES.sub(lambda found: json.loads(f'"{found.group()}"'), raw)
    # Two escapes may be the halves of one character; a half without its other half becomes U+FFFD.
    return undone.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_breaks(raw: str) -> str:
    """The HTML line breaks of IMDB's texts as line ends; spaCy would take them as parts of words."""
    return raw.replace("<br />", "\n")


def tenth(labels: np.ndarray, stratified: bool = False) -> np.ndarray:
    """(D,) bool, True at the dev texts: a tenth of all texts, or of each class, drawn with DEV_SEED; at least one."""
    rng = np.random.default_rng(DEV_SEED)
    dev = np.zeros(len(labels), dtype=bool)
    groups = [np.flatnonzero(labels == c) for c in np.unique(labels)] if stratified else [np.arange(len(labels))]
    for rows in groups:
        dev[rng.permutation(rows)[: round(len(rows) / 10)]] = True
    if not dev.any() and len(dev):
        dev[rng.integers(len(dev))] = True
    return dev


def _prepare(name: str, clean, values=None, column: str = "label", stratified: bool = False) -> Prepared:
    """Official train and test -> cut train, dev, test. values: of ``column``, in the order of the class ids."""
    values = tuple(range(len(catalogue.corpus(name).classes))) if values is None else values
    cutter, cuts = Cutter(), {}
    for split in ("train", "test"):
        table = load.read(name, split)
        labels = _labels(f"corpus '{name}', split '{split}'", table, column, values)
        cuts[split] = Cut(cutter.cut(clean(raw) for raw in table["text"]), labels, np.arange(len(table)))
    dev = tenth(cuts["train"].labels, stratified)
    splits = {"train": cuts["train"].take(np.flatnonzero(~dev)), "dev": cuts["train"].take(np.flatnonzero(dev))}
    return Prepared({**splits, "test": cuts["test"]}, cutter.words)


def _labels(where: str, table, column: str, values) -> np.ndarray:
    """(D,) int64 class ids; AttnError for a label outside the set's and for a text that is no text."""
    no_text = [i for i, raw in enumerate(table["text"]) if not isinstance(raw, str)]
    if no_text:
        raise AttnError(f"{where}: row {no_text[0]} holds no text ({len(no_text)} such rows)")
    number, found = {value: i for i, value in enumerate(values)}, table[column].tolist()
    labels = np.array([number.get(value, -1) for value in found], dtype=np.int64)
    wrong = np.flatnonzero(labels < 0)
    if len(wrong):
        known = ", ".join(map(str, values))
        raise AttnError(f"{where}: {column} of row {wrong[0]} is {found[wrong[0]]!r}; known: {known}")
    return labels


def _imdb_stars() -> Prepared:
    return _prepare("imdb_stars", without_breaks, STARS, "stars")


def _amazon() -> Prepared:
    return _prepare("amazon", unescaped)


def _yelp() -> Prepared:
    return _prepare("yelp", unescaped)


def _yahoo() -> Prepared:
    return _prepare("yahoo", unescaped)


def _20news_all() -> Prepared:
    return _prepare("20news_all", text.strip_post, stratified=True)


def _agnews_all() -> Prepared:
    return _prepare("agnews_all", str)


RATINGS = {
    "imdb_stars": _imdb_stars,
    "amazon": _amazon,
    "yelp": _yelp,
    "yahoo": _yahoo,
    "20news_all": _20news_all,
    "agnews_all": _agnews_all,
}
"""Corpus -> its function; ``sentences.build`` does the rest."""
