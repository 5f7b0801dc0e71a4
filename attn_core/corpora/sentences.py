"""Texts as one stream of lower-case tokens cut into sentences, and their arrays by the rules of Serrano & Smith.

Sentences end where spaCy's rule-based sentencizer ends them. Two deviations from the authors, who use a trained
pipeline: their boundaries come from the dependency parse; and they tokenize each sentence on its own for models with
sentences and the whole text for models without, here both read the same tokens, those of the whole text.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from attn_core.corpora import text
from attn_core.corpora.batches import Documents, Encoded, fingerprint, take_ragged, word_counts
from attn_core.corpora.catalogue import Corpus
from attn_core.errors import AttnError

AT_ONCE = 500  # texts whose tokens are looked up together


class Sentences(NamedTuple):
    """D texts of one split as tokens in sentences.

    kinds (T,) int32: token numbers in the Cutter's list of words. offsets (D+1,): tokens of each text.
    sentence_lengths (S,): tokens of each sentence, none empty. sentence_offsets (D+1,): sentences of each text.
    dropped (D,): sentences without tokens, left out.
    """

    kinds: np.ndarray
    offsets: np.ndarray
    sentence_lengths: np.ndarray
    sentence_offsets: np.ndarray
    dropped: np.ndarray


class Cutter:
    """Cuts texts; all texts of a data set go through one Cutter, whose ``words`` number the lower-case tokens found."""

    def __init__(self):
        from spacy.attrs import ORTH  # text.english names what to do where spaCy is missing

        self._tokenize, self._orth = text.english(), ORTH
        self.words: list[str] = []
        self._number: dict[str, int] = {}  # lower-case word -> its place in words
        self._seen: dict[int, int] = {}  # spaCy's hash of a token -> its place in the three lists below
        self._kind, self._ends, self._plain = [], [], []

    def cut(self, texts) -> Sentences:
        """Texts -> Sentences. Blanks are no tokens, as in the paper; they may start a sentence, as in spaCy."""
        parts = []
        texts = list(texts)
        for first in range(0, len(texts), AT_ONCE):
            found = [self._tokenize(t).to_array(self._orth) for t in texts[first : first + AT_ONCE]]
            parts.append(self._part(np.concatenate(found), np.array([len(t) for t in found])))
        if not parts:
            empty = np.zeros(0, dtype=np.int64)
            return Sentences(empty.astype(np.int32), np.zeros(1, np.int64), empty, np.zeros(1, np.int64), empty)
        kinds, tokens, lengths, sentences, dropped = (np.concatenate(values) for values in zip(*parts, strict=True))
        offsets = (np.concatenate([[0], np.cumsum(n)]).astype(np.int64) for n in (tokens, sentences))
        return Sentences(kinds, next(offsets), lengths, next(offsets), dropped)

    def _part(self, hashes: np.ndarray, lengths: np.ndarray):
        """kinds, tokens per text, tokens per sentence, sentences per text, dropped sentences per text."""
        found, at = np.unique(hashes, return_inverse=True)
        place = np.array([self._place(int(one)) for one in found], dtype=np.int64)[at]
        kind = np.array(self._kind, dtype=np.int32)[place]
        owner = np.repeat(np.arange(len(lengths)), lengths)
        start = starts(owner, np.array(self._ends, dtype=bool)[place], np.array(self._plain, dtype=bool)[place])
        sentence = np.cumsum(start) - 1  # of each token, counted through
        of_text = owner[start]
        word = kind >= 0
        words_in = np.bincount(sentence[word], minlength=len(of_text))
        per_text = np.bincount(of_text[words_in > 0], minlength=len(lengths))
        dropped = np.bincount(of_text, minlength=len(lengths)) - per_text
        return kind[word], np.bincount(owner[word], minlength=len(lengths)), words_in[words_in > 0], per_text, dropped

    def _place(self, one: int) -> int:
        if one not in self._seen:
            from spacy.pipeline import Sentencizer

            lexeme = self._tokenize.vocab[one]
            ends = lexeme.text in Sentencizer.default_punct_chars
            self._seen[one] = len(self._kind)
            self._ends.append(ends)
            self._plain.append(not ends and not lexeme.is_punct)
            self._kind.append(-1 if lexeme.is_space else self._word(lexeme.lower_))
        return self._seen[one]

    def _word(self, word: str) -> int:
        number = self._number.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number


def starts(owner: np.ndarray, ends: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """(T,) bool: the tokens that start a sentence by the rule of spaCy's sentencizer.

    owner (T,): text of each token, ascending. ends (T,): marks that end a sentence ('.', '!', '?', ...). plain (T,):
    tokens that are neither such marks nor other punctuation. A text's first token starts one, and so does each plain
    token that has an end mark between itself and the plain token before it.
    """
    first = np.concatenate([[True], owner[1:] != owner[:-1]]) if len(owner) else np.zeros(0, dtype=bool)
    seen = np.cumsum(ends)
    at = np.flatnonzero(plain)
    # End marks seen at the plain token before, or where the text began.
    begun = (seen - ends)[np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))[at]]
    before = np.maximum(np.concatenate([[0], seen[at]])[:-1], begun) if len(at) else seen[:0]
    first[at[seen[at] > before]] = True
    return first


class Cut(NamedTuple):
    """One split before any filter: its sentences, labels (D,) class ids, doc_ids (D,) rows in the source."""

    sentences: Sentences
    labels: np.ndarray
    doc_ids: np.ndarray

    def take(self, rows) -> "Cut":
        """The texts of these rows, in the order given."""
        own = self.sentences
        tokens = take_ragged(own.kinds, own.offsets, rows)
        lengths = take_ragged(own.sentence_lengths, own.sentence_offsets, rows)
        return Cut(Sentences(*tokens, *lengths, own.dropped[rows]), self.labels[rows], self.doc_ids[rows])


@dataclass(frozen=True)
class Prepared:
    """splits: 'train', 'dev', 'test' -> Cut; words: of all splits' kinds; notes: more entries of the statistics."""

    splits: dict[str, Cut]
    words: list[str]
    notes: dict = field(default_factory=dict)


