"""From token lists to arrays: vocabulary, length filter, ids, statistics, by the rules of each paper's final code."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy import ndarray

from attn_core.documents import END, SPECIALS, START, UNKNOWN, Documents, Encoded
from attn_core.errors import AttnError
from attn_lab.data import catalogue
from attn_lab.data.cleaning import cleaner_of
from attn_lab.data.prepared import Prepared, Texts


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
    splits = {name: _checked(f"{where}, split '{name}'", texts, classes) for name, texts in prepared.splits.items()}

    read = ("train", "dev") if entry.cut else ("train",)
    all_words = _vocabulary(entry, list(splits.values()), prepared.entities)
    read_words = _vocabulary(entry, [splits[name] for name in read], prepared.entities)
    words = all_words if vocabulary_from == "all" else read_words

    arrays = {}
    statistics_of = {}
    for split, texts in splits.items():
        kept, dropped = _filtered(entry, split, texts)
        arrays[split] = _documents(kept, words)
        statistics_of[split] = counts(arrays[split], classes) | dropped

    # Nothing can be learned of one class; of single texts of two classes, dev's ROC AUC chooses the checkpoint.
    _check_classes(f"{where}, split 'train'", arrays["train"], classes)
    if entry.task == "text" and not entry.cut and len(classes) == 2:
        _check_classes(f"{where}, split 'dev'", arrays["dev"], classes)

    sizes = {"vocabulary": len(words), "vocabulary_all_splits": len(all_words)}
    statistics = {"splits": statistics_of, "classes": classes, **sizes, **prepared.notes}
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
    words = vocabulary(lists, least, each=entry.cut)
    return words + tuple(sorted(set(entities) - set(words)))


def _filtered(entry: catalogue.Corpus, split: str, texts: Texts) -> tuple[Texts, dict[str, int]]:
    """The texts of a split that are kept, and how many are dropped for what; AttnError where none is kept."""
    lengths = np.array([len(tokens) for tokens in texts.lists], dtype=np.int64)
    fits = lengths > 0
    if entry.filtered:
        fits = length_filter(lengths, entry.longer_than, entry.shorter_than)
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


def _within_bounds(entry: catalogue.Corpus, texts: Texts) -> ndarray:
    """(D,) whether a text has at most so many sentences, and no longer one, than the entry says; empty ones aside."""
    most = entry.most_sentences or np.inf
    longest = entry.longest_sentence or np.inf
    filled = [[size for size in sizes if size] for sizes in texts.sentences or ()]
    return np.array([len(sizes) <= most and max(sizes, default=0) <= longest for sizes in filled], dtype=bool)


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


def _numbers(where: str, texts: Texts, classes: list[str]) -> ndarray:
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
    ids, offsets = to_ids(texts.lists, words)
    query_ids, query_offsets = (None, None) if texts.queries is None else to_ids(texts.queries, words)
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


def _ragged(lists, kind: type) -> tuple[ndarray | None, ndarray | None]:
    """Values in a row, and where each list begins and ends."""
    if lists is None:
        return None, None
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    values: ndarray = np.array(list(chain.from_iterable(lists)), dtype=kind)
    return values, offsets


def vocabulary(documents, least: int = 1, each: bool = False) -> tuple[str, ...]:
    """The four special tokens, then every token found in at least ``least`` documents (token lists), in sorted (code
    point) order. A document counts once, however often it holds the token; with ``each`` as often as it holds it."""
    counted = documents if each else map(set, documents)
    counts = Counter(chain.from_iterable(counted))
    words = {word for word, count in counts.items() if count >= least}
    # A token spelled like a special one ("<s>") would take its place in the index; the special one wins.
    return (*SPECIALS, *sorted(words - set(SPECIALS)))


def to_ids(documents, vocabulary) -> tuple[ndarray, ndarray]:
    """Token lists -> (ids (T,) int32, offsets (D+1,) int64), each text as START + tokens + END; unknown words, and
    those spelled like a special token, as UNKNOWN."""
    index = word_ids(vocabulary)
    lengths = [len(tokens) + 2 for tokens in documents]
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    ids = np.empty(offsets[-1], np.int32)
    for tokens, start in zip(documents, offsets, strict=False):
        words = [index.get(word, UNKNOWN) for word in tokens]
        ids[start : start + len(words) + 2] = [START, *words, END]
    return ids, offsets


def typed(texts: Sequence[str], vocabulary: Sequence[str]) -> Documents:
    """Texts of a user's as arrays, see `corpora.encode`."""
    if not vocabulary:
        raise AttnError("texts are numbered by a vocabulary; give the model's: encode(texts, vocabulary)")
    lists = list(map(cleaner_of(vocabulary), texts))
    if [] in lists:
        raise AttnError(f"text {lists.index([])} has no words; leave it out")
    return Documents(*to_ids(lists, vocabulary), np.zeros(len(lists), np.int64), np.arange(len(lists)))


def word_ids(vocabulary) -> dict[str, int]:
    """Word -> its id in a vocabulary, the special tokens left out."""
    return {word: i for i, word in enumerate(vocabulary) if i >= len(SPECIALS)}


def length_filter(lengths, longer_than: int | None = None, shorter_than: int | None = None) -> ndarray:
    """Which documents J&W's classification data sets keep: longer_than < n < shorter_than, both strict. (D,) bool.

    A missing bound is replaced by the shortest (longest) length of the SAME split; because of strictness, that split
    then loses its shortest (longest) documents: so the authors' code behaves, and their counts are met only so.
    lengths: tokens without START and END. Documents without tokens are never kept: attention has nothing to rest on.
    """
    lengths = np.asarray(lengths, dtype=float)
    low = lengths.min(initial=np.inf) if longer_than is None else longer_than
    high = lengths.max(initial=0) if shorter_than is None else shorter_than
    return (lengths > low) & (lengths < high) & (lengths > 0)


def counts(documents: Documents, classes) -> dict:
    """What the statistics page says of a split: texts by class, words, unknown words; of cut texts the sentences."""
    words = documents.lengths - 2
    statistics = {
        "documents": len(documents),
        "per_class": np.bincount(documents.labels, minlength=len(classes)).tolist(),
        "mean_length": float(words.mean()),
        "min_length": int(words.min()),
        "max_length": int(words.max()),
        "tokens": int(words.sum()),
        "unknown_tokens": int((documents.ids == UNKNOWN).sum()),
    }
    if documents.sentence_offsets is not None:
        sentences = np.diff(documents.sentence_offsets)
        statistics |= {
            "sentences": int(sentences.sum()),
            "mean_sentences": float(sentences.mean()),
            "one_sentence": int((sentences == 1).sum()),
        }
    return statistics


def fingerprint(splits: dict[str, Documents], vocabulary) -> str:
    """SHA-256 over the arrays (little-endian, split by split in alphabetical order) and the vocabulary."""
    digest = hashlib.sha256(json.dumps(list(vocabulary), ensure_ascii=True).encode())
    for split in sorted(splits):
        digest.update(split.encode())
        for field, values in vars(splits[split]).items():
            if values is not None:
                kind = "<i4" if field in ("ids", "query_ids", "answer_ids") else "<i8"
                array = np.ascontiguousarray(values, dtype=kind)
                digest.update(f"{field}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
