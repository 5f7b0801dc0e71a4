"""From tables to arrays of token ids: one function per data set, one cache for all.

Arrays are made once and kept under ``cache_folder()/corpora`` as ``<name>.npz`` (ids, offsets, labels, row numbers)
with ``<name>.json`` (vocabulary, statistics, checksums), so a machine that only trains needs neither the text nor a
tokenizer. A damaged cache file is made anew with one warning line. If the cache cannot be written but the data is
at hand, work goes on without it, with one warning line. What a function makes without tables that the catalogue names
is never kept: nothing would tell that it has changed.
"""

import hashlib
import inspect
import io
import json
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from attn_core import user_code
from attn_core.corpora import batches, catalogue, generated, load, pairs, prepare, private, ratings, sentences, text
from attn_core.corpora.batches import FIELDS, Documents, Encoded, fingerprint
from attn_core.errors import AttnError

ENCODING = 1
"""Raised by hand when the same text is meant to give other arrays; older cache files are then made anew."""

VOCABULARY_FROM = ("train", "all")


PREPARE = prepare.TEXTS | pairs.PAIRS | private.PRIVATE | ratings.RATINGS
"""Corpus -> function that turns its tables into ``prepare.Prepared`` (sets cut into sentences: ``sentences.Prepared``);
its arguments are the corpus's options."""

_OURS = {name: (entry, PREPARE.get(name)) for name, entry in catalogue.CATALOGUE.items()}
_HELD: ContextVar[dict | None] = ContextVar("held", default=None)


def is_foreign(corpus: str) -> bool:
    """Whether a corpus, or what stands under the name of one of the package's own, was registered by the user."""
    return (catalogue.corpus(corpus), PREPARE.get(corpus)) != _OURS.get(corpus)


@contextmanager
def held():
    """Within it a foreign corpus is encoded once: the key of a run and its training are then of the same data."""
    token = _HELD.set(_HELD.get() or {})
    try:
        yield
    finally:
        _HELD.reset(token)


def encode(corpus: str, **options) -> Encoded:
    """A data set as arrays, from the cache or made from its tables.

    corpus: a name of the catalogue. options: for real sets ``vocabulary_from`` ('train', as in Jain & Wallace's
    final run, or 'all', as behind their Table 1: vocabulary fitted on all splits; sets cut into sentences have one rule
    and no such option); for bAbI also ``source``, see ``pairs.babi``; for generated sets their knobs. Errors: AttnError
    (unknown corpus or option, data found nowhere, no document left by the length filter).
    """
    found = _HELD.get()
    if found is None or not is_foreign(corpus):
        return _encoded(corpus, options)
    asked = corpus, repr(sorted(options.items()))
    if asked not in found:
        found[asked] = _encoded(corpus, options)
    return found[asked]


def _encoded(corpus: str, options: dict) -> Encoded:
    entry = catalogue.corpus(corpus)
    if entry.generated:
        from attn_core.corpora.generated import planted

        _refuse_unknown(corpus, options, inspect.signature(planted).parameters)
        return planted(**options)
    own = inspect.signature(PREPARE[corpus]).parameters
    _refuse_unknown(corpus, options, (*(() if entry.cut else ("vocabulary_from",)), *own))
    vocabulary_from = options.pop("vocabulary_from", "train")
    if vocabulary_from not in VOCABULARY_FROM:
        raise AttnError(f"vocabulary_from is '{vocabulary_from}'; known: {', '.join(VOCABULARY_FROM)}")
    marks = ["all"] * (vocabulary_from == "all") + [str(v) for name, v in options.items() if v != own[name].default]
    stem = load.cache_folder() / "corpora" / "-".join([corpus, *marks])
    code = {"code": user_code.digest([PREPARE[corpus], repr(entry)])} if is_foreign(corpus) else {}
    source = _source(entry, options, code)
    kept = bool(entry.files or entry.private) and not (code and source is None)
    if kept and (cached := _from_cache(corpus, stem, source)) is not None:
        return cached
    prepared = PREPARE[corpus](**options)
    encoded = sentences.build(entry, prepared) if entry.cut else build(entry, prepared, vocabulary_from)
    # After an official download the tables lie in the cache, so the source is known now even if it was not before.
    if kept:
        _to_cache(encoded, stem, source or _source(entry, options, code))
    return encoded


