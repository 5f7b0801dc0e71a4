"""From tables to arrays of token ids: one function per data set, one cache for all.

Arrays are made once and kept, see ``files.cached``, so a machine that only trains needs neither text nor tokenizer;
those of the user's own tables are taken while $ATTN_DATA names these and never after. What is made without tables that
the catalogue names is never kept: nothing would tell that it has changed.
"""

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from functools import cache, lru_cache
from typing import get_args

import numpy as np

from attn_core.corpora import catalogue, documents, files, gated, prepare, text, user_code
from attn_core.corpora.documents import Documents, Encoded, fingerprint
from attn_core.corpora.planted import planted
from attn_core.errors import AttnError

ENCODING = 1
"""Raised by hand when the same text, or bAbI's generator, is meant to give other arrays; all are then made anew."""

PREPARE = prepare.PREPARE | gated.PREPARE | {"planted": planted}
"""Corpus -> function that turns its tables into ``prepare.Prepared``; its arguments are the corpus's options."""

_OURS = {name: (entry, PREPARE.get(name)) for name, entry in catalogue.CATALOGUE.items()}


def is_foreign(corpus: str) -> bool:
    """Whether a corpus, or what stands under the name of one of the package's own, was registered by the user."""
    return (catalogue.corpus(corpus), PREPARE.get(corpus)) != _OURS.get(corpus)


def encode(corpus: str, **options) -> Encoded:
    """A data set as arrays, from the cache or made from its tables.

    corpus: a name of the catalogue. options: those of its function in ``prepare`` or ``planted``, and for the sets of
    Jain & Wallace ``vocabulary_from``: 'train', as in their final run, or 'all', as behind their Table 1 (vocabulary
    fitted on all splits). AttnError: unknown corpus or option, data found nowhere, or as of `build`.
    """
    return (_HELD.get() if is_foreign(corpus) else _encoded)(corpus, **options)


def _encoded(corpus: str, **options) -> Encoded:
    entry = catalogue.corpus(corpus)
    if corpus not in PREPARE:
        raise AttnError(f"corpus '{corpus}' has an entry and no function; put one into encoding.PREPARE['{corpus}']")
    own = inspect.signature(PREPARE[corpus]).parameters
    known = {} if entry.cut or entry.generated else {"vocabulary_from": ("train", "all")}
    known |= {name: get_args(parameter.annotation) for name, parameter in own.items()}  # the values of a Literal
    for name, value in options.items():
        if name not in known:
            raise AttnError(f"corpus '{corpus}' has no option '{name}'; known: {', '.join(known) or 'none'}")
        if known[name] and value not in known[name]:
            raise AttnError(f"corpus '{corpus}': {name} is {value!r}; known: {', '.join(map(repr, known[name]))}")
    vocabulary_from = options.pop("vocabulary_from", "train")
    make = lambda: build(entry, PREPARE[corpus](**options), vocabulary_from)
    if not (entry.files or entry.own) or options.get("source") == "generated":
        return make()
    code = {"code": user_code.digest([PREPARE[corpus], repr(entry)])} if is_foreign(corpus) else {}
    mark = files.stamp if entry.own else files.sha256  # own files: too large for a checksum at each start

    def source() -> dict[str, str] | None:
        here = files.found(entry)
        return here and {part: mark(path) for part, path in here.items()} | code

    if code and not source():
        return make()

    def made() -> tuple[dict, dict[str, np.ndarray]]:
        about = vars(make()).copy()
        parts = ((split, *pair) for split, part in about.pop("splits").items() for pair in vars(part).items())
        return about, {f"{split} {field}": values for split, field, values in parts if values is not None}

    marks = ["all"] * (vocabulary_from == "all") + [str(v) for name, v in options.items() if v != own[name].default]
    stem = files.cache_folder() / "arrays" / "-".join([corpus, *marks])
    about, arrays = files.cached(stem, ENCODING, source, made)
    of = lambda split: Documents(*(arrays.get(f"{split} {field.name}") for field in fields(Documents)))
    splits = {split: of(split) for split in about["statistics"]["splits"]}
    return Encoded(corpus, splits, tuple(about["vocabulary"]), about["fingerprint"], about["statistics"])


_HELD = ContextVar("held", default=_encoded)


@contextmanager
def held():
    """Within it a foreign corpus is encoded once: the key of a run and its training are then of the same data."""
    token = _HELD.set(cache(_encoded) if _HELD.get() is _encoded else _HELD.get())
    try:
        yield
    finally:
        _HELD.reset(token)


def identity(corpus: str, options: tuple) -> str | None:
    """Fingerprint of the data that a training would read now; None where they are not on this machine."""
    here = files.found(catalogue.corpus(corpus))
    return _identity(corpus, options, *map(files.stamp, here.values()), files.cache_folder()) if here else None


@lru_cache(maxsize=64)
def _identity(corpus: str, options: tuple, *made_from) -> str:
    return encode(corpus, **dict(options)).fingerprint


