"""From tables to arrays of token ids: one function per data set, one cache for all.

Arrays are made once and kept under ``cache_folder()/corpora`` as ``<name>.npz`` (ids, offsets, labels, row numbers)
with ``<name>.json`` (vocabulary, statistics, checksums), so a machine that only trains needs neither the text nor a
tokenizer. A damaged cache file is made anew with one warning line. If the cache cannot be written but the data is
at hand, work goes on without it, with one warning line.
"""

import hashlib
import inspect
import io
import json
from pathlib import Path

import numpy as np

from attn_core.corpora import catalogue, load, prepare, text
from attn_core.corpora.batches import FIELDS, Documents, Encoded, fingerprint
from attn_core.errors import AttnError

ENCODING = 1
"""Raised by hand when the same text is meant to give other arrays; older cache files are then made anew."""

VOCABULARY_FROM = ("train", "all")


def encode(corpus: str, **options) -> Encoded:
    """A data set as arrays, from the cache or made from its tables.

    corpus: a name of the catalogue. options: for real sets ``vocabulary_from`` ('train', as in Jain & Wallace's
    final run, or 'all', as behind their Table 1: vocabulary fitted on all splits); for generated sets their knobs.
    Errors: AttnError (unknown corpus or option, data found nowhere, loader not built, no document left by the
    length filter).
    """
    entry = catalogue.corpus(corpus)
    if entry.generated:
        from attn_core.corpora.generated import planted

        _refuse_unknown(corpus, options, inspect.signature(planted).parameters)
        return planted(**options)
    _refuse_unknown(corpus, options, ("vocabulary_from",))
    vocabulary_from = options.get("vocabulary_from", "train")
    if vocabulary_from not in VOCABULARY_FROM:
        raise AttnError(f"vocabulary_from is '{vocabulary_from}'; known: {', '.join(VOCABULARY_FROM)}")
    if entry.loader == catalogue.TABLES:
        able = [name for name, c in catalogue.CATALOGUE.items() if c.loader == catalogue.READY]
        raise AttnError(
            f"corpus '{corpus}' can be read as tables (attn_core.corpora.read) but not yet as arrays in this edition; "
            f"arrays: {', '.join(able)}"
        )
    if entry.loader == catalogue.ABSENT:
        load.read(corpus, "train")  # raises the error that says so
    stem = load.cache_folder() / "corpora" / (corpus if vocabulary_from == "train" else f"{corpus}-{vocabulary_from}")
    source = _source(entry)
    cached = _from_cache(corpus, stem, source)
    if cached is not None:
        return cached
    encoded = build(entry, prepare.READY[corpus](), vocabulary_from)
    # After an official download the tables lie in the cache, so the source is known now even if it was not before.
    _to_cache(encoded, stem, source or _source(entry))
    return encoded


def _refuse_unknown(corpus: str, options, known) -> None:
    for name in options:
        if name not in known:
            raise AttnError(f"corpus '{corpus}' has no option '{name}'; known: {', '.join(known)}")


def build(entry: catalogue.Corpus, documents: dict, vocabulary_from: str = "train") -> Encoded:
    """Token lists -> Encoded: vocabulary fitted BEFORE the length filter (J&W), filter, ids, statistics.

    documents: split -> (token lists, labels (D,), doc_ids (D,)). Documents without tokens are always dropped and
    counted; documents of one token are kept if the filter of the set keeps them, and counted.
    """
    everything = [tokens for lists, _, _ in documents.values() for tokens in lists]
    words = text.vocabulary(documents["train"][0] if vocabulary_from == "train" else everything, entry.min_df)
    splits, counts = {}, {}
    for split, (lists, labels, doc_ids) in documents.items():
        lengths = np.array([len(tokens) for tokens in lists], dtype=np.int64)
        keep = text.length_filter(lengths, entry.longer_than, entry.shorter_than) if entry.filtered else lengths > 0
        if not keep.any():
            raise AttnError(
                f"corpus '{entry.name}': none of the {len(lists)} documents of split '{split}' passes "
                f"the length filter ({_bounds(entry)}); the longest has {lengths.max(initial=0)} tokens"
            )
        rows = np.flatnonzero(keep)
        ids, offsets = text.to_ids([lists[i] for i in rows], words)
        labels = np.asarray(labels, dtype=np.int64)[rows]
        splits[split] = Documents(ids, offsets, labels, np.asarray(doc_ids, dtype=np.int64)[rows])
        kept = lengths[rows]
        counts[split] = {
            "documents": len(rows),
            "per_class": np.bincount(labels, minlength=len(entry.classes)).tolist(),
            "mean_length": float(kept.mean()),
            "min_length": int(kept.min()),
            "max_length": int(kept.max()),
            "tokens": int(kept.sum()),
            "unknown_tokens": int((ids == text.UNKNOWN).sum()),
            "one_token": int((kept == 1).sum()),
            "dropped_empty": int((lengths == 0).sum()),
            "dropped_length": int((lengths > 0).sum() - len(rows)),
        }
    statistics = {
        "splits": counts,
        "classes": list(entry.classes),
        "vocabulary": len(words),
        "vocabulary_all_splits": len(text.vocabulary(everything, entry.min_df)),
        "vocabulary_from": vocabulary_from,
        "min_df": entry.min_df,
    }
    return Encoded(entry.name, splits, words, fingerprint(splits, words), statistics)


def _bounds(entry: catalogue.Corpus) -> str:
    low = "shortest" if entry.longer_than is None else entry.longer_than
    high = "longest" if entry.shorter_than is None else entry.shorter_than
    return f"{low} < n < {high}" if entry.filtered else "at least one token"


def _source(entry: catalogue.Corpus) -> dict[str, str] | None:
    """split -> SHA-256 of the tables at hand; None if one is missing (a cached copy is then taken as it is)."""
    paths = {split: load.locate(entry, split) for split in entry.files}
    return None if None in paths.values() else {split: load.sha256(path) for split, path in paths.items()}


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