def _refuse_unknown(corpus: str, options, known) -> None:
    for name in options:
        if name not in known:
            raise AttnError(f"corpus '{corpus}' has no option '{name}'; known: {', '.join(known) or 'none'}")


def build(entry: catalogue.Corpus, prepared: prepare.Prepared, vocabulary_from: str = "train") -> Encoded:
    """Token lists -> Encoded: vocabulary fitted BEFORE the length filter (J&W), filter, ids, statistics.

    The texts of a pair count as two documents for the vocabulary; only the first is subject to the length filter.
    Documents without tokens are always dropped and counted, and so are pairs whose answer is none of their possible
    answers; documents of one token are kept if the filter of the set keeps them, and counted.
    statistics['train_share']: documents read for training over those of the official files, where a copy may hold
    fewer.
    """
    classes = list(prepared.classes or entry.classes)
    both = {split: [*texts.lists, *(texts.queries or ())] for split, texts in prepared.splits.items()}
    everything = [tokens for lists in both.values() for tokens in lists]
    fitted = [_vocabulary(lists, entry.min_df, prepared.entities) for lists in (both["train"], everything)]
    train_words, all_words = fitted
    words = train_words if vocabulary_from == "train" else all_words
    splits, counts = {}, {}
    for split, texts in prepared.splits.items():
        lengths = np.array([len(tokens) for tokens in texts.lists], dtype=np.int64)
        keep = text.length_filter(lengths, entry.longer_than, entry.shorter_than) if entry.filtered else lengths > 0
        answerable = _answerable(texts)
        if not (keep & answerable).any():
            raise AttnError(
                f"corpus '{entry.name}': none of the {len(lengths)} documents of split '{split}' passes "
                f"the length filter ({_bounds(entry)}); the longest has {lengths.max(initial=0)} tokens"
            )
        texts = texts.take(np.flatnonzero(keep & answerable))
        splits[split] = made = _documents(texts, words)
        counts[split] = batches.word_counts(made, classes) | {
            "dropped_empty": int((lengths == 0).sum()),
            "dropped_length": int((lengths > 0).sum() - keep.sum()),
        }
        if texts.queries is not None:
            asked = made.queries.lengths - 2
            counts[split] |= {
                "mean_query_length": float(asked.mean()),
                "min_query_length": int(asked.min()),
                "max_query_length": int(asked.max()),
                "unknown_query_tokens": int((made.query_ids == text.UNKNOWN).sum()),
            }
        if texts.answers is not None:
            counts[split]["mean_answers"] = len(made.answer_ids) / len(made)
            counts[split]["dropped_answer"] = int((keep & ~answerable).sum())
    statistics = {
        "splits": counts,
        "classes": classes,
        "vocabulary": len(words),
        "vocabulary_all_splits": len(all_words),
        "vocabulary_from": vocabulary_from,
        "min_df": entry.min_df,
        **prepared.notes,
    }
    if entry.whole_train and statistics.get("train_source") != "generated":
        carved = ("train",) if "dev" in entry.files else ("train", "dev")
        statistics["train_share"] = sum(len(prepared.splits[s].lists) for s in carved) / entry.whole_train
    return Encoded(entry.name, splits, words, fingerprint(splits, words), statistics)


def _vocabulary(lists, min_df: int, entities) -> tuple[str, ...]:
    known = text.vocabulary(lists, min_df)
    return known + tuple(sorted(set(entities) - set(known)))


def _answerable(texts: prepare.Texts) -> np.ndarray:
    """(D,) bool: the answer is one of the possible ones (true everywhere where all are possible)."""
    if texts.answers is None:
        return np.ones(len(texts.lists), dtype=bool)
    pairs_of = zip(texts.labels, texts.answers, strict=True)
    return np.array([label in answers for label, answers in pairs_of], dtype=bool)


