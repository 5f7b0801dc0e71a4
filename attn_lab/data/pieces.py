"""Texts as the word pieces of a pretrained transformer, and where the weights of such models lie.

MiniLM-L6 (`sentence-transformers/all-MiniLM-L6-v2`: 6 layers, 12 heads, width 384, 22.7 million weights) is the one
whose runs are archived: its file is named by its SHA-256, so a run's key says all. It reads the raw text, punctuation
included, which the papers' cleaning removes; documents, splits and their order are those of `encode`.
"""

from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas
import yaml

from attn_core.documents import Documents, Encoded
from attn_core.errors import AttnError
from attn_lab.data import files
from attn_lab.data.arrays import fingerprint
from attn_lab.data.catalogue import corpus as entry_of
from attn_lab.data.cleaning import strip_post
from attn_lab.data.tables import read

CLS = 101
SEP = 102
"""What START and END are among MiniLM's word pieces; pads are 0 as everywhere."""

MODELS: dict[str, dict] = yaml.safe_load(Path(__file__).with_name("pretrained.yml").read_text(encoding="utf-8"))
"""Name -> title, layers, licence, files with their SHA-256, package and the folder in it, and how it is installed."""

WEIGHTS: str = MODELS["minilm"]["files"]["model.safetensors"]
"""SHA-256 of MiniLM's."""

MOST = 254
"""Pieces of a text that are read; what is longer is cut."""

RAW = {"sst": "text", "agnews": "description", "20news": "text", "imdb": "text"}
"""Corpus -> the column of its tables that holds what is read."""

OWN: dict[str, pandas.Series] = {}
"""Corpus of a reader's own texts -> these by doc_id, see `attn_lab.study`."""

TREEBANK = (("-LRB-", "("), ("-RRB-", ")"), ("\\/", "/"), (" n't", "n't"), (" '", "'"))
"""Marks of SST's leaves, which are joined by blanks, and what they stand for."""


@lru_cache
def folder(name: str = "minilm") -> Path:
    """Where the files of a model of MODELS lie: $ATTN_MINILM, $ATTN_SMOLLM2, else the package that carries them.

    The package is taken as data: it is not imported, nor what it asks for. AttnError where neither is at hand, or one
    of the files is another.
    """
    model = MODELS[name]
    variable = f"ATTN_{name.upper()}"
    source = files.folder_of(variable)
    package = find_spec(model["package"])
    if source is None and package is not None and package.submodule_search_locations:
        source = Path(next(iter(package.submodule_search_locations))) / model["inside"]
    if source is None or not all((source / file).is_file() for file in model["files"]):
        where = f"in {source}" if source else "here"
        raise AttnError(
            f"weights and tokenizer of {model['title']} are not {where}; {model['install']}, or let {variable} name a "
            f"folder with {' and '.join(model['files'])} of {model['title']}"
        )
    for file, checksum in model["files"].items():
        if files.sha256(source / file) != checksum:
            raise AttnError(f"{source / file} is another model's, or damaged; its SHA-256 must be {checksum}")
    return source


@lru_cache
def tokenizer():
    """The model's own, lower case, which neither cuts nor pads."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    reader.no_padding()
    reader.no_truncation()
    return reader


def plain(corpus: str, raw: str) -> str:
    """The raw text as a reader would write it: the treebank's marks and line breaks of HTML undone."""
    if corpus == "sst":
        for mark, sign in TREEBANK:
            raw = raw.replace(mark, sign)
    if corpus == "20news":
        return strip_post(raw)
    return raw.replace("<br />", " ")


def pieces(texts: list[str]) -> list[list[int]]:
    """Ids of the first MOST word pieces of each text, without [CLS] and [SEP]."""
    return [line.ids[:MOST] for line in tokenizer().encode_batch(texts, add_special_tokens=False)]


def raw_texts(corpus: str, split: str, doc_ids: np.ndarray) -> list[str]:
    """The texts of the documents `doc_ids` of a split, `plain`; a dev split that was cut from train lies there."""
    if corpus in OWN:
        return [*OWN[corpus].loc[doc_ids]]
    entry = entry_of(corpus)
    column = RAW[corpus]
    if corpus == "20news":  # its ids count on from the training table into that of the test
        table = pandas.concat([read(corpus, part) for part in entry.files], ignore_index=True)
    else:
        table = read(corpus, split if split in entry.files else "train")
    return [plain(corpus, raw) for raw in table[column].iloc[doc_ids]]


def as_pieces(data: Encoded) -> Encoded:
    """The documents of a corpus, which are cleaned words, as word pieces: same texts, labels and order, and the ids of
    MiniLM's vocabulary with [CLS] and [SEP] in the place of START and END.

    AttnError for a corpus whose raw text is not at hand.
    """
    if data.name not in (*RAW, *OWN):
        raise AttnError(f"MiniLM reads raw texts of {', '.join(RAW)}; of '{data.name}' there are none")
    splits = {}
    lengths = {}
    for split, documents in data.splits.items():
        lists = pieces(raw_texts(data.name, split, documents.doc_ids))
        framed = [[CLS, *ids, SEP] for ids in lists]
        offsets = np.cumsum([0, *map(len, framed)])
        ids = np.concatenate(framed).astype(np.int32)
        splits[split] = Documents(ids, offsets, documents.labels, documents.doc_ids)
        lengths[split] = float(np.mean([len(ids) for ids in lists]))
    numbers = tokenizer().get_vocab()
    vocabulary = tuple(sorted(numbers, key=numbers.__getitem__))
    marked = fingerprint(splits, vocabulary)
    notes = data.statistics | {"pieces": lengths}
    return replace(data, splits=splits, vocabulary=vocabulary, fingerprint=marked, statistics=notes)
