"""From tables to arrays of token ids: one function per data set, one cache for all.

Arrays are made once and kept, see ``files.cached``, so a machine that only trains needs neither text nor tokenizer;
those of the user's own tables are taken while $ATTN_DATA names these and never after. What is made without tables that
the catalogue names is never kept, nor what the user registered without a version: nothing would tell that it changed.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import get_args

import numpy as np

from attn_core.corpora import catalogue, documents, files, text
from attn_core.corpora.documents import Documents, Encoded, fingerprint
from attn_core.corpora.planted import planted
from attn_core.corpora.prepare import Prepared, Texts
from attn_core.errors import AttnError

ENCODING = 1
"""Raised by hand when the same text, or bAbI's generator, is meant to give other arrays; all are then made anew."""

PREPARE: dict[str, Callable[..., Prepared]] = {"planted": planted}
"""Corpus -> function that gives its texts; its arguments are the corpus's options. attn_data has those of the papers."""

VERSIONS: dict[str, str] = {}
"""Corpus that the user registered -> version, see `foreign.register_corpus`."""

_SHIPPED = frozenset(catalogue.CATALOGUE)


def is_foreign(corpus: str) -> bool:
    """Whether a corpus is the user's."""
    return catalogue.corpus(corpus).name not in _SHIPPED