def _documents(texts: prepare.Texts, words) -> Documents:
    """Token lists as ids."""
    labels, rows = np.asarray(texts.labels, dtype=np.int64), np.asarray(texts.doc_ids, dtype=np.int64)
    queries = (None, None) if texts.queries is None else text.to_ids(texts.queries, words)
    answers = (None, None)
    if texts.answers is not None:
        ends = np.cumsum([0, *(len(possible) for possible in texts.answers)])
        answers = np.concatenate(texts.answers).astype(np.int32), ends.astype(np.int64)
    return Documents(*text.to_ids(texts.lists, words), labels, rows, *queries, *answers)


def _bounds(entry: catalogue.Corpus) -> str:
    low = "shortest" if entry.longer_than is None else entry.longer_than
    high = "longest" if entry.shorter_than is None else entry.shorter_than
    return f"{low} < n < {high}" if entry.filtered else "at least one token"


def _source(entry: catalogue.Corpus, options: dict, code: dict[str, str]) -> dict[str, str] | None:
    """split -> SHA-256 of the tables at hand, for bAbI also the generator's version, for a foreign corpus also the hash
    of its code; None if a table is missing (a cached copy of the package's own is then taken as it is)."""
    made = code or ({"generator": str(generated.STORIES)} if entry.name.startswith("babi") else {})
    if options.get("source") == "generated" and not code:
        return made
    if entry.private:
        stamps = private.stamps(entry.name)
        return stamps and stamps | made
    paths = {split: load.locate(entry, split) for split in entry.files}
    return None if None in paths.values() else {split: load.sha256(path) for split, path in paths.items()} | made


def _from_cache(name: str, stem: Path, source: dict | None) -> Encoded | None:
    """The cached arrays, or None: no cache, made from other data, made by another ENCODING, or damaged (one warning
    line)."""
    notes, arrays = Path(f"{stem}.json"), Path(f"{stem}.npz")
    if not notes.is_file() or not arrays.is_file():
        return None
    try:
        about = json.loads(notes.read_text(encoding="utf-8"))
        if about.pop("check") != _check(about):
            raise ValueError("checksum differs")
        if about["encoding"] != ENCODING or (source is not None and about["source"] != source):
            return None
        with np.load(arrays, allow_pickle=False) as file:
            stored = {s: {f: file[f"{s}_{f}"] for f in FIELDS if f"{s}_{f}" in file} for s in about["splits"]}
        splits = {s: Documents(**fields) for s, fields in stored.items()}
        words = tuple(about["vocabulary"])
        if fingerprint(splits, words) != about["fingerprint"]:
            raise ValueError("checksum differs")
    except Exception as error:  # np.load and json raise many kinds on damaged bytes; all mean the same here
        load.say(f"the cached arrays {arrays} are damaged ({type(error).__name__}); they are made anew")
        return None
    return Encoded(name, splits, words, about["fingerprint"], about["statistics"])


def _check(about: dict) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _to_cache(encoded: Encoded, stem: Path, source: dict | None) -> None:
    fields = {f"{s}_{field}": getattr(d, field) for s, d in encoded.splits.items() for field in FIELDS}
    arrays = {name: array for name, array in fields.items() if array is not None}
    about = {
        "encoding": ENCODING,
        "source": source,
        "splits": list(encoded.splits),
        "fingerprint": encoded.fingerprint,
        "statistics": encoded.statistics,
        "vocabulary": list(encoded.vocabulary),
    }
    about["check"] = _check(about)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    try:
        with load.replacing(Path(f"{stem}.npz")) as file:
            file.write(packed.getvalue())
        with load.replacing(Path(f"{stem}.json")) as file:
            file.write(json.dumps(about, indent=1).encode())
    except OSError as error:
        load.say(f"the cache {stem.parent} cannot be written ({error.strerror}); '{encoded.name}' is not kept")