def build(entry: catalogue.Corpus, prepared: prepare.Prepared, vocabulary_from: str = "train") -> Encoded:
    """Token lists -> Encoded: vocabulary fitted BEFORE the length filter, filter, ids, statistics.

    The rules are the entry's, see ``catalogue.Corpus``; the texts of a pair count as two for the vocabulary, and the
    first alone is filtered by length. Dropped and counted: documents and sentences without tokens, and pairs whose
    answer is none of their possible answers. statistics['train_share']: documents read for training over those of the
    official files. AttnError for wrong labels or texts, a split that keeps nothing, or one class where two are needed.
    """
    corpus, classes = f"corpus '{entry.name}'", list(prepared.classes or entry.classes)
    if set(prepared.splits) != {"train", "dev", "test"}:
        raise AttnError(f"{corpus} has the splits {', '.join(prepared.splits)}; train, dev and test are needed")
    splits = {name: _checked(f"{corpus}, split '{name}'", texts, classes) for name, texts in prepared.splits.items()}

    def vocabulary(names) -> tuple[str, ...]:
        lists = [tokens for name in names for tokens in (*splits[name].lists, *(splits[name].queries or ()))]
        known = text.vocabulary(lists, entry.min_count if entry.cut else entry.min_df, each=entry.cut)
        return known + tuple(sorted(set(prepared.entities) - set(known)))

    all_words = vocabulary(splits)
    words = all_words if vocabulary_from == "all" else vocabulary(("train", "dev") if entry.cut else ("train",))
    made, counts = {}, {}
    for split, texts in splits.items():
        lengths = np.array([len(tokens) for tokens in texts.lists], dtype=np.int64)
        keep = text.length_filter(lengths, entry.longer_than, entry.shorter_than) if entry.filtered else lengths > 0
        if entry.cut and split in entry.bounded:
            most, longest = entry.most_sentences or np.inf, entry.longest_sentence or np.inf
            keep &= [len(own) - own.count(0) <= most and max(own, default=0) <= longest for own in texts.sentences]
        kept = keep.copy()
        if texts.answers is not None:
            kept &= [label in possible for label, possible in zip(texts.labels, texts.answers, strict=True)]
        if not kept.any():
            told = f"none of the {len(lengths)} documents passes the length filter"
            raise AttnError(f"{corpus}, split '{split}': {told}; the longest has {lengths.max(initial=0)} tokens")
        texts = texts.take(np.flatnonzero(kept))
        made[split] = _documents(texts, words)
        counts[split] = documents.counts(made[split], classes) | {
            "dropped_empty": int((lengths == 0).sum()),
            "dropped_length": int((lengths > 0).sum() - keep.sum()),
            "dropped_answer": int(keep.sum() - kept.sum()),
            "dropped_sentences": sum(sizes.count(0) for sizes in texts.sentences or ()),
        }
        # Nothing can be learned of one class; of single texts of two classes, dev's ROC AUC chooses the checkpoint.
        two = split == "train" or (split == "dev" and entry.task == "text" and not entry.cut and len(classes) == 2)
        if two and len(found := np.unique(made[split].labels)) < 2:
            told = f"all documents that are left are of one class ({classes[found[0]]})"
            raise AttnError(f"{corpus}, split '{split}': {told}; at least two are needed")
    sizes = {"vocabulary": len(words), "vocabulary_all_splits": len(all_words)}
    statistics = {"splits": counts, "classes": classes, **sizes, **prepared.notes}
    if entry.whole_train and statistics.get("train_source") != "generated":
        carved = ("train",) if "dev" in entry.files else ("train", "dev")
        statistics["train_share"] = sum(len(splits[s].lists) for s in carved) / entry.whole_train
    return Encoded(entry.name, made, words, fingerprint(made, words), statistics)


def _checked(where: str, texts: prepare.Texts, classes: list[str]) -> prepare.Texts:
    """The texts, checked, with int64 labels; where only some answers are possible, -1 for one that no class is."""
    if len(sizes := {len(part) for part in texts if part is not None}) > 1:
        raise AttnError(f"{where}: texts, labels, doc_ids and the like have different lengths: {sorted(sizes)}")
    number = {value: i for i, name in enumerate(classes) for value in (str(name), i)}
    for row, tokens, label in zip(texts.doc_ids, texts.lists, texts.labels, strict=True):
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise AttnError(f"{where}: the text of row {row} is no list of words")
        if texts.answers is None and label not in number:
            known = f"{', '.join(classes)} or 0 to {len(classes) - 1}"
            raise AttnError(f"{where}: the label of row {row} is '{str(label)[:40]}'; known: {known}")
    labels = texts.labels if texts.answers is not None else [number[label] for label in texts.labels]
    return texts._replace(labels=np.array(labels, dtype=np.int64))


def _documents(texts: prepare.Texts, words) -> Documents:
    """Token lists as ids."""

    def ragged(lists, kind):
        if lists is None:
            return None, None
        ends = np.cumsum([0, *(len(values) for values in lists)])
        return np.array([value for values in lists for value in values], dtype=kind), ends.astype(np.int64)

    sentences = texts.sentences and [[n for n in lengths if n] for lengths in texts.sentences]
    return Documents(
        *text.to_ids(texts.lists, words),
        texts.labels,
        np.asarray(texts.doc_ids, dtype=np.int64),
        *((None, None) if texts.queries is None else text.to_ids(texts.queries, words)),
        *ragged(texts.answers, np.int32),
        *ragged(sentences, np.int64),
    )