def from_files(module: str = "attn_data") -> ModuleType:
    """The package that makes data sets and word vectors of files, or a module of it; nothing else here needs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "attn_data":
            raise
        raise AttnError("data sets are made by attn_data, which is not installed; `make install` brings it") from error


def preparer(corpus: str) -> Callable[..., Prepared]:
    """The function that gives the texts of a data set; AttnError where there is none."""
    if corpus in PREPARE:
        return PREPARE[corpus]
    functions = from_files().PREPARE
    if corpus not in functions:
        raise AttnError(f"corpus '{corpus}' has an entry and no function; attn_core.register_corpus takes both")
    return functions[corpus]


def encode(corpus: str, **options) -> Encoded:
    """A data set as arrays, from the cache or made from its tables.

    corpus: a name of the catalogue. options: those of its function in ``attn_data`` or ``planted``, and for the sets of
    Jain & Wallace ``vocabulary_from``: 'train', as in their final run, or 'all', as behind their Table 1 (vocabulary
    fitted on all splits). AttnError: unknown corpus or option, data found nowhere, or as of `build`.
    """
    return Arrays(corpus, options).read()


class Arrays:
    """The arrays of a data set under its options: how they are made, and where they are kept."""

    def __init__(self, corpus: str, options: dict) -> None:
        """AttnError for an unknown corpus, an unknown option or a value that an option does not take."""
        self.entry = catalogue.corpus(corpus)
        self.prepare = preparer(corpus)
        self.parameters = inspect.signature(self.prepare).parameters
        self.options = dict(options)
        self._check_options()
        self.vocabulary_from = self.options.pop("vocabulary_from", "train")

    def _check_options(self) -> None:
        known = {}
        if not (self.entry.cut or self.entry.generated):
            known["vocabulary_from"] = ("train", "all")
        for name, parameter in self.parameters.items():
            known[name] = get_args(parameter.annotation)  # the values of a Literal
        for name, value in self.options.items():
            where = f"corpus '{self.entry.name}'"
            if name not in known:
                raise AttnError(f"{where} has no option '{name}'; known: {', '.join(known) or 'none'}")
            if known[name] and value not in known[name]:
                raise AttnError(f"{where}: {name} is {value!r}; known: {', '.join(map(repr, known[name]))}")

    def read(self) -> Encoded:
        """From the cache, else made and kept where something would tell of a change."""
        if not self.kept:
            return self.make()
        about, arrays = files.cached(self.stem, ENCODING, self.source, self.made)
        splits = {}
        for split in about["statistics"]["splits"]:
            names = [field.name for field in fields(Documents) if f"{split} {field.name}" in arrays]
            splits[split] = Documents(**{name: arrays[f"{split} {name}"] for name in names})
        vocabulary = tuple(about["vocabulary"])
        return Encoded(self.entry.name, splits, vocabulary, about["fingerprint"], about["statistics"])

    @property
    def kept(self) -> bool:
        """Whether they are kept: made of files, by the package's own code or by a version of another's."""
        name = self.entry.name
        made_of_files = bool(self.entry.files or self.entry.own)
        if not made_of_files or self.options.get("source") == "generated":
            return False
        if is_foreign(name):
            return bool(VERSIONS.get(name)) and self.source() is not None
        return True

    @property
    def stem(self) -> Path:
        """Where they are kept, but for the ending: the corpus and the options that are not at their defaults."""
        marks = ["all"] if self.vocabulary_from == "all" else []
        for name, value in self.options.items():
            if value != self.parameters[name].default:
                marks.append(str(value))
        return files.cache_folder() / "arrays" / "-".join([self.entry.name, *marks])

    def source(self) -> dict[str, str] | None:
        """What tells the files at hand from others; None where one is missing."""
        paths = files.found(self.entry)
        if not paths:
            return None
        mark = files.stamp if self.entry.own else files.sha256  # own files: too large for a checksum at each start
        marks = {part: mark(path) for part, path in paths.items()}
        if is_foreign(self.entry.name):
            marks["code"] = VERSIONS[self.entry.name] + repr(self.entry)
        return marks

    def make(self) -> Encoded:
        """From the tables."""
        prepared = self.prepare(**self.options)
        return build(self.entry, prepared, self.vocabulary_from)

    def made(self) -> tuple[dict, dict[str, np.ndarray]]:
        """The same as `files.cached` keeps it: facts, and arrays by split and field."""
        about = vars(self.make()).copy()
        arrays: dict[str, np.ndarray] = {}
        for split, part in about.pop("splits").items():
            for field, values in vars(part).items():
                if values is not None:
                    arrays[f"{split} {field}"] = values
        return about, arrays


def identity(corpus: str, options: tuple) -> str | None:
    """Fingerprint of the data that a training would read now; None where they are not on this machine."""
    paths = files.found(catalogue.corpus(corpus))
    if not paths:
        return None
    made_from = [files.stamp(path) for path in paths.values()]
    return _identity(corpus, options, VERSIONS.get(corpus), *made_from, files.cache_folder())


@lru_cache(maxsize=64)
def _identity(corpus: str, options: tuple, *made_from) -> str:
    return encode(corpus, **dict(options)).fingerprint


def build(entry: catalogue.Corpus, prepared: Prepared, vocabulary_from: str = "train") -> Encoded:
    """Token lists -> Encoded: vocabulary fitted BEFORE the length filter, filter, ids, statistics.

    The rules are the entry's, see ``catalogue.Corpus``; the texts of a pair count as two for the vocabulary, and the
    first alone is filtered by length. Dropped and counted: documents and sentences without tokens, and pairs whose
    answer is none of their possible answers. statistics['train_share']: documents read for training over those of the
    official files. AttnError for wrong labels or texts, a split that keeps nothing, or one class where two are needed.
    """
    where = f"corpus '{entry.name}'"
    classes = list(prepared.classes or entry.classes)
    if set(prepared.splits) != {"train", "dev", "test"}:
        raise AttnError(f"{where} has the splits {', '.join(prepared.splits)}; train, dev and test are needed")
    splits = {}
    for name, texts in prepared.splits.items():
        splits[name] = _checked(f"{where}, split '{name}'", texts, classes)

    read = ("train", "dev") if entry.cut else ("train",)
    all_words = _vocabulary(entry, list(splits.values()), prepared.entities)
    read_words = _vocabulary(entry, [splits[name] for name in read], prepared.entities)
    words = all_words if vocabulary_from == "all" else read_words

    arrays = {}
    counts = {}
    for split, texts in splits.items():
        kept, dropped = _filtered(entry, split, texts)
        arrays[split] = _documents(kept, words)
        counts[split] = documents.counts(arrays[split], classes) | dropped

    # Nothing can be learned of one class; of single texts of two classes, dev's ROC AUC chooses the checkpoint.
    _check_classes(f"{where}, split 'train'", arrays["train"], classes)
    if entry.task == "text" and not entry.cut and len(classes) == 2:
        _check_classes(f"{where}, split 'dev'", arrays["dev"], classes)

    sizes = {"vocabulary": len(words), "vocabulary_all_splits": len(all_words)}
    statistics = {"splits": counts, "classes": classes, **sizes, **prepared.notes}
    if entry.whole_train and statistics.get("train_source") != "generated":
        statistics["train_share"] = _documents_read(entry, splits) / entry.whole_train
    return Encoded(entry.name, arrays, words, fingerprint(arrays, words), statistics)


def _documents_read(entry: catalogue.Corpus, splits: dict[str, Texts]) -> int:
    """Documents that are read for training; those of a dev split that was cut from them count."""
    carved = ("train",) if "dev" in entry.files else ("train", "dev")
    return sum(len(splits[split].lists) for split in carved)


def _vocabulary(entry: catalogue.Corpus, splits: list[Texts], entities: Sequence[str]) -> tuple[str, ...]:
    """The words of some splits that are met often enough, and those that always stand in the vocabulary."""
    lists = []
    for texts in splits:
        lists += [*texts.lists, *(texts.queries or ())]
    least = entry.min_count if entry.cut else entry.min_df
    words = text.vocabulary(lists, least, each=entry.cut)
    return words + tuple(sorted(set(entities) - set(words)))


def _filtered(entry: catalogue.Corpus, split: str, texts: Texts) -> tuple[Texts, dict[str, int]]:
    """The texts of a split that are kept, and how many are dropped for what; AttnError where none is kept."""
    lengths = np.array(list(map(len, texts.lists)), dtype=np.int64)
    fits = lengths > 0
    if entry.filtered:
        fits = text.length_filter(lengths, entry.longer_than, entry.shorter_than)
    if entry.cut and split in entry.bounded:
        fits &= _within_bounds(entry, texts)

    answered = fits.copy()
    if texts.answers is not None:
        pairs = zip(texts.labels, texts.answers, strict=True)
        answered &= np.array([label in possible for label, possible in pairs], dtype=bool)
    if not answered.any():
        reason = f"none of the {len(lengths)} documents passes the length filter"
        longest_one = f"the longest has {lengths.max(initial=0)} tokens"
        raise AttnError(f"corpus '{entry.name}', split '{split}': {reason}; {longest_one}")
    kept = texts.take(answered)
    return kept, {
        "dropped_empty": int((lengths == 0).sum()),
        "dropped_length": int((lengths > 0).sum() - fits.sum()),
        "dropped_answer": int(fits.sum() - answered.sum()),
        "dropped_sentences": sum(sizes.count(0) for sizes in kept.sentences or ()),
    }


def _within_bounds(entry: catalogue.Corpus, texts: Texts) -> np.ndarray:
    """(D,) whether a text has at most so many sentences, and no longer one, than the entry says; empty ones aside."""
    most = entry.most_sentences or np.inf
    longest = entry.longest_sentence or np.inf
    within = []
    for sizes in texts.sentences or ():
        sentences = len(sizes) - sizes.count(0)
        within.append(sentences <= most and max(sizes, default=0) <= longest)
    return np.array(within, dtype=bool)


def _check_classes(where: str, part: Documents, classes: list[str]) -> None:
    """AttnError where all documents are of one class."""
    labels = np.unique(part.labels)
    if len(labels) < 2:
        reason = f"all documents that are left are of one class ({classes[labels[0]]})"
        raise AttnError(f"{where}: {reason}; at least two are needed")


def _checked(where: str, texts: Texts, classes: list[str]) -> Texts:
    """The texts, checked, with the numbers of their labels."""
    sizes = {len(part) for part in texts if part is not None}
    if len(sizes) > 1:
        raise AttnError(f"{where}: texts, labels, doc_ids and the like have different lengths: {sorted(sizes)}")
    for row, tokens in zip(texts.doc_ids, texts.lists, strict=True):
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise AttnError(f"{where}: the text of row {row} is no list of words")
    if texts.answers is not None:  # -1 for an answer that no class is
        return texts._replace(labels=np.array(texts.labels, dtype=np.int64))
    return texts._replace(labels=_numbers(where, texts, classes))


def _numbers(where: str, texts: Texts, classes: list[str]) -> np.ndarray:
    """(D,) int64 labels, which are given by name or by number."""
    number: dict[object, int] = {}
    for i, name in enumerate(classes):
        number[str(name)] = i
        number[i] = i
    for row, label in zip(texts.doc_ids, texts.labels, strict=True):
        if label not in number:
            known = f"{', '.join(classes)} or 0 to {len(classes) - 1}"
            raise AttnError(f"{where}: the label of row {row} is '{str(label)[:40]}'; known: {known}")
    return np.array([number[label] for label in texts.labels], dtype=np.int64)


def _documents(texts: Texts, words: tuple[str, ...]) -> Documents:
    """Token lists as ids."""
    sentences = texts.sentences and [[size for size in sizes if size] for sizes in texts.sentences]
    ids, offsets = text.to_ids(texts.lists, words)
    query_ids = query_offsets = None
    if texts.queries is not None:
        query_ids, query_offsets = text.to_ids(texts.queries, words)
    answer_ids, answer_offsets = _ragged(texts.answers, np.int32)
    sentence_lengths, sentence_offsets = _ragged(sentences, np.int64)
    return Documents(
        ids=ids,
        offsets=offsets,
        labels=np.asarray(texts.labels),
        doc_ids=np.asarray(texts.doc_ids, dtype=np.int64),
        query_ids=query_ids,
        query_offsets=query_offsets,
        answer_ids=answer_ids,
        answer_offsets=answer_offsets,
        sentence_lengths=sentence_lengths,
        sentence_offsets=sentence_offsets,
    )


def _ragged(lists, kind: type) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Values in a row, and where each list begins and ends."""
    if lists is None:
        return None, None
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    values: np.ndarray = np.array(list(chain.from_iterable(lists)), dtype=kind)
    return values, offsets