def build(entry: Corpus, prepared: Prepared) -> Encoded:
    """Cut texts -> Encoded, by Serrano & Smith's rules (specification 2.2).

    Vocabulary: words met at least ``entry.min_count`` times in train and dev together, before the length filter; all
    others are the one unknown word. Length filter: only in ``entry.bounded`` (train), by sentences and by the longest
    sentence; test texts are never too long. Texts without tokens are left out and counted, and so are sentences
    without tokens. Errors: AttnError where a split keeps nothing.
    """
    splits = prepared.splits
    known = vocabulary(splits, prepared.words, ("train", "dev"), entry.min_count)
    index = {word: i for i, word in enumerate(known)}
    number = np.array([index.get(word, text.UNKNOWN) for word in prepared.words], dtype=np.int32)
    # A text may hold the very letters of a special token; it is an unknown word then.
    number[number < len(text.SPECIALS)] = text.UNKNOWN
    made, counts = {}, {}
    for split, cut in splits.items():
        per_text = np.diff(cut.sentences.sentence_offsets)
        written = per_text > 0
        keep = written & (fits(entry, cut.sentences) if split in entry.bounded else True)
        if not keep.any():
            raise AttnError(
                f"corpus '{entry.name}': none of the {len(keep)} documents of split '{split}' has tokens and "
                "passes the length filter"
            )
        kept = cut.take(np.flatnonzero(keep))
        made[split] = documents(kept, number)
        counts[split] = count(made[split], entry.classes) | {
            "dropped_empty": int((~written).sum()),
            "dropped_length": int((written & ~keep).sum()),
            "dropped_sentences": int(kept.sentences.dropped.sum()),
        }
    statistics = {
        "splits": counts,
        "classes": list(entry.classes),
        "vocabulary": len(known),
        "vocabulary_all_splits": len(vocabulary(splits, prepared.words, tuple(splits), entry.min_count)),
        "vocabulary_from": "train and dev",
        "min_count": entry.min_count,
        "most_sentences": entry.most_sentences,
        "longest_sentence": entry.longest_sentence,
        "train_share": sum(len(splits[s].labels) for s in ("train", "dev")) / entry.whole_train,
        **prepared.notes,
    }
    return Encoded(entry.name, made, known, fingerprint(made, known), statistics)


def vocabulary(splits: dict[str, Cut], words, of, min_count: int) -> tuple[str, ...]:
    """The special tokens, then the words met at least ``min_count`` times in the splits ``of``, in code point order."""
    met = sum(np.bincount(splits[split].sentences.kinds, minlength=len(words)) for split in of)
    return text.SPECIALS + tuple(sorted({words[i] for i in np.flatnonzero(met >= min_count)} - set(text.SPECIALS)))


def fits(entry: Corpus, sentences: Sentences) -> np.ndarray:
    """(D,) bool: at most ``most_sentences`` sentences, none above ``longest_sentence`` tokens; None = no bound."""
    per_text = np.diff(sentences.sentence_offsets)
    keep = np.ones(len(per_text), dtype=bool)
    if entry.most_sentences is not None:
        keep &= per_text <= entry.most_sentences
    if entry.longest_sentence is not None:
        owner = np.repeat(np.arange(len(per_text)), per_text)
        keep[owner[sentences.sentence_lengths > entry.longest_sentence]] = False
    return keep


def documents(cut: Cut, number: np.ndarray) -> Documents:
    """Ids with START and END around each text; number (W,) int32: id of each of the Cutter's words."""
    own = cut.sentences
    texts = len(cut.labels)
    offsets = own.offsets + 2 * np.arange(texts + 1)
    ids = np.empty(offsets[-1], dtype=np.int32)
    ids[offsets[:-1]], ids[offsets[1:] - 1] = text.START, text.END
    ids[np.arange(len(own.kinds)) + np.repeat(2 * np.arange(texts) + 1, np.diff(own.offsets))] = number[own.kinds]
    labels, rows = np.asarray(cut.labels, dtype=np.int64), np.asarray(cut.doc_ids, dtype=np.int64)
    return Documents(
        ids, offsets, labels, rows, sentence_lengths=own.sentence_lengths, sentence_offsets=own.sentence_offsets
    )


def count(made: Documents, classes) -> dict:
    """A split on the statistics page: `batches.word_counts`, and sentences per text (population standard deviation)."""
    words, sentences = made.lengths - 2, np.diff(made.sentence_offsets)
    own = word_counts(made, classes)
    return own | {
        "absent_classes": [name for name, n in zip(classes, own["per_class"], strict=True) if n == 0],
        "sd_length": float(words.std()),
        "sentences": int(sentences.sum()),
        "mean_sentences": float(sentences.mean()),
        "sd_sentences": float(sentences.std()),
        "max_sentences": int(sentences.max()),
        "longest_sentence": int(made.sentence_lengths.max()),
        "one_sentence": int((sentences == 1).sum()),
    }
